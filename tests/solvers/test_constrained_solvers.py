"""Dual methods under constraints: starts on the allowed labellings, and marginals that never leave them.

The optimum and the certificate of every solver are checked by test_every_solver.py, through the zoo.
"""

from __future__ import annotations

import atexit
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from dualfield import OEG, SDCA, Constraints, fields, l2_path, solve
from tests.enumeration import entropy
from tests.written_out import WrittenOut
from tests.zoo import PROBLEMS, constrained, dense_sequences, finish, problem, reference

CONSTRAINED = [name for name in PROBLEMS if constrained(name)]
every_constrained = pytest.mark.parametrize("name", CONSTRAINED)


def written_out(name: str) -> WrittenOut:
    if name not in WRITTEN_OUT:
        WRITTEN_OUT[name] = WrittenOut(problem(name))
    return WRITTEN_OUT[name]


WRITTEN_OUT: dict[str, WrittenOut] = {}
atexit.register(WRITTEN_OUT.clear)


def tables(run: Any) -> dict[int, tuple[Any, Any]]:
    """(nodes, edges) of SDCA for each block of positive weight."""
    field, flat, place, found = run.field, run.arrays()["duals"], 0, {}
    K = len(field.classes)
    for i, (a, b) in enumerate(pairwise(field.encoded.offsets)):
        if field.sample_weight is not None and field.sample_weight[i] == 0:
            continue
        edges, nodes = (b - a - 1) * K * K, (b - a) * K
        table = flat[place : place + edges + nodes]
        found[i] = table[edges:].reshape(-1, K), table[:edges].reshape(-1, K, K)
        place += edges + nodes
    assert place == len(flat)
    return found


def marginals_of(labellings: Any, p: Any, K: int) -> tuple[Any, Any]:
    """Node and edge marginals of a distribution over labellings."""
    T = labellings.shape[1]
    nodes, edges = np.zeros((T, K)), np.zeros((max(T - 1, 0), K, K))
    for t in range(T):
        np.add.at(nodes[t], labellings[:, t], p)
    for t in range(T - 1):
        np.add.at(edges[t], (labellings[:, t], labellings[:, t + 1]), p)
    return nodes, edges


@every_constrained
@pytest.mark.parametrize("epsilon", ["auto", 1e-6, 0.3, 1.0])
def test_the_mixture_is_of_the_truth_and_the_uniform_over_allowed_labellings(name: str, epsilon: Any) -> None:
    field: Any = problem(name)
    run = SDCA(epsilon=epsilon).start(field, 0)
    run.advance(3600.0)
    K = len(field.classes)
    for i, (nodes, edges) in tables(run).items():
        block = written_out(name).blocks[i]
        a, b = field.encoded.offsets[i : i + 2]
        truth = (block.labellings == field.codes[a:b]).all(axis=1)
        p = run.epsilon / len(truth) + (1 - run.epsilon) * truth
        expected = marginals_of(block.labellings, p, K)
        np.testing.assert_allclose(nodes, expected[0], rtol=1e-9, atol=1e-15)
        np.testing.assert_allclose(edges, expected[1], rtol=1e-9, atol=1e-15)


@every_constrained
@pytest.mark.parametrize("init", ["peaked", "random", "mixture"])
def test_the_marginals_of_sdca_stay_on_the_allowed_labellings(name: str, init: Any) -> None:
    field: Any = problem(name)
    run = SDCA(init=init).start(field, 0)
    for passes in range(4):
        while not run.advance(3600.0):
            if passes == 0:
                break
        for i, (nodes, edges) in tables(run).items():
            labellings = written_out(name).blocks[i].labellings
            possible = marginals_of(labellings, np.ones(len(labellings)), len(field.classes))
            assert np.all(nodes[possible[0] == 0] == 0.0)
            assert np.all(edges[possible[1] == 0] == 0.0)
            np.testing.assert_allclose(nodes.sum(axis=1), 1.0, rtol=1e-9)


# Read as one K x K matrix of edges, which the others do not have.
@pytest.mark.parametrize("name", [name for name in CONSTRAINED if not name.startswith(("bigrams", "chain-few"))])
def test_the_first_steps_of_oeg_know_their_entropies(name: str) -> None:
    field: Any = problem(name)
    run = OEG(accelerate=False).start(field, 0)
    finish(run.advance)
    arrays = run.arrays()
    K, first = len(field.classes), 0
    for i, block in enumerate(written_out(name).blocks):
        if block.c == 0:
            continue
        T = int(field.encoded.lengths[i])
        size = (T + K) * K
        potentials = arrays["duals"][first : first + size].astype(np.longdouble)
        first += 2 * size  # the marginals are beside them
        nodes, edges = potentials[: T * K].reshape(T, K), potentials[T * K :].reshape(K, K)
        scores = np.array([nodes[range(T), y].sum() + edges[y[:-1], y[1:]].sum() for y in block.labellings])
        log_p = scores - np.logaddexp.reduce(scores)
        assert arrays["entropies"][i] == pytest.approx(float(entropy(log_p)), rel=1e-9, abs=1e-12)
    assert first == len(arrays["duals"])


@every_constrained
def test_the_first_pass_of_oeg_knows_its_weights_and_its_dual_value(name: str) -> None:
    run = OEG().start(problem(name), 0)
    finish(run.advance)
    expected = run._core.dual
    assert expected != 0  # what it is at the truth, where every block begins
    assert run.confirm(3600.0)
    assert run.bound.dual == pytest.approx(expected, rel=1e-9, abs=1e-9)


@every_constrained
def test_a_start_of_independent_labels_is_refused(name: str) -> None:
    with pytest.raises(TypeError, match="init='product' starts with independent labels, which Chain with constraints"):
        solve(problem(name), SDCA(init="product"))


def test_a_block_with_a_single_allowed_labelling_costs_nothing() -> None:
    X, y = dense_sequences(6)
    forced = [[{int(label)} for label in sequence] for sequence in y]
    field = fields.Chain(X, y, allowed=forced)
    for solver in ("sdca", "oeg", "lbfgs"):
        solution = solve(field, solver, tol=1e-6)
        assert solution.status in ("converged", "stalled")
        assert abs(solution.primal) <= 1e-9
        assert np.abs(solution.weights).max() <= 1e-9


@pytest.mark.parametrize("solver", ["sdca", "oeg"])
def test_rules_that_forbid_nothing_lead_to_the_same_optimum(solver: str) -> None:
    X, y = dense_sequences(12)
    field = fields.Chain(X, y, constraints=Constraints([0, 1, 2]))
    solution, best = solve(field, solver, tol=1e-8, random_state=0), reference("chain-dense")
    assert abs(solution.primal - best.primal) <= solution.duality_gap + best.duality_gap


@pytest.mark.parametrize("solver", ["sdca", "oeg", "lbfgs"])
def test_a_path_of_penalties_is_certified_at_each(solver: str) -> None:
    for solution in l2_path(problem("chain-bio"), [1.0, 0.1, 0.01], solver, tol=1e-5, max_passes=2000, random_state=0):
        assert (solution.status, solution.certificate) == ("converged", "exact")


@pytest.mark.parametrize("length", [1, 2, 60])
@pytest.mark.parametrize("solver", ["sdca", "oeg", "lbfgs"])
def test_labels_that_never_meet_are_learnt(solver: str, length: int) -> None:
    # Of the uniform distribution over long labellings almost nothing is on the label that is alone.
    rules = Constraints(["a", "b", "c"], [("a", "b"), ("a", "c"), ("b", "a"), ("c", "a")])
    X = [[["x"]] * length, [["y"]] * length, [["x", "y"]] * length]
    y = [["a"] * length, ["b", "c"] * (length // 2) or ["b"], ["c"] * length]
    field = fields.Chain(X, y, constraints=rules)
    solution = solve(field, solver, tol=1e-6, max_passes=5000, random_state=0)
    assert (solution.status, solution.certificate) == ("converged", "exact")
    best = solve(field, "lbfgs", tol=1e-10, max_passes=5000)
    assert -1e-9 <= solution.primal - best.primal <= solution.duality_gap
