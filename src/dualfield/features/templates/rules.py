r"""What a feature template is made of: rules, their cells, and the transforms of a cell.

A *cell* is a column of the token at some offset, after some transforms. A *rule* is literal text with cells between;
at every token it makes one attribute string::

    Rule(("w[-1]|w[0]=", Cell(0, -1), "|", Cell(0)))       w[-1]|w[0]=the|cat
    Rule(("suffix3=", Cell(0, transforms=(suffix(3),))))   suffix3=ing

Transforms apply in the order given. Regular expressions are of Wapiti's small dialect, whatever the template's
origin: ``.`` is any character; ``\d \l \u \a \w \p \s`` a digit, a lower-case, an upper-case, any letter, a
letter or digit, punctuation, white space, and in upper case everything else; ``x*`` any number of x, as few as the
rest allows; ``x?`` x or nothing; ``^`` at the beginning and ``$`` at the end anchor. Characters are code points, and
their kinds are Unicode's.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from dualfield import _core
from dualfield.given_numbers import LARGEST

__all__ = [
    "Cell",
    "Rule",
    "Transform",
    "brief_shape",
    "gazetteer",
    "lower",
    "match",
    "prefix",
    "shape",
    "suffix",
    "test",
    "window",
]

Operation = Literal["lower", "shape", "brief_shape", "prefix", "suffix", "test", "match", "gazetteer"]
_OPERATIONS = ("lower", "shape", "brief_shape", "prefix", "suffix", "test", "match", "gazetteer")
_FURTHEST = 1000


@dataclass(frozen=True)
class Transform:
    """One step from a string to another; made by :func:`lower`, :func:`shape` and their like.

    Parameters
    ----------
    operation : str
        Which.
    length : int
        Of a prefix or suffix in characters; at most, of a shape.
    pattern : str
        The regular expression of a test or a match.
    entries : tuple of tuples of str
        The names of a gazetteer, word by word.
    """

    operation: Operation
    length: int = 0
    pattern: str = ""
    entries: tuple[tuple[str, ...], ...] = ()

    def __post_init__(self) -> None:
        if self.operation not in _OPERATIONS:
            raise ValueError(f"there is no transform {self.operation!r}; expected one of {', '.join(_OPERATIONS)}.")
        if self.operation in ("shape", "brief_shape", "prefix", "suffix") and not _is_count(self.length):
            raise ValueError(f"{self.operation} needs a positive number of characters; found {self.length!r}.")
        if self.operation in ("test", "match"):
            _core.match_pattern(_text(self.pattern), "")  # refuses a pattern that is none
        for entry in self.entries:
            if not entry or not all(isinstance(word, str) and word for word in entry):
                raise ValueError(f"a gazetteer holds {entry!r:.60}; expected names of one word or more.")


def lower() -> Transform:
    """Lower case, in all scripts that have it."""
    return Transform("lower")


def shape(limit: int = 12) -> Transform:
    """Upper-case letters as X, lower-case ones as x, digits as d, the rest as it is; the first ``limit`` characters."""
    return Transform("shape", limit)


def brief_shape(limit: int = 12) -> Transform:
    """The shape with every run of one mark written once, then cut: ``Xx`` for Amsterdam, ``X-d`` for IL-12."""
    return Transform("brief_shape", limit)


def prefix(length: int) -> Transform:
    """The first ``length`` characters; all of a shorter string."""
    return Transform("prefix", length)


def suffix(length: int) -> Transform:
    """The last ``length`` characters; all of a shorter string."""
    return Transform("suffix", length)


def test(pattern: str) -> Transform:
    """``true`` where the regular expression matches, ``false`` elsewhere."""
    return Transform("test", pattern=pattern)


test.__test__ = False  # type: ignore[attr-defined]  # it is none of pytest's


def match(pattern: str) -> Transform:
    """What the regular expression matches first; the empty string where it does not."""
    return Transform("match", pattern=pattern)


def gazetteer(names: Iterable[str | Iterable[str]]) -> Transform:
    """``B`` at the first word of a listed name and ``I`` at its others; no attribute elsewhere.

    Parameters
    ----------
    names : iterable of str, or of sequences of str
        Strings are cut into words at white space. Of names that begin at the same word the longest counts. Put
        :func:`lower` before it, and lower-case names, to ignore case.
    """
    entries = {tuple(name.split()) if isinstance(name, str) else tuple(name) for name in names}
    return Transform("gazetteer", entries=tuple(sorted(entries - {()})))


@dataclass(frozen=True)
class Cell:
    """A column of a token near the current one.

    Parameters
    ----------
    column : int
        From 0.
    offset : int
        How many tokens further on; negative for earlier ones.
    transforms : tuple of Transform
        What happens to its string, in order; a gazetteer comes last.
    absolute : bool
        Whether the offset counts from the sentence's first token, which is 1, or back from its end, where −1 is the
        last.
    """

    column: int
    offset: int = 0
    transforms: tuple[Transform, ...] = ()
    absolute: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.column, bool) or not isinstance(self.column, int) or self.column < 0:
            raise ValueError(f"the column of a cell must be an integer from 0; found {self.column!r}.")
        if isinstance(self.offset, bool) or not isinstance(self.offset, int) or abs(self.offset) > _FURTHEST:
            raise ValueError(
                f"the offset of a cell must be an integer from {-_FURTHEST} to {_FURTHEST}; found {self.offset!r}."
            )
        object.__setattr__(self, "transforms", tuple(self.transforms))
        if any(step.operation == "gazetteer" for step in self.transforms[:-1]):
            raise ValueError("a gazetteer must be the last transform of a cell.")

    def __str__(self) -> str:
        steps = "".join(f".{step.operation}" for step in self.transforms)
        return f"%x[{'@' if self.absolute else ''}{self.offset},{self.column}]{steps}"


@dataclass(frozen=True)
class Rule:
    """Literal text and cells that make an attribute string.

    Parameters
    ----------
    pieces : tuple of str and Cell
        In the order of the string.
    kind : {"unigram", "bigram", "both"}
        Whether the attribute has a weight per label, per pair of labels (this token's and the one before), or both.
    where : {"anywhere", "first", "last"}
        At which tokens of a sentence it is made.

    Examples
    --------
    >>> print(Rule(("U01:", Cell(0, -1), "/", Cell(1))))
    U01:%x[-1,0]/%x[0,1]
    """

    pieces: tuple[str | Cell, ...]
    kind: Literal["unigram", "bigram", "both"] = "unigram"
    where: Literal["anywhere", "first", "last"] = "anywhere"

    def __post_init__(self) -> None:
        object.__setattr__(self, "pieces", tuple(self.pieces))
        if not self.pieces or not all(isinstance(piece, str | Cell) for piece in self.pieces):
            raise TypeError(f"the pieces of a rule are strings and Cells, at least one; found {self.pieces!r:.80}.")
        for piece in self.pieces:
            if isinstance(piece, str):
                _text(piece)
        if self.kind not in ("unigram", "bigram", "both"):
            raise ValueError(f"the kind of a rule is 'unigram', 'bigram' or 'both'; found {self.kind!r}.")
        if self.where not in ("anywhere", "first", "last"):
            raise ValueError(f"a rule applies 'anywhere', 'first' or 'last'; found {self.where!r}.")

    @property
    def cells(self) -> list[Cell]:
        """The cells among the pieces."""
        return [piece for piece in self.pieces if isinstance(piece, Cell)]

    @property
    def literals(self) -> list[str]:
        """The text before, between and after the cells: one string more than there are cells."""
        texts = [""]
        for piece in self.pieces:
            if isinstance(piece, Cell):
                texts.append("")
            else:
                texts[-1] += piece
        return texts

    def __str__(self) -> str:
        return "".join(map(str, self.pieces))


def window(
    name: str, column: int, offsets: Iterable[int], *transforms: Transform, order: int = 1, separator: str = "|"
) -> list[Rule]:
    """One rule per offset d: the strings at d … d + order − 1, after the transforms.

    Examples
    --------
    >>> [str(rule) for rule in window("w", 0, (-1, 0), order=2)]
    ['w[-1]|w[0]=%x[-1,0]|%x[0,0]', 'w[0]|w[1]=%x[0,0]|%x[1,0]']
    """
    rules = []
    for offset in offsets:
        places = range(offset, offset + order)
        pieces: list[Any] = [separator.join(f"{name}[{place}]" for place in places) + "="]
        for place in places:
            pieces += [Cell(column, place, transforms), separator]
        rules.append(Rule(tuple(pieces[:-1])))
    return rules


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= LARGEST


def _text(string: str) -> str:
    """The string, unless UTF-8 cannot hold it."""
    try:
        string.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{string!r:.40} holds a lone surrogate, which is no character; replace it.") from None
    return string
