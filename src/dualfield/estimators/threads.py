"""Blocks in ranges, each on a thread of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from dualfield.threads import thread_count

__all__ = ["in_parts", "in_ranges"]

_RANGES_PER_THREAD = 8

Part = TypeVar("Part")


def in_ranges(function: Callable[[int, int], npt.NDArray[Any]], n: int, n_jobs: int | None) -> npt.NDArray[Any]:
    """``function(first, last)`` over blocks 0 … n, cut into ranges that run on threads; results joined."""
    parts = in_parts(function, n, n_jobs)
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def in_parts(function: Callable[[int, int], Part], n: int, n_jobs: int | None) -> list[Part]:
    """The results of ``function(first, last)`` for ranges that cover 0 … n, in their order.

    The compiled core releases Python's lock, so threads are enough. There are a few ranges per thread, each for the
    thread that is free first, since blocks are not alike and a core may be busy with something else.
    """
    workers = min(thread_count(n_jobs), max(n, 1))
    if workers == 1:
        return [function(0, n)]
    bounds = np.linspace(0, n, min(n, _RANGES_PER_THREAD * workers) + 1).astype(int).tolist()
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(function, bounds[:-1], bounds[1:]))
