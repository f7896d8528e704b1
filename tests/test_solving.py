"""Regularisation paths: the same optima as solving each penalty alone, with certificates, in fewer passes."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from dualfield import LBFGS, OEG, SDCA, Solution, fields, l1_path, l2_path, penalty_path, solve
from dualfield.fields import Field
from dualfield.solvers import SAG, SAGA, SGD, SMD, SVRG, AdaGrad, Hybrid, Solver
from tests.zoo import points, problem, word_sequences

L2S = [0.1, 10.0, 1.0]
CONVERGENT = [OEG(), OEG(accelerate=False), SDCA(), SDCA(accelerate=False), LBFGS(), Hybrid(), SAG(), SAGA(), SVRG()]


@pytest.mark.parametrize("solver", [*CONVERGENT, SDCA(step="guaranteed", accelerate=False)], ids=repr)
@pytest.mark.parametrize("name", ["chain-words", "chain-observed", "multiclass-weighted"])
def test_each_point_is_the_optimum_of_its_penalty(solver: Solver, name: str) -> None:
    field = problem(name)
    solutions = l2_path(field, L2S, solver, tol=1e-4, max_passes=20_000, random_state=0)
    for l2, solution in zip(L2S, solutions, strict=True):
        best = solve(field.with_l2(l2), LBFGS(), tol=1e-10, max_passes=5000)
        assert (solution.status, solution.certificate) == ("converged", "exact")
        assert solution.relative_gap <= 1e-4
        assert solution.primal - best.primal <= solution.duality_gap
        assert solution.dual <= best.primal * (1 + 1e-14)
        assert solution.primal == pytest.approx(field.with_l2(l2).primal(solution.weights), rel=1e-12)
        assert solution.state is None


@pytest.mark.parametrize("solver", [SGD(eta=0.01), AdaGrad(eta=0.1), SMD(eta=0.01)], ids=repr)
def test_methods_that_converge_slowly_follow_the_path_too(solver: Solver) -> None:
    for solution in l2_path(problem("chain-dense"), [10.0, 1.0], solver, tol=1e-1, max_passes=20, random_state=0):
        assert solution.certificate == "exact"
        assert solution.duality_gap > 0


def test_a_warm_start_needs_fewer_passes_than_a_cold_one() -> None:
    field, l2s = problem("chain-words"), np.geomspace(10.0, 0.01, 13)
    warm = l2_path(field, l2s, OEG(), tol=1e-3, max_passes=2000, random_state=0)
    cold = [solve(field.with_l2(l2), OEG(), tol=1e-3, max_passes=2000, random_state=0) for l2 in l2s]
    assert sum(s.passes for s in warm) < 0.8 * sum(s.passes for s in cold)


def test_the_field_and_its_other_penalties_share_nothing_that_changes() -> None:
    field = problem("chain-words")
    w = np.linspace(-1.0, 1.0, field.dimension)
    before = field.primal(w)
    other = field.with_l2(7.0)
    assert (field.l2, other.l2) == (1.0, 7.0)
    assert field.primal(w) == before
    assert other.primal(w) == pytest.approx(before + 0.5 * 6.0 * w @ w, rel=1e-12)


def test_the_same_seed_gives_the_same_path_and_repeated_penalties_are_solved_once() -> None:
    field = problem("chain-dense")
    one, other = (l2_path(field, [1.0, 0.1, 1.0], random_state=4) for _ in range(2))
    for a, b in zip(one, other, strict=True):
        assert np.array_equal(a.weights, b.weights)
    assert one[0] is one[2]


def test_an_interrupted_path_says_where_it_ended() -> None:
    def stop(progress: Any) -> None:
        raise KeyboardInterrupt

    with pytest.raises(RuntimeError, match=r"The path ended before l2=0\.1: .*interrupted"):
        l2_path(problem("chain-dense"), [1.0, 0.1], callbacks=[stop])


@pytest.mark.parametrize(
    ("l2s", "message"),
    [
        ([], "l2s is empty"),
        ([1.0, 0.0], "l2 must be a positive"),
        ([1.0, "x"], "l2 must be a positive"),
        (3.0, "l2s must"),
    ],
)
def test_penalties_that_make_no_sense_are_refused(l2s: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        l2_path(problem("chain-dense"), l2s)


# --- l1, and pairs of penalties ---

L1S = [0.1, 2.0, 0.0, 0.5]
WITH_L1 = [OEG(), OEG(accelerate=False), SDCA(), SDCA(accelerate=True), LBFGS(), SAGA(), SVRG()]
PAIRS = [(1.0, 0.1), (0.0, 1.0), (0.2, 1.0), (1.0, 1.0), (0.2, 0.1), (0.0, 0.1)]


def assert_it_is_the_optimum(solution: Solution, field: Field, tol: float) -> None:
    best = solve(field, LBFGS(), tol=1e-10, max_passes=5000)
    assert (solution.status, solution.certificate) == ("converged", "exact")
    assert solution.relative_gap <= tol
    assert -1e-9 * best.primal <= solution.primal - best.primal <= solution.duality_gap
    assert solution.dual <= best.primal * (1 + 1e-13)
    assert solution.primal == pytest.approx(field.primal(solution.weights), rel=1e-12)
    assert solution.state is None


@pytest.mark.parametrize("solver", WITH_L1, ids=repr)
@pytest.mark.parametrize("kind", ["chain-words", "chain-observed", "multiclass-weighted", "chain-l1"])
def test_each_point_is_the_optimum_of_its_l1(solver: Solver, kind: str) -> None:
    field = problem(kind)
    solutions = l1_path(field, L1S, solver, tol=1e-4, max_passes=20_000, random_state=0)
    for l1, solution in zip(L1S, solutions, strict=True):
        assert_it_is_the_optimum(solution, field.with_l1(l1), 1e-4)


@pytest.mark.parametrize("solver", WITH_L1, ids=repr)
@pytest.mark.parametrize("kind", ["chain-words", "multiclass-weighted"])
def test_each_point_is_the_optimum_of_its_pair(solver: Solver, kind: str) -> None:
    field = problem(kind)
    solutions = penalty_path(field, PAIRS, solver, tol=1e-4, max_passes=20_000, random_state=0)
    for pair, solution in zip(PAIRS, solutions, strict=True):
        assert_it_is_the_optimum(solution, field.with_penalties(*pair), 1e-4)


@pytest.mark.parametrize("solver", [OEG(), SDCA(accelerate=True), LBFGS(), SAGA()], ids=repr)
def test_l2_may_be_zero_where_l1_is_not(solver: Solver) -> None:
    field = problem("multiclass-dense")
    pairs = [(1.0, 0.0), (1.0, 0.5), (0.0, 0.5)]
    for pair, solution in zip(pairs, penalty_path(field, pairs, solver, 1e-3, 5000, random_state=0), strict=True):
        assert_it_is_the_optimum(solution, field.with_penalties(*pair), 1e-3)
    only = fields.Multiclass(*points(20), 0.0, l1=1.0)
    for l1, solution in zip([1.0, 0.3], l1_path(only, [1.0, 0.3], solver, 1e-2, 5000, random_state=0), strict=True):
        assert_it_is_the_optimum(solution, only.with_l1(l1), 1e-2)


def test_the_smaller_the_penalty_the_more_weights_are_not_zero() -> None:
    l1s = [8.0, 4.0, 2.0, 1.0, 0.5, 0.25, 0.0]
    counts = [np.count_nonzero(s.weights) for s in l1_path(problem("chain-words"), l1s, tol=1e-6, random_state=0)]
    assert counts == sorted(counts)
    assert counts[0] < counts[-1] // 4


@pytest.mark.parametrize("solver", [OEG(), LBFGS()], ids=repr)
def test_a_warm_start_along_l1_needs_fewer_passes_than_a_cold_one(solver: Solver) -> None:
    field, l1s = fields.Chain(*word_sequences(60), l2=0.01), np.geomspace(3.0, 0.1, 15)
    warm = l1_path(field, l1s, solver, tol=1e-3, max_passes=2000, random_state=0)
    cold = [solve(field.with_l1(l1), solver, tol=1e-3, max_passes=2000, random_state=0) for l1 in l1s]
    assert sum(s.passes for s in warm) < 0.8 * sum(s.passes for s in cold)


def test_a_grid_needs_fewer_passes_than_its_points_alone() -> None:
    field, pairs = fields.Chain(*word_sequences(60)), list(product([1.0, 0.3, 0.1], np.geomspace(1.0, 0.01, 6)))
    warm = penalty_path(field, pairs, OEG(), tol=1e-3, max_passes=2000, random_state=0)
    cold = [solve(field.with_penalties(*pair), OEG(), tol=1e-3, max_passes=2000, random_state=0) for pair in pairs]
    assert sum(s.passes for s in warm) < 0.8 * sum(s.passes for s in cold)


def test_a_path_comes_down_from_the_largest_l1_and_solves_repeated_points_once(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[float, float]] = []

    def watched(field: Field, *arguments: Any, **options: Any) -> Solution:
        seen.append((field.l1, field.l2))
        return solve(field, *arguments, **options)

    monkeypatch.setattr("dualfield.solving.solve", watched)
    pairs = [(0.0, 1.0), (0.5, 0.1), (0.5, 1.0), (0.0, 1.0), (0.0, 0.1)]
    solutions = penalty_path(problem("chain-dense"), pairs, random_state=0)
    assert seen == sorted(set(pairs), reverse=True)
    assert solutions[0] is solutions[3]


def test_the_same_seed_gives_the_same_l1_path() -> None:
    one, other = (l1_path(problem("chain-dense"), [1.0, 0.1, 1.0], random_state=4) for _ in range(2))
    assert one[0] is one[2]
    for a, b in zip(one, other, strict=True):
        assert np.array_equal(a.weights, b.weights)


def test_an_interrupted_path_names_what_varies() -> None:
    def stop(progress: Any) -> None:
        raise KeyboardInterrupt

    field = problem("chain-dense")
    with pytest.raises(RuntimeError, match=r"The path ended before l1=0\.1: .*interrupted"):
        l1_path(field, [1.0, 0.1], callbacks=[stop])
    with pytest.raises(RuntimeError, match=r"The path ended before l1=0, l2=2: .*interrupted"):
        penalty_path(field, [(0.0, 2.0), (1.0, 1.0)], callbacks=[stop])


@pytest.mark.parametrize(
    ("l1s", "message"),
    [
        ([], "l1s is empty"),
        ([1.0, -1.0], "l1 must be a finite number, not negative; got -1.0"),
        ([1.0, "x"], "l1 must be a finite number, not negative; got 'x'"),
        (3.0, "l1s must be a list"),
    ],
)
def test_l1_penalties_that_make_no_sense_are_refused(l1s: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        l1_path(problem("chain-dense"), l1s)


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([], "penalties is empty"),
        ([(0.0, 0.0)], "l2 must be a positive finite number"),
        ([(1.0, -1.0)], "l2 must be a positive finite number"),
        ([(1.0, 1.0), (-1.0, 1.0)], "l1 must be a finite number"),
        ([(1.0, 1.0), (1.0, 1.0, 1.0)], r"entry 1 of penalties is \(1.0, 1.0, 1.0\); expected a pair \(l1, l2\)"),
        ([1.0], r"penalties must be a list of pairs \(l1, l2\)"),
        (3.0, r"penalties must be a list of pairs \(l1, l2\)"),
    ],
)
def test_pairs_that_make_no_sense_are_refused(pairs: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        penalty_path(problem("chain-dense"), pairs)


def test_without_l2_an_l1_of_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="l2 must be a positive finite number"):
        l1_path(fields.Multiclass(*points(20), 0.0, l1=1.0), [1.0, 0.0])


def test_what_a_solver_or_a_field_does_not_take_is_refused_before_any_work() -> None:
    with pytest.raises(TypeError, match=r"SAG cannot minimise the penalty l1=0\.5"):
        l1_path(problem("chain-dense"), [0.0, 0.5], SAG())
    with pytest.raises(TypeError, match="SDCA without acceleration needs l2 > 0"):
        penalty_path(
            problem("chain-dense"), [(1.0, 1.0), (1.0, 0.0)], SDCA(accelerate=False), callbacks=[lambda p: 1 / 0]
        )
    with pytest.raises(TypeError, match=r"^Graph.* has no l1 penalty"):
        l1_path(problem("graph-loops"), [0.5])
    assert l1_path(problem("graph-loops"), [0.0], random_state=0)[0].status == "converged"


def test_other_penalties_share_the_data_and_change_nothing_else() -> None:
    for kind in ("chain-words", "multiclass-weighted"):
        field = problem(kind)
        other = field.with_penalties(0.3, field.l2)
        assert other.core is field.core  # the compiled problem knows no l1
        assert (other.l1, other.l2, field.l1) == (0.3, field.l2, 0.0)
        w = np.linspace(-1.0, 1.0, field.dimension)
        assert other.primal(w) == pytest.approx(field.primal(w) + 0.3 * np.abs(w).sum(), rel=1e-12)
        assert other.with_penalties(0.0, 2.0).same_as(field.with_l2(2.0))
        assert other.with_l2(0.0).with_penalties(0.0, field.l2).same_as(field)


@pytest.mark.parametrize("verbose", [0, 1])
def test_one_callback_may_be_given_by_itself(verbose: int) -> None:
    from dualfield import ChainCRF

    passes: list[float] = []
    X, y = [[{"a": 1}, {"b": 1}]] * 3, [["A", "B"]] * 3
    ChainCRF(random_state=0, verbose=verbose).fit(X, y, callbacks=lambda progress: passes.append(progress.passes))
    assert passes
    before = len(passes)
    l2_path(fields.Chain(X, y), [1.0], callbacks=lambda progress: passes.append(progress.passes))
    assert len(passes) > before


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (None, "callbacks is None; expected a function of a Progress, or a list of functions"),
        (3, "callbacks is 3; expected"),
        ([print, "print"], r"callbacks\[1\] is 'print'; expected"),
    ],
)
def test_what_is_no_callback_is_refused_before_any_work(given: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        l2_path(problem("chain-dense"), [1.0], callbacks=given)
