"""Which weights CRFsuite's models have, as a layout of ours.

CRFsuite counts an attribute of value zero as seen: ``{"upper": False}`` at a position labelled O gives the pair
(upper, O) a weight. Its frequency of a pair is the sum of the values, of a transition the number of times, and a pair
less frequent than ``min_freq`` has no weight, whatever else is asked for. Without ``min_freq``, that still goes for
pairs whose values sum to less than zero.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from dualfield.features import Encoded, NumberedColumns
from dualfield.features.sequences.attributes import zero_attributes
from dualfield.fields.base import check_label_count
from dualfield.models import ChainLayout, ChainSpec

__all__ = ["crfsuite_layout", "zero_pairs"]

Keys = npt.NDArray[np.int64]

_DENSE = 4  # numbers for each entry of the data that a table of all pairs may have


def crfsuite_layout(
    encoded: Encoded,
    codes: npt.NDArray[np.int32],
    n_labels: int,
    spec: ChainSpec,
    min_freq: float,
    zeros: Callable[[], Keys],
) -> ChainLayout:
    """The weights that CRFsuite gives to labelled sequences.

    Parameters
    ----------
    encoded, codes, n_labels
        The sequences, and their labels position after position.
    spec : ChainSpec
        Whether pairs that do not occur have a weight; of no effect with a positive ``min_freq``.
    min_freq : float
        The least frequency of a pair.
    zeros : callable
        The pairs ``attribute · K + label`` of an attribute that is there with value zero, where a position has the
        label; ``encoded`` does not have them. They are asked for only where they matter.
    """
    seen, frequency = _state_frequencies(encoded, codes, n_labels)
    n_attributes = len(encoded.vocabulary)
    if spec.state_features == "all":
        of_all = np.zeros(n_attributes * n_labels)
        of_all[seen] = frequency
        keys = np.flatnonzero(of_all >= min_freq)
    else:
        keys = seen[frequency >= min_freq]
        if min_freq <= 0:
            keys = np.union1d(keys, np.setdiff1d(zeros(), seen))
    rows = None
    if len(keys) < n_attributes * n_labels:
        counts = np.bincount(keys // n_labels, minlength=n_attributes)
        rows = np.concatenate(([0], np.cumsum(counts))).astype(np.int64), (keys % n_labels).astype(np.int32)
    check_label_count(n_labels)
    inner = np.ones(len(codes), dtype=bool)
    inner[encoded.offsets[1:] - 1] = False  # the last position of a sequence starts no transition
    before = np.flatnonzero(inner)
    times = np.bincount(codes[before].astype(np.int64) * n_labels + codes[before + 1], minlength=n_labels**2)
    kept = times >= (min_freq if spec.transitions == "all" or min_freq > 0 else 1)
    return ChainLayout(
        *(n_attributes, n_labels, np.flatnonzero(kept).astype(np.int32), rows), spec.bias, spec.begin, spec.end
    )


def _state_frequencies(
    encoded: Encoded, codes: npt.NDArray[np.int32], n_labels: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """The pairs (attribute · K + label) that occur, in increasing order, and the sums of their values."""
    label_of_entry = np.repeat(codes.astype(np.int64), np.diff(encoded.indptr))
    pairs = encoded.indices * np.int64(n_labels) + label_of_entry
    n_pairs = len(encoded.vocabulary) * n_labels
    if n_pairs <= _DENSE * len(pairs):  # then counting is faster than sorting
        keys = np.flatnonzero(np.bincount(pairs, minlength=n_pairs))
        return keys, np.bincount(pairs, weights=encoded.values, minlength=n_pairs)[keys].astype(np.float64)
    keys, place = np.unique(pairs, return_inverse=True)
    sums = np.bincount(place, weights=encoded.values, minlength=len(keys))
    return keys, sums.astype(np.float64)


def zero_pairs(X: list[Any], encoded: Encoded, codes: npt.NDArray[np.int32], n_labels: int) -> Keys:
    """Pairs of an attribute and a label where it is there with value zero, of sequences as the user gave them."""
    vocabulary = encoded.vocabulary
    if isinstance(vocabulary, NumberedColumns):
        return np.empty(0, dtype=np.int64)
    positions, attributes = zero_attributes(X, vocabulary)
    return np.unique(attributes * np.int64(n_labels) + codes[positions])
