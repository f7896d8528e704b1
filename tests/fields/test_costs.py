"""Costs of wrong labels: the objective by enumeration; optimum and certificate of every solver that takes them."""

from __future__ import annotations

import atexit
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from dualfield import LBFGS, OEG, SDCA, ChainCRF, Solution, fields, solve
from dualfield.labels import cost_matrix, sequence_weights
from dualfield.solvers import PA, SGD, SMD, Perceptron, Solver
from tests.core.strategies import assert_close
from tests.written_out import WrittenOut
from tests.zoo import (
    CONVERGENT,
    FALLS,
    bigram_sequences,
    chunk_sequences,
    dense_sequences,
    ordered_sequences,
    weights_with_zeros,
    word_sequences,
)

COSTS = {(0, 1): 1.5, (1, 0): 0.3, (2, 0): -0.7}

PROBLEMS: dict[str, Any] = {
    "weights": lambda: fields.Chain(*dense_sequences(12), class_weight={0: 4.0, 2: 0.5}),
    "balanced": lambda: fields.Chain(*word_sequences(10), class_weight="balanced", transitions="observed"),
    "costs": lambda: fields.Chain(*dense_sequences(12), costs=COSTS, l2=0.2, sample_weight=weights_with_zeros(12)),
    "large": lambda: fields.Chain(*dense_sequences(8), costs={(0, 1): 30.0, (1, 2): -40.0}),
    "bio": lambda: fields.Chain(*chunk_sequences(10, longest=4), constraints="bio", class_weight="balanced"),
    "falls": lambda: fields.Chain(*ordered_sequences(12), constraints=FALLS, costs=COSTS),
    "bigrams": lambda: fields.Chain(*bigram_sequences(10), class_weight={1: 3.0}, costs=COSTS),
    "l1": lambda: fields.Chain(*dense_sequences(12), class_weight="balanced", l1=0.4, l2=0.3),
}
every_problem = pytest.mark.parametrize("name", PROBLEMS)


@cache
def problem(name: str) -> fields.Chain:
    field: fields.Chain = PROBLEMS[name]()
    return field


@cache
def reference(name: str) -> Solution:
    return solve(problem(name), LBFGS(), tol=1e-10, max_passes=5000)


atexit.register(reference.cache_clear)
atexit.register(problem.cache_clear)


def takes(solver: Solver, field: fields.Chain) -> bool:
    try:
        solver.check(field)
    except TypeError:
        return False
    return True


TAKEN = [solver for solver in CONVERGENT if takes(solver, PROBLEMS["weights"]())]


def enumerated(field: fields.Chain, w: Any) -> tuple[float, Any, float]:
    """Objective, gradient, and at the marginals of w the dual value without penalty: sums over labellings."""
    assert field.costs is not None
    value, gradient = field.l2 / 2 * (w @ w) + field.l1 * np.abs(w).sum(), field.l2 * w
    entropies = 0.0
    for block, (a, b) in zip(WrittenOut(field).blocks, pairwise(field.encoded.offsets), strict=True):
        cost = field.costs[field.codes[a:b], block.labellings].sum(axis=1)
        scores = block.vectors.astype(np.longdouble) @ w + cost
        log_z = np.logaddexp.reduce(scores)
        p = np.exp(scores - log_z)
        value += block.c * (log_z - block.truth @ w)
        gradient = gradient + block.c * (p @ block.vectors - block.truth)
        entropies += block.c * float(-(p[p > 0] * np.log(p[p > 0])).sum() + p @ cost)
    return float(value), gradient.astype(float), entropies


def weights(field: fields.Chain, scale: float, seed: int = 0) -> Any:
    return scale * np.random.default_rng(seed).normal(size=field.dimension)


@every_problem
@pytest.mark.parametrize("scale", [0.0, 0.5, 10.0])
def test_the_objective_adds_costs_to_wrong_labels(name: str, scale: float) -> None:
    field = problem(name)
    w = weights(field, scale)
    value, gradient, _ = enumerated(field, w)
    assert_close(field.primal(w), value)
    if field.l1 == 0:
        assert_close(field.gradient(w)[1], gradient, 1e-8)


@every_problem
def test_hessian_products_are_the_change_of_the_gradient(name: str) -> None:
    field = problem(name)
    w, v = weights(field, 0.7), weights(field, 1.0, 1)
    step = 1e-5 / np.linalg.norm(v)
    change = (enumerated(field, w + step * v)[1] - enumerated(field, w - step * v)[1]) / (2 * step)
    product = field.hessian_product(w, v)
    np.testing.assert_allclose(product, change, rtol=0, atol=1e-6 * np.abs(product).max())


@every_problem
def test_the_dual_gains_the_expected_cost(name: str) -> None:
    """At the optimum the dual, written out with ⟨cost, μ⟩, is the primal."""
    field, best = problem(name), reference(name)
    value, gradient, entropies = enumerated(field, best.weights)
    raw = field.l2 * best.weights - gradient  # Σ c (F − E F)
    soft = np.sign(raw) * np.maximum(np.abs(raw) - field.l1, 0.0)
    dual = entropies - soft @ soft / (2 * field.l2)
    assert dual == pytest.approx(value, rel=1e-7)
    assert best.dual <= value * (1 + 1e-12)


@every_problem
@pytest.mark.parametrize("solver", TAKEN, ids=repr)
def test_every_solver_reaches_the_optimum_with_a_true_certificate(solver: Solver, name: str) -> None:
    field, best = problem(name), reference(name)
    if field.l1 > 0 and "l1" not in solver.takes:
        pytest.skip("takes no l1")
    for tol in (1e-1, 1e-3, 1e-6):
        solution = solve(field, solver, tol=tol, max_passes=20_000, random_state=1)
        assert solution.status == "converged"
        assert solution.certificate == "exact"
        assert solution.primal == pytest.approx(enumerated(field, solution.weights)[0], rel=1e-10)
        assert solution.duality_gap <= tol * solution.primal
        assert solution.primal - best.primal <= solution.duality_gap
        assert solution.dual <= best.primal * (1 + 1e-12)


def test_methods_without_convergence_take_costs() -> None:
    field, best = problem("weights"), reference("weights")
    for solver in (SGD(average=True), SMD()):
        assert solve(field, solver, tol=1e-2, max_passes=300, random_state=0).primal < 1.2 * best.primal


@pytest.mark.parametrize("solver", [SDCA(), Perceptron(), PA()], ids=repr)
def test_methods_that_cannot_take_costs_are_refused(solver: Solver) -> None:
    with pytest.raises(TypeError, match=r"which Chain with costs of labels does not offer.*'oeg'.*leave class_weight"):
        solve(problem("costs"), solver)


def test_marginals_are_those_of_the_model() -> None:
    field = problem("weights")
    w = weights(field, 0.5)
    without = fields.Chain(*dense_sequences(12))
    assert_close(field.core.marginals(w, 0, 3), without.core.marginals(w, 0, 3))


def test_no_cost_changes_nothing() -> None:
    field, plain = fields.Chain(*dense_sequences(6), class_weight={0: 1.0}), fields.Chain(*dense_sequences(6))
    w = weights(plain, 1.0)
    assert_close(field.primal(w), plain.primal(w))


def test_other_penalties_keep_the_costs() -> None:
    field = problem("costs")
    assert_close(field.with_l2(2.0).primal(weights(field, 1.0)), enumerated(field.with_l2(2.0), weights(field, 1.0))[0])
    assert not field.same_as(fields.Chain(*dense_sequences(12), l2=0.2, sample_weight=weights_with_zeros(12)))


def test_a_heavier_label_is_found_more_often(tmp_path: Any) -> None:
    X, y = chunk_sequences(60)
    plain = ChainCRF(l2=10.0, random_state=0).fit(X, y)
    heavy = ChainCRF(l2=10.0, class_weight={"O": 0.2}, random_state=0).fit(X, y)
    found = [sum(tag != "O" for tags in crf.predict(X) for tag in tags) for crf in (plain, heavy)]
    assert found[0] < found[1]
    assert heavy.solution_.certificate == "exact"
    heavy.set_params(costs={("O", "B-A"): 0.5})
    heavy.save(tmp_path / "model")
    again = ChainCRF.load(tmp_path / "model")
    assert again.get_params()["class_weight"] == {"O": 0.2}
    assert again.costs == {("O", "B-A"): 0.5}
    assert again.predict(X) == heavy.predict(X)


def test_partial_fit_takes_costs_but_no_counts() -> None:
    X, y = dense_sequences(8)
    given = {"costs": {(0, 1): 2.0}, "solver": "oeg", "random_state": 0}
    crf = ChainCRF(**given).partial_fit(X, y)
    np.testing.assert_allclose(crf.weights_, ChainCRF(**given).fit(X, y).weights_)
    with pytest.raises(ValueError, match=r"'balanced' counts the labels of all data.*as a dict"):
        ChainCRF(class_weight="balanced").partial_fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"class_weight": "rare"}, r"class_weight must be None, 'balanced' or a dict .* got 'rare'"),
        ({"class_weight": {}}, "class_weight must be None"),
        ({"class_weight": {0: 0.0}}, r"class_weight\[0\] must be a positive finite number; got 0.0"),
        ({"class_weight": {0: "x"}}, r"class_weight\[0\] must be a positive finite number; got 'x'"),
        ({"costs": [[0, 1]]}, "costs must be None or a dict"),
        ({"costs": {0: 1.0}}, r"a key of costs must be a pair \(true label, wrong label\); got 0"),
        ({"costs": {(1, 1): 1.0}}, "what is right has no cost"),
        ({"costs": {(0, 1): np.inf}}, r"costs\[\(0, 1\)\] must be a number between"),
    ],
)
def test_costs_that_make_no_sense_are_refused(parameters: dict[str, Any], message: str) -> None:
    X, y = dense_sequences(4)
    with pytest.raises(ValueError, match=message):
        ChainCRF(**parameters).fit(X, y)


def test_a_label_that_y_lacks_is_said() -> None:
    X, y = dense_sequences(4)
    with pytest.warns(UserWarning, match="class_weight names the label 9, which y does not have"):
        fields.Chain(X, y, class_weight={9: 2.0})
    with pytest.warns(UserWarning, match="costs names the label 'x', which y does not have"):
        fields.Chain(X, y, costs={(0, "x"): 2.0})


def test_unknown_labels_have_no_costs() -> None:
    X, y = dense_sequences(4)
    unknown = [[None, *np.asarray(labels).tolist()[1:]] for labels in y]
    with pytest.raises(ValueError, match="class_weight needs to know what is right: label every position"):
        ChainCRF(class_weight="balanced").fit(X, unknown)


def test_weights_of_positions_are_refused_with_the_reason() -> None:
    X, y = dense_sequences(4)
    with pytest.raises(ValueError, match=r"weights of positions.* not be convex: weigh whole sequences.*class_weight"):
        ChainCRF().fit(X, y, sample_weight=[[0.5] * len(labels) for labels in y])


def test_weights_of_sequences_follow_their_labels() -> None:
    y = [["O", "O", "O"], ["B", "O"], ["O"]]
    balanced = {"O": 6 / (2 * 5), "B": 6 / 2}
    expected = np.array([balanced["O"], (balanced["B"] + balanced["O"]) / 2, balanced["O"]])
    np.testing.assert_allclose(sequence_weights(y), expected / expected.mean())
    np.testing.assert_allclose(sequence_weights(y, {"B": 3}), np.array([1, 2, 1]) / (4 / 3))
    with pytest.raises(ValueError, match="sequence 1 of y is empty"):
        sequence_weights([["O"], []])
    with pytest.raises(ValueError, match="got None"):
        sequence_weights(y, None)


def test_a_weight_is_the_logarithm_of_a_cost() -> None:
    classes, codes = np.array(["A", "B"]), np.array([0, 1, 1], dtype=np.int32)
    found = cost_matrix({"A": 5.0}, {("A", "B"): 1.0, ("B", "A"): 2.0}, classes, codes)
    assert found is not None
    np.testing.assert_allclose(found, [[0, np.log(5) + 1], [2, 0]])


def test_oeg_on_threads_takes_costs() -> None:
    solution = solve(problem("bio"), OEG(n_jobs=2), tol=1e-5, max_passes=2000, random_state=3)
    assert solution.primal - reference("bio").primal <= solution.duality_gap
