"""A compiled run of one rank refuses calls in another order than its own, and counts of attributes that cannot be."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from dualfield import OEG, _core
from dualfield.features import encode
from dualfield.fields import Chain

OWNERS, OCCURRENCES = [2, 2, 1], [4.0, 2.0, 1.0]  # of attributes "a", "b", "c"; the last one occurs here alone


def joined(owners: list[int] = OWNERS, occurrences: list[float] = OCCURRENCES) -> tuple[Any, Any]:
    """A run that is the first of two workers, started, and what it has in common with the other one."""
    field = Chain(encode([[["a"], ["a", "b"]], [["c"]]]), [["X", "Y"], ["X"]])
    run = OEG().bind(field, 0, False)
    told: npt.NDArray[np.float64] = np.array(occurrences)
    assert run.join(0, 4, 2, np.array(owners, np.int32), told)
    common = _core.CommonState(
        l1=0.0, l2=1.0, centre=None, dimension=field.dimension, accelerate=True, seed=0, threads=1
    )
    common.begin(1.0)
    run.take(common)
    while not run.start(1.0):
        pass
    return run, common


CALLS = {
    "collect": lambda run, single: run.collect(single),
    "spread": lambda run, single: run.spread(np.zeros(3, np.float32 if single else np.float64)),
    "collect_private": lambda run, single: run.collect_private(single),
    "spread_private": lambda run, single: run.spread_private(
        np.zeros(len(run.weights()), np.float32 if single else np.float64)
    ),
}


@pytest.mark.parametrize("single", [True, False])
@pytest.mark.parametrize("call", CALLS)
def test_nothing_is_exchanged_before_a_round(call: str, single: bool) -> None:
    run, _ = joined()
    with pytest.raises(ValueError, match="there is nothing to exchange before a round: call advance_a_round first"):
        CALLS[call](run, single)


@pytest.mark.parametrize("single", [True, False])
def test_nothing_is_exchanged_between_two_passes(single: bool) -> None:
    run, _ = joined()
    for _ in range(run.rounds_of_a_pass):
        run.advance_a_round()
        run.spread(run.collect(single))
    run.spread_private(run.collect_private(single))
    for call in CALLS.values():
        with pytest.raises(ValueError, match="nothing to exchange before a round"):
            call(run, single)
    run.advance_a_round()
    assert np.isfinite(run.collect(single)).all()


def test_nothing_is_exchanged_after_duals_were_restored() -> None:
    run, common = joined()
    run.advance_a_round()
    run.give_back(common)
    run.restore_blocks(run.save_blocks())
    run.take(common)
    with pytest.raises(ValueError, match="nothing to exchange before a round"):
        run.collect(False)


@pytest.mark.parametrize(
    ("owners", "occurrences", "said"),
    [
        ([0, 2, 1], OCCURRENCES, "attribute 0 occurs 2 times here, so 0 owners of 2"),
        ([2, -5, 1], OCCURRENCES, "attribute 1 occurs 1 times here, so -5 owners of 2"),
        ([2, 2, 3], OCCURRENCES, "attribute 2 occurs 1 times here, so 3 owners of 2"),
        (OWNERS, [1.0, 2.0, 1.0], "attribute 0 occurs 2 times here, so 2 owners of 2 and 1.000000 occurrences"),
        (OWNERS, [4.0, np.nan, 1.0], "attribute 1 occurs 1 times here, so 2 owners of 2 and nan occurrences"),
        (OWNERS[:2], OCCURRENCES[:2], "the numbers of owners do not fit the attributes"),
    ],
)
def test_counts_that_cannot_be_are_refused(owners: list[int], occurrences: list[float], said: str) -> None:
    run, _ = joined(owners, occurrences)
    for _ in range(2):
        with pytest.raises(ValueError, match=said):
            run.advance_a_round()


def test_a_pass_of_too_many_rounds_is_refused() -> None:
    run = OEG().bind(Chain([[["a"], ["b"]]], [["X", "Y"]]), 0, False)
    with pytest.raises(ValueError, match="a pass must have between 1 and 1,048,576 rounds"):
        run.join(0, 1 << 62, 2, np.full(2, 2, np.int32), np.full(2, 2.0))
