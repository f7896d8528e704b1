"""Graphs and fields for methods on single cliques."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dualfield import fields
from dualfield.fields import Field
from tests.zoo import random_graphs, weights_with_zeros


def path(length: int) -> list[tuple[int, int]]:
    return [(t, t + 1) for t in range(length - 1)]


def tree(size: int, random: np.random.Generator) -> list[tuple[int, int]]:
    return [
        (int(random.integers(v)), v) if random.random() < 0.5 else (v, int(random.integers(v))) for v in range(1, size)
    ]


def grid(height: int, width: int) -> list[tuple[int, int]]:
    across = [(r * width + c, r * width + c + 1) for r in range(height) for c in range(width - 1)]
    return across + [(r * width + c, (r + 1) * width + c) for r in range(height - 1) for c in range(width)]


def labelled(edges: list[Any], sizes: list[int], labels: int = 3, columns: int = 3, seed: int = 0) -> tuple[Any, Any]:
    """Graphs whose labels depend on normal node features and, somewhat, on their neighbours'."""
    random = np.random.default_rng(seed)
    to_labels = random.normal(size=(columns, labels))
    X, y = [], []
    for pairs, size in zip(edges, sizes, strict=True):
        nodes = random.normal(size=(size, columns))
        scores = nodes @ to_labels + random.gumbel(size=(size, labels))
        first = scores.argmax(axis=1)
        for a, b in pairs:
            scores[b, first[a]] += 0.7
            scores[a, first[b]] += 0.7
        X.append((nodes, np.array(pairs, dtype=int).reshape(-1, 2)))
        y.append(scores.argmax(axis=1))
    y[0][0], y[0][-1] = 0, labels - 1
    return X, y


def loops(n: int = 5, **options: Any) -> Field:
    return fields.RelaxedGraph(*random_graphs(n, largest=5), **options)


PROBLEMS: dict[str, Field] = {
    "tree": fields.Graph(*labelled([tree(12, np.random.default_rng(s)) for s in range(3)], [12] * 3), bias=True),
    "trw": fields.Graph(*random_graphs(6), inference="trw"),
    "trw-grid": fields.Graph(*labelled([grid(4, 5)] * 2, [20] * 2, labels=2), inference="trw"),
    "trw-edge-features": fields.Graph(*random_graphs(5, edge_width=2), inference="trw", edge_l2=3.0),
    "trw-potts": fields.Graph(*random_graphs(5), inference="trw", edge_weights="potts", bias=True),
    "trw-weighted": fields.Graph(*random_graphs(8), inference="trw", sample_weight=weights_with_zeros(8)),
    "shannon": loops(entropy="shannon"),
    "shannon-counts": loops(entropy="shannon", node_count=0.2, edge_count=2.0),
    "gini": loops(entropy="gini"),
    "gini-counts": loops(entropy="gini", node_count=3.0, edge_count=0.5),
}
every_problem = pytest.mark.parametrize("name", PROBLEMS)
