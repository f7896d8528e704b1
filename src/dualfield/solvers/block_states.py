"""The states of the partitions that are not in memory: what a run knows of their blocks, such as the duals.

They are kept in memory if they fit there. Otherwise they are in a file without a name, which the system removes when
the process ends, however it ends. The system keeps as much of the file in memory as there is room for.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["BlockStates"]

Arrays = dict[str, npt.NDArray[Any]]
_SMALL = 64  # bytes; smaller arrays stay in memory


class _Place(NamedTuple):
    """Where an array lies in the file."""

    name: str
    dtype: np.dtype[Any]
    size: int
    offset: int


class BlockStates:
    """The states of the partitions, each a dict of arrays whose sizes never change.

    Parameters
    ----------
    n_partitions : int
        How many there are.
    folder : str or None
        Where to make a file for them; None keeps them in memory.
    n_bytes : int
        About how large they are, to refuse a disk that is too small.
    """

    def __init__(self, n_partitions: int, folder: str | None, n_bytes: int) -> None:
        self.on_disk, self.written = folder is not None, 0
        self._kept: list[Arrays | None] = [None] * n_partitions
        self._places: list[list[_Place]] = [[] for _ in range(n_partitions)]
        self._end = 0
        if folder is None:
            return
        folder = folder if os.access(folder, os.W_OK | os.X_OK) else tempfile.gettempdir()
        free = shutil.disk_usage(folder).free
        if n_bytes > free:
            raise OSError(
                f"the duals need about {n_bytes / 1e9:.1f} GB, more than the memory and the disk of {folder}, of which "
                f"{free / 1e9:.1f} GB are free; free some, or train on less data."
            )
        self._file = tempfile.TemporaryFile(dir=folder, buffering=0)
        weakref.finalize(self, self._file.close)

    def __contains__(self, partition: int) -> bool:
        return self._kept[partition] is not None

    def save(self, partition: int, state: Arrays) -> None:
        """Keep the state of a partition in the place of an earlier one."""
        if not self.on_disk:
            self._kept[partition] = state
            return
        if partition not in self:
            self._make_room(partition, state)
        self._kept[partition] = {name: array for name, array in state.items() if array.nbytes <= _SMALL}
        for place in self._places[partition]:
            self._write(np.ascontiguousarray(state[place.name]).data.cast("B"), place.offset)

    def load(self, partition: int) -> Arrays:
        """The state of a partition."""
        state = dict(self._kept[partition] or {})
        for name, dtype, size, offset in self._places[partition]:
            array = np.empty(size, dtype)
            self._read(array.data.cast("B"), offset)
            state[name] = array
        return state

    def _make_room(self, partition: int, state: Arrays) -> None:
        for name, array in state.items():
            if array.nbytes > _SMALL:
                self._places[partition].append(_Place(name, array.dtype, len(array), self._end))
                self._end += array.nbytes

    def _write(self, data: memoryview, offset: int) -> None:
        self.written += len(data)
        while len(data):
            done = os.pwrite(self._file.fileno(), data, offset)
            data, offset = data[done:], offset + done

    def _read(self, data: memoryview, offset: int) -> None:
        while len(data):
            done = os.preadv(self._file.fileno(), [data], offset)
            if not done:
                raise OSError("the file of the duals has been cut short.")
            data, offset = data[done:], offset + done
