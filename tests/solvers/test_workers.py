"""Workers that own blocks: what a run finds depends on how many there are, never on the threads that serve them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dualfield import OEG, SDCA, solve
from dualfield.fields import Chain
from dualfield.solvers import LBFGS, Solver
from dualfield.solvers.base import compiled
from dualfield.solvers.dual import LEAST_BLOCKS_OF_A_WORKER, LEAST_WORKERS
from tests.zoo import finish

METHODS = ["OEG", "SDCA"]
LAYOUTS: dict[str, dict[str, Any]] = {
    "all pairs": {},
    "observed pairs": {"state_features": "observed", "transitions": "observed"},
    "nothing but attributes": {"bias": False, "begin": False, "end": False},
    "l1": {"l1": 0.05},
}


def sentences(n: int = 120, n_labels: int = 3, n_attributes: int = 400, seed: int = 0) -> tuple[Any, Any]:
    """Sequences whose words tell the label now and then; some words occur everywhere, most in a few places."""
    random = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        labels = random.integers(0, n_labels, size=random.integers(1, 7))
        words = [[f"is{k}"] if random.random() < 0.6 else ["is"] for k in labels]
        ranks = (n_attributes ** random.random((len(labels), 4))).astype(int)
        X.append([[*word, *(f"w{a}" for a in set(rank.tolist()))] for word, rank in zip(words, ranks, strict=True)])
        y.append([f"L{k}" for k in labels])
    return X, y


def chain(n_labels: int = 3, sample_weight: Any = None, **options: Any) -> Chain:
    return Chain(*sentences(n_labels=n_labels), 0.5, sample_weight=sample_weight, **options)


def made(field: Chain, method: str, workers: int, threads: int, accelerate: bool = False) -> Any:
    draws = {"sampling": "gap", "non_uniformity": 0.8, "permutation_every": 3, "seed": 5}
    concurrency = {"threads": threads, "window": 4 * threads, "workers": workers}
    shared = {**draws, **concurrency, "l1": field.l1, "centre": None, "precision": "double", "accelerate": accelerate}
    if method == "OEG":
        return compiled(method, field, **shared, secant=True)
    steps = {"step": "newton", "subprecision": 1e-3, "step_size": 0.0, "init": "mixture", "epsilon": 0.0}
    return compiled(method, field, SDCA.needs, **shared, **steps)


def after(core: Any, passes: int) -> Any:
    finish(core.start)
    assert core.run(passes * core.updates_per_pass, 3600.0) == passes * core.updates_per_pass
    return core


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("accelerate", [False, True])
@pytest.mark.parametrize("options", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("n_labels", [3, 9])
def test_threads_that_serve_the_workers_change_nothing(
    n_labels: int, options: dict[str, Any], accelerate: bool, method: str
) -> None:
    field = chain(n_labels, **options)
    one, *others = (after(made(field, method, 4, threads, accelerate), 4) for threads in (1, 2, 4))
    for other in others:
        assert np.array_equal(other.weights(), one.weights())
        assert other.dual == one.dual
        assert (other.gap_estimate, other.oracle_calls) == (one.gap_estimate, one.oracle_calls)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("options", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("n_labels", [3, 9])
def test_the_weights_belong_to_the_marginals(n_labels: int, options: dict[str, Any], method: str) -> None:
    core = after(made(chain(n_labels, **options), method, 4, 2), 5)
    weights, dual = core.weights(), core.dual
    finish(core.confirm)
    np.testing.assert_allclose(core.confirmed_weights(), weights, rtol=1e-9, atol=1e-9 * np.abs(weights).max())
    primal, lower, _ = core.certificate
    assert lower <= primal
    assert dual == pytest.approx(lower, rel=1e-9, abs=1e-9 * primal)


@pytest.mark.parametrize("method", METHODS)
def test_the_certificate_does_not_depend_on_who_adds_up_the_counts(method: str) -> None:
    """The marginals of a run with workers, confirmed by one without."""
    field = chain(9)
    shared, alone = after(made(field, method, 4, 2), 4), made(field, method, 0, 1)
    alone.restore(shared.save())
    for core in (shared, alone):
        finish(core.confirm)
    np.testing.assert_allclose(alone.certificate, shared.certificate, rtol=1e-9)
    np.testing.assert_allclose(alone.confirmed_weights(), shared.confirmed_weights(), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("options", LAYOUTS.values(), ids=LAYOUTS)
def test_workers_reach_the_optimum_of_one_thread(options: dict[str, Any], method: str) -> None:
    field = chain(9, **options)
    best = solve(field, LBFGS(), tol=1e-9, max_passes=4000).primal
    core = after(made(field, method, 4, 2, accelerate=True), 400)
    finish(core.confirm)
    primal, dual, gap = core.certificate
    assert dual <= best * (1 + 1e-9) <= primal * (1 + 2e-9)
    assert gap <= 1e-4 * best


def test_blocks_of_no_weight_are_left_alone_though_they_fill_a_workers_range() -> None:
    sample_weight = np.ones(120)
    sample_weight[:40] = 0.0
    field = chain(9, sample_weight)
    core = after(made(field, "OEG", 4, 2), 60)
    finish(core.confirm)
    assert core.updates == 60 * 80
    assert core.certificate[2] <= 1e-2 * core.certificate[0]


@pytest.mark.parametrize("method", METHODS)
def test_slices_and_a_saved_state_change_nothing(method: str) -> None:
    field = chain(9)
    through = after(made(field, method, 4, 2, accelerate=True), 6)
    cut = made(field, method, 4, 2, accelerate=True)
    finish(cut.start)
    for _ in range(3):
        cut.run(1, 0.0)
    finish(cut.confirm)
    resumed = made(field, method, 4, 1, accelerate=True)
    resumed.restore(cut.save())
    for core in (cut, resumed):
        while core.updates < through.updates:
            core.run(through.updates - core.updates, 0.0)
        assert core.updates == through.updates
        assert np.array_equal(core.weights(), through.weights())
        assert core.dual == pytest.approx(through.dual, rel=1e-12)


@pytest.mark.parametrize(("before", "now"), [(4, 3), (4, 0), (0, 4)])
def test_a_saved_run_goes_on_with_another_number_of_workers(before: int, now: int) -> None:
    field = chain(9)
    first, second = made(field, "OEG", before, 2), made(field, "OEG", now, 2)
    finish(first.start)
    first.run(150, 3600.0)
    second.restore(first.save())
    assert np.array_equal(second.weights(), first.weights())
    second.run(80 * second.updates_per_pass - second.updates % second.updates_per_pass, 3600.0)
    assert second.updates % second.updates_per_pass == 0
    finish(second.confirm)
    assert second.certificate[2] <= 1e-2 * second.certificate[0]


@pytest.mark.parametrize("solver", [OEG(n_jobs=LEAST_WORKERS), SDCA(n_jobs=LEAST_WORKERS)], ids=repr)
def test_many_threads_own_blocks_and_end_with_a_certificate(solver: Solver) -> None:
    X, y = sentences(n=LEAST_WORKERS * LEAST_BLOCKS_OF_A_WORKER)
    solution = solve(Chain(X, y), solver, tol=1e-4, max_passes=200, random_state=0)
    assert solution.status == "converged"
    assert solution.relative_gap <= 1e-4
    assert solution.state.arrays()["workers"].size > 0
    alone = solve(Chain(X, y), type(solver)(n_jobs=1), tol=1e-4, max_passes=200, random_state=0)
    assert alone.state.arrays()["workers"].size == 0
    assert solution.primal == pytest.approx(alone.primal, rel=2e-4)
