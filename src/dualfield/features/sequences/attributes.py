"""Sequences given as named attributes: a dict or a list of strings at every position.

The conventions for dicts are those of python-crfsuite, so features written for it mean the same here:

===========================  =====================================================
``{"key": 2.5}``             attribute ``key`` with value 2.5; True is 1, False is 0
``{"key": "text"}``          attribute ``key:text`` with value 1
``{"key": ["a", "b"]}``      attributes ``key:a`` and ``key:b`` with value 1
``{"key": {...}}``           the attributes of the inner dict, each after ``key:``
``["a", "b"]``               attributes ``a`` and ``b`` with value 1
===========================  =====================================================

An attribute that a position names twice has its values added up. A set is read in sorted order, so that the
numbering does not depend on Python's hash seed. The loop over all attributes of all tokens is in the core,
``core/bindings/bind_attributes.cpp``; places are looked up only when there is something to report.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from itertools import accumulate, chain, islice
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from dualfield import _core
from dualfield.core_arrays import handed_over
from dualfield.features.sequences.encoded import Encoded
from dualfield.features.vocabulary import Vocabulary
from dualfield.nested import SEQUENCES, Wording

__all__ = ["NamedRows", "encode_dicts", "encode_strings", "zero_attributes"]

Int64Array = npt.NDArray[np.int64]
_NUMBERS = (Real, np.bool_, Decimal)


class _UnusableValue(Exception):
    """A value in a dict that is no attribute. The caller adds the place to the message."""


class NamedRows:
    """Encodes sequences of dicts or of lists of strings, some at a time; what was given is not kept.

    Parameters
    ----------
    vocabulary : Vocabulary, optional
        Numbers to use; other attributes are ignored. By default numbers are given in order of first appearance.
    words : Wording
        What messages call a sequence and its positions.

    Examples
    --------
    >>> rows = NamedRows()
    >>> rows.add_strings([[["w=a", "cap"], ["w=b"]]])
    >>> rows.add_strings([[["w=a"]]])
    >>> rows.finish().lengths.tolist()
    [2, 1]
    """

    def __init__(self, vocabulary: Vocabulary | None = None, words: Wording = SEQUENCES) -> None:
        self._vocabulary, self._words = vocabulary, words
        self._encoder = _core.AttributeEncoder(None if vocabulary is None else vocabulary.core, _expand)
        self._offsets = array("q", [0])

    def add_strings(self, sequences: list[Any]) -> None:
        """Sequences, none empty, of lists (tuples, sets) of attribute strings."""
        positions = list(chain.from_iterable(sequences))
        if any(issubclass(kind, (set, frozenset)) for kind in set(map(type, positions))):
            positions = [sorted(p) if isinstance(p, (set, frozenset)) and _all_strings([p]) else p for p in positions]
        before = self._extend(sequences)
        try:
            self._encoder.add_lists(positions)
        except TypeError:
            _refuse_attribute(positions, before, self._place)
            raise

    def add_dicts(self, sequences: list[Any]) -> None:
        """Sequences, none empty, of dicts."""
        positions = list(chain.from_iterable(sequences))
        before = self._extend(sequences)
        try:
            self._encoder.add_dicts(positions)
        except _UnusableValue as error:
            raise TypeError(f"{self._place(self._encoder.rows)}: {error}.") from None
        except OverflowError:
            raise ValueError(f"{self._place(self._encoder.rows)}: a value is too large for a double.") from None
        except TypeError:
            _refuse_attribute(positions, before, self._place)
            raise
        if not self._encoder.only_finite:
            _refuse_weight(positions, before, self._place)

    def finish(self) -> Encoded:
        """All that was added."""
        indptr, indices, values, names = self._encoder.result()
        vocabulary = self._vocabulary
        if vocabulary is None:
            assert names is not None
            vocabulary = Vocabulary.from_core(names)
        offsets = np.frombuffer(self._offsets, np.int64)
        return Encoded(offsets, handed_over(indptr), handed_over(indices), values, vocabulary)

    def _extend(self, sequences: list[Any]) -> int:
        """Note where the sequences begin; returns how many positions there were before."""
        before = self._offsets[-1]
        self._offsets.extend(islice(accumulate(map(len, sequences), initial=before), 1, None))
        return before

    def _place(self, position: int) -> str:
        sequence = bisect_right(self._offsets, position) - 1
        return f"{self._words.member} {position - self._offsets[sequence]} of {self._words.group} {sequence}"


def encode_strings(sequences: list[Any], vocabulary: Vocabulary | None = None) -> Encoded:
    """Encode positions that are lists (tuples, sets) of attribute strings.

    Parameters
    ----------
    sequences : list of sequences of lists of str
        At least one sequence, none empty.
    vocabulary : Vocabulary, optional
        Numbers to use; other attributes are ignored. By default numbers are given in order of first
        appearance.

    Examples
    --------
    >>> encode_strings([[["w=a", "cap"], ["w=b"]]]).vocabulary.names
    ['w=a', 'cap', 'w=b']
    """
    rows = NamedRows(vocabulary)
    rows.add_strings(sequences)
    return rows.finish()


def encode_dicts(sequences: list[Any], vocabulary: Vocabulary | None = None) -> Encoded:
    """Encode positions that are dicts, by python-crfsuite's conventions.

    Parameters
    ----------
    sequences : list of sequences of dicts
        At least one sequence, none empty.
    vocabulary : Vocabulary, optional
        Numbers to use; other attributes are ignored. By default numbers are given in order of first
        appearance.

    Examples
    --------
    >>> encoded = encode_dicts([[{"word": "the", "length": 3}]])
    >>> encoded.vocabulary.names, encoded.values.tolist()
    (['word:the', 'length'], [1.0, 3.0])
    """
    rows = NamedRows(vocabulary)
    rows.add_dicts(sequences)
    return rows.finish()


def zero_attributes(sequences: list[Any], vocabulary: Vocabulary) -> tuple[Int64Array, npt.NDArray[np.int32]]:
    """Which known attributes positions name with the value zero, which encoded data do not have.

    Parameters
    ----------
    sequences : list of sequences of dicts or of lists of str
        As :func:`encode_dicts` has accepted them.
    vocabulary : Vocabulary
        The numbers of the attributes.

    Returns
    -------
    positions, attributes : arrays of the same length
        The number of a position, counted over all sequences, and of an attribute that is zero there.

    Examples
    --------
    >>> [found.tolist() for found in zero_attributes([[{"a": 0, "b": 1}, {"c": False}]], Vocabulary(["a", "b"]))]
    [[0], [0]]
    """
    return _core.zero_attributes(list(chain.from_iterable(sequences)), vocabulary.core, _expand)


def _all_strings(groups: Iterable[Iterable[Any]]) -> bool:
    return all(issubclass(kind, str) for kind in set(map(type, chain.from_iterable(groups))))


def _expand(key: str, value: Any) -> list[tuple[str, float]]:
    """Attributes of one dict entry, whatever its value."""
    if isinstance(value, str):
        return [(f"{key}:{value}", 1.0)]
    if isinstance(value, _NUMBERS):
        return [(key, float(value))]
    if isinstance(value, Mapping):
        if not _all_strings([value]):
            raise _UnusableValue(f"a key inside {key!r} is not a string; expected strings only")
        inner = chain.from_iterable(_expand(name, item) for name, item in value.items())
        return [(f"{key}:{name}", weight) for name, weight in inner]
    if isinstance(value, (list, tuple, set, frozenset)):
        if not _all_strings([value]):
            raise _UnusableValue(
                f"the {type(value).__name__} at key {key!r} holds something other than strings; "
                "expected strings only, or a dict from names to numbers"
            )
        return [(f"{key}:{item}", 1.0) for item in (sorted(value) if isinstance(value, (set, frozenset)) else value)]
    raise _UnusableValue(
        f"the value at key {key!r} is of type {type(value).__name__}; expected a number, a string, a "
        "list of strings "
        "or a dict; leave the key out if there is no value"
    )


def _refuse_attribute(positions: list[Any], before: int, place: Callable[[int], str]) -> None:
    for number, position in enumerate(positions, before):
        for name in position:
            if isinstance(name, str):
                continue
            what, hint = "attribute", "expected strings only"
            if isinstance(position, Mapping):
                what = "key"
            elif isinstance(name, Mapping):
                hint = "expected strings only; give a dict instead of a list of dicts"
            elif isinstance(name, _NUMBERS):
                hint = "expected strings only; give numeric features as a 2-D array per sequence"
            raise TypeError(f"{place(number)} has the {what} {name!r:.40} of type {type(name).__name__}; {hint}.")


def _refuse_weight(positions: list[Any], before: int, place: Callable[[int], str]) -> None:
    for number, position in enumerate(positions, before):
        for name, value in chain.from_iterable(_expand(key, value) for key, value in position.items()):
            if not math.isfinite(value):
                raise ValueError(
                    f"attribute {name!r} at {place(number)} has the value {value}; "
                    "expected a finite number; leave the attribute out if its value is missing."
                )
