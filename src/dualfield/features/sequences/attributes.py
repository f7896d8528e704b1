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
numbering does not depend on Python's hash seed. The loops below run once per attribute of every token;
whatever they do not check themselves is checked beforehand on the set of types, and places are looked up
only when there is something to report.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable, Mapping
from decimal import Decimal
from itertools import accumulate, chain, count
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from dualfield.features.sequences.encoded import Encoded
from dualfield.features.vocabulary import Vocabulary

__all__ = ["encode_dicts", "encode_strings"]

Int64Array = npt.NDArray[np.int64]
_NUMBERS = (Real, np.bool_, Decimal)


class _UnusableValue(Exception):
    """A dict holds something that is no attribute; the caller knows where."""


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
    offsets = _bounds(map(len, sequences))
    positions = list(chain.from_iterable(sequences))
    if not _all_strings(positions):
        _refuse_attribute(positions, offsets)
    if any(issubclass(kind, (set, frozenset)) for kind in set(map(type, positions))):
        positions = [sorted(p) if isinstance(p, (set, frozenset)) else p for p in positions]
    numbers = _numbering(vocabulary)
    indices = np.fromiter(map(numbers.__getitem__, chain.from_iterable(positions)), np.int32)
    return _finish(offsets, _bounds(map(len, positions)), indices, None, numbers, vocabulary)


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
    offsets = _bounds(map(len, sequences))
    positions = list(chain.from_iterable(sequences))
    if not _all_strings(positions):
        _refuse_attribute(positions, offsets)
    numbers = _numbering(vocabulary)
    indices, values, ends = array("i"), array("d"), array("q", [0])
    add_index, add_value = indices.append, values.append
    try:
        for position in positions:
            for key, value in position.items():
                kind = type(value)
                if kind is str:
                    add_index(numbers[f"{key}:{value}"])
                    add_value(1.0)
                elif kind is float or kind is bool or kind is int:
                    add_value(value)
                    add_index(numbers[key])
                else:
                    for name, weight in _expand(key, value):
                        add_index(numbers[name])
                        add_value(weight)
            ends.append(len(indices))
    except (_UnusableValue, OverflowError) as error:
        reason = error if isinstance(error, _UnusableValue) else "a value is too large for a double"
        kind_of_error = TypeError if isinstance(error, _UnusableValue) else ValueError
        raise kind_of_error(f"{_place(len(ends) - 1, offsets)}: {reason}.") from None
    weights = np.frombuffer(values, dtype=np.float64)
    indptr = np.frombuffer(ends, dtype=np.int64)
    if not np.isfinite(weights).all():
        _refuse_weight(positions, offsets, indptr, weights)
    return _finish(offsets, indptr, np.frombuffer(indices, dtype=np.int32), weights, numbers, vocabulary)


def _finish(
    offsets: Int64Array,
    indptr: Int64Array,
    indices: npt.NDArray[np.int32],
    values: npt.NDArray[np.float64] | None,
    numbers: dict[str, int],
    vocabulary: Vocabulary | None,
) -> Encoded:
    """Make the vocabulary if there was none, else drop the attributes it does not know."""
    if vocabulary is None:
        return Encoded.from_entries(offsets, indptr, indices, values, Vocabulary(list(numbers)))
    known = indices >= 0
    if not known.all():
        indptr = np.concatenate(([0], np.cumsum(known)))[indptr]
        indices, values = indices[known], None if values is None else values[known]
    return Encoded.from_entries(offsets, indptr, indices, values, vocabulary)


def _numbering(vocabulary: Vocabulary | None) -> dict[str, int]:
    """A dict that numbers new names as they come, or knows the given ones only."""
    return defaultdict(count().__next__) if vocabulary is None else vocabulary.index


def _bounds(sizes: Iterable[int]) -> Int64Array:
    return np.fromiter(accumulate(sizes, initial=0), np.int64)


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


def _place(position: int, offsets: Int64Array) -> str:
    sequence = int(np.searchsorted(offsets, position, side="right")) - 1
    return f"position {position - offsets[sequence]} of sequence {sequence}"


def _refuse_attribute(positions: list[Any], offsets: Int64Array) -> None:
    for number, position in enumerate(positions):
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
            raise TypeError(
                f"{_place(number, offsets)} has the {what} {name!r:.40} of type {type(name).__name__}; {hint}."
            )


def _refuse_weight(
    positions: list[Any], offsets: Int64Array, indptr: Int64Array, weights: npt.NDArray[np.float64]
) -> None:
    entry = int(np.argmin(np.isfinite(weights)))
    number = int(np.searchsorted(indptr, entry, side="right")) - 1
    names = [name for key, value in positions[number].items() for name, _ in _expand(key, value)]
    raise ValueError(
        f"attribute {names[entry - indptr[number]]!r} at {_place(number, offsets)} has the value "
        f"{weights[entry]}; "
        "expected a finite number; leave the attribute out if its value is missing."
    )
