"""Refreshing the recorded gaps, and what dual methods record of each pass."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dualfield import OEG, SDCA, fields, solve
from tests.zoo import finish, points, problem

some_problems = pytest.mark.parametrize("name", ["chain-words", "chain-weighted", "multiclass-weighted"])
both = pytest.mark.parametrize("solver", [SDCA(refresh_every=3, accelerate=False), OEG(refresh_every=3)], ids=repr)


@both
@some_problems
def test_the_true_gap_is_recorded_at_each_refresh(solver: Any, name: str) -> None:
    history = solve(problem(name), solver, tol=0.0, max_passes=7, random_state=0).history
    assert np.flatnonzero(~np.isnan(history["true_gap"])).tolist() == [2, 5]
    assert np.isfinite(history["gap_estimate"]).all()


@both
@some_problems
def test_a_refresh_makes_every_recorded_gap_exact(solver: Any, name: str) -> None:
    field = problem(name)
    run = solver.start(field, 0)
    for _ in range(3):
        finish(run.advance)
    gap, primal = run.estimate()
    row = run.record()
    assert gap == pytest.approx(row["true_gap"], rel=1e-6, abs=1e-11 * primal)
    assert field.primal(run.weights()) - run._core.dual == pytest.approx(gap, rel=1e-6, abs=1e-11 * primal)
    assert row["gap_estimate"] != gap  # what was estimated before


def test_without_a_refresh_the_true_gap_is_that_of_confirming_passes() -> None:
    history = solve(problem("chain-dense"), SDCA(accelerate=False), tol=1e-4, random_state=0).history
    np.testing.assert_array_equal(history["true_gap"], history["duality_gap"])
    assert np.isfinite(history["true_gap"][-1])


@both
@some_problems
def test_a_refresh_in_slices_is_the_same(solver: Any, name: str) -> None:
    field = problem(name)
    whole, sliced = solver.start(field, 1), solver.start(field, 1)
    for _ in range(7):
        finish(whole.advance)
        finish(sliced.advance, 0.0)
    assert np.array_equal(whole.weights(), sliced.weights())
    assert whole.oracle_calls == sliced.oracle_calls


@both
@some_problems
def test_a_run_saved_within_a_refresh_goes_on_in_a_new_one(solver: Any, name: str) -> None:
    field = problem(name)
    whole, broken = solver.start(field, 1), solver.start(field, 1)
    for _ in range(3):
        finish(whole.advance)
    per_pass = whole._core.updates_per_pass
    while broken.updates < 3 * per_pass:
        assert not broken.advance(0.0) or broken.updates < 3 * per_pass
    assert not broken.advance(0.0)  # all updates done, all gaps still to be computed
    revived = solver.start(field, 99).restore(broken.arrays())
    assert not revived.advance(0.0)
    finish(revived.advance, 0.0)
    assert revived.updates == 3 * per_pass
    assert np.array_equal(revived.weights(), whole.weights())


def test_refreshing_lets_max_converge_without_passes_in_random_order() -> None:
    field = fields.Multiclass(*points(40, seed=5))
    solver = SDCA(sampling="max", permutation_every=0, refresh_every=1, accelerate=False)
    solution = solve(field, solver, tol=1e-8, max_passes=2000, random_state=0)
    assert solution.status == "converged"


# --- the columns ---


def test_sdca_records_what_its_documentation_lists() -> None:
    history = solve(problem("chain-dense"), SDCA(accelerate=False), tol=0.0, max_passes=20, random_state=0).history
    columns = ["dual", "gap_estimate", "true_gap", "chi", "mean_step", "line_search_evaluations", "line_search_share"]
    assert set(columns) < set(history)
    assert all(f"``{column}``" in (SDCA.__doc__ or "") for column in columns)
    assert np.all((history["mean_step"] > 0) & (history["mean_step"] <= 1))
    assert np.all(history["line_search_evaluations"] >= 0)


def test_the_line_search_takes_a_share_of_the_time() -> None:
    # Twelve blocks a pass: passes without a timed update have no share.
    share = solve(problem("chain-dense"), SDCA(accelerate=False), tol=0.0, max_passes=20, random_state=0).history[
        "line_search_share"
    ]
    known = share[~np.isnan(share)]
    assert 10 <= len(known) < 20
    assert np.all((known > 0) & (known < 1))
