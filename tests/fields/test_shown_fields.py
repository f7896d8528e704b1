"""A field shows in a line what it is, how large it is, and its penalties."""

from __future__ import annotations

import numpy as np
import pytest

from dualfield import fields
from dualfield.features import encode_grids
from tests.zoo import PROBLEMS, problem


def test_a_chain_counts_sequences_positions_labels_and_weights() -> None:
    X, y = [[["a"], ["b"]], [["b"], ["b"]]], [["X", "Y"], ["Y", "Y"]]
    field = fields.Chain(X, y, l2=0.5)
    shown = "<Chain: 2 sequences, 4 positions, 2 labels and 14 weights; l2=0.5>"
    assert (repr(field), field.dimension) == (shown, 14)
    assert repr(fields.Chain(X * 600, y * 600, l1=2)).startswith("<Chain: 1,200 sequences, 2,400 positions, ")
    assert repr(field.with_l1(2)).endswith("; l1=2, l2=0.5>")
    assert repr(field.about(np.zeros(14))).endswith("; l2=0.5, about given weights>")


def test_graphs_and_images_count_nodes_and_edges() -> None:
    triangle = (np.eye(3), [(0, 1), (1, 2), (2, 0)])
    field = fields.Graph([triangle], [["a", "b", "a"]])
    assert repr(field) == f"<Graph: 1 graph, 3 nodes, 3 edges, 2 labels and {field.dimension} weights; l2=1>"
    images = fields.PseudoLikelihood(encode_grids([np.zeros((2, 3, 1))]), [np.eye(2, 3, dtype=int)])
    assert repr(images).startswith("<PseudoLikelihood: 1 image, 6 nodes, 7 edges, 2 labels and ")


def test_points_are_counted_once_where_they_are_equal() -> None:
    points = [[0.0, 1.0], [1.0, 0.0], [1.0, 0.0]]
    assert repr(fields.Multiclass(points, [0, 1, 1])).startswith("<Multiclass: 2 distinct points, 2 labels and 6 ")


@pytest.mark.parametrize("name", PROBLEMS)
def test_every_field_names_its_kind_and_its_weights(name: str) -> None:
    field = problem(name)
    shown = repr(field)
    assert shown.startswith(f"<{field.name}: ")
    assert f" and {field.dimension:,} weight" in shown
    assert f"l2={field.l2:g}" in shown
    assert len(shown) < 160
