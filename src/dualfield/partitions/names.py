"""Names of attributes, counted in bounded memory.

Each partition leaves a *run* on the disk: its names, sorted, and at how many positions each occurs. In the end the runs
are merged, few at a time so that few files are open, into the names of all partitions. A name's number is its place
among the sorted names that occur often enough, so numbers depend on neither the order nor the size of partitions. In a
run and in the whole the names are sorted alike: attributes in increasing order stay so when they are numbered anew.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dualfield import _core
from dualfield.nested import bounds_of, gather

__all__ = ["NameCounter", "Names", "sorted_union"]

Int64Array = npt.NDArray[np.int64]
_FAN_IN = 64  # runs that are merged at a time
_PIECE = 1 << 24  # bytes of names that a merge has in memory
_AT_A_TIME = 1 << 18  # names that are copied at a time: each of their bytes is found by a number
_MOST = 2**31 - 1


class Names(NamedTuple):
    """Names as UTF-8 bytes, where each begins, and at how many positions it occurs."""

    text: npt.NDArray[np.uint8]
    bounds: Int64Array
    counts: Int64Array

    def chosen(self, which: Int64Array) -> Names:
        """These of the names, in this order."""
        members, bounds = gather(self.bounds, which)
        return Names(self.text[members], bounds, self.counts[which])


def sorted_union(lists: Sequence[Names]) -> tuple[Names, list[Int64Array]]:
    """The sorted names of several lists in any order, and the number there of each name of each list."""
    orders = [_core.sorted_names(names.text, names.bounds) for names in lists]
    merger = _core.NameMerger([names.chosen(order) for names, order in zip(lists, orders, strict=True)])
    text, bounds, counts, found = merger.next(2**62)
    numbers = []
    for order, sorted_numbers in zip(orders, found, strict=True):
        number = np.empty(len(order), np.int64)
        number[order] = sorted_numbers
        numbers.append(number)
    return Names(text, bounds, counts), numbers


class NameCounter:
    """Sorted runs of names in a folder, and what they make together.

    Parameters
    ----------
    folder : str
        An empty folder for the runs.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._runs: list[str] = []
        self._parents: dict[str, str] = {}
        self._final: dict[str, Int64Array] = {}

    def add(self, names: Names) -> int:
        """Keep the sorted names of a partition; returns the number of the run."""
        run = os.path.join(self._folder, str(len(self._runs)))
        os.mkdir(run)
        _append(names.text, names.bounds, names.counts, run)
        self._runs.append(run)
        return len(self._runs) - 1

    def merge(self, min_count: int) -> tuple[npt.NDArray[np.uint8], Int64Array]:
        """The names that occur at ``min_count`` positions or more in all: their bytes, and where each begins."""
        level = list(self._runs)
        while len(level) > 1:
            groups = [level[first : first + _FAN_IN] for first in range(0, len(level), _FAN_IN)]
            level = [self._merged(group) if len(group) > 1 else group[0] for group in groups]
        if not level:
            return np.empty(0, np.uint8), np.zeros(1, np.int64)
        names = _mapped(level[0])
        kept = np.flatnonzero(names.counts >= min_count)
        if len(kept) > _MOST:
            raise ValueError(
                f"there are {len(kept):,} different attributes; expected at most 2^31: raise min_count, or hash them."
            )
        final = np.full(len(names.counts), -1, np.int64)
        final[kept] = np.arange(len(kept))
        self._final = {level[0]: final}
        pieces = [names.chosen(kept[first : first + _AT_A_TIME]) for first in range(0, len(kept), _AT_A_TIME)]
        text = np.concatenate([np.empty(0, np.uint8), *(piece.text for piece in pieces)])
        return text, bounds_of(np.concatenate([np.empty(0, np.int64), *(np.diff(piece.bounds) for piece in pieces)]))

    def numbers(self, run: int) -> Int64Array:
        """After :meth:`merge`, the number of each name of a run; -1 where it occurs too seldom."""
        return self._number_of(self._runs[run])

    def _number_of(self, run: str) -> Int64Array:
        if run in self._final:
            return self._final[run]
        parent = self._parents[run]
        above = self._number_of(parent)
        if parent not in self._final:  # one merged run is kept beside the last: partitions come in their order
            top = {name: final for name, final in self._final.items() if name not in self._parents}
            self._final = {**top, parent: above}
        found: Int64Array = above[_read(os.path.join(run, "numbers"), np.int64)]
        return found

    def _merged(self, runs: list[str]) -> str:
        """One run of several, some names at a time."""
        target = os.path.join(self._folder, f"merged{len(self._parents)}")
        os.mkdir(target)
        merger = _core.NameMerger([_mapped(run) for run in runs])
        np.zeros(1, np.int64).tofile(_files(target)[1])
        size = 0
        while True:
            text, bounds, counts, numbers = merger.next(_PIECE)
            if not len(counts):
                break
            _append(text, bounds[1:] + size, counts, target)
            for run, some in zip(runs, numbers, strict=True):
                _append_to(os.path.join(run, "numbers"), some)
            size += len(text)
        self._parents.update(dict.fromkeys(runs, target))
        return target


def _files(run: str) -> tuple[str, str, str]:
    return os.path.join(run, "text"), os.path.join(run, "bounds"), os.path.join(run, "counts")


def _append(text: npt.NDArray[np.uint8], bounds: Int64Array, counts: Int64Array, run: str) -> None:
    files = _files(run)
    _append_to(files[0], text)
    _append_to(files[1], bounds)
    _append_to(files[2], counts)


def _append_to(file: str, array: npt.NDArray[Any]) -> None:
    with open(file, "ab") as stream:
        array.tofile(stream)


def _mapped(run: str) -> Names:
    text, bounds, counts = _files(run)
    return Names(_read(text, np.uint8), _read(bounds, np.int64), _read(counts, np.int64))


def _read(file: str, dtype: type[np.generic]) -> npt.NDArray[Any]:
    """The numbers of a file, read when they are looked at; an empty file cannot be mapped."""
    if not os.path.exists(file) or os.path.getsize(file) == 0:
        return np.empty(0, dtype)
    return np.asarray(np.memmap(file, dtype, mode="r"))
