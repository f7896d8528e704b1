"""Weights of labels and costs of confusions as users and files give them, checked without NumPy."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, TypeGuard

from dualfield.given_numbers import as_float

__all__ = ["check_costs", "costs_of_plain", "plain_costs"]

_LARGEST = 1e4  # of a cost: beyond it, other potentials lose their digits


def check_costs(class_weight: object, costs: object) -> None:
    """Refuse weights of labels and costs of confusions that make no sense, before any work."""
    if class_weight is not None and class_weight != "balanced":
        if not isinstance(class_weight, Mapping) or not class_weight:
            raise ValueError(
                "class_weight must be None, 'balanced' or a dict of labels and their weights; got "
                f"{class_weight!r:.80}."
            )
        for label, weight in class_weight.items():
            if not (_is_number(weight) and 0 < as_float(weight) < math.inf):
                raise ValueError(f"class_weight[{label!r}] must be a positive finite number; got {weight!r}.")
    if costs is None:
        return
    if not isinstance(costs, Mapping) or not costs:
        raise ValueError(
            f"costs must be None or a dict such as {{('B-PER', 'O'): 2.0}}, from a true label and a wrong one to "
            f"their cost; got {costs!r:.80}."
        )
    for pair, cost in costs.items():
        if not (isinstance(pair, tuple) and len(pair) == 2):
            raise ValueError(f"a key of costs must be a pair (true label, wrong label); got {pair!r:.80}.")
        if pair[0] == pair[1]:
            raise ValueError(f"costs[{pair!r}] has the same label twice; what is right has no cost.")
        if not (_is_number(cost) and abs(as_float(cost)) <= _LARGEST):
            raise ValueError(f"costs[{pair!r}] must be a number between −{_LARGEST:g} and {_LARGEST:g}; got {cost!r}.")


def plain_costs(parameters: dict[str, Any]) -> dict[str, Any]:
    """The parameters of an estimator with weights and costs as lists, since JSON has no other keys than strings.

    Examples
    --------
    >>> plain = plain_costs({"class_weight": {1: 2.0}, "costs": {("B", "O"): 3.0}})
    >>> plain
    {'class_weight': [[1, 2.0]], 'costs': [['B', 'O', 3.0]]}
    >>> costs_of_plain(plain)
    {'class_weight': {1: 2.0}, 'costs': {('B', 'O'): 3.0}}
    """
    plain = dict(parameters)
    if isinstance(plain["class_weight"], Mapping):
        plain["class_weight"] = [[_plain(label), float(weight)] for label, weight in plain["class_weight"].items()]
    if plain.get("costs") is not None:
        pairs = plain["costs"].items()
        plain["costs"] = [[_plain(true), _plain(wrong), float(cost)] for (true, wrong), cost in pairs]
    return plain


def costs_of_plain(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """What :func:`plain_costs` was given."""
    given = dict(parameters)
    try:
        if isinstance(given.get("class_weight"), list):
            given["class_weight"] = dict(given["class_weight"])
        if given.get("costs") is not None:
            given["costs"] = {(true, wrong): cost for true, wrong, cost in given["costs"]}
    except (TypeError, ValueError):
        raise ValueError("its costs of labels are damaged") from None
    return given


def _plain(label: Any) -> Any:
    return int(label) if isinstance(label, Integral) else str(label)


def _is_number(value: object) -> TypeGuard[Real]:
    return isinstance(value, Real) and not isinstance(value, bool)
