"""Step rules of SDCA: what each promises, and that every certificate is true whatever the step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dualfield import SDCA, fields, solve
from dualfield.solvers.sdca import SDCARun
from tests.zoo import PROBLEMS, finish, points, problem, reference

every_problem = pytest.mark.parametrize("name", PROBLEMS)
some_problems = pytest.mark.parametrize(
    "name", ["chain-dense", "chain-observed", "chain-weighted", "multiclass-weighted"]
)
RULES = ["newton", "newton-1", "golden", "guaranteed", 0.1, 1.0]
every_rule = pytest.mark.parametrize("step", RULES)
careless_rules = pytest.mark.parametrize("step", ["newton-1", 0.3, 1.0])


def after(solver: SDCA, name: str, passes: int) -> SDCARun:
    """A run after so many passes."""
    run = solver.start(problem(name), 0)
    for _ in range(passes):
        finish(run.advance)
    return run


@every_rule
@every_problem
def test_the_bookkeeping_agrees_with_the_confirming_pass(name: str, step: str | float) -> None:
    run = after(SDCA(step=step, accelerate=False), name, 5)
    dual = run._core.dual
    assert run.confirm(3600.0)
    assert run.bound.dual == pytest.approx(dual, rel=1e-9, abs=1e-9)
    np.testing.assert_allclose(run.certified_weights(), run.weights(), rtol=1e-9, atol=1e-9)


@careless_rules
@every_problem
def test_the_certificate_is_true_where_the_dual_may_fall(name: str, step: str | float) -> None:
    field, best = problem(name), reference(name)
    for passes in (1, 2, 5):
        solution = solve(field, SDCA(step=step, accelerate=False), tol=0.0, max_passes=passes, random_state=2)
        assert solution.certificate == "exact"
        assert solution.primal - best.primal <= solution.duality_gap
        assert solution.dual <= best.primal * (1 + 1e-14)


@pytest.mark.parametrize("step", ["newton-1", 0.1])
@some_problems
def test_careless_steps_converge_where_blocks_matter_little(name: str, step: str | float) -> None:
    solution = solve(problem(name), SDCA(step=step, accelerate=False), tol=1e-6, max_passes=2000, random_state=0)
    assert solution.status == "converged"
    assert solution.primal - reference(name).primal <= solution.duality_gap


def test_a_step_that_is_too_long_lowers_the_dual() -> None:
    history = solve(
        problem("multiclass-dense"), SDCA(step=1.0, accelerate=False), tol=0.0, max_passes=20, random_state=0
    ).history
    assert np.diff(history["dual"]).min() < -1e-3


@every_rule
@some_problems
def test_a_saved_run_goes_on_in_a_new_one(name: str, step: str | float) -> None:
    field, solver = problem(name), SDCA(step=step, accelerate=False)
    whole = solve(field, solver, tol=0.0, max_passes=6, random_state=4)
    first = solve(field, solver, tol=0.0, max_passes=2, random_state=4)
    revived = solver.start(field, seed=12345).restore(first.state.arrays())
    second = solve(field, solver, tol=0.0, max_passes=4, state=revived)
    assert np.array_equal(second.weights, whole.weights)
    assert np.array_equal(second.history["mean_step"], whole.history["mean_step"][2:])


def test_evaluations_are_counted() -> None:
    evaluations = {
        step: solve(problem("chain-dense"), SDCA(step=step, accelerate=False), tol=0.0, max_passes=1).history[
            "line_search_evaluations"
        ][0]
        for step in RULES
    }
    assert (evaluations[0.1], evaluations["guaranteed"], evaluations["newton-1"]) == (1, 1, 2)
    assert 1 <= evaluations["newton"] < evaluations["golden"]


def test_a_fixed_step_is_the_mean_step() -> None:
    history = solve(problem("chain-dense"), SDCA(step=0.25, accelerate=False), tol=0.0, max_passes=2).history
    assert history["mean_step"].tolist() == [0.25, 0.25]


# --- the guaranteed step ---


@every_problem
def test_the_guaranteed_step_is_as_stated(name: str) -> None:
    field = problem(name)
    weight = np.ones(field.n_blocks) if field.sample_weight is None else field.sample_weight
    largest = max(c * field.core.radius(i)[1] for i, c in enumerate(weight))
    step = after(SDCA(step="guaranteed", accelerate=False), name, 1).arrays()["step_size"]
    assert step == pytest.approx(field.l2 / (field.l2 + largest), rel=1e-9)


@every_problem
def test_the_guaranteed_step_ascends_by_itself_times_the_gaps(name: str) -> None:
    run = SDCA(step="guaranteed", permutation_every=1, accelerate=False).start(problem(name), 0)
    finish(run._core.start)
    for _ in range(5):
        before = run._core.dual
        run._core.run(run._core.updates_per_pass, 3600.0)  # each block once, its gap recorded just before its step
        gamma = run.arrays()["step_size"][0]
        assert run._core.dual - before >= gamma * run._core.gap_estimate - 1e-9 * max(1.0, abs(before))


@pytest.mark.parametrize("name", ["chain-one-block", "chain-single-positions", "multiclass-weighted"])
def test_the_guaranteed_step_finds_the_optimum(name: str) -> None:
    solution = solve(
        problem(name), SDCA(step="guaranteed", accelerate=False), tol=1e-6, max_passes=5000, random_state=0
    )
    assert solution.status == "converged"
    assert solution.primal - reference(name).primal <= solution.duality_gap


def test_the_guaranteed_step_shrinks_with_the_weights() -> None:
    X, y = points(10)
    one, double = (
        solve(
            fields.Multiclass(X, y, sample_weight=np.full(10, c)),
            SDCA(step="guaranteed", accelerate=False),
            max_passes=1,
        )
        for c in (1.0, 2.0)
    )
    assert double.history["mean_step"][0] < one.history["mean_step"][0]


@pytest.mark.parametrize("step", ["newton-1", 0.01])
def test_a_step_rule_without_a_guarantee_says_so_when_it_ends_early(step: Any) -> None:
    solution = solve(problem("chain-dense"), SDCA(step=step, accelerate=False), tol=1e-12, max_passes=1, random_state=0)
    assert "nothing ensures convergence" in solution.message
