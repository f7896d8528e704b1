"""SAG, SAGA and SVRG step as their formulas say, and their constants L satisfy the inequality they are searched for."""

from __future__ import annotations

from itertools import combinations, permutations
from typing import Any

import numpy as np
import pytest

from dualfield import solve
from dualfield.fields import Field
from dualfield.solvers import SAG, SAGA, SVRG
from dualfield.solvers.base import compiled
from tests.written_out import WrittenOut, visited_block
from tests.zoo import problem

PROBLEMS = ["chain-dense", "chain-weighted", "chain-observed", "multiclass-weighted", "chain-strong-penalty"]
some_problems = pytest.mark.parametrize("name", PROBLEMS)
samplings = pytest.mark.parametrize("sampling", ["uniform", "nus", "nus*"])


class Constants:
    """What the steps need of the Lipschitz constants, from a saved state."""

    def __init__(self, core: Any, sampling: str, full: WrittenOut) -> None:
        state = core.save()
        self.sampling, self.n, self.lam = sampling, full.n, full.l2 / full.n
        self.common, self.each = state["smoothness"][0], state["constants"]
        self.seen = np.count_nonzero(state["visits"])
        if sampling != "uniform":
            self.largest, self.mean = self.each.max(), self.each.sum() / max(self.seen, 1)
        self._first, self._first_seen = self.each.copy(), self.seen

    def restart(self, common: float) -> None:
        """Goes back to the constants that there were."""
        self.common, self.seen = common, self._first_seen
        if self.sampling != "uniform":
            self.each = self._first.copy()

    def take(self, i: int, found: float, tried: float, seen: int) -> None:
        """A visit in a window that began with the common constant ``tried``."""
        self.seen = seen
        if self.sampling == "uniform":
            self.common = max(self.common, found) if found > tried else self.common
            self.common *= 2 ** (-1 / self.n)
            return
        self.each[i] = found
        self.largest, self.mean = self.each.max(), self.each.sum() / seen

    def relative_probability(self, L: float) -> float:
        """How often a block of constant L is drawn, times n."""
        if self.sampling == "nus*" and self.seen:
            return 0.5 + 0.5 * L / self.mean
        if self.sampling == "nus" and self.seen == self.n:
            offset = self.mean + 2 * self.lam
            return (L + offset) / (self.mean + offset)
        return 1.0

    def sag_step(self) -> float:
        if self.sampling == "uniform":
            return 1 / (self.common + self.lam)
        cautious = 1 / (self.largest + self.lam)
        bold = (cautious + 1 / (self.mean + self.lam)) / 2
        share = self.seen / self.n
        return bold if self.sampling == "nus*" else (1 - share) * cautious + share * bold

    def saga_step(self) -> float:
        each = [self.common] if self.sampling == "uniform" else self.each[self.each > 0]
        return 1 / (3 * (max(L / self.relative_probability(L) for L in each) + self.lam))


def close(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10 * max(1.0, np.abs(expected).max()))


# --- the updates ---


@some_problems
@samplings
def test_sag_is_its_formula(name: str, sampling: Any) -> None:
    field = problem(name)
    full = WrittenOut(field)
    core = SAG(sampling).start(field, seed=2)._core
    w, kept, seen = np.zeros(field.dimension), np.zeros((field.n_blocks, field.dimension)), set()
    for _ in range(6 * full.n):
        i = visited_block(core)
        seen.add(i)
        kept[i] = full.blocks[i].gradient(w)
        constants = Constants(core, sampling, full)
        assert constants.seen == len(seen)
        alpha = constants.sag_step()
        w = (1 - alpha * constants.lam) * w - alpha / len(seen) * kept.sum(axis=0)
        close(core.weights(), w)
    check_estimate(core, full, kept, w)


@some_problems
@samplings
def test_saga_is_its_formula(name: str, sampling: Any) -> None:
    field = problem(name)
    full = WrittenOut(field)
    core = SAGA(sampling).start(field, seed=2)._core
    w, kept = np.zeros(field.dimension), np.zeros((field.n_blocks, field.dimension))
    for _ in range(6 * full.n):
        before = Constants(core, sampling, full)
        i = visited_block(core)
        probability = before.relative_probability(0.0 if sampling == "uniform" else before.each[i])
        alpha = Constants(core, sampling, full).saga_step()
        g = full.blocks[i].gradient(w)
        w = w - alpha * ((g - kept[i]) / probability + kept.sum(axis=0) / full.n + before.lam * w)
        kept[i] = g
        close(core.weights(), w)
    check_estimate(core, full, kept, w)


def window(core: Any) -> list[int]:
    """Lets a run go on to the end of a window; its blocks, in no order. Where one of them began another window at once,
    the generator is changed until none does."""
    state, random = core.save(), np.random.default_rng(0)
    while True:
        core.run(1, 3600.0)
        visits = core.save()["visits"] - state["visits"]
        if visits.max() == 1:
            return np.flatnonzero(visits).tolist()
        core.restore({**state, "random": random.integers(2**63, size=4, dtype=np.uint64)})


def common(changes: list[Any]) -> float:
    """The root mean square of the cosines of each change with the sum of those before it, were these orthogonal."""
    products = [(changes[k] @ sum(changes[:k])) ** 2 for k in range(1, len(changes))]
    squares = [(x @ x) * (y @ y) for x, y in combinations(changes, 2)]
    return min(1.0, np.sqrt(sum(products) / sum(squares)))


def searched(full: WrittenOut, i: int, w: Any, L: float) -> float:
    """The doubled L of the search."""
    while full.blocks[i].gradient(w) @ full.blocks[i].gradient(w) > 1e-8 and not gain_is_enough(full, i, w, L, 1e-14):
        L *= 2
    return L


@pytest.mark.parametrize(("method", "l1"), [("SAG", 0.0), ("SAGA", 0.0), ("SAGA", 0.5)])
@samplings
def test_a_window_takes_the_steps_of_its_blocks_one_after_the_other(method: str, l1: float, sampling: Any) -> None:
    """The formula with gradients as before the window; the order of its blocks is whichever makes it true."""
    field = problem("multiclass-dense")
    full = WrittenOut(field)
    penalty = {"l1": l1} if method == "SAGA" else {}
    core = compiled(method, field, sampling=sampling, threads=2, window=3, seed=2, **penalty)
    w, kept, seen = np.zeros(field.dimension), np.zeros((field.n_blocks, field.dimension)), set()
    sizes, windows, cosine = [], 0, 1.0
    while core.updates < 6 * full.n:
        constants = Constants(core, sampling, full)
        blocks = window(core)
        sizes.append(len(blocks))
        after = core.save()["constants"]
        gradients = {i: full.blocks[i].gradient(w) for i in blocks}
        probabilities = {
            i: constants.relative_probability(0.0 if sampling == "uniform" else constants.each[i]) for i in blocks
        }
        found = {i: searched(full, i, w, constants.common) if sampling == "uniform" else after[i] for i in blocks}
        start, outcomes = constants.common, []
        for order in permutations(blocks):
            at, gradients_kept, visited = w, kept.copy(), set(seen)
            constants.restart(start)
            for i in order:
                visited.add(i)
                constants.take(i, found[i], start, len(visited))
                change = gradients[i] - gradients_kept[i]
                if method == "SAG":
                    gradients_kept[i] = gradients[i]
                    alpha = constants.sag_step()
                    at = (1 - alpha * constants.lam) * at - alpha / len(visited) * gradients_kept.sum(axis=0)
                else:
                    alpha = constants.saga_step()
                    at = at - alpha * (
                        change / probabilities[i] + gradients_kept.sum(axis=0) / full.n + constants.lam * at
                    )
                    at = np.sign(at) * np.maximum(np.abs(at) - alpha * l1 / full.n, 0.0)
                    gradients_kept[i] = gradients[i]
            outcomes.append((at, order))
        w, order = min(outcomes, key=lambda outcome: np.abs(outcome[0] - core.weights()).max())
        close(core.weights(), w)
        assert len(blocks) <= max(1, min(3, len(seen) // 8, int(1 + 1 / cosine)))
        if len(blocks) > 1:
            windows += len(seen) == full.n
            if len(seen) < full.n or windows % 4 == 0:
                cosine += 0.1 * (common([gradients[i] - kept[i] for i in order]) - cosine)
        assert core.save()["cosine"] == pytest.approx(cosine, rel=1e-6)
        for i in blocks:
            kept[i] = gradients[i]
            seen.add(i)
    assert 2 in sizes
    if l1 == 0:
        check_estimate(core, full, kept, w)


def check_estimate(core: Any, full: WrittenOut, kept: Any, w: Any) -> None:
    gap, _ = core.estimate()
    if np.count_nonzero(core.save()["visits"]) == full.n:
        slope = kept.sum(axis=0) + full.l2 * w
        assert gap == pytest.approx(slope @ slope / (2 * full.l2), rel=1e-6)
    else:
        assert gap == np.inf


@some_problems
@pytest.mark.parametrize(("inner_passes", "l1"), [(1, 0.0), (3, 0.0), (2, 0.5)])
def test_svrg_is_its_formula(name: str, inner_passes: int, l1: float) -> None:
    field = problem(name).with_l1(l1)
    full = WrittenOut(field)
    solver = SVRG(inner_passes)
    core = solver.start(field, seed=3)._core
    lam = field.l2 / full.n
    w = np.zeros(field.dimension)
    for _ in range(3):
        snapshot, d = w, full.gradient(w)
        assert core.run(full.n, 3600.0) == full.n
        close(core.weights(), snapshot)
        gap, primal = core.estimate()
        slope = d + field.l2 * snapshot
        if l1 == 0:
            assert gap == pytest.approx(slope @ slope / (2 * field.l2), rel=1e-6)
        assert primal == pytest.approx(full.primal(snapshot) + l1 * np.abs(snapshot).sum(), rel=1e-10)
        for _ in range(inner_passes * full.n):
            calls = core.oracle_calls
            core.run(1, 3600.0)
            assert core.oracle_calls >= calls + 2
            alpha = 1 / (3 * (core.smoothness + lam))
            # The block is whichever makes the formula true; there is exactly one.
            found, steps = core.weights(), []
            for i in full.active:
                block = full.blocks[i]
                change = block.gradient(w) - block.gradient(snapshot)
                moved = w - alpha * (change + d / full.n + lam * w)
                steps.append(np.sign(moved) * np.maximum(np.abs(moved) - alpha * l1 / full.n, 0.0))
            distances = [np.abs(found - step).max() for step in steps]
            w = steps[int(np.argmin(distances))]
            assert min(distances) <= 1e-10 * max(1.0, np.abs(w).max())


# --- the search for L ---


def gain_is_enough(full: WrittenOut, i: int, w: Any, L: float, slack: float) -> bool:
    """``f(w − g/L) ≤ f(w) − ‖g‖²/(2L)``, give or take rounding."""
    block = full.blocks[i]
    g = block.gradient(w)
    here, there = block.c * block.loss(w), block.c * block.loss(w - g / L)
    return there <= here - g @ g / (2 * L) + slack


def check_search(full: WrittenOut, i: int, w: Any, tried: float, found: float) -> int:
    """Asserts that ``found`` is what doubling ``tried`` gives; returns how often the loss was looked at."""
    g = full.blocks[i].gradient(w)
    doublings = round(np.log2(found / tried))
    assert found == pytest.approx(tried * 2.0**doublings, rel=1e-12)
    if g @ g <= 1e-8 * (1 - 1e-6):
        assert doublings == 0
        return 0
    slack = 1e-12 * max(1.0, full.blocks[i].loss(w))
    assert gain_is_enough(full, i, w, found, slack)
    if doublings > 0:
        assert not gain_is_enough(full, i, w, found / 2, -slack)
    return doublings + 1


@some_problems
@pytest.mark.parametrize("solver", [SAG("uniform"), SAGA("uniform")], ids=repr)
def test_the_common_constant_is_doubled_only_where_needed(name: str, solver: Any) -> None:
    field = problem(name)
    full = WrittenOut(field)
    core = solver.start(field, seed=4)._core
    assert core.smoothness == 1.0
    for _ in range(8 * full.n):
        before, w, calls = core.smoothness, core.weights(), core.oracle_calls
        i = visited_block(core)
        looks = check_search(full, i, w, before, core.smoothness * 2 ** (1 / full.n))
        assert core.oracle_calls - calls == 1 + looks


@some_problems
@pytest.mark.parametrize("solver", [SAG("nus"), SAGA("nus")], ids=repr)
def test_the_constants_of_nus_start_at_one_and_halve_before_each_search(name: str, solver: Any) -> None:
    field = problem(name)
    full = WrittenOut(field)
    core = solver.start(field, seed=4)._core
    visits = np.zeros(field.n_blocks, dtype=int)
    for _ in range(8 * full.n):
        before, w, calls = core.save()["constants"], core.weights(), core.oracle_calls
        i = visited_block(core)
        visits[i] += 1
        tried = 1.0 if visits[i] == 1 else 0.5 * before[i]
        looks = check_search(full, i, w, tried, core.save()["constants"][i])
        assert core.oracle_calls - calls == 1 + looks


@some_problems
@pytest.mark.parametrize("solver", [SAG("nus*"), SAGA("nus*")], ids=repr)
def test_nus_star_skips_searches_that_would_change_nothing(name: str, solver: Any) -> None:
    field = problem(name)
    full = WrittenOut(field)
    core = solver.start(field, seed=4)._core
    visits, quiet, skip = (np.zeros(field.n_blocks, dtype=int) for _ in range(3))
    skipped = 0
    for _ in range(30 * full.n):
        before, w, calls = core.save()["constants"], core.weights(), core.oracle_calls
        i = visited_block(core)
        visits[i] += 1
        found = core.save()["constants"][i]
        if skip[i] > 0:  # no search, no shrinking
            skip[i] -= 1
            skipped += 1
            assert found == before[i]
            assert core.oracle_calls - calls == 1
            continue
        if visits[i] == 1:
            others = np.count_nonzero(visits) - 1
            tried = before.sum() / others if others else 1.0
        else:
            tried = 0.9 * before[i]
        looks = check_search(full, i, w, tried, found)
        assert core.oracle_calls - calls == 1 + looks
        quiet[i] = quiet[i] + 1 if found == pytest.approx(tried, rel=1e-12) else 0
        skip[i] = 2 ** (quiet[i] - 1) if quiet[i] else 0
    assert skipped > 0


# --- what is drawn ---


def frequencies(core: Any, state: dict[str, Any], draws: int) -> Any:
    """How often each block comes next from a given state, whatever the random generator says."""
    random, counts = np.random.default_rng(0), np.zeros(len(state["visits"]))
    for _ in range(draws):
        core.restore({**state, "random": random.integers(2**63, size=4, dtype=np.uint64)})
        core.run(1, 3600.0)
        counts[np.flatnonzero(core.save()["visits"] - state["visits"])] += 1
    return counts


def assert_drawn(core: Any, state: dict[str, Any], probabilities: Any, draws: int = 3000) -> None:
    expected = draws * np.asarray(probabilities)
    assert np.all(np.abs(frequencies(core, state, draws) - expected) <= 5 * np.sqrt(expected))


def unequal(field: Field, sampling: Any, updates: int) -> tuple[Any, dict[str, Any], Any]:
    """A run some way in, its state with constants that differ, and which blocks count."""
    core = SAG(sampling).start(field, 0)._core
    core.run(updates, 3600.0)
    state = core.save()
    constants = np.where(state["visits"] > 0, 1.0 + np.arange(field.n_blocks) ** 2, 0.0)
    active = np.ones(field.n_blocks) if field.sample_weight is None else (field.sample_weight > 0).astype(float)
    return core, {**state, "constants": constants}, active / active.sum()


def test_uniform_sampling_is_uniform() -> None:
    core, state, uniform = unequal(problem("chain-weighted"), "uniform", 5)
    assert_drawn(core, {**state, "constants": state["constants"][:0]}, uniform)


def test_nus_star_draws_half_in_proportion_to_the_constants() -> None:
    core, state, uniform = unequal(problem("chain-weighted"), "nus*", 5)
    L = state["constants"]
    assert_drawn(core, state, 0.5 * uniform + 0.5 * L / L.sum())


def test_nus_draws_unseen_blocks_first_and_then_by_constants() -> None:
    field = problem("chain-weighted")
    lam = field.l2 / np.count_nonzero(field.sample_weight)
    for updates in (4, 200):
        core, state, uniform = unequal(field, "nus", updates)
        L, seen = state["constants"], state["visits"] > 0
        offset = L.sum() / seen.sum() + 2 * lam
        among_seen = np.where(seen, L + offset, 0.0)
        unseen = np.where(seen, 0.0, uniform)
        p = unseen + uniform[seen].sum() * among_seen / among_seen.sum()
        assert p.sum() == pytest.approx(1.0)
        assert_drawn(core, state, p)
    assert seen.sum() == np.count_nonzero(field.sample_weight)


@pytest.mark.parametrize("solver", [SAG("nus"), SAGA("nus")], ids=repr)
def test_nus_sees_every_block(solver: Any) -> None:
    field = problem("chain-weighted")
    core = solver.start(field, 1)._core
    core.run(100, 3600.0)
    assert np.array_equal(core.save()["visits"] > 0, field.sample_weight > 0)


def test_settling_the_weights_changes_nothing() -> None:
    # A strong penalty shrinks the weights fast, so that their common factor is made one again and again.
    field = problem("chain-strong-penalty")
    for solver in (SAG("uniform"), SAGA("uniform"), SVRG()):
        solution = solve(field, solver, tol=1e-10, max_passes=3000, random_state=0)
        assert solution.status == "converged"
