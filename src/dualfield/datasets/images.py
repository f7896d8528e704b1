"""Labelled images as arrays: the one record that all image data sets return."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dualfield.features.graphs.grids import grid_edges

__all__ = ["Images"]


@dataclass(frozen=True, eq=False, repr=False)
class Images:
    """Images with a label for each site, split for training and testing.

    A site is a pixel, or a block of pixels. Images may differ in height and width, not in the number of features.

    Parameters
    ----------
    X_train, X_test : list of float64 arrays, shape (height, width, d)
        Features of every site.
    y_train, y_test : list of int64 arrays, shape (height, width)
        Labels of every site, from 0.
    edge_features_train, edge_features_test : list of float64 arrays, shape (n_edges, f), or None
        Features of every pair of neighbours, in the order of :func:`dualfield.features.grid_edges` with 4 neighbours.
    pictures_train, pictures_test : list of arrays, or None
        What the features were made from, to show: grey values (rows, columns) or colours (rows, columns, 3).
    note : str
        What one should know about the data before quoting a result; empty where there is nothing.

    Raises
    ------
    ValueError
        If an image lacks its labels, or shapes disagree, with the place.

    Examples
    --------
    >>> Images([np.zeros((2, 3, 4))], [np.zeros((2, 3), dtype=int)], X_test=[], y_test=[], note="All blank.")
    Images(1 for training, 0 for testing; 4 features a site, 0 an edge; All blank.)
    """

    X_train: list[npt.NDArray[np.float64]]
    y_train: list[npt.NDArray[np.int64]]
    X_test: list[npt.NDArray[np.float64]]
    y_test: list[npt.NDArray[np.int64]]
    edge_features_train: list[npt.NDArray[np.float64]] | None = None
    edge_features_test: list[npt.NDArray[np.float64]] | None = None
    pictures_train: list[npt.NDArray[Any]] | None = None
    pictures_test: list[npt.NDArray[Any]] | None = None
    note: str = ""

    def __post_init__(self) -> None:
        widths: dict[str, int] = {}
        for part in ("train", "test"):
            X: list[npt.NDArray[Any]] = getattr(self, f"X_{part}")
            for name in (f"y_{part}", f"edge_features_{part}", f"pictures_{part}"):
                arrays = getattr(self, name)
                if arrays is not None and len(arrays) != len(X):
                    raise ValueError(
                        f"{name} has {len(arrays)} arrays but X_{part} has {len(X)}; give one array for each image."
                    )
            y, edges = getattr(self, f"y_{part}"), getattr(self, f"edge_features_{part}")
            for number, features in enumerate(X):
                place = f"image {number} of X_{part}"
                _check_sites(place, features, y[number], widths)
                if edges is not None:
                    _check_edges(place, features, edges[number], widths)

    def __repr__(self) -> str:
        n_features = next((X.shape[2] for X in (*self.X_train, *self.X_test)), 0)
        edge_features = (*(self.edge_features_train or ()), *(self.edge_features_test or ()))
        n_edge_features = next((features.shape[1] for features in edge_features), 0)
        note = f"; {self.note}" if self.note else ""
        return (
            f"Images({len(self.X_train)} for training, {len(self.X_test)} for testing; "
            f"{n_features} features a site, {n_edge_features} an edge{note})"
        )


def _check_sites(place: str, features: npt.NDArray[Any], labels: npt.NDArray[Any], widths: dict[str, int]) -> None:
    if features.ndim != 3 or 0 in features.shape[:2]:
        raise ValueError(
            f"{place} has shape {features.shape}; expected (height, width, features) with at least one site."
        )
    if labels.shape != features.shape[:2]:
        raise ValueError(
            f"{place} has {features.shape[0]} rows and {features.shape[1]} columns but its labels have shape "
            f"{labels.shape}; expected one label for each site."
        )
    _check_width(place, "features a site", features.shape[2], widths)


def _check_edges(place: str, features: npt.NDArray[Any], edges: npt.NDArray[Any], widths: dict[str, int]) -> None:
    n_edges = len(grid_edges(*features.shape[:2]))
    if edges.ndim != 2 or len(edges) != n_edges:
        raise ValueError(
            f"the edge features of {place} have shape {edges.shape}; "
            f"expected {n_edges} rows, one for each pair of neighbours."
        )
    _check_width(place, "features an edge", edges.shape[1], widths)


def _check_width(place: str, what: str, width: int, widths: dict[str, int]) -> None:
    """The first image fixes the number of features."""
    expected = widths.setdefault(what, width)
    if width != expected:
        raise ValueError(f"{place} has {width} {what} but the images before it have {expected}; give all the same.")
