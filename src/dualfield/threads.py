"""How many threads ``n_jobs`` asks for."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from dualfield import _core
from dualfield.given_numbers import check_integer

__all__ = ["MOST_THREADS", "all_threads", "thread_count", "warn_missing_threads"]

MOST_THREADS = 1024  # of one call; more have no use on any machine and cost memory, so n_jobs asks for no more


def thread_count(n_jobs: int | None, owner: str = "") -> int:
    """The number of threads that ``n_jobs`` asks for; None means one, −1 all cores."""
    if n_jobs is None:
        return 1
    name = f"{owner}: n_jobs" if owner else "n_jobs"
    number = check_integer(name, n_jobs, -1 if n_jobs == -1 else 1, "a positive integer, -1 for all cores, or None")
    if number > 0:
        return min(number, MOST_THREADS)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def all_threads() -> Iterator[None]:
    """Warn at the end if the system refused threads to the core; the work was then done on fewer."""
    _core.take_missing_threads()
    yield
    missing = _core.take_missing_threads()
    if missing:
        warn_missing_threads(missing)


def warn_missing_threads(missing: int) -> None:
    """Say that the system refused so many threads."""
    warnings.warn(
        f"The system refused {missing} of the threads that n_jobs asks for, so the work was done on fewer; lower "
        "n_jobs, or raise the limits on threads and memory.",
        RuntimeWarning,
        stacklevel=4,
    )
