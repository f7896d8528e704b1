"""Label sequences and their codes.

The core knows labels as ``0 .. K - 1``. Labels are strings or integers; the classes are sorted, so a model
does not depend on the order of its training data.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise, repeat
from typing import Any

import numpy as np
import numpy.typing as npt

from dualfield.nested import SEQUENCES, Key, Wording, check_offsets, chosen_groups, gather, integers

__all__ = ["EncodedLabels", "distinct_labels", "encode_labels", "label_lists", "label_type", "sorted_classes"]


@dataclass(frozen=True, eq=False)
class EncodedLabels:
    """Label sequences as numbers, as a column file gives them.

    Parameters
    ----------
    names : sequence of str
        The distinct labels, in any order; some may not occur.
    codes : array of int32, shape (n_positions,)
        ``names[codes[t]]`` is the label of position t.
    offsets : array of int64, shape (n_sequences + 1,)
        Where each sequence begins, strictly increasing from 0.

    Examples
    --------
    >>> labels = EncodedLabels(["O", "B"], [0, 1, 0], [0, 2, 3])
    >>> len(labels), labels.tolist(), labels[0]
    (2, [['O', 'B'], ['O']], ['O', 'B'])
    """

    names: Sequence[str]
    codes: npt.NDArray[np.int32]
    offsets: npt.NDArray[np.int64]

    def __post_init__(self) -> None:
        object.__setattr__(self, "codes", integers("codes", self.codes, np.int32))
        object.__setattr__(self, "offsets", integers("offsets", self.offsets, np.int64))
        check_offsets(self.offsets, len(self.codes))
        if len(self.codes) and not 0 <= self.codes.min() <= self.codes.max() < len(self.names):
            raise ValueError(
                f"the codes run from {self.codes.min()} to {self.codes.max()} but there are {len(self.names)} names; "
                "expected a name for each code."
            )
        if len(set(self.names)) != len(self.names):
            raise ValueError("the names of the labels are not distinct; give each name once.")

    @classmethod
    def from_lists(cls, labels: Sequence[Sequence[str]]) -> EncodedLabels:
        """Label sequences given as strings, the names sorted."""
        names = sorted({label for sequence in labels for label in sequence})
        code_of = {name: code for code, name in enumerate(names)}
        codes = np.array([code_of[label] for sequence in labels for label in sequence], dtype=np.int32)
        return cls(names, codes, np.cumsum([0, *map(len, labels)]))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def shape(self) -> tuple[int]:
        """(n_sequences,): to scikit-learn, a one-dimensional array of label sequences."""
        return (len(self),)

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """Number of labels of every sequence, shape (n_sequences,)."""
        return np.diff(self.offsets)

    def __iter__(self) -> Iterator[list[str]]:
        return iter(self.tolist())

    def __getitem__(self, key: Key) -> Any:
        """The labels of one sequence for an int, else the chosen sequences as EncodedLabels."""
        chosen = chosen_groups(key, len(self))
        positions, offsets = gather(self.offsets, chosen)
        if isinstance(key, int | np.integer):
            return [self.names[code] for code in self.codes[positions].tolist()]
        return EncodedLabels(self.names, self.codes[positions], offsets)

    def tolist(self) -> list[list[str]]:
        """The labels as lists of strings."""
        labels = [self.names[code] for code in self.codes.tolist()]
        return [labels[a:b] for a, b in pairwise(self.offsets.tolist())]


def encode_labels(
    y: Any, lengths: npt.ArrayLike, classes: npt.ArrayLike | None = None, words: Wording = SEQUENCES
) -> tuple[npt.NDArray[Any], npt.NDArray[np.int32]]:
    """Number the labels of all positions.

    Parameters
    ----------
    y : iterable of label sequences, or EncodedLabels
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
    encoded = isinstance(y, EncodedLabels)
    kind = str if encoded else _common_type(sequences, words)
    if classes is None:
        present = (y.names[code] for code in np.unique(y.codes)) if encoded else chain.from_iterable(sequences)
        known = sorted_classes(set(present), kind)
    else:
        known = np.asarray(classes)
        class_kind = str if known.dtype.kind in "UO" else int
        if kind is not None and kind is not class_kind:
            raise TypeError(
                f"the labels of y are of type {kind.__name__} but the model was trained on labels of type "
                f"{class_kind.__name__}, like {known[:1].tolist()}; give labels of that type."
            )
    code_of = {label: code for code, label in enumerate(known.tolist())}
    if encoded:
        return known, np.array([code_of.get(name, -1) for name in y.names], dtype=np.int32)[y.codes]
    codes = np.fromiter(
        map(code_of.get, chain.from_iterable(sequences), repeat(-1)), np.int32, sum(map(len, sequences))
    )
    return known, codes


def distinct_labels(
    y: Any, lengths: npt.ArrayLike, words: Wording = SEQUENCES
) -> tuple[list[Any], npt.NDArray[np.int32]]:
    """The different labels of a part of the data, and the number of each position's label among them.

    A part may have a single label; that all have two is checked where there are all.
    """
    sequences = label_lists(y, lengths, words)
    if isinstance(y, EncodedLabels):
        used, inverse = np.unique(y.codes, return_inverse=True)
        return [y.names[code] for code in used.tolist()], inverse.astype(np.int32)
    _common_type(sequences, words)
    numbers: dict[Any, int] = {}
    plain = (label if isinstance(label, str) else int(label) for label in chain.from_iterable(sequences))
    codes = np.array([numbers.setdefault(label, len(numbers)) for label in plain], np.int32)
    return list(numbers), codes


def label_lists(y: Any, lengths: npt.ArrayLike, words: Wording = SEQUENCES) -> list[Any]:
    """The label sequences, each a list or a tuple, as many and as long as they should be."""
    expected = np.asarray(lengths)
    encoded = isinstance(y, EncodedLabels)
    sequences = y if encoded else _as_lists(y, words)
    if len(sequences) != len(expected):
        raise ValueError(
            f"y has {len(sequences)} {words.group}s but X has {len(expected)}; "
            f"give one label sequence per {words.group} of X."
        )
    found = y.lengths if encoded else np.fromiter(map(len, sequences), np.int64, len(sequences))
    if not np.array_equal(found, expected):
        number = int(np.argmax(found != expected))
        raise ValueError(
            f"{words.group} {number} has {found[number]} label{'' if found[number] == 1 else 's'} in y but "
            f"{expected[number]} {words.member}{'' if expected[number] == 1 else 's'} in X; "
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
            if label is None or (isinstance(label, float | np.floating) and np.isnan(label)):
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
