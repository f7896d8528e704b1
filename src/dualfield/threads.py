"""Threads: how many ``n_jobs`` asks for, and work on them."""

from __future__ import annotations

import os
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from dualfield import _core
from dualfield.given_numbers import check_integer

__all__ = ["MOST_THREADS", "all_threads", "in_parts", "on_threads", "thread_count", "warn_missing_threads"]

if hasattr(os, "register_at_fork"):  # threads of the core that wait for work are not copied into a child
    os.register_at_fork(before=_core.begin_fork, after_in_parent=_core.end_fork, after_in_child=_core.begin_as_child)

MOST_THREADS = 1024  # the most for one call; more would only cost memory
_RANGES_PER_THREAD = 16

Part = TypeVar("Part")


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


def on_threads(function: Callable[[int], Part], n_jobs: int | None) -> Part:
    """``function(threads)``, which works in the core on so many threads, or on fewer where there is little to do."""
    threads = thread_count(n_jobs)
    if threads == 1:
        return function(1)
    with all_threads():
        return function(threads)


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

    count = min(n, _RANGES_PER_THREAD * workers)
    bounds = [n * k // count for k in range(count + 1)]
    stops = [None] * workers
    waiting: deque[int | None] = deque([*range(count), *stops])
    parts: dict[int, Part] = {}

    def work() -> None:
        try:
            while (k := waiting.popleft()) is not None:
                parts[k] = function(bounds[k], bounds[k + 1])
        except BaseException:
            waiting.extendleft(stops)  # tells the other threads to stop
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
