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
from collections.abc import Iterable, Mapping
from decimal import Decimal
from itertools import accumulate, chain
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from dualfield import _core
from dualfield.core_arrays import handed_over
from dualfield.features.sequences.encoded import Encoded
from dualfield.features.vocabulary import Vocabulary

__all__ = ["encode_dicts", "encode_strings", "zero_attributes"]

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
    positions = list(chain.from_iterable(sequences))
    if any(issubclass(kind, (set, frozenset)) for kind in set(map(type, positions))):
        positions = [sorted(p) if isinstance(p, (set, frozenset)) and _all_strings([p]) else p for p in positions]
    offsets = _bounds(map(len, sequences))
    encoder = _encoder(vocabulary)
    try:
        encoder.add_lists(positions)
    except TypeError:
        _refuse_attribute(positions, offsets)
        raise
    return _finish(offsets, encoder, vocabulary)


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
    encoder = _encoder(vocabulary)
    try:
        encoder.add_dicts(positions)
    except _UnusableValue as error:
        raise TypeError(f"{_place(encoder.rows, offsets)}: {error}.") from None
    except OverflowError:
        raise ValueError(f"{_place(encoder.rows, offsets)}: a value is too large for a double.") from None
    except TypeError:
        _refuse_attribute(positions, offsets)
        raise
    if not encoder.only_finite:
        _refuse_weight(positions, offsets)
    return _finish(offsets, encoder, vocabulary)


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


def _encoder(vocabulary: Vocabulary | None) -> _core.AttributeEncoder:
    """One that numbers new names as they come, or knows the given ones only."""
    return _core.AttributeEncoder(None if vocabulary is None else vocabulary.core, _expand)


def _finish(offsets: Int64Array, encoder: _core.AttributeEncoder, vocabulary: Vocabulary | None) -> Encoded:
    indptr, indices, values, names = encoder.result()
    if vocabulary is None:
        assert names is not None
        vocabulary = Vocabulary.from_core(names)
    return Encoded(offsets, handed_over(indptr), handed_over(indices), values, vocabulary)


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


def _refuse_weight(positions: list[Any], offsets: Int64Array) -> None:
    for number, position in enumerate(positions):
        for name, value in chain.from_iterable(_expand(key, value) for key, value in position.items()):
            if not math.isfinite(value):
                raise ValueError(
                    f"attribute {name!r} at {_place(number, offsets)} has the value {value}; "
                    "expected a finite number; leave the attribute out if its value is missing."
                )
