"""Nodes of graphs with named attributes: a dict or a list of strings for each, as for the positions of sequences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dualfield.features.sequences.attributes import NamedRows
from dualfield.features.sequences.encoded import Encoded
from dualfield.features.vocabulary import Vocabulary
from dualfield.nested import GRAPHS

__all__ = ["are_named", "check_naming", "encode_named"]


def are_named(nodes: list[Any]) -> bool:
    """Whether the nodes of these graphs have named attributes; refuses graphs that differ in that."""
    kinds = [_kind(given) for given in nodes]
    for number, kind in enumerate(kinds):
        if kind != kinds[0]:
            raise TypeError(
                f"the nodes of graph {number} have {kind} but those of graph 0 have {kinds[0]}; "
                "give the nodes of all graphs the same."
            )
    return kinds[0] != _NUMBERS


def encode_named(nodes: list[Any], vocabulary: Vocabulary | None = None) -> Encoded:
    """The nodes of graphs as positions of sequences; attributes that the vocabulary has not are ignored.

    Examples
    --------
    >>> encode_named([[{"word": "a", "size": 2.0}, {"word": "b"}]]).vocabulary.names
    ['word:a', 'size', 'word:b']
    """
    kind = _kind(nodes[0])
    expected = (Mapping,) if kind == _DICTS else _LISTS
    for number, given in enumerate(nodes):
        for place, node in enumerate(given):
            if not isinstance(node, expected):
                raise TypeError(
                    f"node {place} of graph {number} is of type {type(node).__name__} but the nodes before it have "
                    f"{kind}."
                )
    rows = NamedRows(vocabulary, GRAPHS)
    if kind == _DICTS:
        rows.add_dicts(nodes)
    else:
        rows.add_strings(nodes)
    return rows.finish()


def check_naming(named: bool, trained: Vocabulary | None, whose: str) -> None:
    """Refuse names for a model of columns, and columns for a model of names."""
    if named != (trained is not None):
        forms = ("rows of numbers", "named attributes")
        raise TypeError(
            f"{whose} {forms[named]} but the model was trained on {forms[not named]}; "
            "give nodes the same in prediction as in training."
        )


_DICTS, _STRINGS, _NUMBERS = "a dict each", "a list of strings each", "a row of numbers each"
_LISTS = (list, tuple, set, frozenset)


def _kind(given: Any) -> str:
    """What the nodes of a graph have, judged by the first that is not an empty list."""
    if not isinstance(given, list | tuple):
        return _NUMBERS
    for node in given:
        if isinstance(node, Mapping):
            return _DICTS
        if not isinstance(node, _LISTS):
            return _NUMBERS
        if len(node) > 0:
            return _STRINGS if isinstance(next(iter(node)), str) else _NUMBERS
    return _NUMBERS
