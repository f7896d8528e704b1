"""Vocabularies: what the attribute numbers of encoded data mean.

The core only ever sees numbers ``0 .. n_attributes - 1``. Two kinds of vocabulary say what they mean:

* :class:`Vocabulary`: every number is an attribute *name* (data given as dicts or lists of strings);
* :class:`NumberedColumns`: every number is a *column* of a matrix (data given as arrays), so only the width matters.

A vocabulary of names is stored as two plain arrays, the names' bytes one after the other and where each
begins, so that it can live in a model file beside the weights without any code running on load.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise, repeat
from typing import Any

import numpy as np
import numpy.typing as npt

from dualfield import _core
from dualfield.given_numbers import check_integer

__all__ = ["NumberedColumns", "Vocabulary"]

# Python strings may hold lone surrogates, which strict UTF-8 refuses; "surrogatepass" stores and restores
# them.
_ERRORS = "surrogatepass"

Packed = dict[str, npt.NDArray[np.uint8] | npt.NDArray[np.int64]]


class Numbers(dict[str, int]):
    """The number of every name; -1 for a name that is not there."""

    def __missing__(self, name: str) -> int:
        return -1


class Vocabulary:
    """Attribute names and their numbers, each name once.

    Parameters
    ----------
    names : sequence of str
        The distinct names; ``names[i]`` is the name of attribute ``i``.

    Attributes
    ----------
    names : list of str
        Name of every attribute.
    index : dict from str to int
        Number of every name: ``index[names[i]] == i``; -1 for any other.

    Raises
    ------
    TypeError
        If a name is not a string.
    ValueError
        If a name occurs twice.

    Examples
    --------
    >>> vocabulary = Vocabulary(["w=the", "w=cat"])
    >>> len(vocabulary), vocabulary.index["w=cat"], "w=dog" in vocabulary
    (2, 1, False)
    """

    __slots__ = ("_arrays", "_index", "_names", "_table")
    __hash__ = None  # type: ignore[assignment]

    _table: _core.Names | None
    _arrays: Packed | None
    _names: list[str] | None
    _index: dict[str, int] | None

    def __init__(self, names: Sequence[str]) -> None:
        listed = list(names)
        if not set(map(type, listed)) <= {str}:
            listed = [_plain_string(number, name) for number, name in enumerate(listed)]
        index = Numbers(zip(listed, range(len(listed)), strict=True))
        if len(index) != len(listed):
            # The dict keeps the last number of a repeated name, so the first mismatch is its first
            # occurrence.
            number = next(i for i, name in enumerate(listed) if index[name] != i)
            name = listed[number]
            raise ValueError(
                f"name {name!r} occurs twice in the vocabulary, at {number} and {index[name]}; expected distinct names."
            )
        self._names, self._index, self._table, self._arrays = listed, index, None, None

    @classmethod
    def from_core(cls, core: _core.Names) -> Vocabulary:
        """The vocabulary of names that are in the compiled core; Python strings are made when they are asked for."""
        vocabulary = cls.__new__(cls)
        vocabulary._names, vocabulary._index, vocabulary._table, vocabulary._arrays = None, None, core, None
        return vocabulary

    def with_more(self, names: Sequence[str]) -> tuple[Vocabulary, npt.NDArray[np.int64]]:
        """A vocabulary of the same names and, behind them, those of some distinct ``names`` that are new.

        The table that finds numbers by names goes over to the new vocabulary, so that this takes the time of ``names``;
        this one makes another if it is asked again.

        Returns
        -------
        vocabulary : Vocabulary
        numbers : array of int64
            Those of ``names`` in it.

        Examples
        --------
        >>> vocabulary = Vocabulary(["a", "b"])
        >>> more, numbers = vocabulary.with_more(["b", "c"])
        >>> more.names, numbers.tolist(), more.index["c"], vocabulary.index["c"]
        (['a', 'b', 'c'], [1, 2], 2, -1)
        """
        index = self.index
        numbers = np.fromiter(map(index.get, names, repeat(-1)), np.int64, len(names))
        places = np.flatnonzero(numbers < 0)
        if len(places) == 0:
            return self, numbers
        numbers[places] = np.arange(len(index), len(index) + len(places))
        fresh = [names[place] for place in places.tolist()]
        listed = [*self.names, *fresh]
        self._index = None
        index.update(zip(fresh, numbers[places].tolist(), strict=True))
        vocabulary = Vocabulary.__new__(Vocabulary)
        vocabulary._names, vocabulary._index, vocabulary._table, vocabulary._arrays = listed, index, None, None
        return vocabulary, numbers

    @property
    def names(self) -> list[str]:
        """Name of every attribute."""
        if self._names is None:
            self._names = self.core.strings()
        return self._names

    @property
    def index(self) -> dict[str, int]:
        """Number of every name; -1 for any other."""
        if self._index is None:
            self._index = Numbers(zip(self.names, range(len(self.names)), strict=True))
        return self._index

    @property
    def core(self) -> _core.Names:
        """The names in the compiled core, as templates look them up."""
        table, arrays = self._table, self._arrays  # another thread may make or release the table meanwhile
        if table is None and arrays is not None:
            table = self._table = _core.Names(*arrays.values())
        if table is None:
            encoded = [name.encode("utf-8", _ERRORS) for name in self.names]
            bounds = np.fromiter(accumulate(map(len, encoded), initial=0), np.int64, len(encoded) + 1)
            table = self._table = _core.Names(np.frombuffer(b"".join(encoded), dtype=np.uint8), bounds)
        return table

    def release_table(self) -> None:
        """Keep the names as two arrays; the table that finds their numbers is made again when somebody asks for it.

        It is as large as the names, and training has no use for it.

        Examples
        --------
        >>> vocabulary = Vocabulary(["w=the", "w=cat"])
        >>> vocabulary.release_table()
        >>> len(vocabulary), vocabulary.index["w=cat"]
        (2, 1)
        """
        if self._names is None:
            self._arrays, self._table = self.to_bytes_arrays(), None

    def __reduce__(self) -> Any:
        return Vocabulary, (self.names,)

    def __len__(self) -> int:
        if self._arrays is not None:
            return len(self._arrays["vocabulary_offsets"]) - 1
        table = self._table
        return len(table) if table is not None else len(self.names)

    def __contains__(self, name: object) -> bool:
        return name in self.index

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vocabulary):
            return NotImplemented
        if self is other:
            return True
        if self._names is not None and other._names is not None:
            return self._names == other._names
        pairs = zip(self.to_bytes_arrays().values(), other.to_bytes_arrays().values(), strict=True)
        return all(np.array_equal(mine, theirs) for mine, theirs in pairs)

    def __repr__(self) -> str:
        return f"Vocabulary of {len(self):,} names"

    def to_bytes_arrays(self) -> Packed:
        """Return the names as two arrays, ready for a model file.

        Returns
        -------
        arrays : dict
            ``"vocabulary_text"``, uint8: the names in UTF-8, one after the other; ``"vocabulary_offsets"``,
            int64 of shape (n_names + 1,): where each name begins, and where the last ends.

        Examples
        --------
        >>> arrays = Vocabulary(["a", "bc"]).to_bytes_arrays()
        >>> arrays["vocabulary_text"].tobytes(), arrays["vocabulary_offsets"].tolist()
        (b'abc', [0, 1, 3])
        """
        if self._arrays is not None:
            return self._arrays
        text, offsets = self.core.arrays()
        return {"vocabulary_text": text, "vocabulary_offsets": offsets}

    @classmethod
    def from_arrays(cls, text: npt.ArrayLike, offsets: npt.ArrayLike) -> Vocabulary:
        """Rebuild a vocabulary from the arrays of :meth:`to_bytes_arrays`.

        Parameters
        ----------
        text : array of uint8, shape (n_bytes,)
            The names in UTF-8, one after the other.
        offsets : array of int, shape (n_names + 1,)
            Where each name begins; the last entry is ``n_bytes``.

        Raises
        ------
        ValueError
            If the two arrays do not describe distinct names.

        Examples
        --------
        >>> Vocabulary.from_arrays(np.frombuffer(b"abc", np.uint8), [0, 1, 3]).names
        ['a', 'bc']
        """
        text, offsets = np.asarray(text), np.asarray(offsets)
        if text.ndim != 1 or text.dtype != np.uint8:
            raise ValueError(f"vocabulary_text must be a 1-D array of uint8; found shape {text.shape} of {text.dtype}.")
        if offsets.ndim != 1 or offsets.dtype.kind not in "iu" or len(offsets) == 0:
            raise ValueError(
                "vocabulary_offsets must be a non-empty 1-D array of integers; "
                f"found shape {offsets.shape} of {offsets.dtype}."
            )
        offsets = offsets.astype(np.int64)
        if offsets[0] != 0 or offsets[-1] != len(text):
            raise ValueError(
                f"vocabulary_offsets must run from 0 to the {len(text)} bytes of vocabulary_text; "
                f"found {offsets[0]} to {offsets[-1]}."
            )
        steps = np.diff(offsets)
        if np.any(steps < 0):
            number = int(np.argmax(steps < 0))
            raise ValueError(
                f"vocabulary_offsets must not decrease; found {offsets[number]} then {offsets[number + 1]} "
                f"at entry {number}."
            )
        core = _core.Names(text.copy(), offsets)  # a view, and the array is the caller's
        if len(core) == len(offsets) - 1 and _is_text(text, offsets):
            return cls.from_core(core)
        blob = text.tobytes()
        names = []
        try:
            for begin, end in pairwise(offsets.tolist()):
                names.append(blob[begin:end].decode("utf-8", _ERRORS))
        except UnicodeDecodeError as error:
            raise ValueError(
                f"name {len(names)} of vocabulary_text is not valid UTF-8: {error.reason}; "
                "the file is damaged or the offsets belong to another text."
            ) from error
        return cls(names)


def _is_text(text: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int64]) -> bool:
    """Whether every name is UTF-8: the whole text is, and no name begins inside a character."""
    try:
        text.tobytes().decode("utf-8", _ERRORS)
    except UnicodeDecodeError:
        return False
    begins = text[offsets[:-1][offsets[:-1] < len(text)]]
    return not bool(((begins & 0xC0) == 0x80).any())


class NumberedColumns:
    """The vocabulary of array input: attribute ``i`` is column ``i``.

    Parameters
    ----------
    width : int
        Number of columns, at least 0.

    Examples
    --------
    >>> len(NumberedColumns(128)), NumberedColumns(3) == NumberedColumns(3)
    (128, True)
    """

    __slots__ = ("width",)

    def __init__(self, width: int) -> None:
        self.width = check_integer("the number of columns", width, 0, "an integer, at least 0")

    def __len__(self) -> int:
        return self.width

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, NumberedColumns):
            return NotImplemented
        return self.width == other.width

    def __hash__(self) -> int:
        return hash((NumberedColumns, self.width))

    def __repr__(self) -> str:
        return f"NumberedColumns({self.width})"


def _plain_string(number: int, name: object) -> str:
    """``name`` as a plain str (numpy.str_ is a str too)."""
    if isinstance(name, str):
        return str(name)
    raise TypeError(
        f"name {number} of the vocabulary is of type {type(name).__name__}; expected a string, as in 'word=the'."
    )
