"""The starts of SDCA: marginals of the distributions that they name, with the right weights and dual value."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from dualfield import SDCA, fields, oracles, solve
from dualfield.solvers.sdca import SDCARun
from tests.enumeration import Enumeration, all_labellings, entropy
from tests.zoo import PROBLEMS, points, problem

every_problem = pytest.mark.parametrize("name", PROBLEMS)
INITS = ["mixture", "product", "peaked", "uniform", "random"]
every_init = pytest.mark.parametrize("init", INITS)
with_epsilon = pytest.mark.parametrize("init", ["mixture", "product"])


def started(name: str, init: Any = "mixture", epsilon: Any = "auto", seed: int = 0) -> SDCARun:
    """A run after its start."""
    run = SDCA(init=init, epsilon=epsilon, accelerate=False).start(problem(name), seed)
    assert not run.advance(3600.0)  # the start is no pass
    return run


def start_exists(name: str, init: str) -> None:
    if init == "product" and "independent nodes" not in problem(name).offers:
        pytest.skip("a product start needs independent nodes")


def tables(run: SDCARun) -> list[tuple[Any, Any, Any]]:
    """(true labels, nodes, edges) of each block of positive weight."""
    field: Any = run.field
    flat, place, parts = run.arrays()["duals"], 0, []
    n_labels = len(field.classes)
    if isinstance(field, fields.Multiclass | fields.PseudoLikelihood):
        labels = [field.codes[i : i + 1] for i in range(field.n_blocks)]
    else:
        offsets = field.encoded.offsets
        labels = [field.codes[a:b] for a, b in pairwise(offsets)]
    for i, y in enumerate(labels):
        if field.sample_weight is not None and field.sample_weight[i] == 0:
            continue
        edges, nodes = (len(y) - 1) * n_labels**2, len(y) * n_labels
        table = flat[place : place + edges + nodes]
        parts.append((y, table[edges:].reshape(-1, n_labels), table[:edges].reshape(-1, n_labels, n_labels)))
        place += edges + nodes
    assert place == len(flat)
    return parts


def probabilities(init: str, epsilon: float, y: Any, n_labels: int) -> Any:
    """Of all labellings, as the documentation of SDCA states."""
    labellings = all_labellings(len(y), n_labels)
    right = labellings == np.asarray(y)
    if init == "product":
        return np.where(right, epsilon / n_labels + 1 - epsilon, epsilon / n_labels).prod(axis=1)
    if init == "peaked":
        true_pairs = right[:, :-1] & right[:, 1:]
        weights = np.exp(10.0 * (right.sum(axis=1) + true_pairs.sum(axis=1)))
        return weights / weights.sum()
    return np.full(len(labellings), 1.0 / len(labellings))


@pytest.mark.parametrize(
    ("init", "epsilon"), [("product", 0.3), ("product", "auto"), ("peaked", "auto"), ("uniform", "auto")]
)
@pytest.mark.parametrize("name", ["chain-dense", "chain-weighted", "chain-one-block", "multiclass-weighted"])
def test_the_start_has_the_marginals_of_its_distribution(name: str, init: str, epsilon: Any) -> None:
    run = started(name, init, epsilon)
    for y, nodes, edges in tables(run):
        p = probabilities(init, run.epsilon, y, nodes.shape[1])
        labellings = all_labellings(len(y), nodes.shape[1])
        for t, k in np.ndindex(*nodes.shape):
            assert nodes[t, k] == pytest.approx(p[labellings[:, t] == k].sum(), rel=1e-9)
        for t, j, k in np.ndindex(*edges.shape):
            chosen = (labellings[:, t] == j) & (labellings[:, t + 1] == k)
            assert edges[t, j, k] == pytest.approx(p[chosen].sum(), rel=1e-9)


@every_init
@pytest.mark.parametrize("name", [name for name in PROBLEMS if not name.startswith("graph")])
def test_the_start_is_consistent(name: str, init: str) -> None:
    start_exists(name, init)
    for _, nodes, edges in tables(started(name, init)):
        assert np.all(nodes >= 0)
        np.testing.assert_allclose(nodes.sum(axis=1), 1.0, rtol=1e-12)
        np.testing.assert_allclose(edges.sum(axis=2), nodes[:-1], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(edges.sum(axis=1), nodes[1:], rtol=1e-9, atol=1e-12)


@every_init
@every_problem
def test_the_start_knows_its_weights_and_its_dual_value(name: str, init: str) -> None:
    start_exists(name, init)
    # The confirming pass computes weights, entropies and values afresh from the tables.
    run = started(name, init)
    expected = run._core.dual
    assert run.confirm(3600.0)
    assert run.bound.dual == pytest.approx(expected, rel=1e-9, abs=1e-9)
    np.testing.assert_allclose(run.certified_weights(), run.weights(), rtol=1e-9, atol=1e-9)


@with_epsilon
@every_problem
@pytest.mark.parametrize("epsilon", [1e-6, 0.3, 1.0])
def test_a_start_of_given_epsilon_knows_its_weights_and_its_dual_value(name: str, init: str, epsilon: float) -> None:
    start_exists(name, init)
    run = started(name, init, epsilon)
    expected = run._core.dual
    assert run.epsilon == epsilon
    assert run.confirm(3600.0)
    assert run.bound.dual == pytest.approx(expected, rel=1e-9, abs=1e-9)
    np.testing.assert_allclose(run.certified_weights(), run.weights(), rtol=1e-9, atol=1e-9)


@with_epsilon
@every_problem
def test_the_automatic_epsilon_is_at_least_as_good_as_any_fixed_one(name: str, init: str) -> None:
    start_exists(name, init)
    best = started(name, init)
    assert 0 < best.epsilon <= 1
    for epsilon in np.logspace(-12, 0, 61):
        fixed = started(name, init, float(epsilon))
        assert fixed.epsilon == epsilon
        assert best._core.dual >= fixed._core.dual - 1e-9 * max(1.0, abs(best._core.dual))


def test_the_start_of_a_point_is_a_mixture_of_the_uniform_and_the_truth() -> None:
    for init in ("mixture", "product"):
        run = started("multiclass-dense", init)
        mixture = run.epsilon / 3 + (1 - run.epsilon) * np.eye(3)[problem("multiclass-dense").codes]
        np.testing.assert_allclose(run.arrays()["duals"].reshape(-1, 3), mixture, rtol=1e-12)


def test_the_start_of_a_chain_is_a_mixture_on_its_cliques() -> None:
    run = started("chain-one-block", epsilon=0.2)  # three positions, labels A B A
    [(_, nodes, edges)] = tables(run)
    pairs = np.full((2, 2, 2), 0.2 / 4)
    pairs[0, 0, 1] += 0.8
    pairs[1, 1, 0] += 0.8
    np.testing.assert_allclose(edges, pairs, rtol=1e-12)
    np.testing.assert_allclose(nodes, [[0.9, 0.1], [0.1, 0.9], [0.9, 0.1]], rtol=1e-12)
    w = run.weights()
    assert run._core.dual == pytest.approx(oracles.entropy(nodes, edges) - run.field.l2 / 2 * (w @ w), rel=1e-12)


def test_the_entropy_of_a_start_is_that_of_its_labellings() -> None:
    for init in ("product", "peaked", "uniform"):
        run = started("chain-one-block", init)
        [(y, nodes, _)] = tables(run)
        p = probabilities(init, run.epsilon, y, nodes.shape[1])
        assert run.arrays()["entropies"][0] == pytest.approx(float(entropy(np.log(p))), rel=1e-9)


def test_starts_without_epsilon_say_so() -> None:
    assert np.isnan([started("chain-dense", init).epsilon for init in ("peaked", "random")]).all()
    assert started("chain-dense", "uniform").epsilon == 1.0


# --- random ---


def test_a_random_start_follows_the_seed() -> None:
    one, same, other = (started("chain-dense", "random", seed=seed).arrays()["duals"] for seed in (0, 0, 1))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)


def test_a_random_start_of_points_is_uniform_over_all_distributions() -> None:
    # Uniform over three probabilities: each has mean 1/3 and P(p > x) = (1 − x)².
    random = np.random.default_rng(0)
    field = fields.Multiclass(random.normal(size=(4000, 2)), random.integers(3, size=4000))
    run = SDCA(init="random", accelerate=False).start(field, 0)
    run.advance(3600.0)
    p = run.arrays()["duals"].reshape(-1, 3)
    for x in (0.1, 0.5, 0.8):
        expected = (1 - x) ** 2
        assert np.all(np.abs((p > x).mean(axis=0) - expected) < 5 * np.sqrt(expected * (1 - expected) / 4000))


def test_a_random_start_of_a_chain_is_that_of_some_potentials() -> None:
    # Marginals of a Markov chain are those of potentials log edges and −log interior nodes.
    for _, nodes, edges in tables(started("chain-dense", "random")):
        if len(nodes) == 1:
            continue
        interior = np.zeros_like(nodes)
        interior[1:-1] = -np.log(nodes[1:-1])
        again = Enumeration(interior, np.log(edges))
        np.testing.assert_allclose(np.exp(again.log_nodes).astype(float), nodes, rtol=1e-9)


# --- where they lead ---


@pytest.mark.parametrize("name", ["chain-dense", "multiclass-weighted"])
@pytest.mark.parametrize(
    "solver",
    [
        *(SDCA(init=init, accelerate=False) for init in INITS),
        *(SDCA(epsilon=epsilon, accelerate=False) for epsilon in (1e-6, 0.1, 1.0)),
    ],
    ids=repr,
)
def test_every_start_leads_to_the_same_optimum(name: str, solver: SDCA) -> None:
    field = problem(name)
    solution = solve(field, solver, tol=1e-7, max_passes=5000, random_state=0)
    other = solve(field, SDCA(accelerate=False), tol=1e-7, max_passes=5000, random_state=0)
    assert solution.status == other.status == "converged"
    assert abs(solution.primal - other.primal) <= 2e-7 * other.primal


@every_init
def test_a_saved_run_goes_on_in_a_new_one(init: Any) -> None:
    field, solver = fields.Multiclass(*points(15)), SDCA(init=init, accelerate=False)
    whole = solve(field, solver, tol=0.0, max_passes=5, random_state=4)
    first = solve(field, solver, tol=0.0, max_passes=2, random_state=4)
    revived = solver.start(field, seed=12345).restore(first.state.arrays())
    assert np.array_equal(solve(field, solver, tol=0.0, max_passes=3, state=revived).weights, whole.weights)


def test_a_product_start_on_larger_cliques_is_refused() -> None:
    with pytest.raises(TypeError, match="independent labels, which Graph does not offer; choose another start"):
        solve(problem("graph-cliques"), SDCA(init="product", accelerate=False))
