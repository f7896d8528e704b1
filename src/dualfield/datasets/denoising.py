"""Noisy binary images: the task is to tell foreground from background at each pixel.

The images of Kumar and Hebert that Vishwanathan et al. (2006, section 5.1) denoise are not to be had, so the package
draws shapes of its own: two to five discs, rectangles, polygons and strokes on an empty ground. To a pixel of value
``y`` in {0, 1} Gaussian noise of standard deviation ``σ`` is added, ``s = y + σ ε``. Features are the paper's:
``[1, s_i]`` at a site and ``[1, |s_i − s_j|]`` at an edge.

A single pixel cannot tell well. With a share ``π`` of foreground, the best rule that looks at ``s`` alone calls it
foreground above ``t = 1/2 + σ² log((1 − π)/π)``, and errs with probability ``(1 − π) Φ(−t/σ) + π Φ((t − 1)/σ)``,
where ``Φ`` is the normal distribution function; for ``π = 1/2`` that is ``Φ(−1/(2σ))``. Logistic regression on
``[1, s]`` is of this form, so it can do no better. Neighbours can.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from operator import index
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.io import loadmat

from dualfield.datasets.folders import Folder, required_file
from dualfield.datasets.images import Images
from dualfield.features.graphs.grids import edge_differences

__all__ = ["load_denoise_x", "make_denoising"]

Mask = npt.NDArray[np.bool_]
Coordinates = npt.NDArray[np.float64]

# Shares of foreground that a drawing must keep within, so that both labels are well represented in every image.
LEAST, MOST = 0.25, 0.6


def make_denoising(
    n_train: int = 40, n_test: int = 10, size: int = 64, noise: float = 0.5, random_state: int = 0
) -> Images:
    """Draw binary shapes and add noise.

    Foreground covers between 25 % and 60 % of every image. With the default noise, the best rule that looks at single
    pixels errs on Φ(−1) = 15.9 % of them if half are foreground, and on 15.4 % at a share of 40 %.

    Parameters
    ----------
    n_train, n_test : int
        How many images, at least 0.
    size : int
        Rows and columns of each, at least 16.
    noise : float
        Standard deviation ``σ`` of the noise, at least 0; background is 0 and foreground is 1.
    random_state : int
        The same number gives the same images; more images begin with the same ones, and other noise has the same shapes
        under it.

    Returns
    -------
    images : Images
        With edge features; pictures are the noisy intensities.

    Raises
    ------
    ValueError
        If a parameter is out of range.

    Examples
    --------
    >>> images = make_denoising(n_train=3, n_test=1)
    >>> images
    Images(3 for training, 1 for testing; 2 features a site, 2 an edge)
    >>> images.X_train[0].shape, images.y_train[0].shape
    ((64, 64, 2), (64, 64))
    """
    if index(size) < 16:
        raise ValueError(f"size is {size}; expected at least 16 pixels, so that shapes can be told apart.")
    return _noisy(lambda generator: _drawing(size, generator), n_train, n_test, noise, random_state)


def load_denoise_x(
    folder: Folder, n_train: int = 40, n_test: int = 10, noise: float = 0.5, random_state: int = 0
) -> Images:
    """Load the letter X of Schmidt's UGM demonstrations, and add noise.

    All images have the same 32 × 32 labels, 75 % of them 1; only their noise differs. So a model that saw positions
    could learn the letter by heart. With the default noise, which is the demonstrations' own, the best rule that looks
    at single pixels errs on 12.7 % of them.

    Parameters
    ----------
    folder : str or path
        The folder that holds ``Ximg.mat``.
    n_train, n_test : int
        How many times to add noise, at least 0.
    noise : float
        Standard deviation ``σ`` of the noise, at least 0.
    random_state : int
        The same number gives the same images.

    Returns
    -------
    images : Images
        With edge features; pictures are the noisy intensities.

    Raises
    ------
    FileNotFoundError, ValueError
        If the file is missing or is not a binary image, or a parameter is out of range.

    Examples
    --------
    >>> from scipy.io import savemat
    >>> savemat("Ximg.mat", {"X": 1 - np.eye(8, dtype=np.uint8)})
    >>> load_denoise_x(".", n_train=2, n_test=1).y_test[0].sum()
    np.int64(56)
    """
    path = required_file(folder, "Ximg.mat", "the letter X")
    try:
        letter = loadmat(path).get("X")
    except (ValueError, TypeError, OSError, NotImplementedError) as error:
        raise ValueError(f"{path} is not a MATLAB file that SciPy can read ({error}); fetch it anew.") from error
    if letter is None or letter.ndim != 2 or not np.isin(letter, (0, 1)).all():
        raise ValueError(f"{path} has no matrix X of zeros and ones; expected the binary image of a letter.")
    labels = letter.astype(np.int64)
    return _noisy(
        lambda generator: labels,
        n_train,
        n_test,
        noise,
        random_state,
        note="All images have the same labels; only the noise differs.",
    )


def _noisy(
    draw: Callable[[np.random.Generator], npt.NDArray[np.int64]],
    n_train: int,
    n_test: int,
    noise: float,
    random_state: int,
    note: str = "",
) -> Images:
    """Images of drawn labels and fresh noise."""
    for name, number in (("n_train", n_train), ("n_test", n_test), ("random_state", random_state)):
        if index(number) < 0:
            raise ValueError(f"{name} is {number}; expected at least 0.")
    if not 0 <= noise < np.inf:
        raise ValueError(f"noise is {noise}; expected a finite standard deviation of at least 0.")
    X, y, edge_features, pictures = (_two_lists() for _ in range(4))
    for part, count in enumerate((n_train, n_test)):
        for number in range(count):
            # A stream for each image and use: no image depends on how many others there are.
            shapes, pixels = (np.random.default_rng([random_state, part, number, use]) for use in range(2))
            labels = draw(shapes)
            picture = labels + noise * pixels.standard_normal(labels.shape)
            y[part].append(labels.copy())
            pictures[part].append(picture)
            X[part].append(np.stack([np.ones_like(picture), picture], axis=-1))
            edge_features[part].append(edge_differences(picture[:, :, None]))
    return Images(
        X_train=X[0],
        y_train=y[0],
        X_test=X[1],
        y_test=y[1],
        edge_features_train=edge_features[0],
        edge_features_test=edge_features[1],
        pictures_train=pictures[0],
        pictures_test=pictures[1],
        note=note,
    )


def _two_lists() -> tuple[list[npt.NDArray[Any]], list[npt.NDArray[Any]]]:
    return [], []


# ---- drawing, on the unit square -----------------------------------------------------------------------------


def _drawing(size: int, generator: np.random.Generator) -> npt.NDArray[np.int64]:
    """Two to five shapes; drawn anew until neither label is rare."""
    centres = (np.arange(size) + 0.5) / size
    rows, columns = centres[:, None], centres[None, :]
    while True:
        picture = np.zeros((size, size), dtype=bool)
        for _ in range(generator.integers(2, 6)):
            shape = SHAPES[generator.integers(len(SHAPES))]
            picture |= shape(rows, columns, generator)
        if LEAST <= picture.mean() <= MOST:
            return picture.astype(np.int64)


def _disc(rows: Coordinates, columns: Coordinates, generator: np.random.Generator) -> Mask:
    row, column = generator.uniform(0.15, 0.85, 2)
    squared = (rows - row) ** 2 + (columns - column) ** 2
    radius = generator.uniform(0.1, 0.3)
    # every third is a ring
    hole = generator.uniform(0.4, 0.7) * radius if generator.random() < 1 / 3 else 0.0
    return (hole**2 <= squared) & (squared <= radius**2)


def _rectangle(rows: Coordinates, columns: Coordinates, generator: np.random.Generator) -> Mask:
    row, column = generator.uniform(0.2, 0.8, 2)
    height, width = generator.uniform(0.07, 0.27, 2)
    cosine, sine = _direction(generator)
    along, across = _turned(rows - row, columns - column, cosine, sine)
    return (abs(along) <= height) & (abs(across) <= width)


def _polygon(rows: Coordinates, columns: Coordinates, generator: np.random.Generator) -> Mask:
    """A star-shaped polygon of 3 to 7 corners, convex or not, by counting the sides right of a point."""
    n_corners = generator.integers(3, 8)
    angles = 2 * np.pi * (np.arange(n_corners) + generator.uniform(-0.3, 0.3, n_corners)) / n_corners
    radii = generator.uniform(0.12, 0.4, n_corners)
    centre = generator.uniform(0.25, 0.75, 2)
    corners = centre + radii[:, None] * np.column_stack([np.sin(angles), np.cos(angles)])
    inside = np.zeros(np.broadcast_shapes(rows.shape, columns.shape), dtype=bool)
    for (row, column), (next_row, next_column) in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        crosses = (row > rows) != (next_row > rows)
        inside ^= crosses & (columns < column + (rows - row) * (next_column - column) / (next_row - row))
    return inside


def _stroke(rows: Coordinates, columns: Coordinates, generator: np.random.Generator) -> Mask:
    """A thick line through 2 to 4 points: all that is near one of its pieces."""
    points = generator.uniform(0.05, 0.95, (generator.integers(2, 5), 2))
    thickness = generator.uniform(0.03, 0.07)
    drawn = np.zeros(np.broadcast_shapes(rows.shape, columns.shape), dtype=bool)
    for start, end in pairwise(points):
        step = end - start
        share = ((rows - start[0]) * step[0] + (columns - start[1]) * step[1]) / (step @ step)
        share = np.clip(share, 0, 1)
        drawn |= np.hypot(rows - start[0] - share * step[0], columns - start[1] - share * step[1]) <= thickness
    return drawn


SHAPES = (_disc, _rectangle, _polygon, _stroke)


def _direction(generator: np.random.Generator) -> tuple[float, float]:
    """Cosine and sine of an angle that is often a multiple of 90 degrees."""
    angle = generator.uniform(0, np.pi) if generator.random() < 0.6 else 0.0
    return float(np.cos(angle)), float(np.sin(angle))


def _turned(rows: Coordinates, columns: Coordinates, cosine: float, sine: float) -> tuple[Coordinates, Coordinates]:
    return cosine * rows + sine * columns, cosine * columns - sine * rows
