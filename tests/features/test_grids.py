"""Edges of grids come in the written order, and edge features follow it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dualfield.features.graphs.grids import edge_differences, edge_ends, grid_edges

SIDES = st.integers(1, 9)
STEPS = [(0, 1), (1, 0), (1, 1), (1, -1)]


def enumerated(height: int, width: int, neighbours: int) -> list[tuple[int, int, int]]:
    """Direction and both ends of each edge, by walking over all cells once for each direction."""
    return [
        (direction, row * width + column, (row + down) * width + column + right)
        for direction, (down, right) in enumerate(STEPS[: neighbours // 2])
        for row in range(height)
        for column in range(width)
        if row + down < height and 0 <= column + right < width
    ]


def test_small_grids_by_hand() -> None:
    assert grid_edges(1, 1).shape == (0, 2)
    assert grid_edges(1, 3).tolist() == [[0, 1], [1, 2]]
    assert grid_edges(3, 1).tolist() == [[0, 1], [1, 2]]
    assert grid_edges(2, 2).tolist() == [[0, 1], [2, 3], [0, 2], [1, 3]]
    assert grid_edges(2, 2, neighbours=8).tolist() == [[0, 1], [2, 3], [0, 2], [1, 3], [0, 3], [1, 2]]


@given(SIDES, SIDES, st.sampled_from([4, 8]))
def test_edges_are_those_of_a_walk_over_the_cells(height: int, width: int, neighbours: int) -> None:
    edges = grid_edges(height, width, neighbours)
    assert edges.dtype == np.int32
    assert edges.flags.c_contiguous
    assert edges.tolist() == [[first, second] for _, first, second in enumerated(height, width, neighbours)]


@given(SIDES, SIDES)
def test_edges_are_counted_by_the_formulas(height: int, width: int) -> None:
    straight = height * (width - 1) + (height - 1) * width
    assert len(grid_edges(height, width)) == straight
    assert len(grid_edges(height, width, 8)) == straight + 2 * (height - 1) * (width - 1)
    assert np.array_equal(grid_edges(height, width, 8)[:straight], grid_edges(height, width))


@given(SIDES, SIDES)
def test_all_pairs_of_neighbours_are_joined_once(height: int, width: int) -> None:
    cells = np.argwhere(np.ones((height, width)))
    distance = np.abs(cells[:, None] - cells[None])
    for neighbours, near in ((4, distance.sum(axis=-1) == 1), (8, distance.max(axis=-1) == 1)):
        joined = np.zeros_like(near, dtype=int)
        np.add.at(joined, tuple(grid_edges(height, width, neighbours).T), 1)
        assert np.array_equal(joined + joined.T, near)


@given(SIDES, SIDES, st.integers(0, 3), st.sampled_from([4, 8]))
def test_edge_features_are_those_of_their_ends(height: int, width: int, d: int, neighbours: int) -> None:
    features = np.random.default_rng(0).normal(size=(height, width, d))
    nodes = features.reshape(height * width, d)
    walk = enumerated(height, width, neighbours)
    differences, ends = edge_differences(features, neighbours), edge_ends(features, neighbours)
    assert differences.shape == (len(walk), 1 + d)
    assert ends.shape == (len(walk), neighbours * d)
    for row, (direction, first, second) in enumerate(walk):
        assert differences[row].tolist() == [1.0, *np.abs(nodes[first] - nodes[second])]
        expected = np.zeros((neighbours // 2, 2, d))
        expected[direction] = nodes[first], nodes[second]
        assert np.array_equal(ends[row], expected.ravel())


@pytest.mark.parametrize(("height", "width"), [(0, 3), (3, 0), (-1, 2)])
def test_a_grid_without_nodes_is_refused(height: int, width: int) -> None:
    with pytest.raises(ValueError, match=f"found {height} rows and {width} columns"):
        grid_edges(height, width)


def test_other_neighbourhoods_are_refused() -> None:
    with pytest.raises(ValueError, match="4 or 8 neighbours; found neighbours=6"):
        grid_edges(2, 2, neighbours=6)


def test_more_nodes_than_32_bits_can_number_are_refused_before_any_work() -> None:
    with pytest.raises(ValueError, match="has 4294967296 nodes; expected at most 2147483647"):
        grid_edges(65536, 65536)


@pytest.mark.parametrize("build", [edge_differences, edge_ends])
def test_features_that_are_no_grid_are_refused(build: object) -> None:
    with pytest.raises(ValueError, match=r"shape \(3, 4\); expected a grid"):
        build(np.zeros((3, 4)))  # type: ignore[operator]
