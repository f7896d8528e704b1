"""Answers of a fitted chain beside labels and marginals: k-best lists, confidences, entities, samples.

All of it runs in the core, on as many threads as ``n_jobs`` says; Python touches sequences and entities, not positions.
"""

from __future__ import annotations

from itertools import chain
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from dualfield import _core
from dualfield.features import Encoded
from dualfield.memory import check_labellings
from dualfield.oracles.spans import SpanRules
from dualfield.threads import in_parts, on_threads

__all__ = ["Entity", "confidences", "entities", "kbest", "samples"]

Labelling = tuple[list[Any], float]


class Weighted(Protocol):
    """A chain model, as far as these functions know it."""

    classes_: npt.NDArray[Any]
    weights_: npt.NDArray[np.float64]
    n_jobs: int | None


class Entity(NamedTuple):
    """Positions ``start .. end - 1`` are an entity of this type, with this probability."""

    start: int
    end: int
    type: str
    probability: float


def kbest(crf: Weighted, encoded: Encoded, core: Any, k: int) -> list[list[Labelling]]:
    """The k most probable labellings of each sequence with their probabilities, best first."""
    check_labellings(k, max(encoded.lengths, default=0), "A list", len(crf.classes_))

    def part(first: int, last: int) -> list[list[Labelling]]:
        found = []
        for i in range(first, last):
            codes, log_p = core.kbest(crf.weights_, i, k)
            found.append(list(zip(crf.classes_[codes].tolist(), np.exp(log_p).tolist(), strict=True)))
        return found

    return list(chain.from_iterable(in_parts(part, len(encoded), crf.n_jobs)))


def samples(crf: Weighted, encoded: Encoded, core: Any, n: int, seeds: npt.NDArray[Any]) -> list[list[list[Any]]]:
    """``n`` labellings of each sequence, drawn with its own seed, so that threads change nothing."""
    check_labellings(n, encoded.n_positions, "A sample")

    def part(first: int, last: int) -> list[list[list[Any]]]:
        return [crf.classes_[core.sample(crf.weights_, i, n, int(seeds[i]))].tolist() for i in range(first, last)]

    return list(chain.from_iterable(in_parts(part, len(encoded), crf.n_jobs)))


def confidences(crf: Weighted, encoded: Encoded, core: Any) -> npt.NDArray[np.float64]:
    """``p(ŷ | x)`` of the best labelling of each sequence."""
    n = len(encoded)
    return np.exp(on_threads(lambda threads: core.confidences(crf.weights_, 0, n, threads), crf.n_jobs))


def entities(crf: Weighted, encoded: Encoded, core: Any) -> list[list[Entity]]:
    """The entities of the best labelling of each sequence."""
    rules = SpanRules.of_tags(crf.classes_.tolist())
    n = len(encoded)
    codes = on_threads(lambda threads: core.decode(crf.weights_, 0, n, threads), crf.n_jobs)
    spans = _core.read_spans(codes, encoded.offsets, rules.kinds, rules.steps)
    probabilities = on_threads(
        lambda threads: core.span_probabilities(crf.weights_, rules.kinds, rules.steps, spans, threads), crf.n_jobs
    )
    found: list[list[Entity]] = [[] for _ in range(len(encoded))]
    for (block, begin, end, kind), probability in zip(spans.tolist(), probabilities.tolist(), strict=True):
        found[block].append(Entity(begin, end, rules.types[kind], probability))
    return found
