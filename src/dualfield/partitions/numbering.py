"""The numbers of attributes while a folder is written: within a chunk, within a partition, and in the whole."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import numpy.typing as npt

from dualfield.features.sequences.encoded import Encoded
from dualfield.features.vocabulary import NumberedColumns, Vocabulary
from dualfield.memory import check_memory
from dualfield.nested import bounds_of
from dualfield.partitions.names import NameCounter, Names, sorted_union

__all__ = ["Numbering", "joined_entries", "used_names"]

Arrays = dict[str, npt.NDArray[Any]]


class Numbering:
    """Attributes of one kind, names or columns, and how often they occur.

    Parameters
    ----------
    what : str
        What they are, in messages.
    folder : str
        A folder to make, for names that do not stay in memory.
    min_count : int
        Those that occur at fewer positions are left out in the end.
    """

    def __init__(self, what: str, folder: str, min_count: int) -> None:
        os.mkdir(folder)
        self._what, self._min_count = what, min_count
        self._names = NameCounter(folder)
        self._columns: NumberedColumns | None = None
        self._counts: npt.NDArray[np.int64] | None = None  # of columns, where they matter
        self._begun = False

    def check(self, vocabulary: Vocabulary | NumberedColumns) -> None:
        """Refuse columns where there were names, names where there were columns, and columns of another number."""
        columns = vocabulary if isinstance(vocabulary, NumberedColumns) else None
        if self._begun and columns != self._columns:
            kinds = ["names" if found is None else f"{len(found):,} columns" for found in (columns, self._columns)]
            raise ValueError(
                f"the {self._what} of X are {kinds[0]}, but those of the chunks before {kinds[1]}; give all alike."
            )
        if not self._begun and columns is not None and self._min_count > 1:
            check_memory(8 * len(columns), f"counting {len(columns):,} columns", "leave min_count at 1")
            self._counts = np.zeros(len(columns), np.int64)
        self._begun, self._columns = True, columns

    def number(self, chunks: list[Encoded]) -> Arrays:
        """The entries of several chunks as one partition, under numbers that hold within it."""
        if self._columns is not None:
            if self._counts is not None:
                for X in chunks:
                    np.add.at(self._counts, X.indices if X.values is None else X.indices[X.values != 0], 1)
            return joined_entries(chunks, [X.indices for X in chunks])
        found = [used_names(X) for X in chunks]
        union, numbers = sorted_union([names for names, _ in found])
        self._names.add(union)
        indices = []
        for X, (_, used), number in zip(chunks, found, numbers, strict=True):
            of_attribute = np.full(len(X.vocabulary), -1, np.int64)
            of_attribute[used] = number
            indices.append(of_attribute[X.indices])
        return joined_entries(chunks, indices)

    def merge(self) -> tuple[dict[str, int], Arrays]:
        """What the manifest says of all attributes, and the arrays of their names."""
        if self._columns is not None:
            return {"columns": len(self._columns)}, {}
        text, offsets = self._names.merge(self._min_count)
        if len(offsets) == 1 and self._min_count > 1 and self._what == "attributes":
            raise ValueError(f"No attribute occurs {self._min_count} times or more; lower min_count.")
        return {"names": len(offsets) - 1}, {"text": text, "offsets": offsets}

    def renumber(self, partition: int, arrays: Arrays, prefix: str) -> None:
        """After :meth:`merge`, give the entries of a partition the numbers of the whole, in place."""
        indices = arrays[f"{prefix}indices"]
        if self._columns is None:
            indices = self._names.numbers(partition)[indices]
        elif self._counts is not None:
            indices = np.where(self._counts[indices] >= self._min_count, indices, -1)
        kept = indices >= 0
        if not kept.all():
            arrays[f"{prefix}indptr"] = bounds_of(kept)[arrays[f"{prefix}indptr"]]
            if f"{prefix}values" in arrays:
                arrays[f"{prefix}values"] = arrays[f"{prefix}values"][kept]
            indices = indices[kept]
        arrays[f"{prefix}indices"] = indices.astype(np.int32)


def used_names(X: Encoded) -> tuple[Names, npt.NDArray[np.int64]]:
    """The names that occur with a value other than zero, and their numbers in X."""
    assert isinstance(X.vocabulary, Vocabulary)
    arrays, counts = X.vocabulary.to_bytes_arrays(), X.counts()
    used = np.flatnonzero(counts)
    text, offsets = arrays["vocabulary_text"], arrays["vocabulary_offsets"]
    return Names(text, offsets, counts).chosen(used), used  # type: ignore[arg-type]


def joined_entries(chunks: list[Encoded], indices: list[npt.NDArray[Any]]) -> Arrays:
    """The entries of chunks as compressed rows, sorted within each position; -1: left out."""
    sizes = np.concatenate([np.diff(X.indptr) for X in chunks])
    values = None
    if any(X.values is not None for X in chunks):
        values = np.concatenate([np.ones(len(X.indices)) if X.values is None else X.values for X in chunks])
    found = np.concatenate(indices)
    kept, indptr = found >= 0, bounds_of(sizes)
    if not kept.all():
        found, values = found[kept], None if values is None else values[kept]
        indptr = bounds_of(kept)[indptr]
    positions = len(indptr) - 1
    merged = Encoded.from_entries(bounds_of([positions]), indptr, found, values, NumberedColumns(2**31 - 1))
    arrays: Arrays = {"indptr": merged.indptr, "indices": merged.indices}
    return arrays if merged.values is None else {**arrays, "values": merged.values}
