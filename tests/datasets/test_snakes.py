"""Snakes have ten cells in a row, one-hot colours around each, and edge features of both ends."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from dualfield.datasets import Images, load_snakes
from dualfield.datasets.snakes import COLOURS, one_hot_colours
from dualfield.features import grid_edges


@pytest.fixture(scope="module")
def snakes(data_folder: Path) -> Images:
    return load_snakes(data_folder / "snakes")


def stored(n_cells: int = 4) -> dict[str, np.ndarray]:
    """A small file of blank grids: 2 × 2 and 1 × 4 cells."""
    one = {"shape": np.array([[2, 2], [1, 4]]), "X": np.tile(COLOURS[0], (2 * n_cells, 1)), "Y": np.zeros(2 * n_cells)}
    return {f"{key}_{part}": value.copy() for key, value in one.items() for part in ("train", "test")}


def test_counts_are_those_of_the_data_set(snakes: Images) -> None:
    assert (len(snakes.X_train), len(snakes.X_test)) == (200, 100)
    assert (sum(y.size for y in snakes.y_train), sum(y.size for y in snakes.y_test)) == (7566, 3750)
    assert {X.shape[2] for X in (*snakes.X_train, *snakes.X_test)} == {45}


def test_every_snake_is_ten_neighbouring_cells_from_1_to_10(snakes: Images) -> None:
    for y in (*snakes.y_train, *snakes.y_test):
        places = [np.argwhere(y == number) for number in range(1, 11)]
        assert all(len(place) == 1 for place in places)
        assert (np.abs(np.diff(np.concatenate(places), axis=0)).sum(axis=1) == 1).all()


def test_background_has_its_own_colour_and_no_other_cell_has_it(snakes: Images) -> None:
    centre = 4 * len(COLOURS)
    for X, y in zip(snakes.X_train, snakes.y_train, strict=True):
        assert np.array_equal(X[..., centre] == 1, y == 0)


def test_colours_say_where_the_snake_goes(snakes: Images) -> None:
    steps: dict[tuple[int, ...], set[tuple[int, ...]]] = {}
    for picture, y in zip(snakes.pictures_train or [], snakes.y_train, strict=True):
        places = np.concatenate([np.argwhere(y == number) for number in range(1, 11)])
        for here, there in pairwise(places):
            steps.setdefault(tuple(picture[tuple(here)].tolist()), set()).add(tuple((there - here).tolist()))
    up, down, left, right = (-1, 0), (1, 0), (0, -1), (0, 1)
    assert [steps[tuple(colour)] for colour in COLOURS[1:].tolist()] == [{down}, {left}, {up}, {right}]


def test_features_are_the_colours_of_the_neighbourhood() -> None:
    generator = np.random.default_rng(0)
    codes = generator.integers(0, 5, (4, 6))
    features = one_hot_colours(COLOURS[codes]).reshape(4, 6, 3, 3, 5)
    assert (features.sum(axis=-1) == 1).all()
    for row, column, down, right in np.ndindex(4, 6, 3, 3):
        r, c = row + down - 1, column + right - 1
        inside = 0 <= r < 4 and 0 <= c < 6
        assert features[row, column, down, right, codes[r, c] if inside else 0] == 1


def test_edge_features_hold_both_ends(snakes: Images) -> None:
    for X, edge_features in zip(snakes.X_test[:5], (snakes.edge_features_test or [])[:5], strict=True):
        nodes, edges = X.reshape(-1, 45), grid_edges(*X.shape[:2])
        n_right = X.shape[0] * (X.shape[1] - 1)
        assert edge_features.shape == (len(edges), 180)
        ends = np.hstack([nodes[edges[:, 0]], nodes[edges[:, 1]]])
        assert np.array_equal(edge_features[:n_right, :90], ends[:n_right])
        assert np.array_equal(edge_features[n_right:, 90:], ends[n_right:])
        assert not edge_features[:n_right, 90:].any()
        assert not edge_features[n_right:, :90].any()


def test_the_file_is_missing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nowhere of the snakes does not exist; .* holds snakes\.npz"):
        load_snakes(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError, match=r"has no file snakes\.npz; give the folder that holds the snakes"):
        load_snakes(tmp_path)


def test_a_broken_file_is_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "snakes.npz", **stored())
    whole = (tmp_path / "snakes.npz").read_bytes()
    for broken in (whole[:200], b"", b"PK nothing"):
        (tmp_path / "snakes.npz").write_bytes(broken)
        with pytest.raises(ValueError, match=r"snakes\.npz is not a whole \.npz file"):
            load_snakes(tmp_path)


def test_a_pickled_array_is_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "snakes.npz", **(stored() | {"X_train": np.array([{}], dtype=object)}))
    with pytest.raises(ValueError, match="is not a whole"):
        load_snakes(tmp_path)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("shape_test", np.array([[2, 2], [0, 4]]), r"test: expected rows and columns of each grid, both at least 1"),
        ("X_train", np.zeros((7, 3), np.uint8), r"train: the grids have 8 cells, but colours have shape \(7, 3\)"),
        ("Y_test", np.zeros(9), r"test: the grids have 8 cells, .* labels \(9,\)"),
        ("Y_test", np.full(8, 11), r"test: labels run from 11 to 11; expected 0 to 10"),
        ("X_test", np.full((8, 3), 7, np.uint8), r"row 0, column 0 .* colour \[7, 7, 7\]; expected one of"),
    ],
)
def test_arrays_that_are_no_snakes_are_refused(tmp_path: Path, name: str, value: np.ndarray, message: str) -> None:
    np.savez(tmp_path / "snakes.npz", **(stored() | {name: value}))
    with pytest.raises(ValueError, match=message):
        load_snakes(tmp_path)


def test_a_missing_array_is_named(tmp_path: Path) -> None:
    arrays = stored()
    del arrays["Y_train"]
    np.savez(tmp_path / "snakes.npz", **arrays)
    with pytest.raises(ValueError, match="has no array Y_train; expected"):
        load_snakes(tmp_path)
