"""The sentences of a column file as numbers: :class:`Tokens`.

Each different string of a column is kept once, in the compiled core, and a token is one number per column. Python
strings are made only when somebody asks for them.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence, Sized
from itertools import count, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from dualfield import _core
from dualfield.labels.encoded_labels import EncodedLabels
from dualfield.nested import Key, Wording, bounds_of, chosen_groups

__all__ = ["Tokens"]

_SENTENCES = Wording("sentence", "token")


class Tokens:
    """Sentences of tokens with a fixed number of columns.

    :func:`~dualfield.io.read_tokens` reads them from a file, :meth:`from_rows` makes them from Python strings.

    Parameters
    ----------
    core : _core.Tokens
        The numbers and the strings they stand for.

    Examples
    --------
    >>> tokens = Tokens.from_rows([[("the", "DT"), ("cat", "NN")], [("it", "PRP")]])
    >>> len(tokens), tokens.n_tokens, tokens.n_columns
    (2, 3, 2)
    >>> tokens.column(0), tokens[1].column(1)
    (['the', 'cat', 'it'], ['PRP'])
    """

    __slots__ = ("_tokens",)

    def __init__(self, core: _core.Tokens) -> None:
        self._tokens = core

    @classmethod
    def from_rows(cls, sentences: Iterable[Sequence[Sequence[str]]]) -> Tokens:
        """Make tokens of rows of strings.

        Parameters
        ----------
        sentences : iterable of sequences of rows
            A row has one string per column; all rows have the same number of columns, and no sentence is empty. Of a
            generator, one sentence is in memory at a time.

        Raises
        ------
        ValueError
            With the row at fault: another number of columns than the first, an empty sentence, or a lone surrogate.
        """
        width: int | None = None
        numbers: list[defaultdict[str, int]] = []  # of the strings of each column, in order of first appearance
        codes: list[array[int]] = []
        lengths = array("q")
        for number, sentence in enumerate(sentences):
            if isinstance(sentence, str) or not isinstance(sentence, Sized) or not isinstance(sentence, Iterable):
                raise TypeError(f"sentence {number} is {sentence!r:.40}; expected a list of rows.")
            if len(sentence) == 0:
                raise ValueError(f"sentence {number} has no rows; expected at least one; leave it out.")
            for index, row in enumerate(sentence):
                if not isinstance(row, Sequence) or not all(isinstance(field, str) for field in row):
                    raise TypeError(f"row {index} of sentence {number} is {row!r:.40}; expected strings, one a column.")
                if width is None:
                    width = len(row)
                    numbers = [defaultdict(count().__next__) for _ in row]
                    codes = [array("i") for _ in row]
                if len(row) != width:
                    raise ValueError(
                        f"row {index} of sentence {number} has {len(row)} columns but the first row has {width}; "
                        "give every row the same columns."
                    )
            for column, (known, found) in enumerate(zip(numbers, codes, strict=True)):
                found.extend([known[row[column]] for row in sentence])
            lengths.append(len(sentence))
        columns = [
            (_names(known), np.frombuffer(found, np.int32) if found else np.empty(0, np.int32))
            for known, found in zip(numbers, codes, strict=True)
        ]
        n_tokens = sum(lengths)
        return cls(_core.Tokens(columns, bounds_of(lengths), np.zeros(n_tokens, np.int64)))

    @property
    def core(self) -> _core.Tokens:
        """What the compiled core works on."""
        return self._tokens

    @property
    def n_sentences(self) -> int:
        """Number of sentences, also ``len(tokens)``."""
        return self._tokens.n_sentences

    @property
    def n_tokens(self) -> int:
        """Number of tokens of all sentences together."""
        return self._tokens.n_tokens

    @property
    def n_columns(self) -> int:
        """Number of columns of every token."""
        return self._tokens.n_columns

    @property
    def offsets(self) -> npt.NDArray[np.int64]:
        """Sentence ``s`` has the tokens ``offsets[s] : offsets[s + 1]``; shape (n_sentences + 1,)."""
        return self._tokens.offsets

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """Number of tokens of every sentence, shape (n_sentences,)."""
        return np.diff(self._tokens.offsets)

    @property
    def lines(self) -> npt.NDArray[np.int64]:
        """Line of the file, from 1, on which every sentence begins, shape (n_sentences,); 0 if from no file."""
        return self._tokens.lines[self._tokens.offsets[:-1]]

    @property
    def token_lines(self) -> npt.NDArray[np.int64]:
        """Line of the file of every token, shape (n_tokens,); 0 if from no file."""
        return self._tokens.lines

    @property
    def shape(self) -> tuple[int]:
        """(n_sentences,): to scikit-learn, a one-dimensional array of sentences."""
        return (len(self),)

    def __len__(self) -> int:
        return self._tokens.n_sentences

    def __repr__(self) -> str:
        return f"Tokens({len(self):,} sentences, {self.n_tokens:,} tokens, {self.n_columns} columns)"

    def __iter__(self) -> Iterator[Tokens]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, key: Key) -> Tokens:
        """Return the chosen sentences: an int, a slice, an array of int, or a boolean mask of shape (n_sentences,)."""
        chosen = np.ascontiguousarray(chosen_groups(key, len(self), _SENTENCES), dtype=np.int64)
        return Tokens(self._tokens.select(chosen))

    def __reduce__(self) -> Any:
        columns = [(*self._tokens.names(c).arrays(), self._tokens.codes(c)) for c in range(self.n_columns)]
        return _restored, (columns, self.offsets, self.token_lines)

    def column(self, column: int) -> list[str]:
        """The strings of one column, token after token; a negative number counts from the last column.

        Equal strings are one object.
        """
        number = self._number(column)
        names = np.array([*self._tokens.names(number).strings(), None], dtype=object)  # None keeps it one-dimensional
        strings: list[str] = names[self._tokens.codes(number)].tolist()
        return strings

    def rows(self) -> list[list[tuple[str, ...]]]:
        """Every sentence as a list of tuples of strings."""
        flat = list(zip(*(self.column(c) for c in range(self.n_columns)), strict=True))
        return [flat[a:b] for a, b in pairwise(self.offsets.tolist())]

    def with_columns(self, columns: Iterable[int]) -> Tokens:
        """The same tokens with these columns only, in this order. Nothing is copied.

        Examples
        --------
        >>> Tokens.from_rows([[("the", "DT", "O")]]).with_columns([0, 2]).rows()
        [[('the', 'O')]]
        """
        return Tokens(self._tokens.with_columns([self._number(c) for c in columns]))

    def labels(self, column: int = -1) -> EncodedLabels:
        """One column, the last by default, as labels that ``fit`` and ``score`` take.

        Examples
        --------
        >>> Tokens.from_rows([[("the", "DT"), ("cat", "NN")]]).labels().tolist()
        [['DT', 'NN']]
        """
        number = self._number(column)
        return EncodedLabels(self._tokens.names(number).strings(), self._tokens.codes(number), self.offsets)

    def _number(self, column: int) -> int:
        n = self.n_columns
        if not -n <= column < n:
            raise IndexError(f"column {column} was asked for; the tokens have {n} columns, 0 to {n - 1}.")
        return column % n


def _names(strings: Iterable[str]) -> _core.Names:
    try:
        encoded = [string.encode() for string in strings]
    except UnicodeEncodeError as error:
        raise ValueError(
            f"the string {error.object!r:.40} holds a lone surrogate, which is no character; replace it."
        ) from None
    text = np.frombuffer(b"".join(encoded), np.uint8)
    return _core.Names(text, bounds_of(list(map(len, encoded))))


def _restored(columns: list[Any], offsets: npt.NDArray[np.int64], lines: npt.NDArray[np.int64]) -> Tokens:
    named = [(_core.Names(text, bounds), codes) for text, bounds, codes in columns]
    return Tokens(_core.Tokens(named, offsets, lines))
