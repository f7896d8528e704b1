"""Compiles a template from the plain data of a model file, without importing the classes of rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dualfield import _core

__all__ = ["check_plain", "compile_template"]

_KINDS = {"unigram": (True, False), "bigram": (False, True), "both": (True, True)}
_COUNTING = ("shape", "brief_shape", "prefix", "suffix")
_FURTHEST = 1000  # tokens, as a cell may be away
_CELL = {"column", "offset", "transforms", "absolute"}
_TRANSFORM = {"operation", "length", "pattern", "entries"}


def check_plain(plain: object) -> None:
    """Refuse what ``Template.to_dict`` does not write; what a rule holds is looked at where it is used."""
    if not isinstance(plain, Mapping) or not {"rules", "outside", "transitions"} <= plain.keys():
        raise ValueError(f"the template is {plain!r:.60}; expected a dict with rules, outside and transitions.")
    rules = plain["rules"]
    if not isinstance(rules, list | tuple):
        raise ValueError(f"the rules of the template are {rules!r:.60}; expected a list.")
    for number, rule in enumerate(rules):
        if not isinstance(rule, Mapping) or not {"pieces", "kind", "where"} <= rule.keys():
            raise ValueError(f"rule {number} is {rule!r:.60}; expected a dict with pieces, kind and where.")
        if not isinstance(rule["pieces"], list | tuple) or not all(
            isinstance(p, str | Mapping) for p in rule["pieces"]
        ):
            raise ValueError(f"the pieces of rule {number} are {rule['pieces']!r:.60}; expected strings and cells.")


def compile_template(plain: Mapping[str, Any]) -> _core.CompiledTemplate:
    """The template that :meth:`Template.to_dict <dualfield.features.Template.to_dict>` has written down.

    Cells that apply the same transforms to the same column share a view, which the core evaluates once. What the
    classes of rules would refuse is refused here too, since a model file may say anything.
    """
    check_plain(plain)
    if all(rule["kind"] == "bigram" for rule in plain["rules"]):
        raise ValueError("the template makes no attribute of single labels")
    views: dict[tuple[int, Any], int] = {}
    rules = []
    for rule in plain["rules"]:
        literals, cells = [""], []
        for piece in rule["pieces"]:
            if isinstance(piece, str):
                literals[-1] += piece
            else:
                _check_cell(piece)
                literals.append("")
                view = piece["column"], tuple(map(_transform, piece["transforms"]))
                cells.append((views.setdefault(view, len(views)), piece["offset"], piece["absolute"]))
        if rule["kind"] not in _KINDS:
            raise ValueError(f"a rule of the template has the unknown kind {rule['kind']!r}")
        if not rule["pieces"]:
            raise ValueError("a rule of the template has no pieces")
        rules.append((literals, cells, *_KINDS[rule["kind"]], rule["where"]))
    try:
        return _core.CompiledTemplate([(column, list(steps)) for column, steps in views], rules, plain["outside"])
    except TypeError:  # whose message would list the types of the core
        raise TypeError("a column, an offset or a text of the template is of another type") from None


def _check_cell(cell: Mapping[str, Any]) -> None:
    if set(cell) != _CELL or type(cell["column"]) is not int or type(cell["offset"]) is not int:
        raise ValueError(f"a cell of the template is damaged: {cell!r:.80}")
    if abs(cell["offset"]) > _FURTHEST:
        raise ValueError(f"a cell of the template is {cell['offset']} tokens away")
    if any(step["operation"] == "gazetteer" for step in cell["transforms"][:-1]):
        raise ValueError("a gazetteer must be the last transform of a cell")


def _transform(step: Mapping[str, Any]) -> tuple[str, int, str, tuple[tuple[str, ...], ...]]:
    if not set(step) <= _TRANSFORM or type(step.get("length", 0)) is not int:
        raise ValueError(f"a transform of the template is damaged: {step!r:.80}")
    if step["operation"] in _COUNTING and step.get("length", 0) < 1:
        raise ValueError(f"{step['operation']} needs a positive number of characters")
    entries = tuple(map(tuple, step.get("entries", ())))
    return step["operation"], step.get("length", 0), step.get("pattern", ""), entries
