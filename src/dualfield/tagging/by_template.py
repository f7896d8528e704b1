"""From tokens to attributes by a preset or a template file, when a model is trained or a file converted."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from dualfield.models.recipe import FileLayout, Recipe
from dualfield.tagging.content import TokenFile, shown
from dualfield.tagging.formats import format_named

if TYPE_CHECKING:
    from dualfield.features import Encoded, Template
    from dualfield.labels import EncodedLabels

__all__ = ["Made", "Maker", "label_of"]


class Made(NamedTuple):
    """What a template makes of a labelled file."""

    X: Encoded
    y: EncodedLabels
    recipe: Recipe


class Maker:
    """What ``--features`` asks for, read before the data are.

    Parameters
    ----------
    features : str
        A preset or a template file.
    syntax : {"crfpp", "wapiti"}
        Of a template file.
    gazetteers : iterable of str
        ``NAME=FILE``, for a preset.
    """

    def __init__(self, features: str, syntax: str, gazetteers: Iterable[str] = ()) -> None:
        from dualfield.features.templates.presets import PRESETS

        self.features = features
        self._template = None if features in PRESETS else _template_file(features, syntax)
        self._lists = dict(_gazetteer(given) for given in gazetteers)
        if self._lists and self._template is not None:
            raise ValueError("gazetteers go with a preset; a template file has no place for them.")

    def make(
        self,
        content: TokenFile,
        layout: FileLayout,
        label_column: int | None = None,
        min_count: int = 1,
        hash_bits: int | None = None,
        n_jobs: int = 1,
    ) -> Made:
        """The attributes and labels of a file; ``label_column`` counts from 1."""
        from dualfield.features.templates.presets import preset_template

        tokens, label = content.tokens, label_of(content, layout.format, label_column)
        width, template = tokens.n_columns, self._template
        if template is None:
            columns = format_named(layout.format).preset_columns(width, label)
            template = preset_template(self.features, len(columns), self._lists)
        else:
            # A template's numbers are the file's.
            columns = list(range(width - 1 if label == width - 1 else width))
            _check_template(template, label, len(columns))
        X = template.encode(tokens.with_columns(columns), min_count=min_count, hash_bits=hash_bits, n_jobs=n_jobs)
        recipe = Recipe(layout, width, label, tuple(columns), template.to_dict(), hash_bits)
        return Made(X, tokens.labels(label), recipe)


def label_of(content: TokenFile, format: str, given: int | None) -> int:
    """Which column is the label; ``given`` counts from 1."""
    kind, width = format_named(format), content.tokens.n_columns
    if content.label is None:
        raise ValueError(f"{shown(content.path)} {kind.unlabelled}")
    if given is None:
        return content.label
    if not 1 <= given <= width:
        raise ValueError(f"the label column must be 1 to {width}, as {content.path} has; found {given}.")
    kind.check_label(given - 1)
    return given - 1


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
