"""Labelled sequences that come one by one, as ``Trainer.append`` takes them, kept as numbers.

A sequence is encoded when it comes, and the dicts of its positions are not kept. An attribute takes 12 bytes at every
position that has it, and its name is kept once. The conventions for dicts are python-crfsuite's. Plain dicts and lists
are read in the core, ``core/bindings/bind_attributes.cpp``; it asks :func:`attributes_of` for all else, and for errors.
"""

from __future__ import annotations

import math
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import count
from numbers import Real
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dualfield import _core
from dualfield.compat.crfsuite.feature_set import Keys
from dualfield.core_arrays import handed_over
from dualfield.features import Encoded, Vocabulary

__all__ = ["Appended", "Group", "attributes_of", "without_bytes"]


class Group(NamedTuple):
    """Some of the sequences: what is known of them, and their labels by number, position after position."""

    encoded: Encoded
    codes: npt.NDArray[np.int32]


class Appended:
    """Sequences, their labels, and the group that each belongs to.

    Examples
    --------
    >>> data = Appended()
    >>> data.append([{"w": "the"}, {"w": "cat", "n": 2}], ["D", "N"], 0)
    >>> len(data), data.labels, data.n_attributes
    (1, ['D', 'N'], 3)
    """

    def __init__(self) -> None:
        self._labels: dict[str, int] = defaultdict(count().__next__)
        self._collected = _core.SequenceCollector(attributes_of)
        self._codes, self._lengths, self._groups = array("i"), array("q"), array("q")
        self._adding = Lock()  # threads may append to one trainer

    def __len__(self) -> int:
        return len(self._lengths)

    @property
    def labels(self) -> list[str]:
        """In the order in which they came."""
        return list(self._labels)

    @property
    def n_attributes(self) -> int:
        """How many attributes there are, those of value zero included."""
        return self._collected.n_names

    def append(self, xseq: Any, yseq: Any, group: int) -> None:
        """Add a sequence; if it is refused, the others stay as they were."""
        items = xseq.items() if hasattr(xseq, "items") and not isinstance(xseq, Mapping) else xseq
        for name, given in (("xseq", items), ("yseq", yseq)):
            try:
                iter(given)
            except TypeError:
                raise TypeError(
                    f"{name} is of type {type(given).__name__}; expected a sequence, with an entry for each position."
                ) from None
        positions = list(items)
        labels = [_text(label, "a label") for label in yseq]
        if len(positions) != len(labels):
            raise ValueError(
                f"The numbers of items and labels differ: |x| = {len(positions)}, |y| = {len(labels)}; "
                "give one label for each item."
            )
        if not positions:
            return  # it has nothing to say
        with self._adding:
            self._collected.add(positions)
            self._codes.extend(map(self._labels.__getitem__, labels))
            self._lengths.append(len(positions))
            self._groups.append(group)

    def split(self, holdout: int, order: list[str]) -> tuple[Group | None, Group | None]:
        """The sequences outside the group ``holdout``, and those inside; None where there are none.

        Labels are numbered as ``order`` has them.
        """
        offsets = np.concatenate(([0], np.cumsum(np.frombuffer(self._lengths, np.int64)))).astype(np.int64)
        indptr, indices, values, names = self._collected.result()
        vocabulary = Vocabulary.from_core(names)
        encoded = Encoded(offsets, handed_over(indptr), handed_over(indices), values, vocabulary)
        codes = self._renumbered(order)[np.frombuffer(self._codes, np.int32)]
        inside = np.frombuffer(self._groups, np.int64) == holdout
        if not inside.any():
            return Group(encoded, codes), None
        of_positions = np.repeat(inside, encoded.lengths)
        parts = (
            Group(encoded[chosen], codes[at]) if chosen.any() else None
            for chosen, at in ((~inside, ~of_positions), (inside, of_positions))
        )
        training, held_out = parts
        return training, held_out

    def zero_pairs(self, holdout: int, order: list[str]) -> Keys:
        """The pairs ``attribute · K + label`` where an attribute has the value zero, outside of a group."""
        positions, attributes = self._collected.zeros()
        outside = np.repeat(np.frombuffer(self._groups, np.int64) != holdout, np.frombuffer(self._lengths, np.int64))
        kept = outside[positions]
        labels = self._renumbered(order)[np.frombuffer(self._codes, np.int32)[positions[kept]]]
        return np.unique(attributes[kept] * np.int64(len(order)) + labels)

    def _renumbered(self, order: list[str]) -> npt.NDArray[np.int32]:
        place = {label: number for number, label in enumerate(order)}
        return np.array([place[label] for label in self._labels], dtype=np.int32)


def attributes_of(position: Any) -> Iterator[tuple[str, float]]:
    """The attributes of a position and their values, by python-crfsuite's conventions; bytes are UTF-8.

    Examples
    --------
    >>> list(attributes_of({"w": b"the", "n": 2, "near": {"up": True, "all": ["a", "b"]}}))
    [('w:the', 1.0), ('n', 2.0), ('near:up', 1.0), ('near:all:a', 1.0), ('near:all:b', 1.0)]
    """
    if not isinstance(position, Mapping):
        if not isinstance(position, Iterable):
            raise TypeError(
                f"an item is of type {type(position).__name__}; expected a dict, or a list of attribute strings."
            )
        names = sorted(position, key=str) if isinstance(position, set | frozenset) else position
        for name in names:
            yield _text(name, "an attribute"), 1.0
        return
    for key, value in position.items():
        name = _text(key, "a key")
        if isinstance(value, str | bytes):
            yield f"{name}:{_text(value, 'a value')}", 1.0
        elif isinstance(value, Mapping | list | tuple | set | frozenset):
            for inner, number in attributes_of(value):
                yield f"{name}:{inner}", number
        elif isinstance(value, Real | np.bool_):
            try:
                number = float(value)
            except OverflowError:
                raise ValueError(f"the attribute {name!r} has a value that is too large for a double.") from None
            if not math.isfinite(number):
                raise ValueError(f"the attribute {name!r} has the value {value!r}; expected a finite number.")
            yield name, number
        else:
            raise TypeError(
                f"the value at key {name!r} is of type {type(value).__name__}; expected a number, a string, a list of "
                "strings or a dict; leave the key out if there is no value."
            )


def without_bytes(value: Any) -> Any:
    """The same sequences, positions or labels with bytes decoded as UTF-8.

    Examples
    --------
    >>> without_bytes([[{b"w": b"the", "all": ["a", b"b"]}], [["c"]]])
    [[{'w': 'the', 'all': ['a', 'b']}], [['c']]]
    """
    if isinstance(value, bytes):
        return _text(value, "a value")
    if isinstance(value, Mapping):
        return {without_bytes(key): without_bytes(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return type(value)(map(without_bytes, value)) if type(value) in (list, tuple, set, frozenset) else value
    return value


def _text(value: Any, what: str) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise ValueError(f"{what} is {value!r:.60}, which is not UTF-8; decode it by its own encoding.") from None
    raise TypeError(f"{what} is of type {type(value).__name__}; expected a string, or bytes in UTF-8.")
