"""SGD and AdaGrad step as their formulas say: replayed with dense weights and gradients summed over all labellings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dualfield import fields, solve
from dualfield.fields import Field
from dualfield.solvers import SGD, SMD, AdaGrad, Solver, primal
from dualfield.solvers.base import compiled
from tests.written_out import WrittenOut, visited_batch
from tests.zoo import dense_sequences, points, problem, weights_with_zeros, word_sequences

PROBLEMS = ["chain-dense", "chain-weighted", "chain-observed", "chain-bare", "multiclass-weighted", "chain-one-block"]
some_problems = pytest.mark.parametrize("name", PROBLEMS)
batch_sizes = pytest.mark.parametrize("batch_size", [1, 4, 100])


def assert_replayed(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10 * max(1.0, np.abs(expected).max()))


# --- SGD ---


def step_size(solver: SGD, l2: float, share: float, t: int) -> float:
    eta = float(solver.eta)
    return {"constant": eta, "annealed": eta / t, "pegasos": eta / (l2 * share * t)}[solver.schedule]


def replay_sgd(field: Field, solver: SGD, passes: int) -> None:
    full = WrittenOut(field)
    core = solver.start(field, seed=5)._core
    w, t, later = np.zeros(field.dimension), 0, []
    for number in range(passes):
        seen: list[int] = []
        for _ in range(core.updates_per_pass):
            batch = visited_batch(core)
            assert len(batch) <= solver.batch_size
            seen += batch
            t += 1
            share = len(batch) / full.n
            w = w - step_size(solver, field.l2, share, t) * (full.gradient(w, batch) + share * field.l2 * w)
            if number > 0:
                later.append(w)
            assert_replayed(core.weights(), np.mean(later, axis=0) if solver.average and later else w)
        assert sorted(seen) == full.active
    assert core.updates == t


@some_problems
@batch_sizes
@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize(("schedule", "eta"), [("constant", 0.05), ("annealed", 0.5), ("pegasos", 1.0)])
def test_sgd_is_its_formula(name: str, schedule: Any, eta: float, average: bool, batch_size: int) -> None:
    replay_sgd(problem(name), SGD(eta, schedule, average, batch_size), passes=3)


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("name", ["chain-strong-penalty", "multiclass-strong-penalty"])
def test_shrinking_lazily_for_long_changes_nothing(name: str, average: bool) -> None:
    # Each step shrinks the weights to a third or less: the common factor passes 1e-6 every dozen of steps.
    field = problem(name)
    eta = 0.7 * field.n_blocks / field.l2
    replay_sgd(field, SGD(eta, average=average), passes=6)


@pytest.mark.parametrize("average", [False, True])
def test_weights_that_change_sign_and_grow_are_followed_too(average: bool) -> None:
    # Each step multiplies the weights by −3: the common factor passes 1e6 every dozen of steps.
    field = problem("chain-strong-penalty")
    eta = 4 * field.n_blocks / field.l2
    replay_sgd(field, SGD(eta, average=average), passes=3)


@pytest.mark.parametrize("n", [1, 3, 7, 10, 49])
@pytest.mark.parametrize("l2", [0.1, 1.0, 3.7])
def test_the_first_step_of_pegasos_forgets_where_it_started(n: int, l2: float) -> None:
    field = fields.Multiclass(np.eye(50)[:n].repeat(2, axis=0), np.arange(2 * n) % 2, l2)
    core = compiled("SGD", field, l1=0.0, schedule="pegasos", eta=1.0, batch=1, average_after=-1, seed=0)
    core.set_weights(np.random.default_rng(0).normal(size=field.dimension))
    visited_batch(core)
    touched = core.weights().reshape(-1, 2)[:-1].any(axis=1)
    assert touched.sum() == 1  # the row of the block's one attribute; the others are zero to the last digit


def test_averaging_starts_with_the_second_pass() -> None:
    field = problem("chain-words")
    plain, averaged = (SGD(0.1, average=average).start(field, 3)._core for average in (False, True))
    for core in (plain, averaged):
        core.run(core.updates_per_pass, 3600.0)
    assert np.array_equal(plain.weights(), averaged.weights())
    for core in (plain, averaged):
        core.run(2, 3600.0)
    assert not np.array_equal(plain.weights(), averaged.weights())


def test_averaging_comes_nearer_to_the_optimum() -> None:
    field = problem("multiclass-dense")
    plain, averaged = (
        solve(field, SGD(0.3, average=average), tol=0.0, max_passes=100, random_state=0) for average in (False, True)
    )
    assert averaged.primal < plain.primal


@pytest.mark.parametrize("solver", [SGD(0.05), SGD(0.05, batch_size=2), SGD(0.5, "pegasos", average=True)], ids=repr)
def test_given_weights_are_where_sgd_starts(solver: SGD) -> None:
    field = problem("chain-dense")
    full = WrittenOut(field)
    core = solver.start(field, 1)._core
    w = np.random.default_rng(0).normal(size=field.dimension)
    core.set_weights(w)
    assert np.array_equal(core.weights(), w)
    batch = visited_batch(core)
    share = len(batch) / full.n
    eta = step_size(solver, field.l2, share, 1)
    assert_replayed(core.weights(), w - eta * (full.gradient(w, batch) + share * field.l2 * w))


# --- AdaGrad ---


@some_problems
@batch_sizes
@pytest.mark.parametrize(("eta", "delta"), [(0.1, 1.0), (2.0, 0.01)])
def test_adagrad_is_its_formula(name: str, eta: float, delta: float, batch_size: int) -> None:
    field = problem(name)
    full = WrittenOut(field)
    core = AdaGrad(eta, delta, batch_size).start(field, seed=6)._core
    w, G = np.zeros(field.dimension), np.zeros(field.dimension)
    for _ in range(3):
        seen: list[int] = []
        for _ in range(core.updates_per_pass):
            batch = visited_batch(core)
            seen += batch
            g = full.gradient(w, batch)
            G += g * g
            steps = eta / (delta + np.sqrt(G))
            w = (w - steps * g) / (1 + steps * field.l2 * len(batch) / full.n)
            assert_replayed(core.weights(), w)
        assert sorted(seen) == full.active


def test_the_last_batch_of_a_pass_may_be_smaller() -> None:
    field = problem("multiclass-dense")  # 30 blocks
    for solver in (SGD(0.1, batch_size=8), AdaGrad(0.1, batch_size=8), SMD(batch_size=8)):
        core = solver.start(field, 0)._core
        assert core.updates_per_pass == 4
        assert [len(visited_batch(core)) for _ in range(5)] == [8, 8, 8, 6, 8]


# --- eta="auto" ---


def first_look(solver: Any, field: Field, eta: float, seed: int) -> float:
    """What the step is judged by: the objective after one pass."""
    parameters = {"eta": eta} | ({"average": False} if isinstance(solver, SGD) else {})
    core = type(solver)(**{**vars(solver), **parameters}).start(field, seed)._core
    core.run(core.updates_per_pass, 3600.0)
    return np.inf if core.diverged else field.primal(core.weights())


AUTOMATIC: list[Solver] = [
    SGD(),
    SGD(average=True),
    SGD(schedule="annealed"),
    SGD(schedule="pegasos"),
    SGD(batch_size=3),
    AdaGrad(),
    SMD(eta="auto"),
]
AUTOMATIC_PROBLEMS = {
    "chain": lambda: fields.Chain(*dense_sequences(12)),
    "words": lambda: fields.Chain(*word_sequences(10)),
    "weighted": lambda: fields.Chain(*dense_sequences(12), sample_weight=weights_with_zeros(12)),
    "points": lambda: fields.Multiclass(*points(30)),
    "strong penalty": lambda: fields.Chain(*dense_sequences(12), l2=1e3),
    "overwhelming penalty": lambda: fields.Chain(*dense_sequences(60), l2=1e11),
    "large attributes": lambda: fields.Multiclass(1e4 * points(30)[0], points(30)[1]),
    "large weights": lambda: fields.Multiclass(*points(30), l2=1e6, sample_weight=np.full(30, 1e6)),
}


@pytest.mark.parametrize("solver", AUTOMATIC, ids=repr)
@pytest.mark.parametrize("kind", AUTOMATIC_PROBLEMS)
def test_the_automatic_step_is_the_best_power_of_ten_around(solver: Any, kind: str) -> None:
    field = AUTOMATIC_PROBLEMS[kind]()
    eta = solver.start(field, 3).eta
    assert np.log10(eta) == pytest.approx(round(np.log10(eta)), abs=1e-9)
    here, longer, shorter = (first_look(solver, field, factor * eta, 3) for factor in (1, 10, 0.1))
    assert np.isfinite(here)  # so it does not diverge
    assert here <= longer * (1 + 1e-12)
    assert here <= shorter * (1 + 1e-12)
    assert here < field.primal(np.zeros(field.dimension))  # it leads down


@pytest.mark.parametrize("solver", [SGD(), AdaGrad(), SMD(eta="auto")], ids=repr)
def test_the_automatic_step_is_recorded(solver: Any) -> None:
    solution = solve(problem("chain-dense"), solver, tol=0.0, max_passes=3, random_state=0)
    assert set(solution.history["eta"]) == {solution.state.eta}
    assert 1e-12 < solution.state.eta < 1e3


def test_the_automatic_step_does_not_depend_on_the_unit_of_the_weights() -> None:
    X, y = dense_sequences(12)
    steps = {SGD().start(fields.Chain(X, y, c, sample_weight=np.full(12, c)), 0).eta * c for c in (1e-3, 1.0, 1e3)}
    assert max(steps) == pytest.approx(min(steps))


def test_the_automatic_step_is_chosen_on_a_sample_of_many_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    field = fields.Multiclass(*points(200))
    monkeypatch.setattr(primal, "_TUNING_BLOCKS", 50)
    full, looks = WrittenOut(field), []

    class Counting:
        """The compiled solver, with its runs counted."""

        def __init__(self, eta: float) -> None:
            self.core = compiled("SGD", field, l1=0.0, schedule="constant", eta=eta, batch=4, average_after=-1, seed=0)

        def __getattr__(self, name: str) -> Any:
            return getattr(self.core, name)

        def run(self, updates: int, seconds: float) -> int:
            looks.append(updates)
            return self.core.run(updates, seconds)

    eta = primal.best_step(Counting, field)
    assert set(looks) == {13}  # batches of four: 52 blocks

    def objective(step: float) -> float:
        core = compiled("SGD", field, l1=0.0, schedule="constant", eta=step, batch=4, average_after=-1, seed=0)
        batches = [visited_batch(core) for _ in range(13)]
        w = core.weights()
        return sum(full.blocks[i].loss(w) for batch in batches for i in batch) + 52 / 200 * field.l2 / 2 * (w @ w)

    assert objective(eta) <= min(objective(10 * eta), objective(eta / 10))


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_objective_of_a_sample_is_its_losses_and_its_share_of_the_penalty(name: str) -> None:
    field = problem(name)
    full = WrittenOut(field)
    w = np.random.default_rng(0).normal(size=field.dimension)
    assert field.core.sample_primal(w, np.arange(field.n_blocks)) == pytest.approx(field.primal(w), rel=1e-12)
    sample = np.arange(0, field.n_blocks, 2)
    share = sum(full.blocks[i].c for i in sample) / sum(block.c for block in full.blocks)
    expected = sum(full.blocks[i].c * full.blocks[i].loss(w) for i in sample) + share * field.l2 / 2 * (w @ w)
    assert field.core.sample_primal(w, sample) == pytest.approx(expected, rel=1e-10)
    for outside in (-1, field.n_blocks):
        with pytest.raises(ValueError, match="out of bounds"):
            field.core.sample_primal(w, np.array([outside]))
