"""Which label sequences are allowed: pairs of neighbours, first and last labels.

The schemes that cut sentences into chunks are such rules. In BIO (IOB2) an ``I-X`` goes on with what a ``B-X`` or an
``I-X`` has begun; in IOBES (also BIOES) a chunk of one position is ``S-X``, longer ones run from ``B-X`` over ``I-X``
to ``E-X``; BILOU and BMES have other letters for the same. A type is whatever follows the first hyphen.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from dualfield.labels.tags import SCHEMES, Scheme

__all__ = ["Constraints", "resolve_constraints"]

BoolArray = npt.NDArray[np.bool_]


class Constraints:
    """Rules that every labelling keeps: ``y`` is allowed where

        ``begin[y_1]`` and ``transitions[y_{t−1}, y_t]`` for all t and ``end[y_T]``.

    A model with constraints is the distribution over allowed labellings,
    ``p(y | x) ∝ exp(score(x, y)) · 1[y allowed]``.

    Parameters
    ----------
    labels : sequence of str or int
        The labels that the rules speak of, each once.
    transitions : array of bool, shape (K, K), or iterable of pairs, optional
        True where the label of the row may be followed by that of the column; or the forbidden (from, to) pairs.
    begin, end : array of bool, shape (K,), or iterable of labels, optional
        True where a label may be the first, the last; or the labels that may not.

    Attributes
    ----------
    labels : tuple
    transitions, begin, end : arrays of bool, shapes (K, K), (K,), (K,)
        True where allowed.

    Examples
    --------
    >>> rules = Constraints(["A", "B"], transitions=[("B", "A")], end=["A"])
    >>> rules.allows(["A", "B", "B"]), rules.allows(["B", "A"]), rules.allows(["A"])
    (True, False, False)
    """

    labels: tuple[Any, ...]
    transitions: BoolArray
    begin: BoolArray
    end: BoolArray

    def __init__(
        self,
        labels: Iterable[Any],
        transitions: npt.ArrayLike | Iterable[tuple[Any, Any]] | None = None,
        begin: npt.ArrayLike | Iterable[Any] | None = None,
        end: npt.ArrayLike | Iterable[Any] | None = None,
    ) -> None:
        self.labels = _checked_labels(labels)
        code_of = {label: code for code, label in enumerate(self.labels)}
        self.transitions = _pair_mask(transitions, code_of)
        self.begin = _label_mask("begin", begin, code_of)
        self.end = _label_mask("end", end, code_of)
        for mask in (self.transitions, self.begin, self.end):
            mask.setflags(write=False)

    @classmethod
    def bio(cls, labels: Iterable[Any]) -> Constraints:
        """The rules of BIO: ``I-X`` only after ``B-X`` or ``I-X``, so never first.

        Examples
        --------
        >>> rules = Constraints.bio(["B-geo-loc", "I-geo-loc", "O"])
        >>> rules.allows(["B-geo-loc", "I-geo-loc", "O"]), rules.allows(["O", "I-geo-loc"])
        (True, False)
        """
        return cls._scheme("bio", labels)

    @classmethod
    def iobes(cls, labels: Iterable[Any]) -> Constraints:
        """The rules of IOBES: ``B-X`` and ``I-X`` are followed by ``I-X`` or ``E-X``, which follow nothing else.

        Examples
        --------
        >>> rules = Constraints.iobes(["B-X", "E-X", "I-X", "O", "S-X"])
        >>> rules.allows(["S-X", "B-X", "E-X"]), rules.allows(["B-X", "O"]), rules.allows(["B-X"])
        (True, False, False)
        """
        return cls._scheme("iobes", labels)

    @classmethod
    def bilou(cls, labels: Iterable[Any]) -> Constraints:
        """The rules of BILOU, which are those of IOBES with ``L-X`` for ``E-X`` and ``U-X`` for ``S-X``.

        Examples
        --------
        >>> rules = Constraints.bilou(["B-X", "I-X", "L-X", "O", "U-X"])
        >>> rules.allows(["U-X", "B-X", "I-X", "L-X"]), rules.allows(["B-X", "U-X"])
        (True, False)
        """
        return cls._scheme("bilou", labels)

    @classmethod
    def bmes(cls, labels: Iterable[Any]) -> Constraints:
        """The rules of BMES, which are those of IOBES with ``M-X`` for ``I-X``; the tags may have no type.

        Examples
        --------
        >>> rules = Constraints.bmes(["B", "M", "E", "S"])
        >>> rules.allows(["S", "B", "M", "E"]), rules.allows(["B", "S"])
        (True, False)
        """
        return cls._scheme("bmes", labels)

    @classmethod
    def _scheme(cls, name: str, labels: Iterable[Any]) -> Constraints:
        opens, inside, closes, alone = SCHEMES[name]
        known = _checked_labels(labels)
        letters = [letter for letter in (opens, inside, closes, alone) if letter]
        parts = [_tag_parts(name, label, letters) for label in known]
        # Within a chunk after the first, and within a chunk before the last (which BIO does not mark).
        continues = np.array([letter in (inside, closes) for letter, _ in parts])
        unfinished = np.array([letter in (opens, inside) for letter, _ in parts])
        same_type = np.array([[a == b for _, b in parts] for _, a in parts])
        allowed = ~continues[np.newaxis, :] | (unfinished[:, np.newaxis] & same_type)
        if closes:
            allowed &= ~unfinished[:, np.newaxis] | continues[np.newaxis, :]
        return cls(known, allowed, ~continues, ~unfinished if closes else None)

    def allows(self, labels: Sequence[Any]) -> bool:
        """Whether a sequence of labels keeps the rules."""
        codes = [self.labels.index(label) for label in labels]
        inside = all(self.transitions[pair] for pair in pairwise(codes))
        return bool(self.begin[codes[0]] and self.end[codes[-1]] and inside)

    def forbid(
        self, node: npt.ArrayLike, edge: npt.ArrayLike
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Node potentials (T, K) and edge potentials (…, K, K) with −inf for what is not allowed, for the oracles."""
        nodes, edges = np.array(node, dtype=np.float64), np.array(edge, dtype=np.float64)
        nodes[0, ~self.begin] = nodes[-1, ~self.end] = -np.inf
        edges[..., ~self.transitions] = -np.inf
        return nodes, edges

    def restricted(self, classes: Iterable[Any]) -> Constraints:
        """The rules for some of the labels, in the order given: those that a model has."""
        wanted = list(classes)
        missing = [label for label in wanted if label not in self.labels]
        if missing:
            raise ValueError(
                f"the constraints do not know the label {missing[0]!r} of y; expected one of "
                f"{list(self.labels)!r:.200}; give rules for all labels."
            )
        chosen = [self.labels.index(label) for label in wanted]
        return Constraints(wanted, self.transitions[np.ix_(chosen, chosen)], self.begin[chosen], self.end[chosen])

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Constraints)
            and self.labels == other.labels
            and all(np.array_equal(getattr(self, name), getattr(other, name)) for name in _MASKS)
        )

    def __hash__(self) -> int:
        return hash((self.labels, *(getattr(self, name).tobytes() for name in _MASKS)))

    def __repr__(self) -> str:
        forbidden = [int((~getattr(self, name)).sum()) for name in _MASKS]
        return (
            f"Constraints({len(self.labels)} labels; forbidden: {forbidden[0]} transitions, {forbidden[1]} first and "
            f"{forbidden[2]} last labels)"
        )


_MASKS = ("transitions", "begin", "end")


def resolve_constraints(constraints: Scheme | Constraints | None, classes: npt.NDArray[Any]) -> Constraints | None:
    """What a ``constraints`` parameter means for these labels, in their order.

    Examples
    --------
    >>> resolve_constraints("bio", np.array(["B-X", "I-X", "O"])).transitions.astype(int).tolist()
    [[1, 1, 1], [1, 1, 1], [1, 0, 1]]
    """
    if constraints is None:
        return None
    if isinstance(constraints, Constraints):
        return constraints.restricted(classes.tolist())
    if isinstance(constraints, str) and constraints in SCHEMES:
        named: Constraints = getattr(Constraints, constraints)(classes.tolist())
        return named
    named_ones = ", ".join(map(repr, SCHEMES))
    raise ValueError(f"constraints must be None, {named_ones} or a Constraints; got {constraints!r}.")


def _checked_labels(labels: Iterable[Any]) -> tuple[Any, ...]:
    if isinstance(labels, str):
        raise TypeError(f"Constraints: labels is the string {labels!r:.40}; expected a list of labels.")
    known = tuple(np.asarray(labels).tolist() if isinstance(labels, np.ndarray) else labels)
    if not known:
        raise ValueError("Constraints: labels is empty; expected at least one.")
    for place, label in enumerate(known):
        if isinstance(label, bool) or not isinstance(label, str | int | np.integer):
            raise TypeError(
                f"Constraints: labels[{place}] is {label!r:.40} of type {type(label).__name__}; expected a string or "
                "an integer."
            )
        if label in known[:place]:
            raise ValueError(f"Constraints: the label {label!r} stands twice; expected each once.")
    return known


def _tag_parts(name: str, label: Any, letters: list[str]) -> tuple[str, str]:
    """The letter of a tag, and its type."""
    letter, _, kind = label.partition("-") if isinstance(label, str) else ("", "", "")
    if (letter == "O" and label != "O") or letter not in ("O", *letters):
        listed = " or ".join(f"'{letter}-...'" for letter in letters)
        raise ValueError(f"Constraints.{name}: the label {label!r} is no tag of the scheme; expected 'O', {listed}.")
    return letter, kind


def _as_mask(name: str, given: Any, shape: tuple[int, ...]) -> BoolArray | None:
    """The given mask, or None where it is a list of what is forbidden."""
    if not isinstance(given, np.ndarray):
        if isinstance(given, str) or not isinstance(given, Iterable):
            raise TypeError(f"Constraints: {name} is {given!r:.40}; expected booleans or a list of what is forbidden.")
        given = list(given)
        flat = [x for row in given for x in (row if len(shape) == 2 and isinstance(row, list | tuple) else [row])]
        if not flat or not all(isinstance(x, bool | np.bool_) for x in flat):
            return None
    try:
        mask = np.array(given)
    except ValueError:
        raise ValueError(f"Constraints: the rows of {name} differ in length; expected shape {shape}.") from None
    if mask.dtype != np.bool_:
        raise TypeError(
            f"Constraints: {name} is an array of {mask.dtype}; expected booleans, True where allowed, or a list of "
            "what is forbidden."
        )
    if mask.shape != shape:
        raise ValueError(f"Constraints: {name} has shape {mask.shape}; expected {shape} for {shape[0]} labels.")
    return mask


def _code(name: str, place: int, label: Any, code_of: dict[Any, int]) -> int:
    try:
        return code_of[label]
    except (KeyError, TypeError):
        raise ValueError(
            f"Constraints: entry {place} of {name} names {label!r:.40}, which is not among its labels; expected one of "
            f"{list(code_of)!r:.200}."
        ) from None


def _pair_mask(given: Any, code_of: dict[Any, int]) -> BoolArray:
    n = len(code_of)
    allowed = np.ones((n, n), dtype=bool)
    if given is None:
        return allowed
    if not isinstance(given, np.ndarray | str):
        given = list(given) if isinstance(given, Iterable) else given
    mask = _as_mask("transitions", given, (n, n))
    if mask is not None:
        return mask
    for place, pair in enumerate(given):
        if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
            raise ValueError(
                f"Constraints: entry {place} of transitions is {pair!r:.40}; expected a forbidden (from, to) pair."
            )
        allowed[_code("transitions", place, pair[0], code_of), _code("transitions", place, pair[1], code_of)] = False
    return allowed


def _label_mask(name: str, given: Any, code_of: dict[Any, int]) -> BoolArray:
    allowed = np.ones(len(code_of), dtype=bool)
    if given is None:
        return allowed
    if not isinstance(given, np.ndarray | str):
        given = list(given) if isinstance(given, Iterable) else given
    mask = _as_mask(name, given, (len(code_of),))
    if mask is None:
        mask = allowed
        mask[[_code(name, place, label, code_of) for place, label in enumerate(given)]] = False
    if not mask.any():
        raise ValueError(f"Constraints: {name} forbids every label; expected at least one to be left.")
    return mask
