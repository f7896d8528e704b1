"""Spans of chunk tags on a chain, and the probability of each; the recursion is in ``core/oracles/chain_spans.hpp``.

A labelling has a *span* (begin, end, type) where :func:`dualfield.metrics.chunks` reads one, so the probability of a
span is the sum of the probabilities of all labellings whose reading has it. It is not the product of the tokens'
marginals, and not the probability of one string of tags: ``I-PER`` after ``O`` begins a person just as ``B-PER`` does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dualfield import _core
from dualfield.labels.tags import ROLES
from dualfield.metrics import are_chunk_tags
from dualfield.oracles.chain import FloatArray, _potentials

__all__ = ["SpanRules", "span_probabilities"]

_OUTSIDE, _STARTS, _CONTINUES = 0, 1, 2


@dataclass(frozen=True, eq=False)
class SpanRules:
    """Which labels make spans, as the core takes it.

    Parameters
    ----------
    types : list of str
        The types of spans, sorted.
    kinds : array of int32, shape (K,)
        The number of each label's type; -1 for ``O``.
    steps : array of int8, shape (K + 1, K)
        What label j does after label i: 0 is outside, 1 starts a span, 2 continues it. Row K is for the first position.

    Examples
    --------
    >>> rules = SpanRules.of_tags(["B-NP", "I-NP", "O"])
    >>> rules.types, rules.kinds.tolist()
    (['NP'], [0, 0, -1])
    >>> rules.steps.tolist()  # after B, after I, after O, at the beginning
    [[1, 2, 0], [1, 2, 0], [1, 1, 0], [1, 1, 0]]
    """

    types: list[str]
    kinds: npt.NDArray[np.int32]
    steps: npt.NDArray[np.int8]

    @classmethod
    def of_tags(cls, tags: Iterable[Any]) -> SpanRules:
        """The rules by which :func:`dualfield.metrics.chunks` reads these tags.

        Raises
        ------
        ValueError
            If the labels are not chunk tags.
        """
        tags = list(tags)
        if not are_chunk_tags(tags):
            odd = next((tag for tag in tags if tag != "O" and not are_chunk_tags([tag])), "O")
            raise ValueError(
                f"entities are read from chunk tags, 'O' or B, I, M, E, L, S, U or W with a type as in 'B-PER'; found "
                f"the label {odd!r:.60}."
            )
        letters = [ROLES[tag[0]] for tag in tags]
        of = [tag.partition("-")[2] for tag in tags]
        types = sorted({type_ for type_ in of if type_})
        kinds = [types.index(type_) if type_ else -1 for type_ in of]

        def step(letter_before: str, type_before: str, j: int) -> int:
            if letters[j] == "O":
                return _OUTSIDE
            starts = letters[j] in "BS" or letter_before in "OES" or type_before != of[j]
            return _STARTS if starts else _CONTINUES

        rows = [*zip(letters, of, strict=True), ("O", "")]
        steps = [[step(letter, type_, j) for j in range(len(tags))] for letter, type_ in rows]
        return cls(types, np.array(kinds, dtype=np.int32), np.array(steps, dtype=np.int8))


def span_probabilities(
    node: npt.ArrayLike, edge: npt.ArrayLike, tags: Sequence[str], spans: Sequence[tuple[int, int, str]]
) -> FloatArray:
    """The probability that a chain's labels have each of these spans, exactly.

    Parameters
    ----------
    node, edge : arrays, shapes (T, K), and (K, K) or (T − 1, K, K)
        The potentials.
    tags : sequence of str
        The K labels, chunk tags.
    spans : sequence of (begin, end, type)
        Positions ``begin .. end - 1``, as :func:`dualfield.metrics.chunks` gives them.

    Returns
    -------
    probabilities : array, one for each span
        ``Σ p(y)`` over the labellings y whose reading has the span.

    Examples
    --------
    >>> import numpy as np
    >>> tags = ["B-NP", "I-NP", "O"]  # all nine labellings alike: BB, BO, IB and IO have the span
    >>> span_probabilities(np.zeros((2, 3)), np.zeros((3, 3)), tags, [(0, 1, "NP")]).round(4).tolist()
    [0.4444]
    """
    potentials = _potentials(node, edge)
    length, labels = potentials[0].shape
    rules = SpanRules.of_tags(tags)
    if len(rules.kinds) != labels:
        raise ValueError(f"node has {labels} columns but there are {len(rules.kinds)} tags; expected a tag per column.")
    rows = np.empty((len(spans), 3), dtype=np.int64)
    for number, (begin, end, type_) in enumerate(spans):
        if not 0 <= begin < end <= length:
            raise ValueError(
                f"span {number} is of positions {begin} to {end}; expected 0 <= begin < end <= {length}, the length."
            )
        if type_ not in rules.types:
            raise ValueError(f"span {number} is of type {type_!r}; expected one of {', '.join(rules.types)}.")
        rows[number] = begin, end, rules.types.index(type_)
    return _core.chain_span_probabilities(*potentials, rules.kinds, rules.steps, rows)
