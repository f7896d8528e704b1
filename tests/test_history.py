"""The history of a run: without holes as a table and a drawing, and counted on where a run goes on."""

from __future__ import annotations

import copy
import pickle
import sys
from typing import Any

import numpy as np
import pytest

from dualfield import l2_path, solve
from dualfield.history import known_history
from dualfield.solvers import Perceptron, Solver
from tests.zoo import SOLVERS, problem

every_solver = pytest.mark.parametrize("solver", SOLVERS, ids=repr)


class Axes:
    """What ``plot`` asks of Matplotlib's axes, remembered."""

    def __init__(self) -> None:
        self.lines: list[tuple[Any, ...]] = []
        self.settings: dict[str, str] = {}

    def plot(self, *drawn: Any, label: str) -> None:
        self.lines.append((label, *drawn))

    def set(self, **settings: str) -> None:
        self.settings |= settings

    def legend(self) -> None:
        self.settings["legend"] = f"of {len(self.lines)} lines"


@every_solver
def test_a_history_has_no_hole_after_its_first_known_value(solver: Solver) -> None:
    try:
        solution = solve(problem("chain-dense"), solver, tol=1e-3, max_passes=30, random_state=0)
    except TypeError:
        pytest.skip("not for chains")
    known = known_history(solution.history)
    for name, column in known.items():
        first = int(np.argmax(np.isfinite(column)))
        assert np.isfinite(column[first:]).all(), name
        assert len(column) == solution.passes
    confirmed = np.isfinite(solution.history["primal"])
    np.testing.assert_array_equal(known["confirmed"], confirmed)
    np.testing.assert_array_equal(known["objective"][confirmed], solution.history["primal"][confirmed])
    np.testing.assert_array_equal(known["gap"][confirmed], solution.history["duality_gap"][confirmed])
    assert known["objective"][-1] == solution.primal


def test_estimates_stand_where_nothing_is_confirmed() -> None:
    solution = solve(problem("chain-dense"), "oeg", tol=1e-4, random_state=0)
    history, known = solution.history, known_history(solution.history)
    open_ = ~known["confirmed"].astype(bool)
    assert open_.any()
    np.testing.assert_array_equal(known["objective"][open_], (history["dual"] + history["gap_estimate"])[open_])
    np.testing.assert_array_equal(known["gap"][open_], history["gap_estimate"][open_])


def test_the_frame_is_the_known_history() -> None:
    pandas = pytest.importorskip("pandas")
    solution = solve(problem("chain-dense"), "lbfgs", tol=1e-4, random_state=0)
    frame = solution.history_frame()
    assert isinstance(frame, pandas.DataFrame)
    assert not frame[["passes", "objective", "gap", "confirmed"]].isna().any().any()
    assert frame["gap"].iloc[-1] == solution.duality_gap


def test_a_plot_shows_every_pass_and_marks_what_is_confirmed() -> None:
    solution, axes = solve(problem("chain-dense"), "oeg", tol=1e-4, random_state=0), Axes()
    assert solution.plot("seconds", axes) is axes
    (estimate, x, y), (confirmed, at, proven, style) = axes.lines
    assert (estimate, confirmed, style, axes.settings["yscale"]) == ("estimate", "confirmed", "o", "log")
    assert axes.settings["legend"] == "of 2 lines"  # drawn after both
    np.testing.assert_array_equal(x, solution.history["seconds"])
    assert np.isfinite(y).all()
    assert (at[-1], proven[-1]) == (solution.history["seconds"][-1], solution.relative_gap)


def test_matplotlib_draws_it() -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    axes = solve(problem("chain-dense"), "oeg", tol=1e-4, random_state=0).plot()
    assert axes.get_yscale() == "log"


def test_what_cannot_be_drawn_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    solution = solve(problem("chain-dense"), "oeg", random_state=0)
    with pytest.raises(ValueError, match=r"x must be a column of the history, one of 'passes', .* got 'time'"):
        solution.plot("time")
    with pytest.raises(ValueError, match="nothing to draw: this solution has no duality gap"):
        solve(problem("chain-dense"), Perceptron(), max_passes=3).plot()
    monkeypatch.setitem(sys.modules, "pandas", None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        solution.history_frame()
    with pytest.raises(ImportError, match="pip install matplotlib"):
        solution.plot()
    solution.history.clear()
    with pytest.raises(ValueError, match="loaded from a file without its history"):
        solution.plot()


@every_solver
def test_passes_are_counted_on_where_a_run_goes_on(solver: Solver) -> None:
    field = problem("chain-dense")
    try:
        first = solve(field, solver, tol=0.0, max_passes=3, random_state=0)
    except TypeError:
        pytest.skip("not for chains")
    arrays = first.state.arrays()
    for state in (first.state, solver.start(field, 0).restore(arrays)):
        second = solve(field, solver, tol=0.0, max_passes=2, state=state)
        assert second.passes == 2
        assert second.history["passes"].tolist() == [4.0, 5.0]


def test_another_penalty_is_counted_from_its_own_beginning() -> None:
    for solution in l2_path(problem("chain-dense"), [10.0, 1.0, 0.1], "oeg", random_state=0):
        assert solution.history["passes"].tolist() == list(range(1, solution.passes + 1))


def test_pickling_a_run_names_what_can_be_kept() -> None:
    run = solve(problem("chain-dense"), "oeg", random_state=0).state
    for copied in (pickle.dumps, copy.deepcopy):
        with pytest.raises(TypeError, match=r"a run of OEG cannot be pickled.*run.arrays\(\).*restore\(arrays\)"):
            copied(run)
