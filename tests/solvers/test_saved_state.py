"""The state of every run as arrays: a new run goes on from it to the last digit, and a damaged one is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dualfield import driver, fields, solve
from dualfield.fields import Field
from dualfield.solvers import AROW, LBFGS, PA, SAG, SAGA, SGD, SVRG, AdaGrad, Hybrid, Perceptron, Run, Solver
from dualfield.solvers.dual import DualSolver
from tests.zoo import SOLVERS, dense_sequences, finish, problem

EVERY = [*SOLVERS, Perceptron(), Perceptron(average=False), PA(), AROW()]
every_solver = pytest.mark.parametrize("solver", EVERY, ids=repr)
some_problems = pytest.mark.parametrize(
    "name", ["chain-words", "chain-observed", "chain-weighted", "multiclass-weighted", "chain-strong-penalty"]
)


def revived(solver: Solver, field: Field, arrays: dict[str, Any], seed: int = 12345) -> Run:
    return solver.start(field, seed).restore({name: array.copy() for name, array in arrays.items()})


def assert_same_arrays(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert one.keys() == other.keys()
    for name, array in one.items():
        np.testing.assert_array_equal(array, other[name], err_msg=name)
        assert array.dtype == other[name].dtype


def advance(run: Run, passes: int) -> None:
    for _ in range(passes):
        finish(run.advance)


# --- going on ---


@every_solver
@some_problems
def test_a_saved_run_goes_on_as_if_it_had_never_stopped(name: str, solver: Solver) -> None:
    field = problem(name)
    for tol in (0.0, 1e-4):  # with and without confirming passes on the way
        whole = solve(field, solver, tol=tol, max_passes=9, random_state=4)
        first = solve(field, solver, tol=tol, max_passes=4, random_state=4)
        arrays = {key: array.copy() for key, array in first.state.arrays().items()}
        there = solve(field, solver, tol=tol, max_passes=5, state=revived(solver, field, arrays))
        here = solve(field, solver, tol=tol, max_passes=5, state=first.state)
        assert np.array_equal(there.weights, here.weights)
        assert (there.status, there.passes, there.updates) == (here.status, here.passes, here.updates)
        assert there.oracle_calls == here.oracle_calls
        np.testing.assert_array_equal(
            [there.primal, there.dual, there.duality_gap], [here.primal, here.dual, here.duality_gap]
        )
        for column, values in there.history.items():
            if "seconds" not in column and "share" not in column:  # those of time differ
                np.testing.assert_array_equal(values, here.history[column], err_msg=column)
        assert_same_arrays(there.state.arrays(), here.state.arrays())
        if tol == 0.0:
            assert np.array_equal(there.weights, whole.weights)


@every_solver
@some_problems
@pytest.mark.parametrize("slices", [1, 3, 10, 26])
def test_a_run_saved_in_the_middle_of_a_pass_goes_on(name: str, solver: Solver, slices: int) -> None:
    field = problem(name)
    run = solver.start(field, 4)
    if isinstance(solver, DualSolver):
        run.advance(3600.0)  # its start is a slice of its own
    run.advance(3600.0)
    for _ in range(slices):
        run.advance(0.0)  # no time: a block, a batch
    if run.refreshing:  # a refresh cut short would begin again
        run.advance(3600.0)
    arrays = run.arrays()
    again = revived(solver, field, arrays)
    assert_same_arrays(again.arrays(), arrays)
    assert np.array_equal(again.weights(), run.weights())
    for _ in range(3):
        passes = run.advance(0.0), again.advance(0.0)
        assert passes[0] == passes[1]
        assert np.array_equal(again.weights(), run.weights())
    advance(run, 3)
    advance(again, 3)
    assert np.array_equal(again.weights(), run.weights())
    assert (again.updates, again.oracle_calls) == (run.updates, run.oracle_calls)
    if not isinstance(solver, DualSolver):  # whose mean step of a pass is that since the state was restored
        np.testing.assert_array_equal(list(again.record().values()), list(run.record().values()))
    assert_same_arrays(again.arrays(), run.arrays())


@every_solver
def test_slices_of_no_time_give_the_same_result(solver: Solver, monkeypatch: pytest.MonkeyPatch) -> None:
    field = problem("chain-dense")
    whole = solve(field, solver, tol=1e-6, max_passes=12, random_state=4)
    monkeypatch.setattr(driver, "_SLICE_SECONDS", 0.0)
    sliced = solve(field, solver, tol=1e-6, max_passes=12, random_state=4)
    assert np.array_equal(whole.weights, sliced.weights)
    assert (whole.status, whole.passes, whole.oracle_calls) == (sliced.status, sliced.passes, sliced.oracle_calls)


@every_solver
def test_a_state_can_be_saved_before_the_first_pass_or_is_refused(solver: Solver) -> None:
    field = problem("chain-dense")
    run = solver.start(field, 4)
    if isinstance(solver, DualSolver):
        with pytest.raises(ValueError, match="has not started"):
            run.arrays()
        return
    again = revived(solver, field, run.arrays())
    advance(run, 2)
    advance(again, 2)
    assert np.array_equal(again.weights(), run.weights())


@every_solver
def test_saving_copies(solver: Solver) -> None:
    run = solver.start(problem("chain-dense"), 4)
    advance(run, 2)
    arrays = run.arrays()
    copies = {name: array.copy() for name, array in arrays.items()}
    advance(run, 2)
    assert_same_arrays(arrays, copies)
    for array in arrays.values():
        array[...] = 0
    advance(run, 1)
    assert np.isfinite(run.weights()).all()
    assert np.any(run.weights() != 0)


@pytest.mark.parametrize("solver", [SGD(), SGD(schedule="annealed"), AdaGrad()], ids=repr)
def test_the_automatic_step_is_part_of_the_state(solver: Any) -> None:
    # A new run looks for its step anew, and with another seed or on another machine may find another one.
    field = fields.Chain(*dense_sequences(12, seed=3))
    run = type(solver)(**{**vars(solver), "eta": 0.123}).start(field, 0)
    advance(run, 2)
    again = revived(solver, field, run.arrays())
    assert again.eta == 0.123
    advance(again, 2)
    advance(run, 2)
    assert np.array_equal(again.weights(), run.weights())
    assert again.record()["eta"] == 0.123


def test_a_run_that_diverged_stays_so() -> None:
    field = problem("chain-dense")
    solver = SGD(eta=1e6)
    solution = solve(field, solver, max_passes=50, random_state=0)
    assert solution.status == "diverged"
    for state in (revived(solver, field, solution.state.arrays()), solution.state):
        again = solve(field, solver, max_passes=50, state=state)
        assert (again.status, again.certificate, again.updates) == ("diverged", "none", 0)
        assert np.array_equal(again.weights, solution.weights)


# --- damage ---


def damages(arrays: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    """(what, message, damaged arrays): each entry missing, too long, too short, of another type or shape."""
    result = []
    for name, array in arrays.items():
        result.append((f"{name} missing", "lacks an entry", {k: a for k, a in arrays.items() if k != name}))
        changed = {
            "longer": np.concatenate([array, array[:1] if len(array) else np.zeros(1, array.dtype)]),
            "of another type": array.astype(np.complex64),
            "a matrix": array[np.newaxis],
        }
        if len(array):
            changed["shorter"] = array[:-1]
            changed["empty"] = array[:0]
        for what, damaged in changed.items():
            result.append((f"{name} {what}", "does not fit this field", {**arrays, name: damaged}))
    return result


@every_solver
@pytest.mark.parametrize("name", ["chain-weighted", "multiclass-dense"])
def test_a_damaged_state_is_refused_and_changes_nothing(name: str, solver: Solver) -> None:
    field = problem(name)
    saved = solver.start(field, 1)
    advance(saved, 3)
    run = solver.start(field, 2)
    advance(run, 1)
    before = run.arrays()
    for what, message, arrays in damages(saved.arrays()):
        if what == "corrections empty":
            continue  # L-BFGS that has forgotten: as good as another
        with pytest.raises(ValueError, match=message):
            run.restore(arrays)
        assert_same_arrays(run.arrays(), before)
    undisturbed = solver.start(field, 2)
    advance(undisturbed, 2)
    advance(run, 1)
    assert np.array_equal(run.weights(), undisturbed.weights())


@every_solver
def test_a_state_of_another_field_is_refused(solver: Solver) -> None:
    run = solver.start(problem("chain-dense"), 1)
    advance(run, 2)
    for name in ("chain-words", "multiclass-dense", "chain-one-block"):
        if not solver.needs <= problem(name).offers:
            continue
        with pytest.raises(ValueError, match=r"does not fit this field|lacks an entry"):
            revived(solver, problem(name), run.arrays())


INDICES: list[tuple[Solver, str]] = [
    (SGD(0.1), "order"),
    (SGD(0.1), "next_in_order"),
    (AdaGrad(0.1, batch_size=3), "order"),
    (Perceptron(), "order"),
    (Perceptron(), "next_in_order"),
    (SAG("nus"), "unseen"),
    (SVRG(), "cursor"),
    (LBFGS(), "order"),
    (LBFGS(), "cursor"),
    (LBFGS(), "sample"),
    (LBFGS(), "next_sample"),
    (LBFGS(), "started"),
    (Hybrid(), "order"),
    (Hybrid(), "sample"),
]


@pytest.mark.parametrize(("solver", "name"), INDICES, ids=lambda value: str(value))
@pytest.mark.parametrize("value", [-1, 10**6, 2**62, -(2**62)])
def test_indices_that_lead_outside_are_refused(solver: Solver, name: str, value: int) -> None:
    field = problem("chain-dense")
    run = solver.start(field, 1)
    advance(run, 1)
    arrays = run.arrays()
    for place in range(len(arrays[name])):
        damaged = arrays[name].copy()
        damaged[place] = value
        with pytest.raises(ValueError, match="does not fit this field"):
            revived(solver, field, {**arrays, name: damaged})


@pytest.mark.parametrize("solver", [SGD(0.1), Perceptron(), Hybrid(), SAG("nus")], ids=repr)
def test_an_order_that_names_a_block_twice_is_refused(solver: Solver) -> None:
    field = problem("chain-weighted")
    run = solver.start(field, 1)
    advance(run, 1)
    arrays = run.arrays()
    name = "unseen" if isinstance(solver, SAG) else "order"
    for damaged in (np.full_like(arrays[name], arrays[name][0]), np.arange(len(arrays[name]))):
        # In the second a block of weight zero stands for one that counts.
        with pytest.raises(ValueError, match="does not fit this field"):
            revived(solver, field, {**arrays, name: damaged})


@pytest.mark.parametrize("solver", [SGD(), SGD(average=True), SAG(), SAGA(), SVRG()], ids=repr)
def test_a_state_without_what_its_method_keeps_is_refused(solver: Solver) -> None:
    """The numbers of a drift, or of an average, belong to vectors that only some methods have."""
    field = problem("chain-words")
    run = solve(field, solver, max_passes=1, random_state=0).state
    saved = run.arrays()
    foreign = {name: array for name, array in saved.items() if name not in ("lazy_drift", "lazy_average")}
    if len(foreign) < len(saved):
        with pytest.raises(ValueError, match="the saved state lacks an entry"):
            run.restore(foreign)
    run.restore({**saved, "lazy_drift": np.ones(1), "lazy_average": np.ones(2)})
    assert np.isfinite(solve(field, solver, max_passes=1, state=run, random_state=0).weights).all()


@every_solver
def test_counters_beyond_all_use_are_refused(solver: Solver) -> None:
    run = solver.start(problem("chain-words"), 0)
    advance(run, 1)
    saved = run.arrays()
    for extreme in (-1, 2**63 - 1):
        with pytest.raises(ValueError, match="does not fit"):
            run.restore({**saved, "counters": np.full_like(saved["counters"], extreme)})
    run.restore(saved)


def test_a_sample_of_nothing_ends_too() -> None:
    field = problem("chain-words")
    run = solve(field, Hybrid(), max_passes=1, random_state=0).state
    run.restore({**run.arrays(), "sample": np.zeros(1, dtype=np.int64)})
    assert solve(field, Hybrid(), max_passes=3, state=run, random_state=0).passes == 3
