"""What every solver promises on every problem: the optimum, a true certificate, repeatability, and an orderly end."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from scipy import optimize

from dualfield import LBFGS, SDCA, Progress, Solution, fields, solve
from dualfield.fields import Field
from dualfield.solvers import Solver
from dualfield.solvers.dual import DualSolver
from tests.zoo import CONVERGENT, ELASTIC, PROBLEMS, RELAXED, SOLVERS, dense_sequences, points, problem, reference

every_solver = pytest.mark.parametrize("solver", SOLVERS, ids=repr)
every_convergent_solver = pytest.mark.parametrize("solver", CONVERGENT, ids=repr)
every_problem = pytest.mark.parametrize("name", PROBLEMS | ELASTIC | RELAXED)
some_problems = pytest.mark.parametrize("name", ["chain-words", "chain-weighted", "multiclass-dense"])


def close(a: float, b: float, tolerance: float = 1e-9) -> bool:
    return abs(a - b) <= tolerance * max(1.0, abs(b))


def assert_objective_is_that_of_the_weights(field: Field, solution: Solution) -> None:
    """To the last digits; with approximate inference it is the upper side of what is proven."""
    found = field.primal(solution.weights)
    if field.exact:
        assert close(solution.primal, found, 1e-12)
    else:
        assert -1e-12 * abs(found) <= solution.primal - found <= solution.duality_gap


# --- the optimum ---


@every_convergent_solver
@every_problem
def test_the_optimum_is_that_of_lbfgs(solver: Solver, name: str) -> None:
    field, best = problem(name), reference(name)
    solution = solve(field, solver, tol=1e-7, max_passes=20_000, random_state=0)
    assert solution.status == "converged"
    assert -1e-10 * best.primal <= solution.primal - best.primal <= solution.duality_gap
    # l2/2 ‖w − w*‖² <= P(w) − P*, for both
    distance = sum(np.sqrt(2 * s.duality_gap / field.l2) for s in (solution, best))
    assert np.linalg.norm(solution.weights - best.weights) <= distance


@every_convergent_solver
@pytest.mark.parametrize("name", ["chain-dense", "multiclass-dense"])
def test_the_optimum_is_that_of_scipy(solver: Solver, name: str) -> None:
    field = problem(name)
    independent = optimize.minimize(
        field.gradient, np.zeros(field.dimension), jac=True, method="L-BFGS-B", options={"ftol": 0, "gtol": 1e-9}
    )
    solution = solve(field, solver, tol=1e-9, max_passes=20_000, random_state=0)
    assert close(solution.primal, independent.fun, 2e-9)
    np.testing.assert_allclose(solution.weights, independent.x, atol=1e-3)


# --- the certificate ---


@every_convergent_solver
@every_problem
def test_duality_gap_bounds_suboptimality(solver: Solver, name: str) -> None:
    field, best = problem(name), reference(name)
    for tol in (1e-1, 1e-2, 1e-3, 1e-4, 1e-6):
        solution = solve(field, solver, tol=tol, max_passes=20_000, random_state=1)
        assert solution.status == "converged"
        assert solution.certificate == ("exact" if field.exact else "relaxed")
        assert solution.duality_gap <= tol * solution.primal
        # The optimum lies between best.dual and best.primal.
        assert solution.primal - best.primal <= solution.duality_gap
        assert solution.dual <= best.primal * (1 + 1e-14)
        assert solution.duality_gap >= solution.primal - solution.dual
        assert_objective_is_that_of_the_weights(field, solution)
        assert solution.relative_gap == solution.duality_gap / solution.primal


@every_solver
@every_problem
def test_the_certificate_holds_at_any_pass(solver: Solver, name: str) -> None:
    field, best = problem(name), reference(name)
    for passes in (1, 2, 5):
        solution = solve(field, solver, tol=0.0, max_passes=passes, random_state=2)
        assert solution.primal - best.primal <= solution.duality_gap
        assert solution.dual <= best.primal * (1 + 1e-14)
        assert_objective_is_that_of_the_weights(field, solution)


# --- repeatability ---


def without_times(solution: Solution) -> dict[str, Any]:
    return {column: x for column, x in solution.history.items() if "seconds" not in column and "share" not in column}


@every_solver
@every_problem
def test_the_same_seed_gives_the_same_result(solver: Solver, name: str) -> None:
    one, other = (solve(problem(name), solver, tol=1e-4, max_passes=50, random_state=7) for _ in range(2))
    assert np.array_equal(one.weights, other.weights)
    assert (one.primal, one.dual, one.duality_gap) == (other.primal, other.dual, other.duality_gap)
    assert (one.passes, one.updates, one.oracle_calls) == (other.passes, other.updates, other.oracle_calls)
    for column, values in without_times(one).items():
        np.testing.assert_array_equal(values, other.history[column])


@every_solver
@every_problem
def test_resuming_is_as_if_it_had_never_stopped(solver: Solver, name: str) -> None:
    field = problem(name)
    whole = solve(field, solver, tol=0.0, max_passes=7, random_state=3)
    first = solve(field, solver, tol=0.0, max_passes=3, random_state=3)
    second = solve(field, solver, tol=0.0, max_passes=4, state=first.state)
    assert np.array_equal(second.weights, whole.weights)
    assert second.primal == whole.primal
    # The first run ended with a certificate, and a primal method keeps the best lower bound it has seen.
    assert second.dual == whole.dual or (not isinstance(solver, DualSolver) and second.dual > whole.dual)
    assert first.updates + second.updates == whole.updates


@every_solver
@some_problems
def test_a_resumed_run_counts_its_own_passes_and_its_history_goes_on(solver: Solver, name: str) -> None:
    first = solve(problem(name), solver, tol=0.0, max_passes=2, random_state=3)
    second = solve(problem(name), solver, tol=0.0, max_passes=3, state=first.state)
    assert second.passes == 3
    assert second.history["passes"].tolist() == [3.0, 4.0, 5.0]


def test_a_state_of_another_solver_is_refused() -> None:
    field = problem("chain-dense")
    for one, other in ((SDCA(), LBFGS()), (LBFGS(), SDCA())):
        state = solve(field, one, max_passes=1).state
        with pytest.raises(TypeError, match=rf"comes from {one.name}.*; {other.name}.* cannot go on"):
            solve(field, other, state=state)


def test_a_state_of_other_parameters_is_refused() -> None:
    field = problem("chain-dense")
    state = solve(field, SDCA(sampling="uniform"), max_passes=1).state
    with pytest.raises(TypeError, match=r"comes from SDCA\(sampling='uniform'.*cannot go on"):
        solve(field, SDCA(), state=state)


@every_solver
def test_a_state_of_another_field_is_refused(solver: Solver) -> None:
    state = solve(problem("chain-dense"), solver, max_passes=1).state
    with pytest.raises(ValueError, match="belongs to another field"):
        solve(PROBLEMS["chain-dense"](), solver, state=state)


# --- history and callbacks ---


@every_solver
@every_problem
def test_history_has_one_row_a_pass(solver: Solver, name: str) -> None:
    solution = solve(problem(name), solver, tol=1e-5, max_passes=30, random_state=4)
    history = solution.history
    assert {len(values) for values in history.values()} == {solution.passes}
    assert history["passes"].tolist() == list(range(1, solution.passes + 1))
    for column in ("seconds", "cpu_seconds", "oracle_calls", "updates"):
        assert np.all(np.diff(history[column]) >= 0)
    assert history["seconds"][-1] <= solution.seconds
    assert history["updates"][-1] == solution.updates
    confirmed = ~np.isnan(history["duality_gap"])
    assert np.all(history["duality_gap"][confirmed] >= 0)
    if solution.status == "converged":
        assert history["duality_gap"][-1] == solution.duality_gap
        assert history["primal"][-1] == solution.primal


@every_solver
@every_problem
def test_the_recorded_dual_never_decreases(solver: Solver, name: str) -> None:
    if getattr(solver, "accelerate", False):
        pytest.skip("what rises is the dual of each proximal problem")
    if (getattr(solver, "n_jobs", None) or 1) > 1:
        pytest.skip("steps that are taken together may lower it")
    solution = solve(problem(name), solver, tol=1e-6, max_passes=200, random_state=5)
    dual = solution.history["dual"]
    dual = dual[~np.isnan(dual)]  # where the method knows of one
    slack = 1e-6 if getattr(solver, "memory", "") == "float32" else 1e-9  # of what the run itself knows
    assert np.all(np.diff(dual) >= -slack * np.maximum(1.0, np.abs(dual[1:])))
    assert np.all(dual <= reference(name).primal * (1 + slack) + slack)


@every_solver
@some_problems
def test_callbacks_are_called_after_each_pass(solver: Solver, name: str) -> None:
    field, seen = problem(name), []

    def look(progress: Progress) -> None:
        seen.append(progress)
        assert close(progress.primal(), field.primal(progress.weights()), 1e-12)
        assert (progress.tol, progress.max_passes) == (0.0, 5)
        assert not progress.gap_estimate < 0  # NaN where the method knows of none

    solution = solve(field, solver, tol=0.0, max_passes=5, callbacks=[look], random_state=6)
    assert [progress.passes for progress in seen] == [1, 2, 3, 4, 5]
    assert [progress.seconds for progress in seen] == sorted(progress.seconds for progress in seen)
    assert seen[-1].seconds <= solution.seconds


@every_solver
@some_problems
def test_callbacks_do_not_change_the_result(solver: Solver, name: str) -> None:
    watched = solve(problem(name), solver, tol=1e-5, callbacks=[lambda p: p.primal()], random_state=6)
    alone = solve(problem(name), solver, tol=1e-5, random_state=6)
    assert np.array_equal(watched.weights, alone.weights)


@every_solver
@some_problems
def test_a_callback_that_returns_true_stops_the_run(solver: Solver, name: str) -> None:
    calls: list[int] = []
    callbacks = [lambda p: p.passes == 2, lambda p: calls.append(p.passes)]
    solution = solve(problem(name), solver, tol=0.0, max_passes=9, callbacks=callbacks, random_state=6)
    assert solution.status == "stopped"
    assert solution.passes == 2
    assert calls == [1, 2]  # the others are still told
    assert solution.certificate == "exact"
    assert "stopped by a callback after 2 passes" in solution.message


@every_solver
@some_problems
def test_a_callback_that_returns_something_else_does_not_stop_the_run(solver: Solver, name: str) -> None:
    solution = solve(problem(name), solver, tol=0.0, max_passes=3, callbacks=[lambda p: "go on"])
    assert (solution.status, solution.passes) == ("max_passes", 3)


@every_solver
def test_errors_of_a_callback_reach_the_caller(solver: Solver) -> None:
    def fail(progress: Progress) -> None:
        raise RuntimeError("from the callback")

    with pytest.raises(RuntimeError, match="from the callback"):
        solve(problem("chain-dense"), solver, callbacks=[fail])


# --- how a run ends ---


def interrupt_at(passes: int) -> Any:
    def callback(progress: Progress) -> None:
        if progress.passes == passes:
            raise KeyboardInterrupt

    return callback


@every_solver
@some_problems
def test_an_interrupted_run_keeps_its_weights_and_claims_nothing(solver: Solver, name: str) -> None:
    field = problem(name)
    solution = solve(field, solver, tol=0.0, callbacks=[interrupt_at(3)], random_state=8)
    assert (solution.status, solution.certificate) == ("interrupted", "none")
    assert np.isnan([solution.primal, solution.dual, solution.duality_gap, solution.relative_gap]).all()
    assert solution.passes == 3
    assert np.isfinite(solution.weights).all()
    assert np.any(solution.weights != 0)
    assert np.array_equal(solution.weights, solution.state.weights())
    assert "not known" in solution.message


@every_solver
@some_problems
def test_an_interrupted_run_can_go_on(solver: Solver, name: str) -> None:
    field = problem(name)
    first = solve(field, solver, tol=0.0, callbacks=[interrupt_at(2)], random_state=8)
    second = solve(field, solver, tol=0.0, max_passes=3, state=first.state)
    whole = solve(field, solver, tol=0.0, max_passes=5, random_state=8)
    assert np.array_equal(second.weights, whole.weights)


@every_solver
@some_problems
def test_running_out_of_passes_is_said_with_the_gap_reached(solver: Solver, name: str) -> None:
    solution = solve(problem(name), solver, tol=1e-9, max_passes=2, random_state=9)
    assert (solution.status, solution.passes) == ("max_passes", 2)
    assert solution.certificate == "exact"
    assert solution.relative_gap > 1e-9
    assert f"{solver.name} stopped at max_passes=2 before tol=1e-09" in solution.message
    assert f"within {solution.relative_gap:.1e} (relative) of the optimum" in solution.message


@every_convergent_solver
def test_convergence_is_said_with_the_gap_reached(solver: Solver) -> None:
    solution = solve(problem("chain-dense"), solver, tol=1e-2, random_state=9)
    assert f"{solver.name} converged after {solution.passes} pass" in solution.message
    assert f"within {solution.relative_gap:.1e} (relative) of the optimum" in solution.message


@every_solver
def test_a_pickled_solution_keeps_everything_but_the_state(solver: Solver) -> None:
    solution = solve(problem("chain-dense"), solver, tol=1e-2, random_state=9)
    copy = pickle.loads(pickle.dumps(solution))
    assert copy.state is None
    assert np.array_equal(copy.weights, solution.weights)
    assert (copy.duality_gap, copy.message) == (solution.duality_gap, solution.message)


# --- sample weights ---


def optimum(field: Field, solver: Solver) -> float:
    solution = solve(field, solver, tol=1e-9, max_passes=20_000, random_state=0)
    assert solution.status == "converged"
    return solution.primal


@every_convergent_solver
@pytest.mark.parametrize("kind", ["chain", "multiclass"])
def test_blocks_of_weight_zero_have_no_influence(solver: Solver, kind: str) -> None:
    weights = np.array([1.0, 0.0, 2.0, 1.0, 0.0, 1.0, 1.0, 0.5, 1.0, 1.0])
    kept = np.flatnonzero(weights)
    if kind == "chain":
        X, y = dense_sequences(10, seed=1)
        with_zeros = fields.Chain(X, y, sample_weight=weights)
        without = fields.Chain([X[i] for i in kept], [y[i] for i in kept], sample_weight=weights[kept])
    elif "per-clique access" in solver.needs:
        pytest.skip("one node has no cliques")
    else:
        X, y = points(10, seed=1)
        with_zeros = fields.Multiclass(X, y, sample_weight=weights)
        without = fields.Multiclass(X[kept], y[kept], sample_weight=weights[kept])
    assert list(with_zeros.classes) == list(without.classes)
    assert close(optimum(with_zeros, solver), optimum(without, solver), 3e-9)


@every_convergent_solver
@pytest.mark.parametrize("kind", ["chain", "multiclass"])
def test_weight_two_is_the_block_twice(solver: Solver, kind: str) -> None:
    weights = np.array([1, 2, 1, 2, 1, 1, 3, 1])
    repeats = np.repeat(np.arange(8), weights)
    if kind == "chain":
        X, y = dense_sequences(8, seed=2)
        weighted = fields.Chain(X, y, sample_weight=weights)
        repeated = fields.Chain([X[i] for i in repeats], [y[i] for i in repeats])
    elif "per-clique access" in solver.needs:
        pytest.skip("one node has no cliques")
    else:
        X, y = points(8, seed=2)
        weighted = fields.Multiclass(X, y, sample_weight=weights)
        repeated = fields.Multiclass(X[repeats], y[repeats])
    assert close(optimum(weighted, solver), optimum(repeated, solver), 3e-9)


@every_convergent_solver
def test_scaling_weights_and_penalty_scales_the_objective(solver: Solver) -> None:
    X, y = dense_sequences(8, seed=3)
    plain, scaled = fields.Chain(X, y, 1.0), fields.Chain(X, y, 10.0, sample_weight=np.full(8, 10.0))
    assert close(optimum(scaled, solver), 10 * optimum(plain, solver), 3e-9)


# --- what solve refuses ---


@pytest.mark.parametrize("tol", [-1e-3, np.nan, np.inf, "0.1", None])
def test_a_tolerance_that_makes_no_sense_is_refused(tol: Any) -> None:
    with pytest.raises(ValueError, match="tol must be"):
        solve(problem("chain-dense"), tol=tol)


@pytest.mark.parametrize("max_passes", [0, -1, 1.5, True, None])
def test_a_number_of_passes_that_makes_no_sense_is_refused(max_passes: Any) -> None:
    with pytest.raises(ValueError, match="max_passes must be a positive integer"):
        solve(problem("chain-dense"), max_passes=max_passes)


@pytest.mark.parametrize("solver", ["SGD", "newton", "", None, SDCA])
def test_an_unknown_solver_is_refused_with_the_known_names(solver: Any) -> None:
    with pytest.raises(ValueError, match=r"'auto', 'sdca', 'oeg', 'lbfgs'"):
        solve(problem("chain-dense"), solver)


@every_solver
def test_a_field_that_lacks_something_is_refused_by_name(solver: Solver) -> None:
    class Poor(fields.Chain):
        name = "Poor"
        offers = frozenset({"entropy"})

    with pytest.raises(TypeError, match=rf"{solver.name} needs .*(marginals|access).*, which Poor does not offer"):
        solve(Poor(*dense_sequences(2)), solver)
