"""Where the weights of bigram attributes are: those that go with an attribute and a pair of labels.

They are one flat vector, attribute after attribute, behind the other weights of a chain. With "all" pairs every
attribute has a weight for each pair that the constraints allow, K² where there are none; with "observed" ones, only
(attribute, label, label) seen in training have a weight.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from dualfield import _core
from dualfield.features import Encoded
from dualfield.labels import Constraints
from dualfield.memory import main_memory

__all__ = ["BigramLayout"]

FloatArray = npt.NDArray[np.float64]
Int64Array = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class BigramLayout:
    """The weights that the bigram attributes of a chain have.

    Parameters
    ----------
    n_bigrams, n_labels : int
        The number of attributes, and K.
    pairs : array of int32
        Pairs of labels as flat indices ``from · K + to``, increasing within an attribute.
    starts : array of int64, shape (n_bigrams + 1,), or None
        Where the pairs of each attribute start. None: every attribute has all of ``pairs``.
    """

    n_bigrams: int
    n_labels: int
    pairs: npt.NDArray[np.int32]
    starts: Int64Array | None = None
    _rows: Any = field(default=None, init=False, repr=False)

    @classmethod
    def from_data(
        cls,
        bigrams: Encoded,
        codes: npt.NDArray[np.int32],
        n_labels: int,
        which: str,
        constraints: Constraints | None,
        candidates: npt.NDArray[np.bool_] | None = None,
    ) -> BigramLayout:
        """Choose the weights for labelled data; where labels are known in part, by the ``candidates`` of each."""
        n_bigrams = len(bigrams.vocabulary)
        allowed = np.ones(n_labels * n_labels, dtype=bool) if constraints is None else constraints.transitions.ravel()
        if which == "all":
            pairs = np.flatnonzero(allowed).astype(np.int32)
            _check_size(n_bigrams, len(pairs))
            return cls(n_bigrams, n_labels, pairs)
        if candidates is None:
            keys = _observed(bigrams, codes, n_labels)
        else:
            keys = _observed_among(bigrams, candidates, n_labels)
        return cls.of_keys(n_bigrams, n_labels, keys[allowed[keys % (n_labels * n_labels)]])

    @classmethod
    def of_keys(cls, n_bigrams: int, n_labels: int, keys: Int64Array) -> BigramLayout:
        """The layout with exactly the weights ``attribute · K² + pair``, which increase."""
        attributes, pairs = np.divmod(keys, n_labels * n_labels)
        starts = np.searchsorted(attributes, np.arange(n_bigrams + 1)).astype(np.int64)
        return cls(n_bigrams, n_labels, pairs.astype(np.int32), starts)

    def __post_init__(self) -> None:
        # The compiled rows check themselves once, so that predicting a short sentence costs little.
        rows = _core.PairRows(self.n_bigrams, self.n_labels, self.starts, self.pairs)
        object.__setattr__(self, "_rows", rows)

    def __reduce__(self) -> tuple[Any, ...]:
        return BigramLayout, (self.n_bigrams, self.n_labels, self.pairs, self.starts)

    @property
    def dimension(self) -> int:
        """The number of weights."""
        return len(self.pairs) * (self.n_bigrams if self.starts is None else 1)

    def keys(self) -> Int64Array:
        """``attribute · K² + pair`` of each weight, increasing."""
        size = np.int64(self.n_labels * self.n_labels)
        if self.starts is None:
            return (np.arange(self.n_bigrams, dtype=np.int64)[:, None] * size + self.pairs).ravel()
        return np.repeat(np.arange(self.n_bigrams, dtype=np.int64), np.diff(self.starts)) * size + self.pairs

    def split(self, weights: FloatArray) -> Any:
        """An array (B, K, K); for observed pairs a CSR matrix (B, K²) with columns ``from · K + to``."""
        k = self.n_labels
        if self.starts is not None:
            from scipy import sparse  # for looking at weights, not for using them

            return sparse.csr_matrix((weights, self.pairs, self.starts), shape=(self.n_bigrams, k * k))
        dense = np.zeros((self.n_bigrams, k * k))
        dense[:, self.pairs] = weights.reshape(self.n_bigrams, len(self.pairs))
        return dense.reshape(self.n_bigrams, k, k)

    def matrix(self, weights: FloatArray, number: int) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
        """The weights of one attribute, an array (K, K), and which of them there are."""
        k = self.n_labels
        if self.starts is None:
            row, pairs = slice(number * len(self.pairs), (number + 1) * len(self.pairs)), self.pairs
        else:
            row = slice(int(self.starts[number]), int(self.starts[number + 1]))
            pairs = self.pairs[row]
        found, present = np.zeros(k * k), np.zeros(k * k, dtype=bool)
        found[pairs], present[pairs] = weights[row], True
        return found.reshape(k, k), present.reshape(k, k)

    def without_zeros(self, weights: FloatArray) -> tuple[BigramLayout, FloatArray]:
        """The layout of the weights that are not zero, and those weights."""
        kept = weights != 0
        return BigramLayout.of_keys(self.n_bigrams, self.n_labels, self.keys()[kept]), weights[kept]

    def without_empty_rows(self) -> tuple[BigramLayout, npt.NDArray[np.bool_]]:
        """The layout of the attributes that have a weight, and which they are."""
        if self.starts is None:
            return self, np.ones(self.n_bigrams, dtype=bool)
        counts = np.diff(self.starts)
        used = counts > 0
        starts = np.concatenate(([0], np.cumsum(counts[used]))).astype(np.int64)
        return BigramLayout(int(used.sum()), self.n_labels, self.pairs, starts), used

    def carry(self, weights: FloatArray, to: BigramLayout, labels: npt.NDArray[Any]) -> FloatArray:
        """These weights in another layout, see :meth:`ChainLayout.carry`; what is forbidden there is left out."""
        moved, there, keys = np.zeros(to.dimension), to.keys(), self._renumbered(to.n_labels, labels)
        kept = np.isin(keys, there)
        moved[np.searchsorted(there, keys[kept])] = weights[kept]
        return moved

    def joined(self, old: BigramLayout, labels: npt.NDArray[Any], constraints: Constraints | None) -> BigramLayout:
        """The same with all weights of an old layout besides its own; ``labels`` are the new numbers of old labels."""
        if self.starts is None:
            return self
        k = self.n_labels
        keys = np.union1d(self.keys(), old._renumbered(k, labels))
        if constraints is not None:
            keys = keys[constraints.transitions.ravel()[keys % (k * k)]]
        return BigramLayout.of_keys(self.n_bigrams, k, keys)

    def _renumbered(self, n_labels: int, labels: npt.NDArray[Any]) -> Int64Array:
        """The keys in a layout with other numbers of labels."""
        attributes, pairs = np.divmod(self.keys(), self.n_labels * self.n_labels)
        before, after = np.divmod(pairs, self.n_labels)
        keys: Int64Array = (attributes * n_labels + labels[before]) * n_labels + labels[after]
        return keys

    def compile(self, chain: Any, bigrams: Encoded) -> Any:
        """The compiled chain with these weights added to its own."""
        return _core.BigramChain(chain, bigrams.indptr, bigrams.indices, bigrams.values, self._rows)


def _entries(bigrams: Encoded) -> tuple[Int64Array, Int64Array]:
    """The attribute of each entry, and its position."""
    return bigrams.indices.astype(np.int64), np.repeat(np.arange(bigrams.n_positions), np.diff(bigrams.indptr))


def _observed(bigrams: Encoded, codes: npt.NDArray[np.int32], k: int) -> Int64Array:
    attributes, positions = _entries(bigrams)
    return np.unique((attributes * k + codes[positions - 1]) * k + codes[positions])


def _observed_among(bigrams: Encoded, candidates: npt.NDArray[np.bool_], k: int) -> Int64Array:
    """Every pair of candidates; a position where each label is possible shows none."""
    shown = candidates & ~candidates.all(axis=1, keepdims=True)
    attributes, positions = _entries(bigrams)
    found = [np.zeros(0, dtype=np.int64)]
    for attribute, t in zip(attributes.tolist(), positions.tolist(), strict=True):
        before, after = np.flatnonzero(shown[t - 1]), np.flatnonzero(shown[t])
        found.append(((attribute * k + before[:, None]) * k + after).ravel())
    return np.unique(np.concatenate(found))


def _check_size(n_bigrams: int, n_pairs: int) -> None:
    """Refuse a table of which the memory does not hold two, as every solver needs."""
    size, memory = 8 * n_bigrams * n_pairs, main_memory()
    if memory is not None and 2 * size > memory:
        raise ValueError(
            f"{n_bigrams:,} bigram attributes with {n_pairs:,} pairs of labels each have {n_bigrams * n_pairs:,} "
            f"weights; training keeps two such tables or more, of {size / 1e9:.1f} GB, and this machine has "
            f"{memory / 1e9:.1f} GB; give bigram_features='observed', which keeps the pairs that occur, or raise "
            "min_count."
        )
