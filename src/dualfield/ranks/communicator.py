"""What training asks of the engine that connects its processes.

There are few and large exchanges, and all ranks make the same ones in the same order. The contract is small, so that
MPI, Dask and threads of one process can each meet it in a page of code.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast
from zlib import crc32

import numpy as np
import numpy.typing as npt

__all__ = ["Alone", "Communicator", "PeerLost", "named", "total"]

Number = TypeVar("Number", bound=np.generic)
Result = TypeVar("Result")

TIME_LIMIT = 300.0  # seconds


class PeerLost(RuntimeError):
    """A rank did not take part in an exchange within the time limit, or its process is gone.

    ``late`` has the ranks that were waited for in vain, where they are known.
    """

    def __init__(self, message: str, late: Sequence[int] = ()) -> None:
        super().__init__(message)
        self.late = tuple(late)


class Communicator(ABC):
    """The ranks of a training run, seen from one of them.

    Every rank calls the same methods in the same order. A rank that does not come within ``time_limit`` seconds ends
    the others with :class:`PeerLost`, which names it.

    Attributes
    ----------
    rank, size : int
        This rank, from 0, and how many there are.
    time_limit : float
        How many seconds a rank waits for the others.
    bytes_given : int
        Size of all arrays that this rank gave to :meth:`all_reduce`.
    """

    rank: int
    size: int
    time_limit: float = TIME_LIMIT
    bytes_given: int = 0

    def all_reduce(self, array: npt.NDArray[Number]) -> npt.NDArray[Number]:
        """The sum of the ranks' arrays, which have one shape and one type; the same on every rank, to the last bit."""
        self.bytes_given += array.nbytes
        return self._sum(np.ascontiguousarray(array))

    @abstractmethod
    def _sum(self, array: npt.NDArray[Number]) -> npt.NDArray[Number]:
        """The sum of the ranks' arrays."""

    @abstractmethod
    def gather(self, thing: Any) -> list[Any] | None:
        """What the ranks give, in their order, on rank 0; None on the others. Anything that can be pickled."""

    @abstractmethod
    def broadcast(self, thing: Any) -> Any:
        """What rank 0 gives, on every rank."""

    def all_gather(self, thing: Any) -> list[Any]:
        """What the ranks give, in their order, on every rank."""
        found: list[Any] = self.broadcast(self.gather(thing))
        return found

    def sums_of_agreed(self, numbers: Sequence[float], arrays: Sequence[npt.NDArray[Any]]) -> npt.NDArray[np.float64]:
        """The sums of some numbers; RuntimeError unless all ranks have the same ``arrays``, to the last bit."""
        mark = 0
        for array in arrays:
            mark = crc32(np.ascontiguousarray(array).data, mark)
        *sums, marks, squares = self.all_reduce(np.array([*numbers, mark, float(mark >> 8) ** 2], np.float64))
        if marks != self.size * mark or squares != self.size * float(mark >> 8) ** 2:
            raise RuntimeError(
                "the ranks no longer have the same weights: their processors round differently. Set DUALFIELD_ISA to "
                "the same level on all of them, such as v3, and start again."
            )
        return np.array(sums)

    def any(self, flag: bool) -> bool:
        """Whether any rank says so."""
        return bool(self.all_reduce(np.array([float(flag)]))[0] > 0)

    def together(self, work: Callable[[], Result]) -> Result:
        """What ``work()`` returns on this rank; where it fails on some, the error of the first of them, on all.

        ``work`` must not exchange anything. The error that is raised has an attribute ``on_all_ranks``.
        """
        result: Any = None
        error: Exception | None = None
        try:
            result = work()
        except Exception as found:
            error = found
        for other in self.all_gather(error):
            if other is not None:
                other.on_all_ranks = True
                raise other
        return cast(Result, result)


class Alone(Communicator):
    """One process by itself.

    Examples
    --------
    >>> import numpy as np
    >>> from dualfield.ranks import Alone
    >>> Alone().all_reduce(np.ones(2)), Alone().all_gather("here")
    (array([1., 1.]), ['here'])
    """

    rank, size = 0, 1

    def _sum(self, array: npt.NDArray[Number]) -> npt.NDArray[Number]:
        return array

    def gather(self, thing: Any) -> list[Any]:
        """What this rank gives."""
        return [thing]

    def broadcast(self, thing: Any) -> Any:
        """The same again."""
        return thing


def total(arrays: Sequence[npt.NDArray[Number]]) -> npt.NDArray[Number]:
    """The sum of arrays, added up in their order, as a new array."""
    found: Any = arrays[0].copy()
    for array in arrays[1:]:
        np.add(found, array, out=found)
    return cast("npt.NDArray[Number]", found)


def named(ranks: list[int], names: list[str] | None = None) -> str:
    """Some ranks in a sentence.

    Examples
    --------
    >>> named([3]), named([0, 2], ["node-a", "node-b", "node-c"])
    ('rank 3', 'ranks 0 (node-a) and 2 (node-c)')
    """
    shown = [str(rank) if names is None else f"{rank} ({names[rank]})" for rank in ranks]
    listed = " and ".join([", ".join(shown[:-1]), shown[-1]] if shown[1:] else shown)
    return f"rank{'s' if shown[1:] else ''} {listed}"
