"""Callbacks within a pass: after every so many updates, without any effect on the result but to stop it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dualfield import LBFGS, Progress, driver, solve
from dualfield.solvers import SGD, Hybrid, Perceptron, Solver
from dualfield.solvers.clique import CliqueSolver
from dualfield.solvers.dual import DualSolver
from tests.zoo import SOLVERS, problem, reference

# On several threads they come at the ends of windows; test_threads.py.
BY_UPDATES = [
    solver
    for solver in [*SOLVERS, Perceptron()]
    if not isinstance(solver, LBFGS | Hybrid) and getattr(solver, "n_jobs", None) is None
]
by_updates = pytest.mark.parametrize("solver", BY_UPDATES, ids=repr)
some_problems = pytest.mark.parametrize("name", ["chain-dense", "chain-weighted", "multiclass-dense"])


def per_pass(name: str, solver: Any) -> int:
    field = problem(name)
    if isinstance(solver, CliqueSolver):  # nodes and edges of sequences that count
        counted = np.ones(field.n_blocks) if field.sample_weight is None else field.sample_weight
        return int((2 * field.encoded.lengths - 1)[counted > 0].sum())
    blocks = field.n_blocks if field.sample_weight is None else np.count_nonzero(field.sample_weight)
    return -(-blocks // getattr(solver, "batch_size", 1))


@by_updates
@some_problems
@pytest.mark.parametrize("every", [1, 4, 7, 1000])
def test_they_are_called_after_so_many_updates_and_at_the_ends_of_passes(
    name: str, solver: Solver, every: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    n = per_pass(name, solver)
    expected = sorted({*range(every, 3 * n + 1, every), n, 2 * n, 3 * n})
    for seconds in (0.1, 0.0):  # however the work is sliced
        monkeypatch.setattr(driver, "_SLICE_SECONDS", seconds)
        seen: list[tuple[int, int]] = []
        solve(
            problem(name),
            solver,
            tol=0.0,
            max_passes=3,
            callbacks=[lambda p, seen=seen: seen.append((p.updates, p.passes))],
            callback_every=every,
            random_state=0,
        )
        assert [updates for updates, _ in seen] == expected
        assert [passes for _, passes in seen] == [updates // n for updates in expected]


@by_updates
@some_problems
def test_they_do_not_change_the_result(name: str, solver: Solver) -> None:
    def look(progress: Progress) -> None:
        progress.primal()
        progress.weights()[:] = 0.0

    options: Any = {"tol": 1e-5, "max_passes": 20, "random_state": 6}
    watched = solve(problem(name), solver, callbacks=[look], callback_every=3, **options)
    alone = solve(problem(name), solver, **options)
    assert np.array_equal(watched.weights, alone.weights)
    assert (watched.status, watched.passes, watched.updates) == (alone.status, alone.passes, alone.updates)
    assert watched.oracle_calls == alone.oracle_calls
    for column, values in alone.history.items():
        if "seconds" not in column and "share" not in column:
            np.testing.assert_array_equal(watched.history[column], values, err_msg=column)


@by_updates
@some_problems
def test_they_can_stop_a_run_within_a_pass(name: str, solver: Solver) -> None:
    field, n = problem(name), per_pass(name, solver)
    stop_at = n + n // 2
    solution = solve(
        field,
        solver,
        tol=0.0,
        max_passes=9,
        callbacks=[lambda p: p.updates >= stop_at],
        callback_every=1,
        random_state=6,
    )
    assert (solution.status, solution.passes, solution.updates) == ("stopped", 1, stop_at)
    assert {len(values) for values in solution.history.values()} == {1}  # complete passes only
    assert "stopped by a callback after 1 pass" in solution.message
    if isinstance(solver, Perceptron):
        assert solution.certificate == "none"
        return
    assert np.isnan(solution.history["duality_gap"]).all()  # the certificate is not that of the pass
    assert solution.certificate == "exact"
    assert solution.primal == pytest.approx(field.primal(solution.weights), rel=1e-12)
    assert solution.primal - reference(name).primal <= solution.duality_gap
    if not isinstance(solver, DualSolver):  # whose certified weights are computed afresh
        assert np.array_equal(solution.weights, solution.state.weights())


@by_updates
@some_problems
def test_a_run_stopped_within_a_pass_goes_on(name: str, solver: Solver) -> None:
    field, n = problem(name), per_pass(name, solver)
    first = solve(
        field,
        solver,
        tol=0.0,
        max_passes=9,
        callbacks=[lambda p: p.updates >= n + 1],
        callback_every=1,
        random_state=6,
    )
    assert first.updates == n + 1
    seen: list[int] = []
    second = solve(
        field,
        solver,
        tol=0.0,
        max_passes=2,
        callbacks=[lambda p: seen.append(p.updates)],
        callback_every=10**6,
        state=first.state,
    )
    whole = solve(field, solver, tol=0.0, max_passes=3, random_state=6)
    assert np.array_equal(second.weights, whole.weights)
    assert seen == [n - 1, 2 * n - 1]  # the rest of the pass, and one more


@pytest.mark.parametrize("solver", [LBFGS(), Hybrid()], ids=repr)
def test_methods_whose_steps_take_many_blocks_call_back_at_the_ends_of_passes(
    solver: Solver, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seconds in (0.1, 0.0):
        monkeypatch.setattr(driver, "_SLICE_SECONDS", seconds)
        seen: list[int] = []
        solve(
            problem("multiclass-dense"),
            solver,
            tol=0.0,
            max_passes=5,
            callbacks=[lambda p, seen=seen: seen.append(p.passes)],
            callback_every=1,
            random_state=0,
        )
        assert seen == [1, 2, 3, 4, 5]


def test_without_callbacks_it_has_no_effect() -> None:
    one, other = (
        solve(problem("chain-dense"), SGD(0.1), max_passes=3, callback_every=every, random_state=0)
        for every in (None, 1)
    )
    assert np.array_equal(one.weights, other.weights)


def test_an_error_within_a_pass_reaches_the_caller() -> None:
    def fail(progress: Progress) -> None:
        raise RuntimeError(f"at {progress.updates}")

    with pytest.raises(RuntimeError, match="at 2"):
        solve(problem("chain-dense"), SGD(0.1), callbacks=[fail], callback_every=2)


def test_interrupting_within_a_pass_keeps_the_weights() -> None:
    def interrupt(progress: Progress) -> None:
        if progress.updates == 15:
            raise KeyboardInterrupt

    solution = solve(problem("chain-dense"), SGD(0.1), callbacks=[interrupt], callback_every=5, random_state=0)
    assert (solution.status, solution.passes, solution.updates) == ("interrupted", 1, 15)
    assert np.array_equal(solution.weights, solution.state.weights())


@pytest.mark.parametrize("every", [0, -1, 1.5, True, "3", np.nan])
def test_a_number_of_updates_that_makes_no_sense_is_refused(every: Any) -> None:
    with pytest.raises(ValueError, match="callback_every must be an integer, at least 1; got "):
        solve(problem("chain-dense"), SGD(0.1), callbacks=[print], callback_every=every)
