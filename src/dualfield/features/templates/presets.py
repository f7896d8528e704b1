"""Ready-made templates for the common tasks on column files.

A preset looks at the columns ``word, POS, ...`` without the label. Attributes name the offset they look at:
``w[-1]=the`` is the word before, ``p[0]|p[1]=DT|NN`` the pair of POS tags here and next. What would lie outside the
sentence makes no attribute.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from dualfield.features.templates.rules import (
    Cell,
    Rule,
    brief_shape,
    gazetteer,
    lower,
    match,
    prefix,
    suffix,
    window,
)
from dualfield.features.templates.template import Template
from dualfield.features.templates.tokens import Tokens

__all__ = ["PRESETS", "Preset", "extract", "extract_all", "preset_template"]

Row = Sequence[str]
Gazetteers = Mapping[str, Iterable[str]]
_NEAR = (-2, -1, 0, 1, 2)


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
        From the number of columns to the rules.
    """

    name: str
    description: str
    needed_columns: int
    function: Callable[[int], list[Rule]]


def preset_template(name: str, n_columns: int, gazetteers: Gazetteers | None = None) -> Template:
    """The template of a preset.

    Parameters
    ----------
    name : str
        A key of :data:`PRESETS`.
    n_columns : int
        How many columns the data has besides the label: ``ner`` looks at POS tags if there is a second.
    gazetteers : dict from str to iterable of str, optional
        Lists of names, such as ``{"city": ["Paris", "New York"]}``; case is ignored. The first word of a listed name
        gets the attribute ``city[0]=B`` and its others ``city[0]=I``, and their neighbours ``city[1]=B`` and so on.

    Raises
    ------
    ValueError
        If there is no such preset, or if it needs more columns.

    Examples
    --------
    >>> template = preset_template("ner", 1, {"city": ["New York"]})
    >>> [s for s in template.strings([("in",), ("New",), ("York",)])[1] if s.startswith("city")]
    ['city[0]=B', 'city[1]=I']
    """
    if name not in PRESETS:
        raise ValueError(f"there is no preset {name!r}; expected one of {', '.join(sorted(PRESETS))}.")
    preset = PRESETS[name]
    if n_columns < preset.needed_columns:
        raise ValueError(
            f"the preset {name!r} needs {preset.needed_columns} columns besides the label, the word and its POS tag, "
            f"but the data has {n_columns}; add them or choose another preset."
        )
    rules = preset.function(n_columns)
    for kind, names in (gazetteers or {}).items():
        listed = gazetteer(name.lower() for name in names)
        rules += window(kind, 0, (-1, 0, 1), lower(), listed)
    return Template(rules)


def extract(name: str, sentence_rows: Sequence[Row]) -> list[list[str]]:
    """Make the attribute strings of one sentence; for many, :func:`extract_all` is faster.

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
    """Make the attribute strings of many sentences, as other programs take them.

    To train, ``preset_template(name, n_columns).encode(tokens)`` makes the same attributes in a tenth of the time,
    without a Python string per attribute.

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
    listed = list(sentences)
    for number, sentence in enumerate(listed):
        for t, row in enumerate(sentence):
            if isinstance(row, str):
                raise TypeError(
                    f"token {t} of sentence {number} is the string {row!r:.40}; expected its columns as a tuple, as in "
                    f"({row!r:.40},)."
                )
    widths = [len(row) for sentence in listed for row in sentence]
    # Columns that only some rows have are not used.
    columns = min(widths, default=2)
    if name in PRESETS and columns < PRESETS[name].needed_columns:
        _refuse_row(PRESETS[name], listed)
    template = preset_template(name, columns)
    if not widths:
        return [[] for _ in listed]
    tokens = Tokens.from_rows([[row[:columns] for row in sentence] for sentence in listed if sentence])
    flat = template.strings(tokens)
    cuts = [0]
    for sentence in listed:
        cuts.append(cuts[-1] + len(sentence))
    return [flat[a:b] for a, b in pairwise(cuts)]


def _refuse_row(preset: Preset, sentences: list[Sequence[Row]]) -> None:
    number, index, row = next(
        (number, index, row)
        for number, rows in enumerate(sentences)
        for index, row in enumerate(rows)
        if len(row) < preset.needed_columns
    )
    raise ValueError(
        f"row {index} of sentence {number} has {len(row)} columns besides the label; "
        f"the preset {preset.name!r} needs {preset.needed_columns}, the word and its POS tag; "
        "add them or choose another preset."
        if preset.needed_columns > 1
        else f"row {index} of sentence {number} has no columns; expected at least the word."
    )


def _chunking(n_columns: int) -> list[Rule]:
    return [
        *window("w", 0, _NEAR),
        *window("w", 0, (-1, 0), order=2),
        *window("p", 1, _NEAR),
        *window("p", 1, (-2, -1, 0, 1), order=2),
        *window("p", 1, (-2, -1, 0), order=3),
        Rule(("__BOS__",), where="first"),
        Rule(("__EOS__",), where="last"),
    ]


def _entities(n_columns: int) -> list[Rule]:
    """The spelling of the word and its neighbours, and the patterns of capitals and digits around it."""
    neighbours = [rule for offset in (-1, 1) for rule in _affixes((2, 3, 4), offset)]
    here, small = Cell(0, transforms=(brief_shape(),)), (lower(),)
    return [
        *_spelling(),
        *neighbours,
        *window("brief", 0, (-2, -1, 0, 1), brief_shape(), order=2),
        *window("brief", 0, (-2, -1, 0), brief_shape(), order=3),
        Rule(("w[-1]|brief[0]=", Cell(0, -1, small), "|", here)),
        Rule(("brief[0]|w[1]=", here, "|", Cell(0, 1, small))),
        *(window("p", 1, _NEAR) if n_columns > 1 else []),
    ]


def _parts_of_speech(n_columns: int) -> list[Rule]:
    """Spelling, the endings of both neighbours, and words as they are written: Penn tags tell Apple from apple."""
    neighbours = [rule for offset in (-1, 1) for rule in _affixes((3,), offset)]
    return [*_spelling(), *neighbours, *window("W", 0, (-1, 0, 1))]


def _spelling() -> list[Rule]:
    """Lower-cased words around, the word's own beginnings and endings, brief shapes around, and a constant."""
    return [
        *window("w", 0, _NEAR, lower()),
        *window("w", 0, (-1, 0), lower(), order=2),
        *_affixes((1, 2, 3, 4, 5, 6)),
        # Compounds: the letters after the last other character, and those up to the first, which is kept.
        Rule(("tail=", Cell(0, transforms=(lower(), match(r"\a*$"))))),
        Rule(("head=", Cell(0, transforms=(lower(), match(r"^\a*\A"))))),
        *window("brief", 0, _NEAR, brief_shape()),
        # A capital says little where every word has one.
        Rule(("first=", Cell(0, transforms=(brief_shape(),))), where="first"),
        Rule(("__BIAS__",)),
    ]


def _affixes(lengths: Iterable[int], offset: int = 0) -> list[Rule]:
    where = f"[{offset}]" if offset else ""
    return [
        Rule((f"{name}{length}{where}=", Cell(0, offset, (cut(length),))))
        for length in lengths
        for name, cut in (("prefix", prefix), ("suffix", suffix))
    ]


_SPELLING = "words in a window of five, word pairs, prefixes, suffixes and shapes"

PRESETS: dict[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset("chunking", "Words and POS tags in a window of five, their pairs, POS triples.", 2, _chunking),
        Preset("ner", f"For names: {_SPELLING}, and POS tags if the file has them.", 1, _entities),
        Preset("pos", f"For parts of speech: {_SPELLING}.", 1, _parts_of_speech),
    )
}
