"""Images as grid graphs: a node per pixel, row by row, and edges between neighbouring pixels.

What the edges carry is chosen once, in training, and applied again to later images: a :class:`GridEncoding`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy import sparse

from dualfield.core_arrays import contiguous
from dualfield.features.graphs.encoding import EncodedGraphs, stack_graphs
from dualfield.features.graphs.grids import grid_edges
from dualfield.nested import IMAGES, Key, chosen_groups

__all__ = ["EncodedGrids", "GridEncoding", "check_grid_parameters", "encode_grids"]

EdgeFeatures = Literal["contrast", "direction", "given"] | None


@dataclass(frozen=True)
class GridEncoding:
    """How images become graphs: what was chosen in training, and what was learnt from its images.

    Parameters
    ----------
    neighbours : {4, 8}
        How many neighbours a pixel has.
    edge_features : {None, "contrast", "direction", "given"}
        What the edges carry: nothing, features computed from the image or the grid, or rows that come with it.
    n_attributes : int
        How many features a pixel has.
    n_edge_features : int
        How many an edge has; 0 for none.
    mean_difference : float or None
        For "contrast", the mean of ``‖x_i − x_j‖²`` over the edges (i, j) of the training images.
    """

    neighbours: int
    edge_features: EdgeFeatures
    n_attributes: int
    n_edge_features: int
    mean_difference: float | None = None

    def apply(self, X: Any, edge_features: Iterable[npt.ArrayLike] | None = None) -> EncodedGrids:
        """Encode further images in the same way; ``edge_features`` are the rows of "given" ones."""
        if isinstance(X, EncodedGrids):
            if edge_features is not None:
                raise ValueError("edge_features came with images that are encoded already; encode them together.")
            _check_same(X.encoding, self)
            return X
        if (edge_features is not None) != (self.edge_features == "given"):
            given, wanted = ("no", "with") if edge_features is None else ("", "without")
            raise ValueError(
                f"{given or 'some'} edge features came with the images but the model was trained {wanted} given ones; "
                "give edge features in prediction as in training."
            )
        images = _images(X, self.n_attributes)
        rows = None if edge_features is None else list(edge_features)
        return EncodedGrids(*_encode(images, self, rows), self)


@dataclass(frozen=True, eq=False)
class EncodedGrids:
    """Images as graphs, with their shapes and how they were encoded.

    Parameters
    ----------
    graphs : EncodedGraphs
        A graph per image, its nodes the pixels row by row.
    shapes : array of int64, shape (n_images, 2)
        Height and width of every image.
    encoding : GridEncoding
        How the images were encoded, for images to come.
    """

    graphs: EncodedGraphs
    shapes: npt.NDArray[np.int64]
    encoding: GridEncoding

    def __len__(self) -> int:
        return len(self.graphs)

    @property
    def shape(self) -> tuple[int]:
        """(n_images,): to scikit-learn, a one-dimensional array of images."""
        return (len(self),)

    def __iter__(self) -> Iterator[EncodedGrids]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, key: Key) -> EncodedGrids:
        """Return the chosen images: an int, a slice, an array of int, or a boolean mask of shape (n_images,)."""
        chosen = chosen_groups(key, len(self), IMAGES)
        return EncodedGrids(self.graphs[chosen], self.shapes[chosen], self.encoding)


def encode_grids(X: Any, neighbours: int = 4, edge_features: Any = None) -> EncodedGrids:
    """Encode images as grid graphs.

    Parameters
    ----------
    X : EncodedGrids or iterable of arrays
        Images of shape (height, width, d), or (height, width) for one feature a pixel; heights and widths may differ.
        An image of one row has horizontal edges only, and one of a single pixel has none; both are fine.
    neighbours : {4, 8}
        How many neighbours a pixel has.
    edge_features : {None, "contrast", "direction"} or list of arrays
        What the edges carry:

        * None: one feature of value 1.
        * "contrast": two features, 1 and ``exp(−‖x_i − x_j‖² / (2 m))``, where m is the mean of ``‖x_i − x_j‖²`` over
          all edges (i, j) of these images. The second is 1 between equal pixels and falls across a border.
        * "direction": a feature per direction, 1 for the edge's own: horizontal, vertical, and with 8 neighbours
          diagonal down-right and down-left.
        * a list with one array (n_edges, De) per image, rows in the order of :func:`grid_edges`.

    Returns
    -------
    grids : EncodedGrids
        ``grids.encoding.apply`` encodes later images in the same way, with the same m.

    Raises
    ------
    TypeError, ValueError
        In one sentence, with the image and the pixel or edge at fault.

    Examples
    --------
    >>> grids = encode_grids([np.array([[0.0, 1.0], [0.0, 1.0]])], edge_features="contrast")
    >>> grids.shapes.tolist(), grids.encoding.mean_difference
    ([[2, 2]], 0.5)
    >>> grids.graphs.edge_features.round(3).tolist()
    [[1.0, 0.368], [1.0, 0.368], [1.0, 1.0], [1.0, 1.0]]
    """
    if isinstance(X, EncodedGrids):
        kind = edge_features if edge_features is None or isinstance(edge_features, str) else "given"
        encoding = X.encoding
        if kind is None and encoding.edge_features == "given":
            kind = "given"  # the rows came when the images were encoded
        if (encoding.neighbours, encoding.edge_features) != (neighbours, kind):
            raise ValueError(
                f"the images were encoded with neighbours={encoding.neighbours} and "
                f"edge_features={encoding.edge_features!r}; expected {neighbours} and {kind!r}; encode them anew."
            )
        return X
    check_grid_parameters(neighbours, edge_features if isinstance(edge_features, str) else None)
    rows = None
    if edge_features is not None and not isinstance(edge_features, str):
        edge_features, rows = "given", _row_list(edge_features)
    images = _images(X, None)
    d, width, mean = images[0].shape[2], 0, None
    if edge_features == "contrast":
        width, mean = 2, _mean_difference(images, neighbours)
    elif edge_features == "direction":
        width = neighbours // 2
    elif rows is not None:
        width = next((array.shape[1] for array in map(np.asarray, rows) if array.ndim == 2), 1)
    encoding = GridEncoding(neighbours, edge_features, d, width, mean)
    return EncodedGrids(*_encode(images, encoding, rows), encoding)


def check_grid_parameters(neighbours: object, edge_features: object) -> None:
    """Refuse a neighbourhood or a name of edge features that is unknown."""
    if isinstance(neighbours, bool) or not isinstance(neighbours, int | np.integer) or neighbours not in (4, 8):
        raise ValueError(f"neighbours must be 4 or 8; got {neighbours!r}.")
    if edge_features is not None and edge_features not in ("contrast", "direction"):
        raise ValueError(f"edge_features must be None, 'contrast' or 'direction'; got {edge_features!r}.")


def _encode(
    images: list[npt.NDArray[np.float64]], encoding: GridEncoding, rows: list[Any] | None
) -> tuple[EncodedGraphs, npt.NDArray[np.int64]]:
    shapes = np.array([image.shape[:2] for image in images], dtype=np.int64)
    pairs = [grid_edges(height, width, encoding.neighbours) for height, width in shapes.tolist()]
    nodes = [image.reshape(-1, encoding.n_attributes) for image in images]
    features = None
    if rows is not None:
        features = _given_rows(rows, pairs, encoding.n_edge_features)
    elif encoding.edge_features == "direction":
        features = np.concatenate(
            [_directions(height, width, encoding.neighbours) for height, width in shapes.tolist()]
        )
    elif encoding.mean_difference is not None:
        difference = np.concatenate([_differences(x, ends) for x, ends in zip(nodes, pairs, strict=True)])
        contrast = np.exp(-difference / (2 * encoding.mean_difference))
        features = np.stack([np.ones(len(contrast)), contrast], axis=1)
    return stack_graphs(nodes, pairs, features), shapes


def _images(X: Any, n_attributes: int | None) -> list[npt.NDArray[np.float64]]:
    """The images as finite arrays (height, width, d), all of one d."""
    if isinstance(X, (str, bytes, Mapping)) or sparse.issparse(X) or not isinstance(X, Iterable):
        raise TypeError(f"X is of type {type(X).__name__}; expected a list of images, arrays (height, width, d).")
    images = [_image(number, given) for number, given in enumerate(X)]
    if not images:
        raise ValueError("X has no images; expected at least one.")
    expected = images[0].shape[2] if n_attributes is None else n_attributes
    origin = "image 0 has" if n_attributes is None else "the model was trained on"
    for number, image in enumerate(images):
        if image.shape[2] != expected:
            raise ValueError(
                f"image {number} has {image.shape[2]} features a pixel but {origin} {expected}; "
                "give every pixel the same features."
            )
    return images


def _image(number: int, given: Any) -> npt.NDArray[np.float64]:
    try:
        image = np.asarray(given)
    except ValueError:
        raise ValueError(
            f"image {number} has rows of different lengths; expected an array (height, width, d)."
        ) from None
    if image.ndim not in (2, 3):
        hint = "; wrap a single image as [X]" if image.ndim == 1 else ""
        raise ValueError(
            f"image {number} is an array of shape {image.shape}; expected (height, width, d) or (height, width){hint}."
        )
    if image.dtype.kind not in "biuf":
        raise TypeError(f"image {number} is an array of dtype {image.dtype}; expected real numbers.")
    if 0 in image.shape[:2]:
        raise ValueError(f"image {number} has shape {image.shape}; expected at least one pixel in height and in width.")
    image = contiguous(image.reshape(*image.shape[:2], -1), np.float64)
    bad = ~np.isfinite(image)
    if bad.any():
        row, column, feature = np.argwhere(bad)[0]
        raise ValueError(
            f"feature {feature} of pixel ({row}, {column}) of image {number} is {image[row, column, feature]}; "
            "expected a finite number; fill in missing values first."
        )
    return image


def _differences(pixels: npt.NDArray[np.float64], edges: npt.NDArray[np.int32]) -> npt.NDArray[np.float64]:
    """``‖x_i − x_j‖²`` of every edge."""
    return ((pixels[edges[:, 0]] - pixels[edges[:, 1]]) ** 2).sum(axis=1)


def _mean_difference(images: list[npt.NDArray[np.float64]], neighbours: int) -> float:
    """The mean of ``‖x_i − x_j‖²`` over all edges."""
    differences = np.concatenate(
        [
            _differences(image.reshape(-1, image.shape[2]), grid_edges(image.shape[0], image.shape[1], neighbours))
            for image in images
        ]
    )
    mean = float(differences.mean()) if len(differences) else 0.0
    if not 0 < mean < np.inf:
        found = "is too large for floating point" if mean else "is zero" if len(differences) else "is over no edges"
        raise ValueError(
            f"edge_features='contrast' divides by the mean squared difference of neighbouring pixels, which {found} in "
            "these images; choose None or 'direction', or scale the images."
        )
    return mean


def _directions(height: int, width: int, neighbours: int) -> npt.NDArray[np.float64]:
    """A column per direction, in the order of :func:`grid_edges`, and 1 in the edge's own."""
    counts = [height * (width - 1), (height - 1) * width, *[(height - 1) * (width - 1)] * (neighbours // 2 - 2)]
    return np.repeat(np.eye(len(counts)), counts, axis=0)


def _row_list(edge_features: Any) -> list[Any]:
    if isinstance(edge_features, Mapping) or not isinstance(edge_features, Iterable):
        raise TypeError(
            f"edge_features is of type {type(edge_features).__name__}; expected None, 'contrast', 'direction', or a "
            "list of arrays, one per image."
        )
    return list(edge_features)


def _given_rows(rows: list[Any], pairs: list[npt.NDArray[np.int32]], width: int) -> npt.NDArray[np.float64]:
    if len(rows) != len(pairs):
        raise ValueError(f"edge_features has {len(rows)} arrays but X has {len(pairs)} images; give one per image.")
    checked = [np.empty((0, width))]
    for number, (given, ends) in enumerate(zip(rows, pairs, strict=True)):
        array = np.asarray(given)
        if array.shape == (0,) and len(ends) == 0:
            continue
        if array.shape != (len(ends), width) or array.dtype.kind not in "biuf" or width == 0:
            raise ValueError(
                f"edge_features[{number}] is an array of {array.dtype} of shape {array.shape}; expected numbers of "
                f"shape ({len(ends)}, {max(width, 1)}), a row per edge of image {number} in the order of grid_edges."
            )
        bad = ~np.isfinite(array)
        if bad.any():
            edge, column = np.argwhere(bad)[0]
            raise ValueError(
                f"feature {column} of edge {edge} of image {number} is {array[edge, column]}; expected a finite number."
            )
        checked.append(array.astype(np.float64))
    return np.concatenate(checked)


def _check_same(found: GridEncoding, expected: GridEncoding) -> None:
    if found != expected:
        raise ValueError(
            f"the images were encoded by {found} but the model was trained on {expected}; encode them by the model."
        )
