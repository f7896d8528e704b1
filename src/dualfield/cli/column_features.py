"""Column files for training and evaluation: tokens, labels, and the attributes that a template makes."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from dualfield.models.recipe import Layout, Recipe

if TYPE_CHECKING:
    from dualfield.features import Encoded, Template, Tokens
    from dualfield.labels import EncodedLabels

__all__ = ["TrainingFile", "label_of", "read_by_template", "read_labelled"]

_FORM, _UPOS = 1, 3  # columns of CoNLL-U


class TrainingFile(NamedTuple):
    """What a labelled file gives."""

    X: Encoded
    y: EncodedLabels
    recipe: Recipe
    tokens: Tokens


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
    from dualfield.features.templates.presets import PRESETS, preset_template

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
        from dualfield.features.templates.presets import PRESETS

        raise ValueError(
            f"there is no feature preset {path!r} and no template file of that name; choose one of "
            f"{', '.join(sorted(PRESETS))}, or give a file."
        )
    text = _text_of(path)
    from dualfield.features.templates.template import Template

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
