"""Blocks in ranges, each on a thread of its own."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from dualfield.threads import thread_count, warn_missing_threads

__all__ = ["in_parts", "in_ranges", "joined"]

_RANGES_PER_THREAD = 16

Part = TypeVar("Part")


def in_ranges(function: Callable[[int, int], npt.NDArray[Any]], n: int, n_jobs: int | None) -> npt.NDArray[Any]:
    """``function(first, last)`` over blocks 0 … n, cut into ranges that run on threads; results joined."""
    return joined(in_parts(function, n, n_jobs))


def joined(parts: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """The arrays of all ranges as one; of a single range its own, not a copy."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def in_parts(function: Callable[[int, int], Part], n: int, n_jobs: int | None) -> list[Part]:
    """The results of ``function(first, last)`` for ranges that cover 0 … n, in their order.

    The compiled core releases Python's lock, so threads are enough. The caller's is one of them: threads that start
    while it waits may find themselves on one core for a while. There are several ranges per thread, each for the one
    that is free first, since blocks are not alike and a core may be busy with something else.
    """
    workers = min(thread_count(n_jobs), max(n, 1))
    if workers == 1:
        return [function(0, n)]
    from concurrent.futures import ThreadPoolExecutor

    bounds = np.linspace(0, n, min(n, _RANGES_PER_THREAD * workers) + 1).astype(int).tolist()
    count = len(bounds) - 1
    stops = [None] * workers
    waiting: deque[int | None] = deque([*range(count), *stops])
    parts: dict[int, Part] = {}

    def work() -> None:
        try:
            while (k := waiting.popleft()) is not None:
                parts[k] = function(bounds[k], bounds[k + 1])
        except BaseException:
            waiting.extendleft(stops)  # the others need not go on
            raise

    with ThreadPoolExecutor(workers - 1) as pool:
        others = []
        try:
            for _ in range(workers - 1):
                others.append(pool.submit(work))
        except RuntimeError:  # the system has no more threads
            warn_missing_threads(workers - 1 - len(others))
        work()
        for other in others:
            other.result()
    return [parts[k] for k in range(count)]
