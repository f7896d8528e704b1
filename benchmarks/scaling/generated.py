"""Chains of any shape: n sequences of T positions with K labels and so many attributes a position out of so many."""

from __future__ import annotations

from typing import Any

import numpy as np

from dualfield import fields
from dualfield.features import Encoded, NumberedColumns

__all__ = ["chains"]


def chains(n: int, length: int, labels: int, attributes: int, vocabulary: int, **options: Any) -> fields.Chain:
    """A field to train on. An attribute points to one label, and labels follow the majority with some noise.

    Attribute numbers are drawn as words are, few often and most seldom: the number is a power of a uniform draw. Each
    attribute of a position has a part of the vocabulary for itself, as the columns of a template do.
    """
    if n * length < labels:
        raise ValueError(f"{n} sequences of {length} positions have no room for {labels} labels; raise n.")
    rng = np.random.default_rng(labels)
    positions, part = n * length, max(1, vocabulary // attributes)
    drawn = (part * rng.random((positions, attributes)) ** 3).astype(np.int32)
    drawn += part * np.arange(attributes, dtype=np.int32)
    indptr = np.arange(positions + 1, dtype=np.int64) * attributes
    X = Encoded(
        np.arange(n + 1, dtype=np.int64) * length, indptr, drawn.ravel(), None, NumberedColumns(part * attributes)
    )
    points_to = rng.integers(0, labels, part * attributes)
    noisy = rng.random(positions) < 0.2
    y = np.where(noisy, rng.integers(0, labels, positions), points_to[drawn[:, 0]])
    y[:labels] = np.arange(labels)  # all of them occur
    return fields.Chain(X, np.split(y, np.arange(1, n) * length), **options)
