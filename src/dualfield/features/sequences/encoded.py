"""Encoded sequences: attribute numbers in contiguous arrays, ready for the core.

An :class:`Encoded` is a list of sequences stored as two nested levels of offsets::

    sequence i   has the positions   offsets[i] : offsets[i + 1]
    position t   has the entries     indptr[t] : indptr[t + 1]   of ``indices`` (and of ``values``)

The lower level is a CSR matrix with one row per position, the upper one cuts its rows into sequences.
Within a position the attributes are distinct and increasing, so an attribute's weight is never spread over
two entries and counting is a plain histogram. Indexing takes whole sequences, the unit that
cross-validation works with, and looks to scikit-learn like indexing a one-dimensional array.

Attributes that go with a pair of labels, this position's and the one before, are a second Encoded inside, ``bigrams``.
Taking sequences takes their bigrams too. Numbers that every position has, such as an embedding,
are ``dense``: arrays that stay where they lie.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Any

import numpy as np
import numpy.typing as npt

from dualfield import _core
from dualfield.core_arrays import contiguous, handed_over
from dualfield.features.sequences.dense import DenseColumns, dense_columns
from dualfield.features.vocabulary import NumberedColumns, Vocabulary
from dualfield.nested import Key, check_entries, check_offsets, check_values, chosen_groups, gather, integers

__all__ = ["Encoded", "check_bigrams"]


@dataclass(frozen=True, eq=False)
class Encoded:
    """Sequences of positions with numbered, weighted attributes.

    Parameters
    ----------
    offsets : array of int64, shape (n_sequences + 1,)
        Where each sequence's positions begin; strictly increasing from 0, since no sequence is empty.
    indptr : array of int64, shape (n_positions + 1,)
        Where each position's entries begin, from 0.
    indices : array of int32, shape (n_entries,)
        Attribute numbers, distinct and increasing within a position.
    values : array of float64, shape (n_entries,), or None
        The attributes' values; None means that all are 1.
    vocabulary : Vocabulary or NumberedColumns
        What the attribute numbers stand for.
    bigrams : Encoded, optional
        Attributes of pairs of labels, for the same positions: those of position t go with the labels of t − 1 and t, so
        the first position of a sequence has none. See :meth:`with_bigrams`.
    dense : DenseColumns, optional
        Columns of numbers for the same positions, beside the attributes. See :meth:`with_dense`.

    Raises
    ------
    ValueError
        If the arrays do not fit together: the core relies on them without looking again.

    Examples
    --------
    >>> from dualfield.features import encode
    >>> encoded = encode([[["w=the"], ["w=cat", "noun"]], [["w=cat"]]])
    >>> len(encoded), encoded.n_positions, encoded.lengths.tolist()
    (2, 3, [2, 1])
    >>> encoded[1].indices.tolist(), encoded.vocabulary.names
    ([1], ['w=the', 'w=cat', 'noun'])
    """

    offsets: npt.NDArray[np.int64]
    indptr: npt.NDArray[np.int64]
    indices: npt.NDArray[np.int32]
    values: npt.NDArray[np.float64] | None
    vocabulary: Vocabulary | NumberedColumns
    bigrams: Encoded | None = None
    dense: DenseColumns | None = None

    def __post_init__(self) -> None:
        for name, dtype in (("offsets", np.int64), ("indptr", np.int64), ("indices", np.int32)):
            object.__setattr__(self, name, integers(name, getattr(self, name), dtype))
        if self.values is not None:
            object.__setattr__(self, "values", contiguous(self.values, np.float64))
        check_offsets(self.offsets, self.n_positions)
        check_entries(self.indptr, self.indices, len(self.vocabulary))
        check_values(self.values, len(self.indices))
        if self.bigrams is not None:
            check_bigrams(self.bigrams, self.offsets)
        if self.dense is not None and not np.array_equal(self.dense.offsets, self.offsets):
            raise ValueError("the dense columns are of other sequences; expected one array a sequence, of its length.")

    @classmethod
    def from_entries(
        cls,
        offsets: npt.ArrayLike,
        indptr: npt.ArrayLike,
        indices: npt.ArrayLike,
        values: npt.ArrayLike | None,
        vocabulary: Vocabulary | NumberedColumns,
    ) -> Encoded:
        """Build from entries in any order; repeats within a position are added up, zeros dropped.

        Parameters
        ----------
        offsets, indptr, indices, values, vocabulary
            As in :class:`Encoded`, except that a position may name its attributes in any order and
            repeatedly.

        Examples
        --------
        >>> encoded = Encoded.from_entries([0, 1], [0, 3], [1, 0, 1], None, NumberedColumns(2))
        >>> encoded.indices.tolist(), encoded.values.tolist()
        ([0, 1], [1.0, 2.0])
        """
        starts = np.ascontiguousarray(indptr, dtype=np.int64)
        codes = np.ascontiguousarray(indices, dtype=np.int32)
        check_entries(starts, codes, len(vocabulary), ordered=False)
        numbers = None if values is None else contiguous(np.asarray(values), np.float64)
        check_values(numbers, len(codes))
        starts, codes, numbers = _core.merged_rows(starts, codes, numbers)
        return cls(np.asarray(offsets), handed_over(starts), handed_over(codes), numbers, vocabulary)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def shape(self) -> tuple[int]:
        """(n_sequences,): to scikit-learn, a one-dimensional array of sequences."""
        return (len(self),)

    @property
    def n_positions(self) -> int:
        """Number of positions of all sequences together."""
        return len(self.indptr) - 1

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """Number of positions of every sequence, shape (n_sequences,)."""
        return np.diff(self.offsets)

    def __repr__(self) -> str:
        return (
            f"Encoded({len(self):,} sequences, {self.n_positions:,} positions, {len(self.indices):,} "
            "entries, "
            f"{self.vocabulary!r}{'' if self.bigrams is None else f', bigrams of {self.bigrams.vocabulary!r}'}"
            f"{'' if self.dense is None else f', {self.dense.width:,} dense columns of {self.dense.dtype}'})"
        )

    def __iter__(self) -> Iterator[Encoded]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, key: Key) -> Encoded:
        """Return the chosen sequences as an Encoded with the same vocabulary.

        Parameters
        ----------
        key : int, slice, array of int, or boolean mask of shape (n_sequences,)
            Which sequences, in which order; an int gives an Encoded of that one sequence. A pair
            ``(key, ...)`` means ``key``, as scikit-learn writes it.

        Examples
        --------
        >>> from dualfield.features import encode
        >>> encoded = encode([[["a"]], [["b"], ["c"]], [["d"]]])
        >>> encoded[[2, 1]].lengths.tolist(), encoded[1:].lengths.tolist()
        ([1, 2], [2, 1])
        """
        chosen = chosen_groups(key, len(self))
        positions, offsets = gather(self.offsets, chosen)
        entries, indptr = gather(self.indptr, positions)
        values = None if self.values is None else self.values[entries]
        bigrams = None if self.bigrams is None else self.bigrams[chosen]
        dense = None if self.dense is None else self.dense[chosen]
        return Encoded(offsets, indptr, handed_over(self.indices[entries]), values, self.vocabulary, bigrams, dense)

    def with_bigrams(self, bigrams: Encoded | None) -> Encoded:
        """The same sequences with these attributes for pairs of labels in place of any that they have.

        Parameters
        ----------
        bigrams : Encoded or None
            Of as many sequences, of the same lengths. What it has at the first position of a sequence is left out:
            there is no pair of labels.

        Examples
        --------
        >>> from dualfield.features import encode
        >>> both = encode([[["a"], ["b"]]]).with_bigrams(encode([[["x"], ["y"]]]))
        >>> both.bigrams.indptr.tolist(), both.bigrams.vocabulary.names
        ([0, 0, 1], ['y'])
        """
        if bigrams is None:
            return self._with(None)
        if bigrams.dense is not None:
            raise ValueError("the bigrams have dense columns; expected attributes only.")
        bigrams = bigrams.sparse()
        _check_lengths(bigrams, self.offsets)
        sizes = np.diff(bigrams.indptr)
        sizes[bigrams.offsets[:-1]] = 0
        if sizes.sum() < len(bigrams.indices):
            entries, _ = gather(bigrams.indptr, np.flatnonzero(sizes))
            values = None if bigrams.values is None else bigrams.values[entries]
            indptr = np.concatenate(([0], np.cumsum(sizes)))
            rest = replace(bigrams, indptr=indptr, indices=bigrams.indices[entries], values=values)
            # Names that only first positions had go too; columns keep their width.
            named = isinstance(rest.vocabulary, Vocabulary)
            bigrams = rest.restrict((rest.counts() > 0) | (bigrams.counts() == 0)) if named else rest
        return self._with(bigrams)

    def _with(self, bigrams: Encoded | None) -> Encoded:
        return replace(self, bigrams=bigrams)

    def with_dense(self, dense: Any) -> Encoded:
        """The same sequences with these columns of numbers beside their attributes, in place of any that they have.

        Parameters
        ----------
        dense : 2-D array, sequence of 2-D arrays, or None
            One array with a row for each position of all sequences, in their order; or one array a sequence. Arrays of
            float32 or float64 in C order are used where they lie: do not change them afterwards.

        Examples
        --------
        >>> from dualfield.features import encode
        >>> both = encode([[["a"], ["b"]]]).with_dense(np.ones((2, 5), np.float32))
        >>> both.dense.width, both.vocabulary.names
        (5, ['a', 'b'])
        """
        return replace(self, dense=None if dense is None else dense_columns(dense, self.offsets))

    def sparse(self) -> Encoded:
        """The same, with the attributes as entries of a CSR matrix, which they are here."""
        return self

    def counts(self) -> npt.NDArray[np.int64]:
        """Return in how many positions every attribute occurs with a value other than 0.

        Returns
        -------
        counts : array of int64, shape (n_attributes,)

        Examples
        --------
        >>> from dualfield.features import encode
        >>> encode([[["a", "b"], ["a"]]]).counts().tolist()
        [2, 1]
        """
        indices = self.indices if self.values is None else self.indices[self.values != 0]
        return np.bincount(indices, minlength=len(self.vocabulary)).astype(np.int64)

    def restrict(self, keep: npt.ArrayLike) -> Encoded:
        """Drop attributes, as for a minimum count.

        A vocabulary of names shrinks to the kept names, in their old order. Columns keep their width, and
        only the entries go: an attribute without entries has weight 0, and later arrays of the full width
        still fit.

        Parameters
        ----------
        keep : array of bool, shape (n_attributes,)
            True for the attributes that stay.

        Examples
        --------
        >>> from dualfield.features import encode
        >>> encoded = encode([[["a", "b"], ["a"]]])
        >>> encoded.restrict(encoded.counts() >= 2).vocabulary.names
        ['a']
        """
        keep = np.asarray(keep)
        if keep.dtype != np.bool_ or keep.shape != (len(self.vocabulary),):
            raise ValueError(
                f"keep must be a boolean array of shape ({len(self.vocabulary)},), one entry per attribute; "
                f"found {keep.dtype} of shape {keep.shape}."
            )
        if keep.all():
            return self
        vocabulary = self.vocabulary
        if isinstance(vocabulary, NumberedColumns):
            return self.renumbered(np.where(keep, np.arange(len(keep)), -1), vocabulary)
        names = [vocabulary.names[i] for i in np.flatnonzero(keep)]
        return self.renumbered(np.where(keep, np.cumsum(keep) - 1, -1), Vocabulary(names))

    def without_rare_columns(self, min_count: int) -> Encoded:
        """What ``restrict(counts() >= min_count)`` gives for NumberedColumns, in memory that follows the entries.

        Hashed attributes have far more columns than entries: counts of them all would take gigabytes.
        """
        there = self.indices if self.values is None else self.indices[self.values != 0]
        columns, counts = np.unique(there, return_counts=True)
        return self._kept(np.isin(self.indices, columns[counts >= min_count]), self.indices, self.vocabulary)

    def translate(self, vocabulary: Vocabulary | NumberedColumns) -> Encoded:
        """Number the attributes by another vocabulary; those it does not have are dropped.

        Parameters
        ----------
        vocabulary : Vocabulary or NumberedColumns
            The vocabulary to go over to, of the same kind; columns must agree in number.

        Raises
        ------
        TypeError
            If one has names and the other has columns.
        ValueError
            If the numbers of columns differ.

        Examples
        --------
        >>> from dualfield.features import encode
        >>> encode([[["a", "b"]]]).translate(Vocabulary(["c", "b"])).indices.tolist()
        [1]
        """
        own = self.vocabulary
        if own is vocabulary:
            return self
        if isinstance(own, NumberedColumns) and isinstance(vocabulary, NumberedColumns):
            if own != vocabulary:
                raise ValueError(
                    f"the encoded data has {len(own)} columns but the vocabulary to translate to has "
                    f"{len(vocabulary)}; "
                    "give data with the columns that the model was trained on."
                )
            return self
        if isinstance(own, NumberedColumns) or isinstance(vocabulary, NumberedColumns):
            found, expected = ("columns", "names") if isinstance(own, NumberedColumns) else ("names", "columns")
            raise TypeError(
                f"the attributes of the encoded data are {found} but the vocabulary to translate to "
                f"has {expected}; "
                "encode the data in the form that the model was trained on."
            )
        if own == vocabulary:
            return replace(self, vocabulary=vocabulary)
        numbers = np.fromiter(map(vocabulary.index.get, own.names, repeat(-1)), np.int64, len(own))
        return self.renumbered(numbers, vocabulary)

    def renumbered(self, numbers: npt.NDArray[np.int64], vocabulary: Vocabulary | NumberedColumns) -> Encoded:
        """Number the attributes by another vocabulary, in which attribute ``a`` is ``numbers[a]``; -1 drops it.

        Parameters
        ----------
        numbers : array of int64, shape (n_attributes,)
            The new number of each attribute, or -1.
        vocabulary : Vocabulary or NumberedColumns
            What they stand for.

        Examples
        --------
        >>> import numpy as np
        >>> from dualfield.features import encode
        >>> encode([[["a", "b"]]]).renumbered(np.array([-1, 3]), NumberedColumns(4)).indices.tolist()
        [3]
        """
        indices = numbers[self.indices]
        return self._kept(indices >= 0, indices, vocabulary)

    def _kept(
        self,
        kept: npt.NDArray[np.bool_],
        indices: npt.NDArray[np.int32] | npt.NDArray[np.int64],
        vocabulary: Vocabulary | NumberedColumns,
    ) -> Encoded:
        """Some of the entries, each under a new number."""
        indptr = np.concatenate(([0], np.cumsum(kept)))[self.indptr]
        values = None if self.values is None else self.values[kept]
        rest = Encoded.from_entries(self.offsets, indptr, indices[kept], values, vocabulary)
        return replace(rest, bigrams=self.bigrams, dense=self.dense)


def _check_lengths(bigrams: Encoded, offsets: npt.NDArray[np.int64]) -> None:
    """Refuse bigrams of other sequences, with the first that differs."""
    if len(bigrams.offsets) != len(offsets):
        raise ValueError(
            f"the bigrams have {len(bigrams)} sequences, X has {len(offsets) - 1}; expected one for each of X."
        )
    wrong = np.flatnonzero(bigrams.lengths != np.diff(offsets))
    if wrong.size:
        number = int(wrong[0])
        raise ValueError(
            f"sequence {number} has {bigrams.lengths[number]} positions in the bigrams and "
            f"{offsets[number + 1] - offsets[number]} in X; expected as many, the first without effect."
        )


def check_bigrams(bigrams: Encoded, offsets: npt.NDArray[np.int64]) -> None:
    """Refuse bigrams that do not belong to sequences that begin at ``offsets``."""
    _check_lengths(bigrams, offsets)
    if bigrams.bigrams is not None:
        raise ValueError("the bigrams have bigrams themselves; expected attributes only.")
    first = offsets[:-1]
    wrong = np.flatnonzero(bigrams.indptr[first + 1] > bigrams.indptr[first])
    if wrong.size:
        raise ValueError(
            f"the first position of sequence {wrong[0]} has bigram attributes, but no label before it; leave them out, "
            "as with_bigrams does."
        )
