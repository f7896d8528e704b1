"""Ranks that are processes of MPI, through mpi4py.

MPI waits for ever where a process hangs, and ends all processes where one dies. So a rank begins an exchange, and looks
again and again whether it is done; only where all have come to a barrier do they exchange objects by calls that block.
Who has waited too long *calls the roll*: it tells every rank at which exchange it is. Ranks that wait hear that and
answer. Those that do not answer, or are behind, are named.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from dualfield._deferred import explained
from dualfield.ranks.communicator import TIME_LIMIT, Communicator, Number, PeerLost, named

try:
    from mpi4py import MPI
except ModuleNotFoundError as missing:
    raise explained(missing, "training by MPI") from missing

__all__ = ["MPICommunicator"]

_ROLL = 7  # the tag of messages that call the roll
_ANSWERS = 5.0  # seconds that ranks have to answer
_EAGER = 1e-3  # seconds in which a rank looks without a pause
_PAUSE = 1e-4


class MPICommunicator(Communicator):
    """The processes that ``mpirun`` started.

    Parameters
    ----------
    communicator : mpi4py.MPI.Comm, optional
        By default all processes.
    time_limit : float
        How many seconds a rank waits for the others.

    Examples
    --------
    In a program that ``mpirun -n 8`` starts:

    >>> from dualfield.distributed import MPICommunicator  # doctest: +SKIP
    >>> ranks = MPICommunicator()  # doctest: +SKIP
    """

    def __init__(self, communicator: Any = None, time_limit: float = TIME_LIMIT) -> None:
        self._mpi = (communicator or MPI.COMM_WORLD).Dup()
        self.rank, self.size, self.time_limit = self._mpi.Get_rank(), self._mpi.Get_size(), time_limit
        self._exchanges, self._hosts = 0, list[str]()
        self._hosts = self._together(lambda: self._mpi.allgather(MPI.Get_processor_name()))

    def _sum(self, array: npt.NDArray[Number]) -> npt.NDArray[Number]:
        found = np.empty_like(array)
        self._await(self._mpi.Iallreduce(array, found))
        return found

    def gather(self, thing: Any) -> list[Any] | None:
        """What the ranks give, on rank 0."""
        found: list[Any] | None = self._together(lambda: self._mpi.gather(thing))
        return found

    def broadcast(self, thing: Any) -> Any:
        """What rank 0 gives."""
        return self._together(lambda: self._mpi.bcast(thing))

    @staticmethod
    def abort() -> None:
        """End all processes."""
        MPI.COMM_WORLD.Abort(1)

    def _together(self, exchange: Callable[[], Any]) -> Any:
        """An exchange that waits by itself, once all ranks have come to it."""
        self._await(self._mpi.Ibarrier())
        return exchange()

    def _await(self, request: Any) -> None:
        self._exchanges += 1
        begun = time.monotonic()
        while not request.Test():
            waited = time.monotonic() - begun
            if waited > self.time_limit or (waited > 1.0 and self._mpi.Iprobe(tag=_ROLL)):
                self._call_the_roll(waited)
            time.sleep(0 if waited < _EAGER else _PAUSE)

    def _call_the_roll(self, waited: float) -> None:
        """Name the ranks that are behind, or do not answer."""
        others = [rank for rank in range(self.size) if rank != self.rank]
        for rank in others:
            self._mpi.isend(self._exchanges, rank, tag=_ROLL)
        at = dict.fromkeys(others, -1)
        until = time.monotonic() + _ANSWERS
        while time.monotonic() < until and min(at.values()) < 0:
            status = MPI.Status()
            if self._mpi.Iprobe(tag=_ROLL, status=status):
                at[status.source] = self._mpi.recv(source=status.source, tag=_ROLL)
            else:
                time.sleep(_PAUSE)
        late = [rank for rank in others if at[rank] < self._exchanges] or others
        raise PeerLost(
            f"{named(late, self._hosts or None)} did not come to exchange {self._exchanges} within {waited:.0f} s; see "
            "what became of the process, and resume from the last checkpoint, or raise the time limit.",
            late,
        )
