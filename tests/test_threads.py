"""Blocks in ranges on threads: all of them, in order, and no more of them once something has failed."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

from dualfield.threads import in_parts


@pytest.mark.parametrize("n_jobs", [None, 1, 2, 3, 100, -1])
@pytest.mark.parametrize("n", [0, 1, 2, 7, 1000])
def test_ranges_cover_all_blocks_in_order(n: int, n_jobs: int | None) -> None:
    np.testing.assert_array_equal(np.concatenate(in_parts(np.arange, n, n_jobs)), np.arange(n))


def test_as_many_threads_work_as_asked_for_and_the_callers_is_one_of_them() -> None:
    together = threading.Barrier(3, timeout=60)
    seen = set()

    def part(first: int, last: int) -> None:
        if threading.current_thread() not in seen:
            seen.add(threading.current_thread())
            together.wait()  # breaks, and fails, unless three threads come here

    in_parts(part, 1000, 3)
    assert len(seen) == 3
    assert threading.current_thread() in seen


@pytest.mark.parametrize("failure", [IndexError("of the function"), KeyboardInterrupt()])
@pytest.mark.parametrize("of_the_caller", [True, False])
def test_what_a_range_raises_is_raised_and_the_others_stop(failure: BaseException, of_the_caller: bool) -> None:
    caller = threading.current_thread()
    failed = threading.Event()
    done = []

    def part(first: int, last: int) -> None:
        if (threading.current_thread() is caller) == of_the_caller:
            failed.set()
            raise failure
        failed.wait(60)
        time.sleep(0.01)
        done.append(first)

    with pytest.raises(type(failure)):
        in_parts(part, 1000, 2)
    assert len(done) < 16  # of 32 ranges
