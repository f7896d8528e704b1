"""From a column file to encoded sequences, by a recipe that the model remembers as plain data.

A :class:`Recipe` says how a file is laid out, which column is the label, and which template makes the attributes.
Training makes it, the model file keeps it, and ``tag`` and ``eval`` go by it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from dualfield import io
from dualfield.features.compiled_template import compile_template
from dualfield.given_numbers import check_integer

if TYPE_CHECKING:
    from dualfield.estimators.chain_model import ChainModel
    from dualfield.features import Encoded, EncodedLabels, Template, Tokens

__all__ = ["Layout", "Recipe", "TrainingFile", "label_of", "read_by_template", "read_labelled", "recipe_of"]

_FORM, _UPOS = 1, 3  # columns of CoNLL-U


class Layout(NamedTuple):
    """How a file is laid out, as :func:`~dualfield.io.read_tokens` takes it."""

    format: str = "columns"
    separator: str | None = None
    comment: str | None = None
    docstart: str = "drop"

    def read(self, path: str, encoding: str) -> Tokens:
        """The tokens of a file, the label as the last column if JSON lines have one."""
        if self.format == "jsonl":
            self.check_bare()
            return io.read_json_lines(path, encoding=encoding).tokens()
        options: dict[str, Any] = self._asdict()
        return io.read_tokens(path, encoding=encoding, **options)

    def check_bare(self) -> None:
        """Refuse what only column files have."""
        for name in ("separator", "comment"):
            if getattr(self, name) is not None:
                raise ValueError(f"--{name} is for column files; leave it out with --format {self.format}.")

    def but_for(
        self, separator: str | None, comment: str | None, docstart: str | None, format: str | None = None
    ) -> Layout:
        """The same layout, except for what is given; of another format, nothing of the old one holds."""
        if format is not None and format != self.format:
            return Layout(format, separator, comment, docstart or "drop")
        given = {"separator": separator, "comment": comment, "docstart": docstart}
        return self._replace(**{name: value for name, value in given.items() if value is not None})


class Recipe:
    """How a column file becomes attributes.

    Parameters
    ----------
    layout : Layout
        Of the training file, and by default of others.
    width : int
        Columns of the training file, the label included.
    label : int
        Which of them is the label.
    columns : tuple of int
        The columns that the template sees.
    plain_template : dict
        What makes the attributes, as plain data.
    hash_bits : int or None
        Whether attributes are hashed, and to how many bits.
    """

    def __init__(
        self,
        layout: Layout,
        width: int,
        label: int,
        columns: tuple[int, ...],
        plain_template: dict[str, Any],
        hash_bits: int | None,
    ) -> None:
        self.layout, self.width, self.label, self.columns = layout, width, label, columns
        self.plain_template, self.hash_bits = plain_template, hash_bits
        self.compiled = compile_template(plain_template)  # refuses what is none

    @cached_property
    def template(self) -> Template:
        """What makes the attributes."""
        from dualfield.features.templates import Template

        return Template.from_dict(self.plain_template)

    @property
    def widths(self) -> tuple[int, int]:
        """The fewest and the most columns of a file to tag: a label that is last may be missing."""
        return self.width - (self.label == self.width - 1), self.width

    def attributes(self, tokens: Tokens, crf: ChainModel) -> Encoded:
        """The attributes that the model knows."""
        seen = tokens.with_columns(self.columns)
        return self.template.encode(
            seen, crf.vocabulary_, hash_bits=self.hash_bits, bigram_vocabulary=crf.bigram_vocabulary_
        )

    def to_dict(self) -> dict[str, Any]:
        """The recipe as plain data."""
        return {
            "layout": self.layout._asdict(),
            "width": self.width,
            "label": self.label,
            "columns": list(self.columns),
            "template": self.plain_template,
            "hash_bits": self.hash_bits,
        }


class TrainingFile(NamedTuple):
    """What a labelled file gives."""

    X: Encoded
    y: EncodedLabels
    recipe: Recipe
    tokens: Tokens


def recipe_of(plain: object) -> Recipe:
    """What the model remembers, from its plain data."""
    if not isinstance(plain, dict):
        raise ValueError(
            "the model was not trained on a column file, so it does not know how to read one; if the file has "
            "attributes, give --format attributes or jsonl."
        )
    try:
        width, label, *columns = map(_number, (plain["width"], plain["label"], *plain["columns"]))
        if not all(0 <= column < width for column in (label, *columns)):
            raise ValueError(f"it has {width} columns, but refers to {(label, *columns)}")
        layout = Layout(**plain["layout"])
        for name, value in layout._asdict().items():
            if not (isinstance(value, str) or (value is None and name in ("separator", "comment"))):
                raise ValueError(f"expected a layout of text, found {name}={value!r}")
        hash_bits = None if plain["hash_bits"] is None else _number(plain["hash_bits"])
        return Recipe(layout, width, label, tuple(columns), plain["template"], hash_bits)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ValueError(
            f"what the model says of column files is damaged: {str(error).rstrip('.')}; train it anew."
        ) from error


def _number(plain: object) -> int:
    """A number of a model file: JSON may hold Infinity and fractions in its place."""
    return check_integer("a number of columns or of bits", plain, 0, "an integer, not negative")


def read_by_template(
    path: str,
    features: str,
    syntax: str,
    layout: Layout,
    encoding: str,
    *,
    label_column: int | None = None,
    min_count: int = 1,
    hash_bits: int | None = None,
    gazetteers: Iterable[str] = (),
    tokens: Tokens | None = None,
) -> TrainingFile:
    """Read a labelled file; ``features`` is a preset or a template file, ``label_column`` counts from 1.

    ``tokens`` are those of the file, where it has been read already.
    """
    from dualfield.features.presets import PRESETS, preset_template

    template = None if features in PRESETS else _template_file(features, syntax)
    lists = dict(_gazetteer(given) for given in gazetteers)
    if lists and template is not None:
        raise ValueError("gazetteers go with a preset; a template file has no place for them.")
    if tokens is None:
        tokens = layout.read(path, encoding)
    width, label = tokens.n_columns, label_of(path, tokens, layout, label_column)
    if template is None:
        columns = [c for c in range(width) if c != label]
        if layout.format == "conllu":
            columns = [_FORM, *([_UPOS] if label != _UPOS else [])]
        template = preset_template(features, len(columns), lists)
    else:
        # A template's numbers are the file's.
        columns = list(range(width - 1 if label == width - 1 else width))
        _check_template(template, label, len(columns))
    X = template.encode(tokens.with_columns(columns), min_count=min_count, hash_bits=hash_bits)
    recipe = Recipe(layout, width, label, tuple(columns), template.to_dict(), hash_bits)
    return TrainingFile(X, tokens.labels(label), recipe, tokens)


def read_labelled(path: str, recipe: Recipe, layout: Layout, encoding: str) -> Tokens:
    """Read a labelled file with the columns of training."""
    tokens = layout.read(path, encoding)
    fewest, most = recipe.widths
    if tokens.n_columns not in (fewest, most):
        raise ValueError(f"{path} has {tokens.n_columns} columns; expected {most}, those of training and the label.")
    if tokens.n_columns < most:
        raise ValueError(f"{path} has no label column to compare with; use 'dualfield tag'.")
    return tokens


def _template_file(path: str, syntax: str) -> Template:
    if not os.path.isfile(path):
        from dualfield.features.presets import PRESETS

        raise ValueError(
            f"there is no feature preset {path!r} and no template file of that name; choose one of "
            f"{', '.join(sorted(PRESETS))}, or give a file."
        )
    text = _text_of(path)
    from dualfield.features.templates import Template

    try:
        return Template.crfpp(text) if syntax == "crfpp" else Template.wapiti(text)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _check_template(template: Template, label: int, n_columns: int) -> None:
    template.check_columns(n_columns)
    for rule in template.rules:
        if any(cell.column == label for cell in rule.cells):
            raise ValueError(f"the template refers to column {label} in {str(rule)!r}, which is the label.")


def label_of(path: str, tokens: Tokens, layout: Layout, given: int | None) -> int:
    """Which column is the label; ``given`` counts from 1."""
    width = tokens.n_columns
    if width < 2:
        raise ValueError(f"{path} has one column; training needs a word and, in the last column, its label.")
    if given is None:
        return _UPOS if layout.format == "conllu" else width - 1
    if not 1 <= given <= width:
        raise ValueError(f"the label column must be 1 to {width}, as {path} has; found {given}.")
    if layout.format == "conllu" and given - 1 == _FORM:
        raise ValueError("the label column cannot be 2, the words of CoNLL-U.")
    return given - 1


def _gazetteer(given: str) -> tuple[str, list[str]]:
    name, equals, path = given.partition("=")
    if not (name and equals and path):
        raise ValueError(f"a gazetteer is given as NAME=FILE, such as city=cities.txt; found {given!r}.")
    return name, [line.strip() for line in _text_of(path).split("\n") if line.strip()]


def _text_of(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not in UTF-8 ({error.reason} at byte {error.start}); convert it first.") from None
