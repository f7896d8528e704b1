"""Where the ranks on Dask's workers meet: an actor beside each rank, and a communicator on top of the actors.

An exchange goes through the hubs: each rank sends what it gives, and a hub answers all of them when the last one has
come. Large arrays are cut into as many parts as there are hubs, so that each worker adds up a part. Dask moves the
bytes from worker to worker.

A hub waits ``time_limit`` seconds for a rank, and then names it. The client may end all exchanges before, when it sees
that a worker has gone.
"""

from __future__ import annotations

import asyncio
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from distributed import get_worker

from dualfield.ranks.communicator import Communicator, Number, PeerLost, named, total

__all__ = ["DaskCommunicator", "Hub", "forget_hubs", "hub_here"]

_LARGE = 1 << 18  # bytes, from which on an array goes through all hubs
_GRACE = 30.0  # seconds that an answer may take after a hub's own limit
_LOOK = 0.5  # seconds between two looks at whether the run was given up

_here: dict[tuple[str, int], Hub] = {}  # the hubs of this process, by run and rank


class Answer(NamedTuple):
    """What a hub answers: a result, or why there is none."""

    result: Any = None
    late: tuple[int, ...] = ()
    given_up: str = ""


class _Exchange:
    """What has come of one exchange."""

    def __init__(self, size: int) -> None:
        self.given: list[Any] = [None] * size
        self.missing = set(range(size))
        self.complete = asyncio.Event()
        self.result: Any = None
        self.answered = 0


class Hub:
    """The actor: a meeting place of all ranks of a run."""

    def __init__(self, run: str, rank: int, size: int, time_limit: float) -> None:
        self._size, self._time_limit = size, time_limit
        self._exchanges: dict[int, _Exchange] = {}
        self.given_up = ""
        self.stopped = False
        _here[run, rank] = self

    async def exchange(self, rank: int, number: int, kind: str, thing: Any) -> Answer:
        """Give something, and get the sum of all ranks, their list on rank 0, or what rank 0 gave."""
        if self.given_up:
            return Answer(given_up=self.given_up)
        exchange = self._exchanges.setdefault(number, _Exchange(self._size))
        exchange.given[rank] = thing
        exchange.missing.discard(rank)
        if not exchange.missing:
            try:
                if kind == "sum":
                    exchange.result, exchange.given = total(exchange.given), []
            except Exception as error:
                await self.give_up(f"exchange {number} could not be added up ({error}).")
            exchange.complete.set()
        try:
            await asyncio.wait_for(exchange.complete.wait(), self._time_limit)
        except TimeoutError:
            return Answer(late=tuple(sorted(exchange.missing)))
        if self.given_up:
            return Answer(given_up=self.given_up)
        exchange.answered += 1
        if exchange.answered == self._size:
            del self._exchanges[number]
        if kind == "sum":
            return Answer(exchange.result)
        if kind == "gather":
            return Answer(exchange.given if rank == 0 else None)
        return Answer(exchange.given[0])

    async def give_up(self, reason: str) -> None:
        """End all exchanges: a worker has gone."""
        self.given_up = reason
        for exchange in self._exchanges.values():
            exchange.complete.set()

    async def stop(self) -> None:
        """Ask the rank beside this hub to end the run after the pass."""
        self.stopped = True


def hub_here(run: str, rank: int) -> Hub:
    """The hub beside a rank that is in this process."""
    return _here[run, rank]


def forget_hubs(run: str) -> None:
    """Drop the hubs of a run in this process."""
    for key in [key for key in _here if key[0] == run]:
        del _here[key]


class DaskCommunicator(Communicator):
    """The ranks of a run on Dask's workers, seen from one of them.

    Parameters
    ----------
    run : str
        The name of the run.
    rank : int
        This rank.
    hubs : list
        The actors :class:`Hub`, in the order of the ranks.
    workers : list of str
        The address of each rank's worker, for messages.
    time_limit : float
        How many seconds a rank waits for the others.
    """

    def __init__(self, run: str, rank: int, hubs: list[Any], workers: list[str], time_limit: float) -> None:
        self.rank, self.size, self.time_limit = rank, len(hubs), time_limit
        self._hub, self._hubs, self._workers = hub_here(run, rank), hubs, workers
        self._loop = get_worker().loop.asyncio_loop  # on which the hub beside this rank works
        self._number = 0

    def _sum(self, array: npt.NDArray[Number]) -> npt.NDArray[Number]:
        if array.nbytes < _LARGE:
            (found,) = self._exchanged("sum", [array])
            return np.asarray(found)
        flat = array.reshape(-1)
        parts = self._exchanged("sum", np.array_split(flat, self.size))
        return np.concatenate(parts).reshape(array.shape)

    def gather(self, thing: Any) -> list[Any] | None:
        """What the ranks give, on rank 0."""
        found: list[Any] | None = self._exchanged("gather", [thing])[0]
        return found

    def broadcast(self, thing: Any) -> Any:
        """What rank 0 gives."""
        return self._exchanged("broadcast", [thing if self.rank == 0 else None])[0]

    def _exchanged(self, kind: str, things: list[Any]) -> list[Any]:
        """Give one of the things to each of the first hubs; what they answer."""
        self._number += 1
        try:
            calls = [self._call(rank, kind, thing) for rank, thing in enumerate(things)]
            return [self._answer(call, rank) for rank, call in enumerate(calls)]
        except (OSError, RuntimeError, ValueError) as error:  # of Dask, about an actor or its worker
            if isinstance(error, PeerLost):
                raise
            raise PeerLost(f"a worker does not answer any more ({error}).") from None

    def _call(self, hub: int, kind: str, thing: Any) -> Any:
        """Begin a call of a hub: of the one beside this rank without the network."""
        if hub != self.rank:
            return self._hubs[hub].exchange(self.rank, self._number, kind, thing)
        coroutine = self._hub.exchange(self.rank, self._number, kind, thing)
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def _answer(self, call: Any, hub: int) -> Any:
        waited = 0.0
        while True:
            try:
                answer: Answer = call.result(timeout=_LOOK)
                break
            except TimeoutError:
                waited += _LOOK
            if self._hub.given_up:
                raise PeerLost(self._hub.given_up)
            if waited > self.time_limit + _GRACE:
                raise PeerLost(f"{named([hub], self._workers)} did not answer within {waited:.0f} s.", [hub])
        if answer.given_up:
            raise PeerLost(answer.given_up)
        if answer.late:
            late = list(answer.late)
            raise PeerLost(f"{named(late, self._workers)} did not come within {self.time_limit:g} s.", late)
        return answer.result
