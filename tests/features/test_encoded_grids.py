"""Images become the grid graphs that a plain loop over pixels gives, in training and later."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from dualfield.features import EncodedGrids, encode_graphs, encode_grids, grid_edges
from tests.test_bad_input import refuses

sides = st.integers(1, 4)
STEPS = {4: [(0, 1), (1, 0)], 8: [(0, 1), (1, 0), (1, 1), (1, -1)]}


def edges_by_hand(height: int, width: int, neighbours: int) -> list[tuple[tuple[int, int], tuple[int, int], int]]:
    """Every edge as (pixel, pixel, direction), by the order that the docstring states."""
    found = []
    for direction, (down, right) in enumerate(STEPS[neighbours]):
        for r in range(height):
            for c in range(width):
                if r + down < height and 0 <= c + right < width:
                    found.append(((r, c), (r + down, c + right), direction))
    return found


def images(shapes: list[tuple[int, int]], d: int = 2, seed: int = 0) -> list[Any]:
    random = np.random.default_rng(seed)
    return [random.normal(size=(*shape, d)) for shape in shapes]


@given(sides, sides, st.sampled_from([4, 8]))
def test_edges_join_neighbours_in_the_stated_order(height: int, width: int, neighbours: int) -> None:
    edges = grid_edges(height, width, neighbours)
    number = {(r, c): r * width + c for r in range(height) for c in range(width)}
    assert edges.tolist() == [[number[a], number[b]] for a, b, _ in edges_by_hand(height, width, neighbours)]
    assert edges.dtype == np.int32
    # every pair of pixels at most one step apart, once
    near = {4: lambda dr, dc: dr + dc == 1, 8: lambda dr, dc: max(dr, dc) == 1}[neighbours]
    pairs = {
        frozenset((number[a], number[b])) for a in number for b in number if near(abs(a[0] - b[0]), abs(a[1] - b[1]))
    }
    assert {frozenset(pair) for pair in edges.tolist()} == pairs
    assert len(edges) == len(pairs)


@given(st.lists(st.tuples(sides, sides), min_size=1, max_size=3), st.sampled_from([4, 8]))
def test_grids_are_the_graphs_written_out(shapes: list[tuple[int, int]], neighbours: int) -> None:
    X = images(shapes)
    grids = encode_grids(X, neighbours)
    graphs = encode_graphs([(x.reshape(-1, 2), grid_edges(*x.shape[:2], neighbours)) for x in X])
    for name in ("offsets", "indptr", "indices", "values", "edge_offsets", "ends"):
        np.testing.assert_array_equal(getattr(grids.graphs, name), getattr(graphs, name))
    assert grids.shapes.tolist() == [list(shape) for shape in shapes]
    assert grids.graphs.edge_features is None
    assert len(grids) == len(shapes)


@given(st.lists(st.tuples(sides, sides), min_size=1, max_size=3), st.sampled_from([4, 8]))
def test_directions_are_one_hot(shapes: list[tuple[int, int]], neighbours: int) -> None:
    rows = encode_grids(images(shapes), neighbours, "direction").graphs.edge_features
    expected = [edge[2] for shape in shapes for edge in edges_by_hand(*shape, neighbours)]
    np.testing.assert_array_equal(rows, np.eye(neighbours // 2)[expected])


@given(st.lists(st.tuples(sides, sides), min_size=1, max_size=3), st.sampled_from([4, 8]))
def test_contrast_is_the_formula_with_the_training_mean(shapes: list[tuple[int, int]], neighbours: int) -> None:
    shapes = [(2, 3), *shapes]
    train, later = images(shapes), images(shapes[1:], seed=1)

    def differences(X: list[Any]) -> list[float]:
        return [
            sum((x[a][k] - x[b][k]) ** 2 for k in range(2))
            for x in X
            for a, b, _ in edges_by_hand(*x.shape[:2], neighbours)
        ]

    grids = encode_grids(train, neighbours, "contrast")
    mean = sum(differences(train)) / len(differences(train))
    assert grids.encoding.mean_difference == pytest.approx(mean)
    for X, found in ((train, grids), (later, grids.encoding.apply(later))):
        rows = found.graphs.edge_features
        expected = [[1.0, np.exp(-difference / (2 * mean))] for difference in differences(X)]
        np.testing.assert_allclose(rows, np.array(expected).reshape(-1, 2))


def test_given_rows_are_kept_in_order() -> None:
    X = images([(2, 2), (1, 1), (1, 3)])
    rows = [np.arange(8.0).reshape(4, 2), [], np.ones((2, 2))]
    grids = encode_grids(X, edge_features=rows)
    np.testing.assert_array_equal(grids.graphs.edge_features, np.concatenate([rows[0], rows[2]]))
    np.testing.assert_array_equal(grids.encoding.apply(X, rows).graphs.edge_features, grids.graphs.edge_features)
    assert encode_grids(grids) is grids


def test_a_flat_image_has_one_feature_a_pixel() -> None:
    flat = encode_grids([np.arange(6).reshape(2, 3)])
    deep = encode_grids([np.arange(6.0).reshape(2, 3, 1)])
    assert flat.graphs.n_attributes == 1
    np.testing.assert_array_equal(flat.graphs.values, deep.graphs.values)
    np.testing.assert_array_equal(encode_grids(np.ones((4, 2, 3))).shapes, [[2, 3]] * 4)


def test_one_row_and_one_pixel_are_fine() -> None:
    grids = encode_grids(images([(1, 3), (1, 1), (3, 1)]), 8, "direction")
    assert np.diff(grids.graphs.edge_offsets).tolist() == [2, 0, 2]
    np.testing.assert_array_equal(grids.graphs.edge_features.argmax(axis=1), [0, 0, 1, 1])


def test_indexing_takes_whole_images() -> None:
    grids = encode_grids(images([(1, 3), (2, 2), (3, 1)]), edge_features="contrast")
    part = grids[[2, 1]]
    assert part.shapes.tolist() == [[3, 1], [2, 2]]
    assert part.graphs.sizes.tolist() == [3, 4]
    assert part.encoding is grids.encoding
    assert [len(one) for one in grids] == [1, 1, 1]
    with pytest.raises(IndexError, match="image 3 was asked for"):
        grids[3]


def test_encoded_images_are_passed_through_if_encoded_alike() -> None:
    grids = encode_grids(images([(2, 2)]), 8, "direction")
    assert encode_grids(grids, 8, "direction") is grids
    assert grids.encoding.apply(grids) is grids
    refuses(ValueError, "encoded with neighbours=8", lambda: encode_grids(grids, 4, "direction"))
    refuses(ValueError, "edge_features='direction'; expected 8 and None", lambda: encode_grids(grids, 8))
    other = encode_grids(images([(2, 2)]), 8, "contrast")
    refuses(ValueError, "images were encoded by GridEncoding", lambda: grids.encoding.apply(other))


IMAGE = np.arange(12.0).reshape(2, 3, 2)


def with_value(value: float) -> Any:
    other = IMAGE.copy()
    other[1, 2, 0] = value
    return other


BAD: dict[str, tuple[Any, type[Exception], str]] = {
    "nothing": (None, TypeError, "X is of type NoneType"),
    "a string": ("image", TypeError, "X is of type str"),
    "a sparse matrix": (sparse.csr_array(np.eye(2)), TypeError, "X is of type csr_array"),
    "no images": ([], ValueError, "X has no images"),
    "one flat image": (np.eye(3), ValueError, r"image 0 is an array of shape \(3,\).*wrap a single image as \[X\]"),
    "four dimensions": ([IMAGE, IMAGE[None]], ValueError, r"image 1 is an array of shape \(1, 2, 3, 2\)"),
    "ragged rows": ([IMAGE, [[1, 2], [3]]], ValueError, "image 1 has rows of different lengths"),
    "words": ([IMAGE, np.full((2, 2), "a")], TypeError, "image 1 is an array of dtype <U1"),
    "no rows": ([IMAGE, np.empty((0, 3, 2))], ValueError, r"image 1 has shape \(0, 3, 2\); .* at least one pixel"),
    "no columns": ([IMAGE, np.empty((3, 0))], ValueError, r"image 1 has shape \(3, 0\)"),
    "other width": ([IMAGE, np.ones((2, 2, 3))], ValueError, "image 1 has 3 features a pixel but image 0 has 2"),
    "NaN": ([IMAGE, with_value(np.nan)], ValueError, r"feature 0 of pixel \(1, 2\) of image 1 is nan"),
    "infinity": ([IMAGE, with_value(-np.inf)], ValueError, r"feature 0 of pixel \(1, 2\) of image 1 is -inf"),
}  # fmt: skip


@pytest.mark.parametrize("kind", BAD)
def test_bad_images_are_refused(kind: str) -> None:
    bad, error, match = BAD[kind]
    refuses(error, match, lambda: encode_grids(bad))
    if kind != "other width":
        encoding = encode_grids([IMAGE]).encoding
        refuses(error, match, lambda: encoding.apply(bad))


@pytest.mark.parametrize(
    ("rows", "error", "match"),
    [
        ("colour", ValueError, "edge_features must be None, 'contrast' or 'direction'; got 'colour'"),
        (3, TypeError, "edge_features is of type int"),
        ([np.ones((7, 1))], ValueError, "edge_features has 1 arrays but X has 2 images"),
        ([np.ones((7, 1)), np.ones((6, 1))], ValueError, r"edge_features\[1\] .* \(6, 1\); expected .* \(7, 1\)"),
        ([np.ones((7, 1)), np.ones((7, 2))], ValueError, r"edge_features\[1\] .* \(7, 2\); expected .* \(7, 1\)"),
        ([np.ones(7), np.ones(7)], ValueError, r"edge_features\[0\] .* \(7,\); expected .* \(7, 1\)"),
        ([np.ones((7, 0))] * 2, ValueError, r"edge_features\[0\] .* \(7, 0\)"),
        ([np.ones((7, 1)), np.full((7, 1), "a")], ValueError, r"edge_features\[1\] is an array of <U1"),
        ([np.ones((7, 1)), np.full((7, 1), np.nan)], ValueError, "feature 0 of edge 0 of image 1 is nan"),
    ],
)
def test_bad_edge_features_are_refused(rows: Any, error: type[Exception], match: str) -> None:
    refuses(error, match, lambda: encode_grids([IMAGE, IMAGE], edge_features=rows))


@pytest.mark.parametrize("neighbours", [0, 6, True, "4", None, 4.5])
def test_an_unknown_neighbourhood_is_refused(neighbours: Any) -> None:
    refuses(ValueError, "neighbours must be 4 or 8; got", lambda: encode_grids([IMAGE], neighbours))


def test_contrast_wants_some_difference() -> None:
    match = "mean squared difference of neighbouring pixels, which is zero"
    refuses(ValueError, match, lambda: encode_grids([np.ones((2, 2))], edge_features="contrast"))
    match = "which is over no edges"
    refuses(ValueError, match, lambda: encode_grids([np.ones((1, 1))], edge_features="contrast"))


def test_later_images_must_fit_the_training() -> None:
    plain, given = encode_grids([IMAGE]).encoding, encode_grids([IMAGE], edge_features=[np.ones((7, 1))]).encoding
    refuses(ValueError, "3 features a pixel but the model was trained on 2", lambda: plain.apply([np.ones((2, 2, 3))]))
    refuses(ValueError, "trained without given ones", lambda: plain.apply([IMAGE], [np.ones((7, 1))]))
    refuses(ValueError, "trained with given ones", lambda: given.apply([IMAGE]))
    refuses(ValueError, r"expected .* \(7, 1\)", lambda: given.apply([IMAGE], [np.ones((7, 2))]))
    encoded: EncodedGrids = given.apply([IMAGE], [np.ones((7, 1))])
    refuses(ValueError, "encoded already", lambda: given.apply(encoded, [np.ones((7, 1))]))
