"""Where the weights of a chain are: the part of a chain model that does not depend on data.

Weights are one flat vector,
``[ attribute × label | column × label | transition | bias | begin | end | bigram × pair ]``. With "all" pairs the first
part is attribute-major with K weights a row and there are K² transitions; with "observed" ones only the pairs seen in
training have a weight. The second part is that of dense columns beside the attributes, always with K weights a row. The
last part is that of :mod:`~dualfield.models.bigram_layout`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dualfield import _core
from dualfield.features import DenseColumns, DenseEncoded, Encoded
from dualfield.features.sequences.dense import Standard
from dualfield.labels import Constraints
from dualfield.memory import check_memory
from dualfield.models.bigram_layout import BigramLayout
from dualfield.models.chain_masks import Observed, constrain, exceptions, sparse_chain
from dualfield.models.spec import ChainSpec

__all__ = ["ChainLayout"]

IntArray = npt.NDArray[np.integer[Any]]
FloatArray = npt.NDArray[np.float64]
_MANY_LABELS = 100  # from here on, inference skips transitions without a weight, if most have none
_FEW = 10  # few: at most one in ten transitions has a weight
_BYTES = 16  # of a pair of attribute and label: a weight, and how often it occurs
BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class ChainLayout:
    """The weights that a chain model has.

    Parameters
    ----------
    n_attributes, n_labels : int
        A and K.
    transitions : array of int32
        Flat indices ``from · K + to`` of the transitions that have a weight, increasing.
    rows : (array of int64, array of int32) or None
        For observed state features: where each attribute's row starts, and the labels of all rows. None: all pairs.
    bias, begin, end : bool
        Whether there is a weight per label at every position, at the first, at the last.
    constraints : Constraints, optional
        Which labellings are allowed; its labels are those of the model, in their order.
    bigrams : BigramLayout, optional
        The weights of bigram attributes.
    sparse : bool, optional
        Whether inference passes over transitions without a weight. By default it does where that is faster.
    n_columns : int
        How many dense columns there are beside the attributes.
    """

    n_attributes: int
    n_labels: int
    transitions: npt.NDArray[np.int32]
    rows: tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]] | None
    bias: bool
    begin: bool
    end: bool
    constraints: Constraints | None = None
    bigrams: BigramLayout | None = None
    sparse: bool | None = None
    n_columns: int = 0
    _pairs: Any = field(default=None, init=False, repr=False)

    @classmethod
    def from_data(
        cls,
        encoded: Encoded,
        codes: npt.NDArray[np.int32],
        n_labels: int,
        spec: ChainSpec,
        *,
        constraints: Constraints | None = None,
        observed: Observed | None = None,
    ) -> ChainLayout:
        """Choose the weights for labelled data; ``codes`` are its labels, position after position.

        ``constraints`` are those of ``spec`` for these labels. ``observed`` stands for the pairs that occur where
        labels are known in part.
        """
        n_attributes = len(encoded.vocabulary)
        check_memory(
            _BYTES * n_attributes * (n_labels if spec.state_features == "all" else 1),
            f"a model of {n_attributes:,} attributes and {n_labels} labels",
            "lower hash_bits, or have fewer attributes",
        )
        rows = None
        if spec.state_features == "observed":
            seen, labels = (encoded, codes) if observed is None else (observed.positions, observed.codes)
            rows = _core.observed_pairs(seen.offsets, seen.indptr, seen.indices, n_attributes, n_labels, labels)
        if spec.transitions == "all":
            flat = np.arange(n_labels * n_labels, dtype=np.int32)
        elif observed is not None:
            flat = observed.transitions
        else:
            inner = np.ones(len(codes), dtype=bool)
            inner[encoded.offsets[1:] - 1] = False  # the last position of a sequence starts no transition
            before = np.flatnonzero(inner)
            flat = np.unique(codes[before] * np.int32(n_labels) + codes[before + 1]).astype(np.int32)
        if constraints is not None:
            flat = flat[constraints.transitions.ravel()[flat]]
        pairs = None
        if encoded.bigrams is not None:
            which, candidates = spec.bigram_features, None if observed is None else observed.candidates
            pairs = BigramLayout.from_data(encoded.bigrams, codes, n_labels, which, constraints, candidates)
        switches = spec.bias, spec.begin, spec.end
        n_columns = 0 if encoded.dense is None else encoded.dense.width
        return cls(n_attributes, n_labels, flat, rows, *switches, constraints, pairs, n_columns=n_columns)

    def __post_init__(self) -> None:
        # The compiled rows check themselves once, so that predicting a short sentence costs little.
        pairs = None if self.rows is None else _core.ObservedPairs(*self.rows, self.n_labels)
        object.__setattr__(self, "_pairs", pairs)

    def __reduce__(self) -> tuple[Any, ...]:
        parts = (self.n_attributes, self.n_labels, self.transitions, self.rows, self.bias, self.begin, self.end)
        return ChainLayout, (*parts, self.constraints, self.bigrams, self.sparse, self.n_columns)

    @property
    def n_attribute_weights(self) -> int:
        """How many (attribute, label) pairs have a weight."""
        return self.n_attributes * self.n_labels if self.rows is None else len(self.rows[1])

    def joined(self, others: Sequence[ChainLayout]) -> ChainLayout:
        """The layout with the weights of all, which have the same attributes, labels and options."""
        if not others:
            return self
        layouts, k = [self, *others], self.n_labels
        transitions = np.unique(np.concatenate([layout.transitions for layout in layouts])).astype(np.int32)
        rows, bigrams = None, self.bigrams
        if self.rows is not None:
            each = [attribute * k + label for attribute, label in (layout._state_pairs() for layout in layouts)]
            keys = np.unique(np.concatenate(each))
            starts = np.searchsorted(keys, k * np.arange(self.n_attributes + 1))
            rows = starts.astype(np.int64), (keys % k).astype(np.int32)
        if bigrams is not None and bigrams.starts is not None:
            pairs = [layout.bigrams.keys() for layout in layouts if layout.bigrams is not None]
            bigrams = BigramLayout.of_keys(bigrams.n_bigrams, k, np.unique(np.concatenate(pairs)))
        return replace(self, transitions=transitions, rows=rows, bigrams=bigrams)

    @property
    def n_state_weights(self) -> int:
        """How many weights positions have: of (attribute, label) pairs, and after them of (column, label) pairs."""
        return self.n_attribute_weights + self.n_columns * self.n_labels

    @property
    def dimension(self) -> int:
        """The number of weights."""
        return self.n_chain_weights + (0 if self.bigrams is None else self.bigrams.dimension)

    @property
    def n_chain_weights(self) -> int:
        """How many weights there are beside those of bigrams, and before them."""
        return self.n_state_weights + len(self.transitions) + self.n_labels * (self.bias + self.begin + self.end)

    def without_zeros(self, weights: FloatArray) -> tuple[ChainLayout, FloatArray]:
        """The layout of the weights that are not zero, and those; of columns, bias, begin and end all stay."""
        weights, last = np.split(weights, [self.n_chain_weights])
        sizes = self.n_attribute_weights, self.n_columns * self.n_labels, len(self.transitions)
        state, columns, transitions, rest = np.split(weights, np.cumsum(sizes))
        bigrams = self.bigrams
        if bigrams is not None:
            bigrams, last = bigrams.without_zeros(last)
        attributes, labels = self._state_pairs()
        kept = state != 0
        counts = np.bincount(attributes[kept], minlength=self.n_attributes)
        layout = replace(
            self,
            transitions=self.transitions[transitions != 0],
            rows=(np.concatenate(([0], np.cumsum(counts))).astype(np.int64), labels[kept].astype(np.int32)),
            bigrams=bigrams,
        )
        return layout, np.concatenate([state[kept], columns, transitions[transitions != 0], rest, last])

    def without_empty_rows(self) -> tuple[ChainLayout, npt.NDArray[np.bool_]]:
        """The layout of the attributes that have a weight, and which they are."""
        if self.rows is None:
            return self, np.ones(self.n_attributes, dtype=bool)
        counts = np.diff(self.rows[0])
        used = counts > 0
        starts = np.concatenate(([0], np.cumsum(counts[used]))).astype(np.int64)
        return replace(self, n_attributes=int(used.sum()), rows=(starts, self.rows[1])), used

    def carry(self, weights: FloatArray, to: ChainLayout, labels: IntArray) -> FloatArray:
        """These weights in a layout that has them all; others are zero there.

        ``labels[k]`` is the number there of label ``k``; attributes keep their numbers.
        """
        moved = np.zeros(to.dimension)
        state, columns, rest = np.split(weights, [self.n_attribute_weights, self.n_state_weights])
        if self.rows is None and to.rows is None:
            rows = moved[: to.n_attribute_weights].reshape(to.n_attributes, to.n_labels)
            rows[: self.n_attributes, labels] = state.reshape(self.n_attributes, self.n_labels)
        else:
            attribute, label = self._state_pairs()
            there_attribute, there_label = to._state_pairs()
            keys = there_attribute * to.n_labels + there_label
            moved[np.searchsorted(keys, attribute * to.n_labels + labels[label])] = state
        there_columns = moved[to.n_attribute_weights : to.n_state_weights].reshape(to.n_columns, to.n_labels)
        there_columns[: self.n_columns, labels] = columns.reshape(self.n_columns, self.n_labels)
        before, after = np.divmod(self.transitions, self.n_labels)
        flat = labels[before] * to.n_labels + labels[after]
        moved[to.n_state_weights + np.searchsorted(to.transitions, flat)] = rest[: len(self.transitions)]
        at, there = len(self.transitions), to.n_state_weights + len(to.transitions)
        for name in ("bias", "begin", "end"):
            if getattr(self, name):
                moved[there + labels] = rest[at : at + self.n_labels]
                at, there = at + self.n_labels, there + to.n_labels
        if self.bigrams is not None and to.bigrams is not None:
            moved[to.n_chain_weights :] = self.bigrams.carry(weights[self.n_chain_weights :], to.bigrams, labels)
        return moved

    def _state_pairs(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """(attribute, label) of each state weight, in their order."""
        if self.rows is None:
            pairs = np.arange(self.n_attributes * self.n_labels, dtype=np.int64)
            return pairs // self.n_labels, pairs % self.n_labels
        starts, labels = self.rows
        return np.repeat(np.arange(self.n_attributes), np.diff(starts)), labels.astype(np.int64)

    def compile(
        self,
        encoded: Encoded,
        codes: npt.NDArray[np.int32] | None = None,
        sample_weight: FloatArray | None = None,
        l2: float = 1.0,
        *,
        allowed: BoolArray | None = None,
        candidates: BoolArray | None = None,
        costs: FloatArray | None = None,
        standard: Standard | None = None,
    ) -> Any:
        """The compiled field over data; without ``codes`` it can predict, not train.

        With ``standard`` it is over dense columns that are standardised so. ``allowed`` and ``candidates``, arrays
        (positions, K), are the labels that positions may have, and those among which the true ones are. ``costs``, an
        array (K, K), is added to potentials: true label × label.
        """
        entries, n_attributes, columns = self._inputs(encoded)
        dense = None if columns is None else columns.in_core(standard)
        arguments = (
            encoded.offsets,
            *entries,
            n_attributes,
            self.n_labels,
            self.transitions,
            self.bias,
            self.begin,
            self.end,
            codes,
            sample_weight,
            l2,
        )
        chain: Any
        if self._pairs is None:
            chain = _core.ChainAll(*arguments, columns=dense)
        else:
            chain = _core.ChainObserved(*arguments, self._pairs, columns=dense)
        if self.bigrams is not None:
            assert encoded.bigrams is not None
            chain = self.bigrams.compile(chain, encoded.bigrams)
        elif candidates is None and costs is None and self._passes_over():
            return sparse_chain(chain, self.n_labels, self.constraints, allowed)
        return constrain(chain, self.n_labels, self.constraints, allowed, candidates, costs)

    def _inputs(self, encoded: Encoded) -> tuple[tuple[Any, Any, Any], int, DenseColumns | None]:
        """Entries, of how many attributes, and dense columns: either of these have the weights of array columns."""
        if isinstance(encoded, DenseEncoded) and self.rows is None:
            nothing = np.zeros(encoded.n_positions + 1, np.int64), np.zeros(0, np.int32), None
            return nothing, 0, encoded.columns
        return (encoded.indptr, encoded.indices, encoded.values), self.n_attributes, encoded.dense

    def folded(self, weights: FloatArray, standard: Standard) -> FloatArray:
        """The weights of dense columns as they were, from those of standardised ones, and all other weights.

        Where the layout has no dense columns beside attributes, the attributes are those columns.
        """
        k, end = self.n_labels, self.n_state_weights
        columns, bias = end - k * len(standard.shift), end + len(self.transitions)
        folded = weights.copy()
        own, folded[bias : bias + k] = standard.folded(weights[columns:end].reshape(-1, k), weights[bias : bias + k])
        folded[columns:end] = own.ravel()
        return folded

    def _passes_over(self) -> bool:
        if self.sparse is not None:
            return self.sparse
        k = self.n_labels
        return k >= _MANY_LABELS and _FEW * (len(self.transitions) + exceptions(self.constraints)) <= k**2

    def split(self, weights: FloatArray) -> dict[str, Any]:
        """The parts of a weight vector by name.

        Returns
        -------
        dict
            ``state``, an array (A, K) or a CSR matrix of that shape for observed pairs; ``transitions``, an array
            (K, K), zero where there is no weight; and, where they exist, ``columns``, an array (D, K) of dense columns
            beside the attributes, ``bias``, ``begin``, ``end``, arrays (K,), and ``bigrams``, an array (B, K, K) or,
            for observed pairs, a CSR matrix (B, K²).
        """
        shape = (self.n_attributes, self.n_labels)
        state, columns, rest = np.split(weights, [self.n_attribute_weights, self.n_state_weights])
        transitions = np.zeros(self.n_labels * self.n_labels)
        transitions[self.transitions] = rest[: len(self.transitions)]
        parts: dict[str, Any] = {"transitions": transitions.reshape(self.n_labels, self.n_labels)}
        if self.rows is None:
            parts["state"] = state.reshape(shape)
        else:
            from scipy import sparse  # for looking at weights, not for using them

            parts["state"] = sparse.csr_matrix((state, self.rows[1], self.rows[0]), shape=shape)
        if self.n_columns:
            parts["columns"] = columns.reshape(self.n_columns, self.n_labels)
        start = len(self.transitions)
        for name in ("bias", "begin", "end"):
            if getattr(self, name):
                parts[name] = rest[start : start + self.n_labels]
                start += self.n_labels
        if self.bigrams is not None:
            parts["bigrams"] = self.bigrams.split(rest[start:])
        return parts
