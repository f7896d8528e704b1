"""Blocks in ranges, each on a thread of its own."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

__all__ = ["in_parts", "in_ranges", "threads_of"]

Part = TypeVar("Part")


def in_ranges(function: Callable[[int, int], npt.NDArray[Any]], n: int, n_jobs: int | None) -> npt.NDArray[Any]:
    """``function(first, last)`` over blocks 0 … n, cut into ranges that run on threads; results joined."""
    parts = in_parts(function, n, n_jobs)
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def in_parts(function: Callable[[int, int], Part], n: int, n_jobs: int | None) -> list[Part]:
    """The results of ``function(first, last)`` for ranges that cover 0 … n, one range per thread.

    The compiled core releases Python's lock, so threads are enough.
    """
    workers = min(threads_of(n_jobs), max(n, 1))
    if workers == 1:
        return [function(0, n)]
    bounds = np.linspace(0, n, workers + 1).astype(int).tolist()
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(function, bounds[:-1], bounds[1:]))


def threads_of(n_jobs: int | None) -> int:
    """The number of threads that ``n_jobs`` asks for; −1 means all cores."""
    if n_jobs is None:
        return 1
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int | np.integer) or n_jobs == 0 or n_jobs < -1:
        raise ValueError(f"n_jobs must be a positive integer, -1 for all cores, or None; got {n_jobs!r}.")
    if n_jobs > 0:
        return int(n_jobs)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
