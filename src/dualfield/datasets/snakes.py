"""Snakes on small grids, of Nowozin et al. (ICCV 2011): where pairs of labels must depend on the picture.

A snake of ten cells lies on a grid. Every cell of it has one of four colours, which say where the snake goes on; all
else is background. The labels are 1 to 10 from one end of the snake to the other, and 0 for background. A cell in the
middle sees only its 3 × 3 neighbourhood and cannot know its number; but the colours on both ends of an edge say whether
numbers go up or down along it, so edge features that hold the node features of both ends carry the count from the
snake's ends.
"""

from __future__ import annotations

import zipfile

import numpy as np
import numpy.typing as npt

from dualfield.datasets.folders import Folder, required_file
from dualfield.datasets.images import Images
from dualfield.features.graphs.grids import edge_ends

__all__ = ["load_snakes", "one_hot_colours"]

# Background; then the next cell of the snake is below, left, above, right.
COLOURS = np.array([[0, 0, 255], [0, 255, 0], [0, 255, 255], [255, 0, 0], [255, 255, 0]], dtype=np.uint8)
N_LABELS = 11


def load_snakes(folder: Folder) -> Images:
    """Load the snakes: 200 grids for training and 100 for testing.

    Parameters
    ----------
    folder : str or path
        The folder that holds ``snakes.npz``: for each part (``train``, ``test``) ``shape_*`` with rows and columns of
        each grid, ``X_*`` with the colours of all cells, grid after grid and row by row, and ``Y_*`` with their labels.

    Returns
    -------
    images : Images
        45 features a site, see :func:`one_hot_colours`; 180 an edge, see :func:`dualfield.features.edge_ends`; labels
        from 0 to 10. Pictures are the colours.

    Raises
    ------
    FileNotFoundError, ValueError
        If the file is missing, is not whole, or holds a colour or a label that snakes do not have.

    Examples
    --------
    A grid of one row, with nothing in it:

    >>> blank = {"X": np.array([[0, 0, 255]] * 3, np.uint8), "Y": np.zeros(3, int), "shape": np.array([[1, 3]])}
    >>> np.savez("snakes.npz", **{f"{key}_{part}": value for key, value in blank.items() for part in ("train", "test")})
    >>> load_snakes(".")
    Images(1 for training, 1 for testing; 45 features a site, 180 an edge)
    """
    path = required_file(folder, "snakes.npz", "the snakes")
    try:
        with path.open("rb") as file, np.load(file) as stored:
            arrays = {name: stored[name] for name in stored.files}
    except (zipfile.BadZipFile, ValueError, EOFError, OSError) as error:
        raise ValueError(f"{path} is not a whole .npz file ({error}); fetch it anew.") from error
    missing = sorted({f"{key}_{part}" for key in ("shape", "X", "Y") for part in ("train", "test")} - set(arrays))
    if missing:
        raise ValueError(f"{path} has no array {missing[0]}; expected shape_*, X_* and Y_* of train and test.")
    pictures, y = {}, {}
    for part in ("train", "test"):
        shapes, colours, labels = (arrays[f"{key}_{part}"] for key in ("shape", "X", "Y"))
        _check(f"{path}, {part}", shapes, colours, labels)
        bounds = np.cumsum(shapes.prod(axis=1))[:-1]
        grids = zip(shapes.tolist(), np.split(colours, bounds), np.split(labels.astype(np.int64), bounds), strict=True)
        cut = [(cells.reshape(*shape, 3), codes.reshape(shape)) for shape, cells, codes in grids]
        pictures[part], y[part] = [picture for picture, _ in cut], [codes for _, codes in cut]
    X = {part: list(map(one_hot_colours, pictures[part])) for part in pictures}
    return Images(
        X_train=X["train"],
        y_train=y["train"],
        X_test=X["test"],
        y_test=y["test"],
        edge_features_train=list(map(edge_ends, X["train"])),
        edge_features_test=list(map(edge_ends, X["test"])),
        pictures_train=pictures["train"],
        pictures_test=pictures["test"],
    )


def one_hot_colours(picture: npt.NDArray[np.uint8]) -> npt.NDArray[np.float64]:
    """The colours of the 3 × 3 neighbourhood of every cell, each as one of five.

    Parameters
    ----------
    picture : array of uint8, shape (height, width, 3)
        Red, green and blue of every cell, each one of the five colours of the snakes.

    Returns
    -------
    features : array of float64, shape (height, width, 45)
        Feature ``5 (3 a + b) + k`` of cell (r, c) is 1 if cell (r + a − 1, c + b − 1) has colour ``k``, and 0
        otherwise; colour 0 is background, and there is background all around the grid.

    Examples
    --------
    The only cell is red, colour 3; its eight neighbours are background:

    >>> one_hot_colours(np.array([[[255, 0, 0]]], dtype=np.uint8)).nonzero()[2].tolist()
    [0, 5, 10, 15, 23, 25, 30, 35, 40]
    """
    known = (picture[:, :, None] == COLOURS).all(axis=-1)
    if not known.any(axis=-1).all():
        row, column = np.argwhere(~known.any(axis=-1))[0].tolist()
        raise ValueError(
            f"row {row}, column {column} of the picture has the colour {picture[row, column].tolist()}; "
            f"expected one of {COLOURS.tolist()}."
        )
    padded = np.pad(known.argmax(axis=-1), 1)
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3))
    return np.eye(len(COLOURS))[windows.reshape(*windows.shape[:2], -1)].reshape(*windows.shape[:2], -1)


def _check(
    place: str, shapes: npt.NDArray[np.integer], colours: npt.NDArray[np.uint8], labels: npt.NDArray[np.integer]
) -> None:
    if shapes.ndim != 2 or shapes.shape[1] != 2 or (shapes < 1).any():
        raise ValueError(f"{place}: expected rows and columns of each grid, both at least 1, in the array shape_*.")
    n_cells = int(shapes.prod(axis=1).sum())
    if colours.shape != (n_cells, 3) or labels.shape != (n_cells,):
        raise ValueError(
            f"{place}: the grids have {n_cells} cells, but colours have shape {colours.shape} and labels "
            f"{labels.shape}; expected ({n_cells}, 3) and ({n_cells},)."
        )
    if n_cells and not 0 <= labels.min() <= labels.max() < N_LABELS:
        raise ValueError(f"{place}: labels run from {labels.min()} to {labels.max()}; expected 0 to {N_LABELS - 1}.")
