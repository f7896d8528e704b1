"""Label sequences and their codes.

The core knows labels as ``0 .. K - 1``. Labels are strings or integers; the classes are sorted, so a model
does not depend on the order of its training data.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import chain, repeat
from typing import Any

import numpy as np
import numpy.typing as npt

from dualfield.features.nested import SEQUENCES, Wording

__all__ = ["encode_labels", "label_lists", "label_type", "sorted_classes"]


def encode_labels(
    y: Any, lengths: npt.ArrayLike, classes: npt.ArrayLike | None = None, words: Wording = SEQUENCES
) -> tuple[npt.NDArray[Any], npt.NDArray[np.int32]]:
    """Number the labels of all positions.

    Parameters
    ----------
    y : iterable of label sequences
        Lists, tuples or 1-D arrays of strings, or of integers; one label per position.
    lengths : array of int, shape (n_sequences,)
        How many labels each sequence must have, as in ``Encoded.lengths``.
    classes : array of shape (n_classes,), optional
        The labels of an earlier call, in the order of their codes. By default the distinct labels of ``y``,
        sorted.
    words : Wording
        What messages call a sequence and its positions.

    Returns
    -------
    classes : array of str or int64, shape (n_classes,)
        ``classes[c]`` is the label of code ``c``.
    codes : array of int32, shape (sum of lengths,)
        Code of every position; -1 for a label that is not in the given ``classes``.

    Raises
    ------
    TypeError, ValueError
        With the place: another number of sequences or labels than in X, labels of mixed types, missing
        labels, a flat list of labels, or fewer than two classes.

    Examples
    --------
    >>> classes, codes = encode_labels([["O", "B"], ["O"]], [2, 1])
    >>> classes.tolist(), codes.tolist()
    (['B', 'O'], [1, 0, 1])
    """
    sequences = label_lists(y, lengths, words)
    kind = _common_type(sequences, words)
    if classes is None:
        known = sorted_classes(set(chain.from_iterable(sequences)), kind)
    else:
        known = np.asarray(classes)
        class_kind = str if known.dtype.kind in "UO" else int
        if kind is not None and kind is not class_kind:
            raise TypeError(
                f"the labels of y are of type {kind.__name__} but the model was trained on labels of type "
                f"{class_kind.__name__}, like {known[:1].tolist()}; give labels of that type."
            )
    code_of = {label: code for code, label in enumerate(known.tolist())}
    codes = np.fromiter(
        map(code_of.get, chain.from_iterable(sequences), repeat(-1)), np.int32, sum(map(len, sequences))
    )
    return known, codes


def label_lists(y: Any, lengths: npt.ArrayLike, words: Wording = SEQUENCES) -> list[Any]:
    """The label sequences, each a list or a tuple, as many and as long as they should be."""
    expected = np.asarray(lengths)
    sequences = _as_lists(y, words)
    if len(sequences) != len(expected):
        raise ValueError(
            f"y has {len(sequences)} {words.group}s but X has {len(expected)}; "
            f"give one label sequence per {words.group} of X."
        )
    found = np.fromiter(map(len, sequences), np.int64, len(sequences))
    if not np.array_equal(found, expected):
        number = int(np.argmax(found != expected))
        raise ValueError(
            f"{words.group} {number} has {found[number]} labels in y but {expected[number]} {words.member}s in X; "
            f"give one label per {words.member}."
        )
    return sequences


def _as_lists(y: Any, words: Wording) -> list[Any]:
    """The label sequences, each a list or a tuple."""
    if y is None or isinstance(y, (str, bytes, Mapping)) or not isinstance(y, Iterable):
        raise TypeError(f"y is of type {type(y).__name__}; expected a list of label sequences, as in [['A', 'B']].")
    sequences = list(y)
    if set(map(type, sequences)) <= {list, tuple}:
        return sequences
    return [_as_sequence(number, sequence, words) for number, sequence in enumerate(sequences)]


def _as_sequence(number: int, sequence: Any, words: Wording) -> Any:
    if isinstance(sequence, (list, tuple)):
        return sequence
    if isinstance(sequence, (str, int, np.generic)):
        raise TypeError(
            f"y is a flat list of labels: y[{number}] is {sequence!r:.40}; expected one label "
            f"sequence per {words.group} of X, as in [['A', 'B'], ['A']]; wrap a single sequence as [y]."
        )
    if hasattr(sequence, "__array__"):
        labels = np.asarray(sequence)
        if labels.ndim != 1:
            raise ValueError(
                f"{words.group} {number} of y is an array of shape {labels.shape}; expected a 1-D array, "
                f"one label per {words.member}."
            )
        return labels.tolist()
    if isinstance(sequence, (bytes, Mapping, set, frozenset)) or not isinstance(sequence, Iterable):
        raise TypeError(
            f"{words.group} {number} of y is of type {type(sequence).__name__}; expected a list, a tuple "
            "or a 1-D array of labels."
        )
    return list(sequence)


def label_type(kind: type) -> type | None:
    """Either str or int, where labels may be of this type."""
    if issubclass(kind, str):
        return str
    return int if issubclass(kind, (int, np.integer)) and kind is not bool else None


def _common_type(sequences: list[Any], words: Wording) -> type | None:
    """Either str or int, whichever all labels are; None when there are no labels."""
    found = Counter(map(type, chain.from_iterable(sequences)))
    kinds = set(map(label_type, found))
    if len(kinds) <= 1 and None not in kinds:
        return kinds.pop() if kinds else None
    first: type | None = None
    for number, sequence in enumerate(sequences):
        for index, label in enumerate(sequence):
            place = f"label {index} of {words.group} {number}"
            kind = label_type(type(label))
            if label is None or label != label:
                raise ValueError(f"{place} is {label}; expected a string or an integer; label it or leave it out.")
            if kind is None:
                raise TypeError(
                    f"{place} is {label!r:.40} of type {type(label).__name__}; expected a string or "
                    "an integer; "
                    "convert the labels first."
                )
            first = first or kind
            if kind is not first:
                raise TypeError(
                    f"{place} is {label!r:.40} of type {kind.__name__} but the labels before it are of type "
                    f"{first.__name__}; give labels of one type."
                )
    raise AssertionError("the types of the labels agree")


def sorted_classes(labels: set[Any], kind: type | None) -> npt.NDArray[Any]:
    """The classes that these labels make; refused where they are fewer than two."""
    if len(labels) < 2:
        only = f"only {next(iter(labels))!r}" if labels else "none"
        raise ValueError(f"at least two different labels are needed to train; y has {only}.")
    ordered = sorted(labels)
    try:
        classes = np.array(ordered, dtype=np.int64 if kind is int else np.str_)
    except OverflowError:
        raise ValueError(f"label {ordered[-1]} does not fit in 64 bits; give smaller integers or strings.") from None
    if kind is str and classes.tolist() != ordered:
        # NumPy's strings end at their last character other than NUL
        raise ValueError("a label ends in a NUL character; expected printable labels; strip it.")
    return classes
