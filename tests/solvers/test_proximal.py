"""Stochastic methods on the primal with l1: their lazy steps are the dense ones, and lead to the optimum of OWL-QN."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from dualfield import LBFGS, Solution, fields, solve
from dualfield.fields import Field
from dualfield.solvers import SAGA, SGD, SVRG, AdaGrad, Solver
from tests.zoo import bigram_sequences, dense_sequences, points, weights_with_zeros, word_sequences

Vector = npt.NDArray[np.float64]

N = 12
MAKERS: dict[str, Any] = {
    "words": lambda **options: fields.Chain(*word_sequences(N), **options),
    "observed": lambda **options: fields.Chain(
        *word_sequences(N), state_features="observed", transitions="observed", **options
    ),
    "bigrams": lambda **options: fields.Chain(*bigram_sequences(N), **options),
    "points": lambda **options: fields.Multiclass(*points(N), **options),
}
PENALTIES = [(0.3, 0.5), (0.05, 0.01), (1.0, 0.0), (2.0, 3.0)]
every_penalty = pytest.mark.parametrize(("l1", "l2"), PENALTIES)
every_field = pytest.mark.parametrize("kind", MAKERS)


def soft(x: Vector, threshold: Any) -> Vector:
    return np.sign(x) * np.maximum(np.abs(x) - threshold, 0.0)


@cache
def blocks_of(kind: str) -> list[Field]:
    """For each block the same problem in which it alone counts. (Points are kept in an order of their own.)"""
    if kind == "points":
        whole = MAKERS[kind]()
        rows, codes = whole.rows.toarray(), whole.codes
        return [fields.Multiclass(rows, codes, sample_weight=np.eye(N)[i]) for i in range(N)]
    return [MAKERS[kind](sample_weight=np.eye(N)[i]) for i in range(N)]


def slope(kind: str, i: int, w: Vector) -> Vector:
    """The gradient of a block's loss."""
    gradient: Vector = blocks_of(kind)[i].core.gradient(w)[1] - w
    return gradient


def close(found: Vector, expected: Vector) -> bool:
    return bool(np.abs(found - expected).max() <= 1e-10 * max(1.0, np.abs(expected).max()))


# --- the lazy steps are the dense ones ---


def batches(run: Any, batch: int) -> Any:
    """Takes steps one by one; says which blocks each has looked at."""
    while True:
        run.advance(3600.0, 1)
        state = run.arrays()
        end = int(state["next_in_order"][0]) or N
        yield state["order"][end - (N % batch or batch) if end == N else end - batch : end].tolist()


@every_field
@every_penalty
@pytest.mark.parametrize(
    "solver",
    [
        SGD(eta=0.05),
        SGD(eta=0.3, batch_size=5),
        SGD(eta=0.5, schedule="annealed"),
        SGD(eta=1.0, schedule="pegasos"),
        SGD(eta=3.0, schedule="pegasos", batch_size=5),  # its first steps turn the weights round
        SGD(eta=0.1, average=True),
        SGD(eta=1.0, schedule="pegasos", average=True, batch_size=5),
    ],
    ids=repr,
)
def test_sgd_takes_the_steps_of_its_formula(solver: SGD, kind: str, l1: float, l2: float) -> None:
    if l2 < 0.1 and solver.schedule == "pegasos":
        pytest.skip("refused without l2; with little, first steps of 1/l2 magnify rounding from then on")
    field = MAKERS[kind](l1=l1, l2=l2)
    assert field.n_blocks == N  # no two points are the same
    run = solver.start(field, 3)
    w, total, counted = np.zeros(field.dimension), np.zeros(field.dimension), 0
    steps_of_a_pass = -(-N // solver.batch_size)
    for t, batch in enumerate(batches(run, solver.batch_size), 1):
        share = len(batch) / N
        eta = float(solver.eta)
        eta = {"constant": eta, "annealed": eta / t, "pegasos": eta / (share * t) / (l2 or 1.0)}[solver.schedule]
        gradient = sum(slope(kind, i, w) for i in batch) + share * l2 * w
        w = soft(w - eta * gradient, eta * share * l1)
        if solver.average and t > steps_of_a_pass:
            total, counted = total + w, counted + 1
        if t % 7 == 1 or t < 9:
            assert close(run.weights(), total / counted if counted else w)
        if t == 60:
            break
    assert np.any(w != 0)
    assert np.any(w == 0) or l1 < 1 or kind == "points"


@every_field
@every_penalty
@pytest.mark.parametrize("solver", [AdaGrad(eta=0.3), AdaGrad(eta=0.1, batch_size=5, delta=0.1)], ids=repr)
def test_adagrad_takes_the_steps_of_its_formula(solver: AdaGrad, kind: str, l1: float, l2: float) -> None:
    run = solver.start(MAKERS[kind](l1=l1, l2=l2), 3)
    w, squares = np.zeros(run.field.dimension), np.zeros(run.field.dimension)
    for t, batch in enumerate(batches(run, solver.batch_size), 1):
        gradient = sum(slope(kind, i, w) for i in batch)
        squares += gradient**2
        eta, share = float(solver.eta) / (solver.delta + np.sqrt(squares)), len(batch) / N
        w = soft(w - eta * gradient, eta * share * l1) / (1 + eta * share * l2)
        if t % 7 == 1 or t < 9:
            assert close(run.weights(), w)
        if t == 60:
            break


@every_field
@every_penalty
def test_saga_takes_the_steps_of_its_formula(kind: str, l1: float, l2: float) -> None:
    field = MAKERS[kind](l1=l1, l2=l2)
    run = SAGA(sampling="uniform").start(field, 3)
    w, kept = np.zeros(field.dimension), np.zeros((N, field.dimension))
    visits, left = np.zeros(N), 0
    for t in range(120):
        run.advance(3600.0, 1)
        state = run.arrays()
        (i,) = np.flatnonzero(state["visits"] - visits)
        visits = state["visits"]
        alpha = 1 / (3 * (state["smoothness"][0] + l2 / N))
        new, before = slope(kind, int(i), w), w
        w = soft(w - alpha * (new - kept[i] + kept.sum(axis=0) / N + l2 / N * w), alpha * l1 / N)
        left += int(np.sum(before * w < 0) + np.sum((before != 0) & (w == 0)))
        kept[i] = new
        if t % 7 == 1 or t < 9:
            assert close(run.weights(), w)
    assert left > 0 or l1 < 0.1  # some weights have met zero on their way


@pytest.mark.parametrize("average", [False, True])
def test_many_steps_are_still_those_of_the_formula(average: bool) -> None:
    # More than are remembered at a time.
    field = MAKERS["words"](l1=0.1, l2=0.2)
    run = SGD(eta=0.1, average=average).start(field, 0)
    w, total, counted = np.zeros(field.dimension), np.zeros(field.dimension), 0
    for t, (i,) in enumerate(batches(run, 1), 1):
        w = soft(w - 0.1 * (slope("words", i, w) + 0.2 / N * w), 0.1 / N * 0.1)
        if t > N:
            total, counted = total + w, counted + 1
        if t == 1500:
            break
    assert close(run.weights(), total / counted if average else w)


def test_a_step_beyond_all_reason_is_taken_by_all_weights() -> None:
    field = MAKERS["words"](l1=0.1, l2=30.0)
    run = SGD(eta=0.6).start(field, 0)  # 1 - eta l2 / n is negative
    w = np.zeros(field.dimension)
    for t, (i,) in enumerate(batches(run, 1), 1):
        w = soft(w - 0.6 * (slope("words", i, w) + 30.0 / N * w), 0.6 / N * 0.1)
        assert close(run.weights(), w)
        if t == 30:
            break


@pytest.mark.parametrize(
    "solver", [SAGA(), SVRG(), SGD(eta=0.1), SGD(eta=0.1, average=True), AdaGrad(eta=0.1)], ids=repr
)
def test_the_smallest_l1_is_hardly_different_from_none(solver: Solver) -> None:
    weights = [
        solve(MAKERS["words"](l1=l1, l2=0.3), solver, tol=0.0, max_passes=20, random_state=0).weights
        for l1 in (0.0, 1e-14)
    ]
    np.testing.assert_allclose(*weights, atol=1e-10)


# --- they lead to the optimum ---

FIELDS: dict[str, Any] = {
    "chain": lambda **options: fields.Chain(*word_sequences(20), **options),
    "chain-dense": lambda **options: fields.Chain(
        *dense_sequences(20), sample_weight=weights_with_zeros(20), **options
    ),
    "multiclass": lambda **options: fields.Multiclass(*points(40), **options),
}


@cache
def best(name: str, l1: float, l2: float) -> tuple[Field, Solution]:
    field = FIELDS[name](l1=l1, l2=l2)
    return field, solve(field, LBFGS(), tol=1e-11, max_passes=5000)


@pytest.mark.parametrize("kind", FIELDS)
@pytest.mark.parametrize(("l1", "l2"), [(1.0, 1.0), (0.1, 0.1), (3.0, 0.01), (1.0, 0.0), (0.5, 1e-6)])
@pytest.mark.parametrize("solver", [SAGA(), SAGA(n_jobs=2), SAGA(sampling="uniform"), SVRG()], ids=repr)
def test_methods_of_reduced_variance_find_the_optimum(solver: Solver, kind: str, l1: float, l2: float) -> None:
    field, optimum = best(kind, l1, l2)
    solution = solve(field, solver, tol=1e-6 if l2 >= 0.01 else 1e-3, max_passes=5000, random_state=0)
    assert solution.status == "converged"
    assert -1e-10 * optimum.primal <= solution.primal - optimum.primal <= solution.duality_gap
    assert solution.dual <= optimum.primal * (1 + 1e-12)
    assert np.mean((solution.weights == 0) == (optimum.weights == 0)) > 0.9
    assert np.any(solution.weights == 0)


SLOW: list[Solver] = [
    SGD(eta=0.05),
    SGD(eta=0.05, batch_size=4),
    SGD(average=True),
    SGD(schedule="annealed"),
    SGD(schedule="pegasos", eta=1.0),
    AdaGrad(),
]


@pytest.mark.parametrize("kind", FIELDS)
@pytest.mark.parametrize(("l1", "l2"), [(1.0, 1.0), (0.1, 0.1), (0.5, 0.0)])
@pytest.mark.parametrize("solver", SLOW, ids=repr)
def test_the_others_come_near_it(solver: Solver, kind: str, l1: float, l2: float) -> None:
    if l2 == 0 and solver == SGD(schedule="pegasos", eta=1.0):
        pytest.skip("refused")
    field, optimum = best(kind, l1, l2)
    solution = solve(field, solver, tol=0.0, max_passes=100, random_state=0)
    left = 0.1 if getattr(solver, "schedule", "constant") == "constant" else 0.5  # steps of 1/t soon are too short
    assert solution.primal - optimum.primal <= left * (field.primal(np.zeros(field.dimension)) - optimum.primal)
    assert solution.primal - optimum.primal <= solution.duality_gap


@pytest.mark.parametrize("kind", FIELDS)
@pytest.mark.parametrize(("l1", "l2"), [(1.0, 1.0), (0.1, 1e-3), (3.0, 0.01), (1.0, 0.0)])
@pytest.mark.parametrize("solver", [SAGA(), SVRG(), SGD(), SGD(average=True), AdaGrad()], ids=repr)
def test_certificates_hold_at_any_pass(solver: Solver, kind: str, l1: float, l2: float) -> None:
    field, optimum = best(kind, l1, l2)
    for passes in (1, 2, 4, 9, 20):
        solution = solve(field, solver, tol=0.0, max_passes=passes, random_state=1)
        assert solution.certificate == "exact"
        assert solution.primal - optimum.primal <= solution.duality_gap
        assert solution.dual <= optimum.primal * (1 + 1e-13)
        assert solution.primal == pytest.approx(field.primal(solution.weights), rel=1e-12)


def test_a_saved_state_goes_on_as_if_it_had_never_stopped() -> None:
    field = FIELDS["chain"](l1=0.2, l2=0.1)
    for solver in (SAGA(), SAGA(n_jobs=2), SVRG(), SGD(eta=0.1, average=True), AdaGrad(eta=0.1)):
        run = solver.start(field, 5)
        for _ in range(33):
            run.advance(3600.0, 1)
        other = solver.start(field, 0).restore(run.arrays())
        one, two = (solve(field, solver, tol=0.0, max_passes=6, state=state) for state in (run, other))
        assert np.array_equal(one.weights, two.weights)


def test_given_weights_are_the_start() -> None:
    field, optimum = best("chain", 0.1, 0.1)
    for solver in (SAGA(), SVRG(), SGD(eta=0.01), SGD(eta=0.01, average=True), AdaGrad(eta=0.01)):
        run = solver.start(field, 0)
        run.begin_at(optimum.weights)
        assert np.array_equal(run.weights(), optimum.weights)
    # the first pass of SVRG takes the gradient at the start and moves nothing
    assert solve(field, SVRG(), tol=1e-9, start=optimum.weights, random_state=0).passes == 1


def test_pegasos_needs_l2() -> None:
    with pytest.raises(TypeError, match=r"^SGD with schedule='pegasos' needs l2 > 0.*use schedule='annealed'\.$"):
        solve(FIELDS["chain"](l1=0.5, l2=0.0), SGD(schedule="pegasos"))
