"""How many threads ``n_jobs`` asks for."""

from __future__ import annotations

import os
from numbers import Integral

__all__ = ["thread_count"]


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
