"""Threads: what a run finds depends on how many there are at most, and never on their timing."""

from __future__ import annotations

import ast
import multiprocessing
import os
import subprocess
import sys
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from sklearn.model_selection import cross_val_score

from dualfield import LBFGS, OEG, SDCA, ChainCRF, SoftmaxRegression, l2_path, solve
from dualfield.datasets import travel_sentences
from dualfield.fields import Chain, Field, Multiclass
from dualfield.solvers import SAG, SAGA, SGD, Hybrid, Solver, resolve
from dualfield.solvers.base import compiled
from dualfield.solvers.dual import WINDOW_OF_A_THREAD
from dualfield.solvers.resolving import on_one_thread
from tests.zoo import PROBLEMS, dense_sequences, finish, problem

every_kind = pytest.mark.parametrize(
    "name", [name for name in PROBLEMS if problem(name).exact and not problem(name).l1]
)


def after(core: Any, passes: int) -> tuple[npt.NDArray[np.float64], float]:
    """The weights and the dual value after some passes."""
    finish(core.start)
    assert core.run(passes * core.updates_per_pass, 3600.0) == passes * core.updates_per_pass
    return core.weights(), core.dual


def made(field: Field, method: str, threads: int, window: int) -> Any:
    draws = {"sampling": "gap", "non_uniformity": 0.8, "permutation_every": 3, "seed": 5}
    shared = {
        **draws,
        "l1": 0.0,
        "centre": None,
        "threads": threads,
        "window": window,
        "workers": 0,
        "precision": "double",
    }
    if method == "OEG":
        return compiled(method, field, **shared, accelerate=True, secant=True)
    steps = {"step": "newton", "subprecision": 1e-3, "step_size": 0.0, "init": "mixture", "epsilon": 0.0}
    return compiled(method, field, SDCA.needs, **shared, accelerate=False, **steps)


@pytest.mark.parametrize("method", ["OEG", "SDCA"])
@every_kind
def test_threads_change_a_window_by_rounding_alone(method: str, name: str) -> None:
    field = problem(name)
    alone = after(made(field, method, 1, 6), 4)
    for threads in (2, 3):
        weights, dual = after(made(field, method, threads, 6), 4)
        # A line search that accepts at one rounding and goes on at another changes more than the last digits.
        tol = 1e-7 if method == "SDCA" else 1e-9
        np.testing.assert_allclose(weights, alone[0], rtol=tol, atol=tol * np.abs(weights).max())
        assert dual == pytest.approx(alone[1], rel=1e-9)


@pytest.mark.parametrize("solver", [OEG(n_jobs=2), SAG(n_jobs=2)], ids=repr)
@pytest.mark.parametrize("every", [1, 7, 20])
def test_callbacks_come_at_the_ends_of_windows_and_change_nothing(every: int, solver: Solver) -> None:
    field = problem("multiclass-dense")
    seen: list[int] = []
    silent = solve(field, solver, tol=0.0, max_passes=3, random_state=0)
    spoken = solve(
        field,
        solver,
        tol=0.0,
        max_passes=3,
        random_state=0,
        callbacks=[lambda progress: seen.append(progress.updates)],
        callback_every=every,
    )
    assert np.array_equal(silent.weights, spoken.weights)
    assert seen == sorted(set(seen))
    assert {field.n_blocks, 2 * field.n_blocks, 3 * field.n_blocks} <= set(seen)
    for before, now in pairwise(seen):
        assert now // every > before // every or now % field.n_blocks == 0


@pytest.mark.parametrize("method", ["OEG", "SDCA"])
@every_kind
def test_the_weights_belong_to_the_marginals_after_windows(method: str, name: str) -> None:
    core = made(problem(name), method, 2, 5)
    weights, dual = after(core, 3)
    finish(core.confirm)
    np.testing.assert_allclose(core.confirmed_weights(), weights, rtol=1e-9, atol=1e-9 * np.abs(weights).max())
    primal, lower, _ = core.certificate
    assert lower <= primal
    assert dual == pytest.approx(lower, rel=1e-9, abs=1e-9 * primal)


@every_kind
@pytest.mark.parametrize("solver", [LBFGS, Hybrid])
def test_gradients_do_not_depend_on_threads(solver: type[Solver], name: str) -> None:
    field = problem(name)
    one, other = (solve(field, solver(n_jobs=n), tol=0.0, max_passes=6, random_state=0) for n in (1, 3))
    assert np.array_equal(one.weights, other.weights)
    assert (one.primal, one.duality_gap) == (other.primal, other.duality_gap)


def wide(l1: float, n_attributes: int = 9000) -> Chain:
    """A chain of three labels with weights for many chunks of a pass over them, the last one not full."""
    random = np.random.default_rng(0)
    lengths = random.integers(1, 8, size=60)
    X = [[[f"a{a}" for a in random.choice(n_attributes, 40, replace=False)] for _ in range(n)] for n in lengths]
    y = [random.choice(["A", "B", "C"], size=n).tolist() for n in lengths]
    field = Chain(X, y, 0.5, l1=l1)
    assert field.dimension > 2 * 8192
    return field


@pytest.mark.parametrize(("solver", "l1"), [(LBFGS, 0.0), (LBFGS, 0.3), (Hybrid, 0.0)])
def test_passes_over_many_weights_do_not_depend_on_threads(solver: type[Solver], l1: float) -> None:
    field = wide(l1)
    one, *others = (solve(field, solver(n_jobs=n), tol=0.0, max_passes=15, random_state=0) for n in (1, 2, 3))
    for other in others:
        assert np.array_equal(one.weights, other.weights)
        assert (one.primal, one.duality_gap) == (other.primal, other.duality_gap)


def dense_points(n: int) -> Multiclass:
    """Points whose attributes are all alike in size, so that the gradients of blocks have much in common."""
    X = 1.0 + 0.5 * np.random.default_rng(0).normal(size=(n, 6))
    return Multiclass(X, (X @ np.arange(6) > X.mean(axis=0) @ np.arange(6)).astype(int), l2=0.1)


def dense_chain(n: int) -> Chain:
    """Chains of few attributes, a third of them at each position."""
    random = np.random.default_rng(0)
    X = [[[f"a{a}" for a in random.choice(30, 10, replace=False)] for _ in range(5)] for _ in range(n)]
    return Chain(X, [["AB"[("a1" in words) ^ (random.random() < 0.3)] for words in sequence] for sequence in X])


@pytest.mark.parametrize("method", [OEG, SDCA])
@pytest.mark.parametrize("field", [dense_chain(300), dense_points(300)], ids=["chain", "points"])
def test_windows_are_short_where_blocks_have_much_in_common(field: Field, method: Any) -> None:
    one, two = (solve(field, method(n_jobs=n), tol=1e-4, max_passes=400, random_state=0) for n in (1, 2))
    assert one.status == two.status == "converged"
    assert two.passes <= 1.75 * one.passes  # windows of eight would take five times as many of SDCA
    longest, window, *_ = two.state.arrays()["windows"]
    assert window < longest == WINDOW_OF_A_THREAD * 2


@pytest.mark.parametrize("method", [OEG, SDCA])
@pytest.mark.parametrize(("before", "after"), [(1, 2), (2, 1), (2, 3)])
def test_a_saved_run_goes_on_with_another_number_of_threads(before: int, after: int, method: Any) -> None:
    field = dense_chain(300)
    saved = solve(field, method(n_jobs=before), tol=0.0, max_passes=5, random_state=0).state.arrays()
    revived = method(n_jobs=after).start(field, 0).restore(saved)
    solution = solve(field, method(n_jobs=after), tol=1e-4, max_passes=400, state=revived)
    assert solution.status == "converged"
    crowding, windows = (solution.state.arrays()[name] for name in ("crowding", "windows"))
    assert windows[0] == (1 if after == 1 else WINDOW_OF_A_THREAD * after)
    assert 1.0 <= crowding[0] <= windows[0]


@pytest.mark.parametrize(("method", "options"), [("SAG", {}), ("SAGA", {"l1": 0.0}), ("SAGA", {"l1": 0.3})])
@pytest.mark.parametrize("sampling", ["uniform", "nus", "nus*"])
@pytest.mark.parametrize("field", [wide(0.0), dense_points(150)], ids=["chain", "points"])
def test_average_gradients_depend_on_the_window_and_not_on_threads(
    field: Field, method: str, options: dict[str, float], sampling: str
) -> None:
    states, estimates = [], []
    for threads in (1, 2, 3):
        core = compiled(method, field, sampling=sampling, threads=threads, window=12, seed=5, **options)
        assert core.run(7 * field.n_blocks, 3600.0) == 7 * field.n_blocks
        states.append(core.save())
        states[-1]["weights"] = core.weights()
        estimates.append(core.estimate())
    for state in states[1:]:
        for name, array in states[0].items():
            if name == "cosine":  # each thread sums over its own part of the weights
                np.testing.assert_allclose(array, state[name], rtol=1e-9)
            else:
                assert np.array_equal(array, state[name], equal_nan=True), name
    np.testing.assert_allclose(estimates, estimates[:1] * 3, rtol=1e-9)


@pytest.mark.parametrize("kind", [SAG, SAGA])
@pytest.mark.parametrize("sampling", ["nus*", "nus", "uniform"])
@pytest.mark.parametrize("field", [wide(0.0), dense_points(150)], ids=["chain", "points"])
def test_average_gradients_converge_in_windows(field: Field, kind: Any, sampling: str) -> None:
    one, two = (solve(field, kind(sampling, n), tol=1e-6, max_passes=4000, random_state=0) for n in (1, 2))
    assert one.status == two.status == "converged"
    assert two.passes <= 2 * one.passes + 5  # without the bound on windows, SAG diverges on points
    assert not np.array_equal(one.weights, two.weights)


def two_loops(pairs: npt.NDArray[np.float64], g: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """H g, by the recursion on vectors (Nocedal 1980)."""
    q, projections = g.copy(), []
    for s, y in pairs[::-1]:
        projections.append(s @ q / (s @ y))
        q -= projections[-1] * y
    s, y = pairs[-1]
    q *= s @ y / (y @ y)
    for (s, y), projection in zip(pairs, projections[::-1], strict=True):
        q += (projection - y @ q / (s @ y)) * s
    return q


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("passes", [3, 9, 20])  # below and above the number of corrections
def test_the_direction_is_that_of_the_two_loop_recursion(passes: int, threads: int) -> None:
    field = wide(0.0)
    core = compiled("LBFGS", field, corrections=5, first_sample=2**62, growth=1.0, threads=threads, seed=0)
    core.run(passes * core.left_in_pass, 3600.0)
    state = core.save()
    pairs = state["corrections"].reshape(-1, 2, field.dimension)
    assert len(pairs) == min(5, core.updates)
    expected = -two_loops(pairs, state["gradient"])
    np.testing.assert_allclose(state["step_direction"], expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("passes", [3, 9, 20])
def test_with_l1_the_recursion_is_cut_to_the_weights_that_move(passes: int, threads: int) -> None:
    field = wide(0.3)
    core = compiled("OWLQN", field, corrections=5, l1=field.l1, centre=None, threads=threads)
    core.run(passes * core.left_in_pass, 3600.0)
    state = core.save()
    free = (state["change"] != 0) | (state["pseudo_gradient"] != 0)
    assert 0.05 < free.mean() < 0.95
    pairs = state["corrections"].reshape(-1, 2, field.dimension) * free
    pairs = pairs[[s @ y > 0 for s, y in pairs]]
    expected = -two_loops(pairs, state["pseudo_gradient"])
    expected[(state["change"] == 0) & (expected * state["pseudo_gradient"] >= 0)] = 0
    np.testing.assert_allclose(state["direction"], expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


def test_named_solvers_take_the_threads_that_are_asked_for() -> None:
    auto = problem("chain-dense").default_solver
    assert resolve("oeg", auto, 3) == OEG(n_jobs=3)
    assert resolve("sag", auto, 3) == SAG(n_jobs=3)
    assert resolve("svrg", auto, 3) == resolve("svrg", auto)  # has no threads
    assert resolve(SDCA(n_jobs=2), auto, 3) == SDCA(n_jobs=2)
    assert resolve(SDCA(n_jobs=1), auto, 3) == SDCA(n_jobs=1)
    assert resolve(SDCA(), auto, 3) == SDCA(n_jobs=3)
    assert resolve(SDCA(), auto, 1) == resolve("sdca", auto) == SDCA()

    def threads_and_window(solver: Any, n_blocks: int) -> tuple[int, int]:
        field: Any = SimpleNamespace(n_blocks=n_blocks, l1=0.0, centre=None)
        options = solver._options(field, 0, single=False)
        return options["threads"], options["window"]

    assert threads_and_window(OEG(n_jobs=3), 100) == (3, 3 * WINDOW_OF_A_THREAD)
    assert threads_and_window(OEG(n_jobs=100), 9) == (2, 2 * WINDOW_OF_A_THREAD)
    assert threads_and_window(OEG(n_jobs=100), 1) == threads_and_window(OEG(), 100) == (1, 1)


@pytest.mark.parametrize("solver", [OEG, SDCA, LBFGS, Hybrid, SAG, SAGA])
@pytest.mark.parametrize("n_jobs", [0, -2, 1.5, True, "two"])
def test_numbers_of_threads_that_make_no_sense_are_refused(solver: Any, n_jobs: Any) -> None:
    with pytest.raises(ValueError, match=r"n_jobs must be a positive integer, -1 for all cores, or None; got "):
        solver(n_jobs=n_jobs)


def test_methods_on_one_thread_say_so_in_python_as_on_the_command_line() -> None:
    field = problem("chain-dense")
    message = r"^n_jobs=2: sgd works on one thread; choose one of sdca, oeg, lbfgs, .*, or leave n_jobs out\.$"
    for solver in ("sgd", SGD(eta=0.1)):
        with pytest.warns(UserWarning, match=message):
            solve(field, solver, tol=0.5, n_jobs=2, random_state=0)
    with pytest.warns(UserWarning, match=message):
        l2_path(field, [1.0], "sgd", tol=0.5, n_jobs=2, random_state=0)
    with pytest.warns(UserWarning, match=message):
        ChainCRF(solver="sgd", tol=0.5, n_jobs=2, random_state=0).fit([[["a"], ["b"]]], [["A", "B"]])
    solve(field, "sgd", tol=0.5, n_jobs=1, random_state=0)
    solve(field, "auto", tol=0.5, n_jobs=2, random_state=0)
    assert on_one_thread("sgd", "--jobs", 2) == on_one_thread("sgd", "n_jobs", 2).replace("n_jobs=", "--jobs ").replace(
        "n_jobs", "--jobs"
    )


def fitted(seed: int) -> float:
    sentences = travel_sentences(40, seed)
    X = [[{"word": word} for word, _ in sentence] for sentence in sentences]
    y = [[tag for _, tag in sentence] for sentence in sentences]
    return float(ChainCRF(n_jobs=2, random_state=0).fit(X, y).solution_.primal)


def test_a_process_may_fork_between_runs() -> None:
    here = fitted(0)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map(fitted, [0, 0]) == [here, here]


# Threads of this process, before it works on several, after that, and after it has forked.
COUNTED = """
import os
from dualfield import LBFGS, fields, solve
from tests.zoo import dense_sequences

def threads():
    return len(os.listdir("/proc/self/task"))

field = fields.Chain(*dense_sequences(3000))
counts = [threads()]
for _ in range(3):
    solution = solve(field, LBFGS(n_jobs=3), tol=1e-2)
    counts.append(threads())
if os.fork() == 0:
    again = solve(field, LBFGS(n_jobs=3), tol=1e-2)
    os._exit(0 if (again.weights == solution.weights).all() and threads() == counts[1] else 1)
counts.append(threads())
assert os.wait()[1] == 0
print(counts)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="counts threads as Linux shows them")
def test_threads_wait_for_more_work_and_end_before_a_fork() -> None:
    # NumPy's own threads end at a fork, too.
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-c", COUNTED]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)
    assert done.returncode == 0, done.stderr
    before, *after, forked = ast.literal_eval(done.stdout)
    assert after == [before + 2] * 3
    assert forked == before


def test_few_numbers_are_worked_on_by_one_thread() -> None:
    X, y = dense_sequences(20)
    crf = ChainCRF(random_state=0, solver="lbfgs", n_jobs=64).fit(X, y)
    assert crf.predict(X) == crf.set_params(n_jobs=1).predict(X)


@pytest.mark.parametrize("n_jobs", [2, 5])
def test_answers_do_not_depend_on_threads(n_jobs: int) -> None:
    X, y = dense_sequences(4000)
    crf = ChainCRF(random_state=0, max_passes=3, tol=1.0).fit(X, y)
    alone = crf.predict(X), crf.predict_marginals(X), crf.predict_confidence(X), crf.predict_posterior(X)
    crf.set_params(n_jobs=n_jobs)
    labels, marginals, confidences, posterior = (
        crf.predict(X),
        crf.predict_marginals(X),
        crf.predict_confidence(X),
        crf.predict_posterior(X),
    )
    assert labels == alone[0]
    assert posterior == alone[3]
    np.testing.assert_array_equal(np.concatenate(marginals), np.concatenate(alone[1]))
    np.testing.assert_array_equal(confidences, alone[2])


def test_estimators_train_on_threads_inside_processes() -> None:
    X = np.random.default_rng(0).normal(size=(60, 5))
    y = X[:, 0] > 0
    scores = cross_val_score(SoftmaxRegression(n_jobs=2, random_state=0), X, y, n_jobs=2, cv=3)
    assert scores.min() > 0.7
