"""How many threads ``n_jobs`` asks for, and how they share updates."""

from __future__ import annotations

import os
from numbers import Integral

__all__ = ["WINDOW_OF_A_THREAD", "shared_updates", "thread_count"]

WINDOW_OF_A_THREAD = 8  # updates; more of them wait for each other less, and know less of each other
LEAST_BLOCKS_OF_A_THREAD = 4  # fewer in all the data are not worth it


def thread_count(n_jobs: int | None, owner: str = "") -> int:
    """The number of threads that ``n_jobs`` asks for; None means one, −1 all cores."""
    if n_jobs is None:
        return 1
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral) or n_jobs == 0 or n_jobs < -1:
        name = f"{owner}: n_jobs" if owner else "n_jobs"
        raise ValueError(f"{name} must be a positive integer, -1 for all cores, or None; got {n_jobs!r}.")
    if n_jobs > 0:
        return int(n_jobs)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def shared_updates(n_jobs: int | None, n_blocks: int, owner: str = "") -> tuple[int, int]:
    """How many threads a method that updates blocks has work for, and how many updates they share at a time.

    Examples
    --------
    >>> shared_updates(2, 1000), shared_updates(1, 1000), shared_updates(100, 9)
    ((2, 16), (1, 1), (2, 16))
    """
    threads = min(thread_count(n_jobs, owner), max(1, n_blocks // LEAST_BLOCKS_OF_A_THREAD))
    return threads, 1 if threads == 1 else WINDOW_OF_A_THREAD * threads
