"""Ranks that are threads of one process: for tests, and to see how a cluster of some size would get on."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

import numpy.typing as npt

from dualfield.ranks.communicator import TIME_LIMIT, Communicator, Number, PeerLost, named, total

__all__ = ["run_in_threads"]

Result = TypeVar("Result")


class _Meeting:
    """Where the threads leave what they give."""

    def __init__(self, size: int) -> None:
        self.barrier = threading.Barrier(size)
        self.slots: list[Any] = [None] * size
        self.arrivals = [0] * size


class _Thread(Communicator):
    def __init__(self, rank: int, meeting: _Meeting, time_limit: float) -> None:
        self.rank, self.size, self.time_limit = rank, len(meeting.slots), time_limit
        self._meeting = meeting

    def _exchanged(self, thing: Any) -> list[Any]:
        meeting = self._meeting
        meeting.slots[self.rank] = thing
        meeting.arrivals[self.rank] += 1
        self._wait()
        found = list(meeting.slots)
        self._wait()
        return found

    def _wait(self) -> None:
        try:
            self._meeting.barrier.wait(self.time_limit)
        except threading.BrokenBarrierError:
            arrivals = self._meeting.arrivals
            late = [rank for rank, count in enumerate(arrivals) if count < max(arrivals)]
            raise PeerLost(f"{named(late or [self.rank])} did not come within {self.time_limit:g} s.", late) from None

    def _sum(self, array: npt.NDArray[Number]) -> npt.NDArray[Number]:
        return total(self._exchanged(array))

    def gather(self, thing: Any) -> list[Any] | None:
        found = self._exchanged(thing)
        return found if self.rank == 0 else None

    def broadcast(self, thing: Any) -> Any:
        return self._exchanged(thing)[0]


def run_in_threads(size: int, work: Callable[[Communicator], Result], time_limit: float = TIME_LIMIT) -> list[Result]:
    """Call ``work(communicator)`` on so many ranks, each a thread, and return what each returned.

    The first exception of a rank is raised again, once all have ended.

    Examples
    --------
    >>> import numpy as np
    >>> from dualfield.ranks import run_in_threads
    >>> run_in_threads(3, lambda ranks: ranks.all_reduce(np.array([ranks.rank]))[0].item())
    [3, 3, 3]
    """
    meeting = _Meeting(size)
    results: list[Any] = [None] * size
    failures: list[tuple[bool, int, BaseException]] = []

    def run(rank: int) -> None:
        try:
            results[rank] = work(_Thread(rank, meeting, time_limit))
        except BaseException as error:
            failures.append((isinstance(error, PeerLost), rank, error))
            meeting.barrier.abort()

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise min(failures, key=lambda failure: failure[:2])[2]
    return results
