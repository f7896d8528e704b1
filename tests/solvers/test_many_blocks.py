"""Thousands of blocks, drawn some updates ahead: the same run in slices, after a restart, and to the optimum."""

from __future__ import annotations

import functools
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from dualfield import LBFGS, OEG, SDCA, Solution, fields, solve
from dualfield.fields import Field
from dualfield.solvers.dual import DualSolver
from tests.zoo import finish

BLOCKS = 4200  # of positive weight, 4,096 at least


@functools.cache
def many(kind: str) -> Field:
    random = np.random.default_rng(0)
    lengths = random.integers(1, 4, BLOCKS)
    X = [[[f"w{a}" for a in random.choice(50, 2, replace=False)] for _ in range(length)] for length in lengths]
    y = [[f"{(int(words[0][1:]) + int(random.random() < 0.2)) % 3}" for words in sequence] for sequence in X]
    if kind == "points":
        columns = [[int(word[1:]) for word in sequence[0]] for sequence in X]
        values = random.uniform(0.5, 1.5, 2 * BLOCKS)  # so that no two points are alike, which would be one block
        rows = sparse.csr_array((values, np.ravel(columns), 2 * np.arange(BLOCKS + 1)), (BLOCKS, 50))
        return fields.Multiclass(rows, [labels[0] for labels in y])
    sample_weight = np.where(np.arange(BLOCKS) % 99 == 4, 0.0, 1.0)
    return fields.Chain(X, y, state_features=kind, sample_weight=sample_weight)


@functools.cache
def optimum(kind: str) -> Solution:
    return solve(many(kind), LBFGS(), tol=1e-9, max_passes=500)


every_kind = pytest.mark.parametrize("kind", ["all", "observed", "points"])
every_solver = pytest.mark.parametrize(
    "solver", [SDCA(), OEG(), OEG(sampling="uniform", n_jobs=2), SDCA(memory="float32")], ids=repr
)


@every_kind
@every_solver
def test_they_lead_to_the_optimum(solver: DualSolver, kind: str) -> None:
    best = optimum(kind)
    solution = solve(many(kind), solver, tol=1e-4, max_passes=200, random_state=0)
    assert solution.status == "converged", solution.message
    assert 0 <= solution.primal - best.dual
    assert solution.primal - best.primal <= solution.duality_gap <= 1e-4 * solution.primal


@every_kind
@every_solver
def test_slices_and_a_restart_change_nothing(solver: DualSolver, kind: str) -> None:
    at_once, sliced = solver.start(many(kind), 7), solver.start(many(kind), 7)
    for _ in range(3):
        finish(at_once.advance)
    assert at_once.updates > 12_000  # two passes of them drawn by gaps
    while sliced.updates < at_once.updates:
        sliced.advance(1e9, min(977, at_once.updates - sliced.updates))
        sliced = solver.start(many(kind), 8).restore(sliced.arrays())
    assert sliced.updates == at_once.updates
    np.testing.assert_array_equal(sliced.weights(), at_once.weights())


@pytest.mark.parametrize("rule", ["safemax", "max"])
@pytest.mark.parametrize("solver", [OEG, SDCA])
def test_a_largest_gap_is_not_drawn_again_before_it_is_known_anew(solver: type[OEG | SDCA], rule: str) -> None:
    drawn, largest = (
        solve(many("all"), solver(sampling=sampling), tol=1e-3, max_passes=200, random_state=0).passes
        for sampling in ("gap", rule)
    )
    assert largest <= 1.5 * drawn


@pytest.mark.parametrize("solver", [OEG(n_jobs=2, sampling="uniform"), SDCA(n_jobs=2, sampling="uniform")], ids=repr)
@pytest.mark.parametrize("memory", ["float32", "float64"])
@pytest.mark.parametrize("kind", ["all", "points"])
def test_tiny_steps_do_not_look_crowded(solver: DualSolver, memory: str, kind: str) -> None:
    run = replace(solver, memory=memory).start(many(kind), 0)
    for _ in range(25):
        finish(run.advance)
        assert 1 <= run.arrays()["crowding"][0] <= 8  # as many steps as there are at a time


def test_a_state_says_which_blocks_come_next() -> None:
    run = OEG().start(many("all"), 0)
    finish(run.advance)
    arrays = dict(run.arrays())
    same, other = (
        OEG().start(many("all"), 0).restore(arrays | changed)
        for changed in ({}, {"upcoming0": arrays["upcoming0"] ^ 1})
    )
    for again in (run, same, other):
        again.advance(1e9, 1)
    np.testing.assert_array_equal(same.weights(), run.weights())
    assert not np.array_equal(other.weights(), run.weights())


def test_blocks_drawn_together_follow_the_recorded_gaps() -> None:
    run = OEG(non_uniformity=0.75).start(many("all"), 0)
    finish(run.advance)
    arrays = dict(run.arrays())
    gaps = {11: 1.0, 1500: 2.0, 4190: 5.0}  # all other blocks have none
    arrays["recorded"] = np.zeros(BLOCKS)
    arrays["recorded"][list(gaps)] = list(gaps.values())
    arrays["upcoming"] = np.array([0])
    random, counts, repeats = np.random.default_rng(0), np.zeros(BLOCKS), 400
    for _ in range(repeats):
        arrays["random"] = random.integers(0, 2**64, 4, dtype=np.uint64)
        again = run.solver.start(many("all"), 0).restore(arrays)
        again.advance(1e9, 1)
        after = again.arrays()
        assert after["upcoming"][0] == 7  # of eight, the first is gone: one by its gap, if there is any
        places = np.concatenate([after[f"upcoming{k}"] for k in range(7)])
        np.add.at(counts, arrays["order"][places], 1)
    by_gap = counts[list(gaps)]
    assert abs(by_gap.sum() - 5 * repeats) <= 5 * np.sqrt(8 * 0.75 * 0.25 * repeats)
    expected = by_gap.sum() * np.array(list(gaps.values())) / sum(gaps.values())
    assert np.all(np.abs(by_gap - expected) <= 5 * np.sqrt(expected))


def test_a_state_names_blocks_that_are_there() -> None:
    run = OEG().start(many("all"), 0)
    run.advance(1e9, 100)
    arrays = dict(run.arrays())
    arrays["upcoming3"] = np.array([10**9])
    with pytest.raises(ValueError, match="does not fit this field"):
        OEG().start(many("all"), 0).restore(arrays)
