"""Feature templates: how the tokens of a column file become attributes.

A :class:`Template` is a list of rules, see :mod:`~dualfield.features.templates.rules`. It comes from three places:
CRF++'s template files, Wapiti's pattern files, or Python. All three are compiled into the same small form, which the
core applies without a Python object per token.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Sized
from dataclasses import replace
from itertools import pairwise
from numbers import Integral
from typing import Any, Literal

from dualfield.core_arrays import handed_over
from dualfield.features.sequences.encoded import Encoded
from dualfield.features.templates.compiled import check_plain, compile_template
from dualfield.features.templates.rules import Cell, Rule, Transform
from dualfield.features.templates.syntax import parse_crfpp, parse_wapiti
from dualfield.features.templates.tokens import Tokens
from dualfield.features.vocabulary import NumberedColumns, Vocabulary
from dualfield.given_numbers import check_integer
from dualfield.threads import on_threads

__all__ = ["Template"]

Outside = Literal["nothing", "crfpp", "wapiti"]
Sentence = Sequence[Sequence[str]]
_MOST_BITS = 30


class Template:
    """Rules that make the attributes of tokens.

    Parameters
    ----------
    rules : iterable of Rule
        In the order in which attributes are listed.
    outside : {"nothing", "crfpp", "wapiti"}
        What a cell finds beyond the sentence. "nothing": its rule makes no attribute there. "crfpp": ``_B-1`` before
        the first token, ``_B-2`` before that, ``_B+1`` after the last. "wapiti": ``_x-1`` and so on, ``_x-#`` from
        the fifth.
    transitions : bool
        Whether the template asks for weights of label pairs alone, as ``B`` does in CRF++.
    bigrams : iterable of Rule
        Further rules, taken as of kind "bigram": their attributes have a weight per pair of labels.

    Examples
    --------
    >>> template = Template.crfpp('''
    ... U00:%x[-1,0]/%x[0,0]
    ... U01:%x[0,1]
    ... B
    ... ''')
    >>> template.strings([("the", "DT"), ("cat", "NN")])
    [['U00:_B-1/the', 'U01:DT'], ['U00:the/cat', 'U01:NN']]
    >>> template.encode([[("the", "DT"), ("cat", "NN")]]).vocabulary.names
    ['U00:_B-1/the', 'U01:DT', 'U00:the/cat', 'U01:NN']
    """

    def __init__(
        self,
        rules: Iterable[Rule],
        *,
        outside: Outside = "nothing",
        transitions: bool = True,
        bigrams: Iterable[Rule] = (),
    ) -> None:
        self.rules = (*rules, *map(_as_bigram, bigrams))
        self.outside: Outside = outside
        self.transitions = bool(transitions)
        if not all(isinstance(rule, Rule) for rule in self.rules):
            raise TypeError("a template is made of Rules; see dualfield.features.templates.rules.")
        if outside not in ("nothing", "crfpp", "wapiti"):
            raise ValueError(f"outside must be 'nothing', 'crfpp' or 'wapiti'; found {outside!r}.")
        if not self.unigrams:
            raise ValueError("the template makes no attribute of single labels; expected at least one unigram rule.")
        self._compiled = compile_template(self.to_dict())

    @classmethod
    def crfpp(cls, text: str) -> Template:
        """Read a template of CRF++.

        A line is a template: ``U`` makes attributes of a label, ``B`` of a pair of labels, and ``%x[row,column]``
        stands for the string ``row`` tokens further on. Empty lines and lines that begin with ``#`` are skipped, and
        with a warning lines that begin otherwise, as CRF++ skips them.

        Raises
        ------
        ValueError
            With the line at fault.
        """
        return cls._parsed(parse_crfpp(text), "crfpp")

    @classmethod
    def wapiti(cls, text: str) -> Template:
        """Read the patterns of Wapiti.

        As in CRF++, with ``u``, ``b`` or ``*`` (both) first in a line, and further commands:
        ``%t[row,column,"regex"]`` is true or false, ``%m[row,column,"regex"]`` what the expression matches; a command
        in upper case lower-cases its result; ``@`` before the row makes it absolute. ``#`` begins a comment anywhere.

        On ASCII text the attributes are Wapiti's. Beyond, a character is a code point with Unicode's kinds, where
        Wapiti sees bytes.

        Raises
        ------
        ValueError
            With the line at fault.
        """
        return cls._parsed(parse_wapiti(text), "wapiti")

    @classmethod
    def _parsed(cls, rules: list[Rule], outside: Outside) -> Template:
        plain = any(rule.kind != "unigram" and not rule.cells for rule in rules)
        return cls(rules, outside=outside, transitions=plain)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Template) and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Template of {len(self.unigrams)} unigram and {len(self.bigrams)} bigram rules"

    def __reduce__(self) -> Any:
        return Template.from_dict, (self.to_dict(),)

    @property
    def unigrams(self) -> tuple[Rule, ...]:
        """The rules whose attributes have a weight per label."""
        return tuple(rule for rule in self.rules if rule.kind != "bigram")

    @property
    def bigrams(self) -> tuple[Rule, ...]:
        """The rules with cells whose attributes have a weight per pair of labels.

        One without cells is the pair alone, see ``transitions``.
        """
        return tuple(rule for rule in self.rules if rule.kind != "unigram" and rule.cells)

    @property
    def n_columns(self) -> int:
        """How many columns tokens must have at least."""
        return max((cell.column + 1 for rule in self.rules for cell in rule.cells), default=0)

    def check_columns(self, n_columns: int) -> None:
        """Refuse data with fewer columns than the rules refer to."""
        for rule in self.rules:
            for cell in rule.cells:
                if cell.column >= n_columns:
                    raise ValueError(
                        f"the template refers to column {cell.column} in {str(rule)!r}, but the data has {n_columns} "
                        f"column{'' if n_columns == 1 else 's'} besides the label, counted from 0."
                    )

    def strings(self, sentence: Sentence | Tokens) -> list[list[str]]:
        """The attribute strings of every token, in the order of the rules.

        Parameters
        ----------
        sentence : sequence of rows, or Tokens
            A row is a tuple of column strings, without the label. The tokens of all sentences of Tokens follow each
            other.
        """
        return self._listed(sentence, bigrams=False)

    def bigram_strings(self, sentence: Sentence | Tokens) -> list[list[str]]:
        """The strings of the bigram rules at every token; none at the first, where there is no pair of labels."""
        return self._listed(sentence, bigrams=True)

    def encode(
        self,
        tokens: Tokens | Iterable[Sentence],
        vocabulary: Vocabulary | NumberedColumns | None = None,
        min_count: int = 1,
        hash_bits: int | None = None,
        bigram_vocabulary: Vocabulary | NumberedColumns | None = None,
        n_jobs: int | None = 1,
    ) -> Encoded:
        """Make and number the attributes of the unigram rules and, as ``bigrams`` of the result, of the bigram rules.

        Parameters
        ----------
        tokens : Tokens, or sentences of rows
            Without the label column; see :meth:`Tokens.with_columns`.
        vocabulary : Vocabulary, optional
            Attribute numbers to use, as learnt in training; other attributes are dropped. By default attributes are
            numbered in order of first appearance.
        min_count : int
            Attributes that occur at fewer tokens are dropped.
        hash_bits : int, optional
            Number an attribute by the first ``hash_bits`` bits of a hash of its string instead: no vocabulary, and
            attributes that collide share a weight, and count once at a token. ``vocabulary`` may then be the
            ``NumberedColumns`` of an earlier result.
        bigram_vocabulary : Vocabulary, optional
            The same as ``vocabulary`` for the attributes of the bigram rules.
        n_jobs : int or None
            Threads; −1 for all cores. The result does not depend on how many there are.

        Returns
        -------
        encoded : Encoded
            Its ``bigrams`` is None where the template has no bigram rules with cells. An attribute that several rules
            make at one token has their number as its value, as in CRF++ and Wapiti.
        """
        if not isinstance(tokens, Tokens):
            tokens = Tokens.from_rows(tokens)
        encoded = self._encoded(tokens, vocabulary, min_count, hash_bits, n_jobs, bigrams=False)
        if not self.bigrams:
            return encoded
        return encoded.with_bigrams(self.encode_bigrams(tokens, bigram_vocabulary, min_count, hash_bits, n_jobs))

    def encode_bigrams(
        self,
        tokens: Tokens | Iterable[Sentence],
        vocabulary: Vocabulary | NumberedColumns | None = None,
        min_count: int = 1,
        hash_bits: int | None = None,
        n_jobs: int | None = 1,
    ) -> Encoded:
        """Make and number the attributes of the bigram rules, as :meth:`encode` does.

        Position t has the attributes of the pair of labels at t − 1 and t; the first position of a sequence has none.
        """
        return self._encoded(tokens, vocabulary, min_count, hash_bits, n_jobs, bigrams=True)

    def to_dict(self) -> dict[str, Any]:
        """The template as plain data, for a model file."""
        return {
            "outside": self.outside,
            "transitions": self.transitions,
            "rules": [
                {
                    "pieces": [piece if isinstance(piece, str) else _plain_cell(piece) for piece in rule.pieces],
                    "kind": rule.kind,
                    "where": rule.where,
                }
                for rule in self.rules
            ],
        }

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> Template:
        """The template that :meth:`to_dict` wrote down."""
        check_plain(plain)
        rules = [
            Rule(
                tuple(piece if isinstance(piece, str) else _cell_of(piece) for piece in rule["pieces"]),
                rule["kind"],
                rule["where"],
            )
            for rule in plain["rules"]
        ]
        return cls(rules, outside=plain["outside"], transitions=plain["transitions"])

    def _listed(self, sentence: Sentence | Tokens, bigrams: bool) -> list[list[str]]:
        if not isinstance(sentence, Tokens):
            if not isinstance(sentence, Sized):
                raise TypeError(f"the sentence is {sentence!r:.40}; expected a list of rows of strings.")
            if len(sentence) == 0:
                return []
            sentence = Tokens.from_rows([sentence])
        self.check_columns(sentence.n_columns)
        indptr, codes, names = self._compiled.list(sentence.core, bigrams)
        strings = names.strings()
        flat = [strings[code] for code in codes.tolist()]
        return [flat[a:b] for a, b in pairwise(indptr.tolist())]

    def _encoded(
        self,
        tokens: Tokens | Iterable[Sentence],
        vocabulary: Vocabulary | NumberedColumns | None,
        min_count: int,
        hash_bits: int | None,
        n_jobs: int | None,
        bigrams: bool,
    ) -> Encoded:
        _check_numbering(vocabulary, min_count, hash_bits)
        if not isinstance(tokens, Tokens):
            tokens = Tokens.from_rows(tokens)
        if len(tokens) == 0:
            raise ValueError("there are no sentences; expected at least one.")
        self.check_columns(tokens.n_columns)
        given = vocabulary.core if isinstance(vocabulary, Vocabulary) else None
        indptr, indices, values, names = on_threads(
            lambda threads: self._compiled.encode(tokens.core, bigrams, given, hash_bits or 0, min_count, threads),
            n_jobs,
        )
        if hash_bits is not None:
            vocabulary = NumberedColumns(2**hash_bits)
        elif names is not None:
            vocabulary = Vocabulary.from_core(names)
        assert vocabulary is not None
        return Encoded(tokens.offsets, handed_over(indptr), handed_over(indices), values, vocabulary)


def _as_bigram(rule: Rule) -> Rule:
    if not isinstance(rule, Rule):
        raise TypeError("bigrams are Rules; see dualfield.features.templates.rules.")
    if not rule.cells:
        raise ValueError(
            f"the bigram {str(rule)!r} has no cell, so it is a weight of label pairs alone; give transitions=True "
            "instead."
        )
    return replace(rule, kind="bigram")


def _check_numbering(vocabulary: Vocabulary | NumberedColumns | None, min_count: int, hash_bits: int | None) -> None:
    check_integer("min_count", min_count, 1, "a positive integer")
    if vocabulary is not None and min_count > 1:
        raise ValueError("min_count chooses attributes and so does a vocabulary; give one of them.")
    if hash_bits is None:
        if isinstance(vocabulary, NumberedColumns):
            raise TypeError("a template makes named attributes but the vocabulary has columns; give hash_bits.")
        return
    if isinstance(hash_bits, bool) or not isinstance(hash_bits, Integral) or not 1 <= hash_bits <= _MOST_BITS:
        raise ValueError(f"hash_bits must be an integer from 1 to {_MOST_BITS}, or None; got {hash_bits!r}.")
    if vocabulary is not None and vocabulary != NumberedColumns(2 ** int(hash_bits)):
        raise ValueError(
            f"hash_bits={hash_bits} makes {2 ** int(hash_bits)} columns; the vocabulary is {vocabulary!r}."
        )


def _plain_cell(cell: Cell) -> dict[str, Any]:
    steps = [
        {name: value for name, value in vars(step).items() if value or name == "operation"} for step in cell.transforms
    ]
    return {"column": cell.column, "offset": cell.offset, "transforms": steps, "absolute": cell.absolute}


def _cell_of(plain: dict[str, Any]) -> Cell:
    steps = []
    for step in plain["transforms"]:
        entries = tuple(tuple(entry) for entry in step.get("entries", ()))
        steps.append(Transform(**{**step, "entries": entries}))
    return Cell(**{**plain, "transforms": tuple(steps)})
