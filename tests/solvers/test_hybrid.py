"""Hybrid is L-BFGS on nested samples that grow as the paper says, and its bounds hold while the sample is partial."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from dualfield import LBFGS, fields, solve
from dualfield.solvers import Hybrid
from tests.written_out import WrittenOut
from tests.zoo import PROBLEMS, dense_sequences, finish, points, problem, reference

every_problem = pytest.mark.parametrize("name", PROBLEMS)


@every_problem
def test_with_a_complete_first_sample_it_is_lbfgs(name: str) -> None:
    field = problem(name)
    for first_sample in (field.n_blocks, 10**6):
        hybrid = solve(field, Hybrid(first_sample), tol=1e-8, random_state=3)
        lbfgs = solve(field, LBFGS(), tol=1e-8)
        assert np.array_equal(hybrid.weights, lbfgs.weights)
        assert (hybrid.primal, hybrid.dual, hybrid.passes) == (lbfgs.primal, lbfgs.dual, lbfgs.passes)
        assert (hybrid.updates, hybrid.oracle_calls) == (lbfgs.updates, lbfgs.oracle_calls)


def samples(core: Any, blocks: int) -> list[tuple[int, int]]:
    """(steps taken, sample size) after each visit of a block, without repeats."""
    seen = [(core.updates, core.sample)]
    for _ in range(blocks):
        core.run(1, 3600.0)
        if (now := (core.updates, core.sample)) != seen[-1]:
            seen.append(now)
    return seen


@pytest.mark.parametrize(("first", "growth"), [(1, 1.1), (3, 1.5), (2, 1.0), (25, 2.0)])
def test_the_sample_grows_after_each_step(first: int, growth: float) -> None:
    field = fields.Multiclass(*points(30))
    core = Hybrid(first, growth).start(field, 0)._core
    sizes = list(dict.fromkeys(size for _, size in samples(core, 4000)))
    expected = [first]
    while expected[-1] < 30:
        expected.append(min(int(growth * expected[-1]) + 1, 30))
    assert sizes == expected
    assert core.complete


def test_every_step_lets_the_sample_grow_once() -> None:
    core = Hybrid().start(fields.Multiclass(*points(30)), 0)._core
    for (steps, size), (later_steps, later_size) in pairwise(samples(core, 1500)):
        if later_size != size:
            assert later_steps == steps  # the step is taken, then the sample grows
        else:
            assert later_steps == steps + 1


@pytest.mark.parametrize("name", ["chain-dense", "chain-weighted", "multiclass-weighted"])
def test_the_gradient_is_that_of_the_sample_scaled_up(name: str) -> None:
    field = problem(name)
    full = WrittenOut(field)
    core = Hybrid(first_sample=2, growth=1.3).start(field, 5)._core
    order, complete = core.save()["order"], 0
    assert sorted(order) == full.active
    total = sum(full.blocks[i].c for i in order)
    for _ in range(300):
        core.run(1, 3600.0)
        state = core.save()
        assert np.array_equal(state["order"], order)  # so samples are nested
        if not core.updates or state["extending"][0]:  # still extending: the gradient is that of the old sample
            continue
        sample = order[: int(core.sample)]
        up = total / sum(full.blocks[i].c for i in sample)
        w = core.weights()
        gradient = up * full.gradient(w, sample) + field.l2 * w
        np.testing.assert_allclose(state["gradient"], gradient, rtol=1e-9, atol=1e-9)
        value = up * sum(full.blocks[i].c * full.blocks[i].loss(w) for i in sample) + field.l2 / 2 * (w @ w)
        assert state["numbers"][0] == pytest.approx(value, rel=1e-10)
        complete += core.complete
    assert complete > 0


def test_growing_a_sample_costs_its_new_blocks_alone() -> None:
    core = Hybrid(first_sample=4, growth=1.5).start(fields.Multiclass(*points(30)), 0)._core
    core.run(4, 3600.0)  # the first gradient
    while core.updates == 0:  # the first search, each trial a gradient of the sample
        assert core.sample == 4
        core.run(4, 3600.0)
    calls = core.oracle_calls
    core.run(3, 3600.0)  # 4 -> 7
    assert (core.sample, core.oracle_calls) == (7, calls + 3)


@every_problem
def test_the_bound_holds_while_the_sample_is_partial(name: str) -> None:
    field, best = problem(name), reference(name)
    run = Hybrid(first_sample=1, growth=1.0).start(field, 1)
    core, partial = run._core, 0
    n = core.left_in_pass
    for _ in range(4 * n):
        core.run(1, 3600.0)
        if not core.updates:
            continue
        partial += not core.complete
        finish(run.confirm)
        primal, dual, gap = run.bound
        assert primal == pytest.approx(field.primal(run.certified_weights()), rel=1e-12)
        assert primal - best.primal <= gap
        assert dual <= best.primal * (1 + 1e-14)
    assert partial > 0 or n < 4


def test_confirming_changes_nothing_in_the_run() -> None:
    field = fields.Chain(*dense_sequences(20))
    watched, alone = (Hybrid(2, 1.2).start(field, 1)._core for _ in range(2))
    for _ in range(150):
        for core in (watched, alone):
            core.run(1, 3600.0)
        watched.confirm(3600.0)
        assert np.array_equal(watched.weights(), alone.weights())
    assert watched.updates == alone.updates > 3


def test_a_pass_is_as_many_gradients_as_there_are_blocks() -> None:
    field = problem("multiclass-dense")
    solution = solve(field, Hybrid(), tol=0.0, max_passes=4, random_state=0)
    assert solution.history["oracle_calls"].tolist() == [30, 60, 90, 120]
    assert np.all(np.diff(solution.history["sample"]) >= 0)
    assert solution.oracle_calls == 120 + (0 if solution.history["sample"][-1] == 30 else 30)


def test_the_seed_orders_the_blocks() -> None:
    field = problem("multiclass-dense")
    one, other = (solve(field, Hybrid(), tol=0.0, max_passes=1, random_state=seed) for seed in (0, 1))
    assert not np.array_equal(one.weights, other.weights)


def test_it_needs_less_work_than_lbfgs_for_a_rough_answer() -> None:
    # Many blocks that say the same thing: a small sample goes most of the way.
    field = fields.Multiclass(*points(2000), l2=20.0)
    target = 1.05 * solve(field, LBFGS(), tol=1e-6).primal

    def passes(solver: Any) -> int:
        return solve(
            field, solver, tol=0.0, max_passes=50, callbacks=[lambda p: p.primal() < target], random_state=0
        ).passes

    assert passes(Hybrid(first_sample=50)) < passes(LBFGS())


def test_a_growth_beyond_all_numbers_takes_every_block_at_once() -> None:
    field = problem("chain-words")
    solution = solve(field, Hybrid(first_sample=1, growth=1e154), tol=1e-6, max_passes=200, random_state=0)
    assert solution.status == "converged"
    assert solution.primal == pytest.approx(reference("chain-words").primal, rel=1e-5)
