"""A template's plain data, as a model file has it, compiled for the core: without the classes of rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dualfield import _core

__all__ = ["compile_template"]

_KINDS = {"unigram": (True, False), "bigram": (False, True), "both": (True, True)}


def compile_template(plain: Mapping[str, Any]) -> _core.CompiledTemplate:
    """The template that :meth:`Template.to_dict <dualfield.features.Template.to_dict>` has written down.

    Cells that apply the same transforms to the same column share a view, which the core evaluates once.
    """
    views: dict[tuple[int, Any], int] = {}
    rules = []
    for rule in plain["rules"]:
        literals, cells = [""], []
        for piece in rule["pieces"]:
            if isinstance(piece, str):
                literals[-1] += piece
            else:
                literals.append("")
                view = piece["column"], tuple(map(_transform, piece["transforms"]))
                cells.append((views.setdefault(view, len(views)), piece["offset"], piece["absolute"]))
        if rule["kind"] not in _KINDS:
            raise ValueError(f"a rule of the template has the unknown kind {rule['kind']!r}")
        rules.append((literals, cells, *_KINDS[rule["kind"]], rule["where"]))
    try:
        return _core.CompiledTemplate([(column, list(steps)) for column, steps in views], rules, plain["outside"])
    except TypeError:  # whose message would list the types of the core
        raise TypeError("a column, an offset or a text of the template is of another type") from None


def _transform(step: Mapping[str, Any]) -> tuple[str, int, str, tuple[tuple[str, ...], ...]]:
    entries = tuple(map(tuple, step.get("entries", ())))
    return step["operation"], step.get("length", 0), step.get("pattern", ""), entries
