"""Constraints, allowed sets, costs and partial labels of a chain: their checks, and the compiled field.

A chain without any of them is the plain compiled chain. Otherwise a field over the same data takes its place, which
knows the labellings that are allowed (``core/fields/constrained_chain.hpp``, ``costly_chain.hpp``,
``partial_chain.hpp``).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dualfield import _core
from dualfield.features import Encoded
from dualfield.labels import Constraints

__all__ = ["Observed", "check_labels", "constrain", "exceptions", "observed_among", "sparse_chain"]

BoolArray = npt.NDArray[np.bool_]


class Observed(NamedTuple):
    """Pairs that occur in partly labelled data: each position once for each of its candidates, and the transitions.

    ``candidates`` are what they come from.
    """

    positions: Encoded
    codes: npt.NDArray[np.int32]
    transitions: npt.NDArray[np.int32]
    candidates: BoolArray


def observed_among(encoded: Encoded, candidates: BoolArray) -> Observed:
    """The pairs of candidates. A position where every label is possible shows none of them."""
    shown = candidates & ~candidates.all(axis=1, keepdims=True)
    positions, codes = np.nonzero(shown)
    bounds = np.concatenate(([0], np.cumsum(np.diff(encoded.indptr)[positions])))
    entries = np.arange(bounds[-1]) + np.repeat(encoded.indptr[positions] - bounds[:-1], np.diff(bounds))
    offsets = np.array([0, len(positions)]) if len(positions) else np.zeros(1, dtype=np.int64)
    each = Encoded(offsets, bounds, encoded.indices[entries], None, encoded.vocabulary)
    n_labels = candidates.shape[1]
    inner = np.ones(len(candidates), dtype=bool)
    inner[encoded.offsets[1:] - 1] = False
    before = np.flatnonzero(inner)
    together = shown[before].astype(np.int64).T @ shown[before + 1].astype(np.int64)
    flat = np.flatnonzero(together.ravel()[: n_labels * n_labels])
    return Observed(each, codes.astype(np.int32), flat.astype(np.int32), candidates)


def check_labels(
    codes: npt.NDArray[np.int32],
    offsets: npt.NDArray[np.int64],
    classes: npt.NDArray[Any],
    constraints: Constraints | None,
    allowed: BoolArray | None,
) -> None:
    """Refuse true labels that are not allowed, with the first place."""
    wrong: list[tuple[int, str]] = []  # (position of all, what is wrong there)

    def note(places: npt.NDArray[np.integer[Any]], what: str) -> None:
        if places.size:
            wrong.append((int(places[0]), what))

    if constraints is not None:
        first, last = offsets[:-1], offsets[1:] - 1
        follows = np.ones(len(codes), dtype=bool)
        follows[first] = False
        after = np.flatnonzero(follows)
        note(first[~constraints.begin[codes[first]]], "the constraints forbid it as the first label")
        note(last[~constraints.end[codes[last]]], "the constraints forbid it as the last label")
        note(
            after[~constraints.transitions[codes[after - 1], codes[after]]],
            "the constraints forbid it after {before!r}",
        )
    if allowed is not None:
        note(
            np.flatnonzero(~allowed[np.arange(len(codes)), codes]),
            "it is not among the labels that `allowed` has there",
        )
    if not wrong:
        return
    place, what = min(wrong, key=lambda found: found[0])
    number = int(np.searchsorted(offsets, place, side="right")) - 1
    names = classes.tolist()
    before = names[codes[place - 1]] if place > offsets[number] else None
    raise ValueError(
        f"position {place - offsets[number]} of sequence {number} has the label {names[codes[place]]!r} in y, but "
        f"{what.format(before=before)}; correct the label, or allow it."
    )


def constrain(
    chain: Any,
    n_labels: int,
    constraints: Constraints | None,
    allowed: BoolArray | None,
    candidates: BoolArray | None,
    costs: npt.NDArray[np.float64] | None = None,
) -> Any:
    """The compiled chain, or in its place the field of what is allowed; refused where a sequence has nothing left."""
    if constraints is None and allowed is None and candidates is None and costs is None:
        return chain
    masks = _masks(n_labels, constraints)
    if costs is not None:
        return _core.CostlyChain(chain, **masks, allowed=allowed, costs=costs)
    if candidates is None:
        return _core.ConstrainedChain(chain, **masks, allowed=allowed)
    return _core.PartialChain(chain, **masks, allowed=allowed, candidates=candidates)


def sparse_chain(chain: Any, n_labels: int, constraints: Constraints | None, allowed: BoolArray | None) -> Any:
    """The field that passes over transitions without a weight, with what is allowed."""
    if constraints is None and allowed is None:
        return _core.SparseChain(chain)
    return _core.SparseChain(chain, **_masks(n_labels, constraints), allowed=allowed)


def exceptions(constraints: Constraints | None) -> int:
    """How many pairs inference that passes over pairs has to look at because of constraints.

    After most labels some label is allowed, or forbidden; the exceptions to that are looked at.
    """
    if constraints is None:
        return 0
    allowed = constraints.transitions.sum(axis=0)
    return int(np.minimum(allowed, len(allowed) - allowed).sum())


def _masks(n_labels: int, constraints: Constraints | None) -> dict[str, Any]:
    rules = Constraints(range(n_labels)) if constraints is None else constraints
    return {name: getattr(rules, name) for name in ("transitions", "begin", "end")}
