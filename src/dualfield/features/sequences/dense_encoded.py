"""Sequences given as dense arrays, kept as they are."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from dualfield.core_arrays import handed_over
from dualfield.features.sequences.dense import DenseColumns
from dualfield.features.sequences.encoded import Encoded, check_bigrams
from dualfield.features.vocabulary import NumberedColumns, Vocabulary
from dualfield.nested import Key, bounds_of, chosen_groups

__all__ = ["DenseEncoded"]


class DenseEncoded(Encoded):
    """Sequences given as dense arrays, which stay where they lie.

    To whoever asks for entries (``indptr``, ``indices``, ``values``) it is like any :class:`Encoded`: they are made
    when they are first asked for. Training weights for all pairs of columns and labels, and predicting, never ask.

    Parameters
    ----------
    columns : DenseColumns
        The arrays; their columns are the attributes.
    bigrams : Encoded, optional
        Attributes of pairs of labels.

    Examples
    --------
    >>> encoded = DenseEncoded(DenseColumns([np.ones((2, 3), np.float32), np.ones((1, 3), np.float32)]))
    >>> len(encoded), encoded.n_positions, encoded.columns.dtype, encoded.counts().tolist()
    (2, 3, dtype('float32'), [3, 3, 3])
    """

    columns: DenseColumns

    def __init__(self, columns: DenseColumns, bigrams: Encoded | None = None) -> None:
        parts = {
            "columns": columns,
            "offsets": handed_over(columns.offsets),
            "vocabulary": NumberedColumns(columns.width),
            "bigrams": bigrams,
            "dense": None,
        }
        for name, value in parts.items():
            object.__setattr__(self, name, value)
        if bigrams is not None:
            check_bigrams(bigrams, self.offsets)

    @cached_property
    def entries(self) -> Encoded:
        """The same as a CSR matrix, without bigrams."""
        if not len(self):
            return Encoded(self.offsets, self.offsets, np.zeros(0, np.int32), None, self.vocabulary)
        places = [np.nonzero(array) for array in self.columns.arrays]
        numbers = [array[place] for array, place in zip(self.columns.arrays, places, strict=True)]
        sizes = [
            np.bincount(rows, minlength=len(array))
            for array, (rows, _) in zip(self.columns.arrays, places, strict=True)
        ]
        indices = np.concatenate([columns for _, columns in places]).astype(np.int32)
        values = np.concatenate(numbers).astype(np.float64)
        indptr = bounds_of(np.concatenate(sizes))
        return Encoded(self.offsets, indptr, indices, None if (values == 1).all() else values, self.vocabulary)

    @property
    def indptr(self) -> npt.NDArray[np.int64]:
        """Where each position's entries begin, from 0."""
        return self.entries.indptr

    @property
    def indices(self) -> npt.NDArray[np.int32]:
        """Numbers of the columns that are not zero."""
        return self.entries.indices

    @property
    def values(self) -> npt.NDArray[np.float64] | None:
        """The numbers that are not zero."""
        return self.entries.values

    @property
    def n_positions(self) -> int:
        """Number of positions of all sequences together."""
        return int(self.offsets[-1])

    def __repr__(self) -> str:
        return (
            f"DenseEncoded({len(self):,} sequences, {self.n_positions:,} positions, {self.columns.width:,} columns of "
            f"{self.columns.dtype}{'' if self.bigrams is None else f', bigrams of {self.bigrams.vocabulary!r}'})"
        )

    def __getitem__(self, key: Key) -> Encoded:
        """Return the chosen sequences; their arrays are not copied."""
        chosen = chosen_groups(key, len(self))
        return DenseEncoded(self.columns[chosen], None if self.bigrams is None else self.bigrams[chosen])

    def sparse(self) -> Encoded:
        """The same as entries of a CSR matrix."""
        return self.entries if self.bigrams is None else self.entries.with_bigrams(self.bigrams)

    def counts(self) -> npt.NDArray[np.int64]:
        """Return in how many positions every column is not zero."""
        found = np.zeros(self.columns.width, np.int64)
        for array in self.columns.arrays:
            found += np.count_nonzero(array, axis=0)
        return found

    def translate(self, vocabulary: Vocabulary | NumberedColumns) -> Encoded:
        """The same, where the vocabulary has as many columns; otherwise refused as :meth:`Encoded.translate` does."""
        if vocabulary is self.vocabulary or vocabulary == self.vocabulary:
            return self
        return self.entries.translate(vocabulary)

    def with_dense(self, dense: Any) -> Encoded:
        """Refused: the sequences are dense columns themselves."""
        raise ValueError(
            "X consists of dense arrays, and more were given beside them; join them into one, by np.hstack."
        )

    def _with(self, bigrams: Encoded | None) -> Encoded:
        return DenseEncoded(self.columns, bigrams)
