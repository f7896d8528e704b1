"""Ready-made attributes for sentences of a column file.

A preset turns the rows of a sentence, ``(word, POS, ...)`` without the label, into one list of attribute
strings per token. Attributes look at a window around the token and name the offset they look at:
``w[-1]=the`` is the word before, ``p[0]|p[1]=DT|NN`` the pair of POS tags here and next. What would lie
outside the sentence makes no attribute.

A preset is a list of *tracks*. A track is one kind of attribute for the whole sentence at once: the
attribute of every token, or None where there is none. Zipping the tracks gives the tokens' lists. A corpus
repeats the same few attributes over and over, so each string is made once and shared (:class:`Spellings`):
a tenth of the memory, and the encoder meets strings whose hash is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

__all__ = ["PRESETS", "Preset", "extract", "extract_all"]

Row = Sequence[str]
Track = list[str | None]


class _Prefixed(dict[str, str]):
    """From a text to prefix + text, each made once."""

    def __init__(self, prefix: str) -> None:
        super().__init__()
        self.prefix = prefix

    def __missing__(self, text: str) -> str:
        made = self[text] = self.prefix + text
        return made


class Spellings(dict[str, _Prefixed]):
    """The attribute strings made so far, by prefix and text; equal strings are one object.

    Examples
    --------
    >>> spellings = Spellings()
    >>> spellings["w[0]="]["the"], spellings["w[0]="]["the"] is spellings["w[0]="]["the"]
    ('w[0]=the', True)
    """

    def __missing__(self, prefix: str) -> _Prefixed:
        made = self[prefix] = _Prefixed(prefix)
        return made


@dataclass(frozen=True)
class Preset:
    """A named way to make attributes.

    Parameters
    ----------
    name : str
        As given on the command line.
    description : str
        One sentence for people who choose.
    needed_columns : int
        How many columns a row must have at least, the label not counted.
    function : callable
        From the rows of one sentence and the strings made so far to one list of attribute strings per row.
    """

    name: str
    description: str
    needed_columns: int
    function: Callable[[Sequence[Row], Spellings], list[list[str]]]


def extract(name: str, sentence_rows: Sequence[Row]) -> list[list[str]]:
    """Make the attributes of one sentence; for many, :func:`extract_all` is faster.

    Parameters
    ----------
    name : str
        A key of :data:`PRESETS`.
    sentence_rows : sequence of tuples of str
        One row per token: the word, then its POS tag if there is one. The label is *not* among them: a row
        ``(word, label)`` would pass for a word and its POS.

    Returns
    -------
    attributes : list of lists of str
        One list per token.

    Raises
    ------
    ValueError
        If there is no such preset, or if a row has too few columns.

    Examples
    --------
    >>> extract("chunking", [("the", "DT"), ("cat", "NN")])[1]  # doctest: +NORMALIZE_WHITESPACE
    ['w[-1]=the', 'w[0]=cat', 'w[-1]|w[0]=the|cat', 'p[-1]=DT', 'p[0]=NN', 'p[-1]|p[0]=DT|NN', '__EOS__']
    """
    return extract_all(name, [sentence_rows])[0]


def extract_all(name: str, sentences: Iterable[Sequence[Row]]) -> list[list[list[str]]]:
    """Make the attributes of many sentences, ready for :func:`~dualfield.features.encode`.

    Parameters
    ----------
    name : str
        A key of :data:`PRESETS`.
    sentences : iterable of sequences of tuples of str
        The rows of every sentence, as in :func:`extract`: without the label.

    Returns
    -------
    attributes : list of lists of lists of str
        One list per token of every sentence; equal strings are one object.

    Examples
    --------
    >>> extract_all("pos", [[("It",)], [("rains",)]])[0][0][:3]
    ['w[0]=it', 'prefix1=I', 'suffix1=t']
    """
    if name not in PRESETS:
        raise ValueError(f"there is no preset {name!r}; expected one of {', '.join(sorted(PRESETS))}.")
    preset, spellings = PRESETS[name], Spellings()
    attributes = []
    for number, rows in enumerate(sentences):
        if rows and min(map(len, rows)) < preset.needed_columns:
            _refuse_row(preset, number, rows)
        attributes.append(preset.function(rows, spellings))
    return attributes


def _refuse_row(preset: Preset, number: int, rows: Sequence[Row]) -> None:
    index = next(i for i, row in enumerate(rows) if len(row) < preset.needed_columns)
    raise ValueError(
        f"row {index} of sentence {number} has {len(rows[index])} columns besides the label; "
        f"the preset {preset.name!r} needs {preset.needed_columns}, the word and its POS tag; "
        "add them or choose another preset."
        if preset.needed_columns > 1
        else f"row {index} of sentence {number} has no columns; expected at least the word."
    )


def _chunking(rows: Sequence[Row], spellings: Spellings) -> list[list[str]]:
    words = [row[0] for row in rows]
    tags = [row[1] for row in rows]
    tracks = [
        *_window(spellings, "w", words, 1, (-2, -1, 0, 1, 2)),
        *_window(spellings, "w", words, 2, (-1, 0)),
        *_window(spellings, "p", tags, 1, (-2, -1, 0, 1, 2)),
        *_window(spellings, "p", tags, 2, (-2, -1, 0, 1)),
        *_window(spellings, "p", tags, 3, (-2, -1, 0)),
        *_ends(len(rows)),
    ]
    return _tokens(tracks)


def _entities(rows: Sequence[Row], spellings: Spellings) -> list[list[str]]:
    tracks = list(_spelling_and_context([row[0] for row in rows], spellings))
    if rows and all(len(row) > 1 for row in rows):
        tracks.extend(_window(spellings, "p", [row[1] for row in rows], 1, (-2, -1, 0, 1, 2)))
    return _tokens(tracks)


def _parts_of_speech(rows: Sequence[Row], spellings: Spellings) -> list[list[str]]:
    return _tokens(list(_spelling_and_context([row[0] for row in rows], spellings)))


def _spelling_and_context(words: list[str], spellings: Spellings) -> Iterator[Track]:
    """Lower-cased words around, the word's own beginnings and endings, shapes, and a constant."""
    lowered = [word.lower() for word in words]
    yield from _window(spellings, "w", lowered, 1, (-2, -1, 0, 1, 2))
    yield from _window(spellings, "w", lowered, 2, (-1, 0))
    for length in (1, 2, 3, 4):
        prefixes, suffixes = spellings[f"prefix{length}="], spellings[f"suffix{length}="]
        yield [prefixes[word[:length]] for word in words]
        yield [suffixes[word[-length:]] for word in words]
    yield from _window(spellings, "shape", [_shape(word) for word in words], 1, (-1, 0, 1))
    yield ["__BIAS__"] * len(words)


def _window(spellings: Spellings, name: str, column: list[str], order: int, offsets: Sequence[int]) -> Iterator[Track]:
    """For each offset d, the attribute made of the ``order`` entries from t + d on, for every token t.

    With order 2 and d = -1 that is ``name[-1]|name[0]=x|y``.
    """
    n = len(column)
    runs = list(map("|".join, zip(*(column[k:] for k in range(order)), strict=False)))
    for offset in offsets:
        spelling = spellings["|".join(f"{name}[{offset + k}]" for k in range(order)) + "="]
        # token t takes run t + offset; outside 0 .. len(runs) - 1 it gets nothing
        track: Track = [None] * max(0, -offset)
        track.extend(map(spelling.__getitem__, runs[max(0, offset) :]))
        track.extend([None] * (n - len(track)))
        yield track[:n]


def _ends(n: int) -> Iterator[Track]:
    inner: Track = [None] * max(0, n - 1)
    yield (["__BOS__", *inner])[:n]
    yield ([*inner, "__EOS__"])[:n]


def _tokens(tracks: list[Track]) -> list[list[str]]:
    return [[attribute for attribute in token if attribute is not None] for token in zip(*tracks, strict=True)]


def _shape(word: str) -> str:
    """The word with its letters as X or x and its digits as d, cut after 12 characters."""
    if word.isalpha() and word.islower():
        return "x" * min(len(word), 12)
    return "".join("X" if c.isupper() else "x" if c.islower() else "d" if c.isdigit() else c for c in word[:12])


_SPELLING = "words in a window of five, word pairs, prefixes, suffixes and shapes"

PRESETS: dict[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset("chunking", "Words and POS tags in a window of five, their pairs, POS triples.", 2, _chunking),
        Preset("ner", f"For names: {_SPELLING}, and POS tags if the file has them.", 1, _entities),
        Preset("pos", f"For parts of speech: {_SPELLING}.", 1, _parts_of_speech),
    )
}
