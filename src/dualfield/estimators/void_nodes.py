"""Nodes without a label, such as the void pixels of an image: their label is None, or the one to ignore.

Training leaves them out: it sees the graph without them and without their edges. Predictions are of all nodes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dualfield.core_arrays import check_sample_weight
from dualfield.features import EncodedGraphs, EncodedGrids, encode_graph_labels

__all__ = ["Labelled", "codes_and_void", "without_void"]


class Labelled(NamedTuple):
    """Graphs or images, their labels, and the weights of their losses."""

    data: EncodedGraphs | EncodedGrids
    y: Any
    sample_weight: npt.ArrayLike | None


def without_void(given: Labelled, ignore_label: str | int | None) -> Labelled:
    """The same without the nodes of this label or of None; graphs of which nothing is left are left out."""
    y, missing = _without_none(given.y)
    if ignore_label is None and missing is None:
        return given._replace(y=y)
    grids = given.data if isinstance(given.data, EncodedGrids) else None
    graphs = given.data.graphs if isinstance(given.data, EncodedGrids) else given.data
    classes, codes = encode_graph_labels(y, graphs.sizes, shapes=None if grids is None else grids.shapes)
    labels = classes[codes]
    known = np.ones(len(labels), dtype=bool) if ignore_label is None else labels != ignore_label
    if missing is not None:
        known &= ~missing
    if known.all():
        return given._replace(y=y)
    if graphs.cliques is not None:
        raise ValueError(f"X has cliques, of which no node can be left out; label the nodes of label {ignore_label!r}.")
    n_left = np.add.reduceat(known, graphs.offsets[:-1], dtype=np.int64)
    y = np.split(labels[known], np.cumsum(n_left[n_left > 0])[:-1])
    what = "graph" if grids is None else "image"
    weights = check_sample_weight(given.sample_weight, len(graphs), what)
    return Labelled(graphs.with_nodes(known), y, None if weights is None else weights[n_left > 0])


def codes_and_void(
    y: Any,
    sizes: npt.NDArray[np.int64],
    shapes: npt.NDArray[np.int64] | None,
    classes: npt.NDArray[Any],
    ignore_label: str | int | None,
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.bool_]]:
    """The codes of all nodes under a model's classes, −1 for other labels, and which nodes are to be ignored."""
    y, missing = _without_none(y)
    same_type = isinstance(ignore_label, str) == (classes.dtype.kind == "U")
    if ignore_label is None or not same_type or ignore_label in classes.tolist():
        _, codes = encode_graph_labels(y, sizes, classes, shapes=shapes)
        void = np.zeros(len(codes), dtype=bool)
    else:
        _, codes = encode_graph_labels(y, sizes, np.array([*classes.tolist(), ignore_label]), shapes=shapes)
        void = codes == len(classes)
    if missing is not None:
        void |= missing
    return np.where(void, -1, codes).astype(np.int32), void


def _without_none(y: Any) -> tuple[Any, npt.NDArray[np.bool_] | None]:
    """Labels with a known one in the place of None, and which nodes had None; None where none had."""
    if isinstance(y, Iterator):
        y = list(y)
    if not isinstance(y, list | tuple | np.ndarray):
        return y, None
    parts: list[npt.NDArray[Any]] = []
    for labels in y:
        part = _as_objects(labels)
        if part is None:
            return y, None  # the reader of labels says what is wrong
        parts.append(part)
    missing = [_is_none(part) for part in parts]
    if not any(map(np.any, missing)):
        return y, None
    known = next((part[~none][0] for part, none in zip(parts, missing, strict=True) if not none.all()), None)
    if known is None:
        raise ValueError("y has no known labels; give at least two nodes labels that differ.")
    filled = [np.where(none, known, part) if none.any() else part for part, none in zip(parts, missing, strict=True)]
    return filled, np.concatenate([none.ravel() for none in missing])


def _as_objects(labels: Any) -> npt.NDArray[Any] | None:
    """The labels of a graph or an image as an array, a list's of objects; None for what has no such form."""
    if isinstance(labels, np.ndarray):
        return labels
    if not isinstance(labels, list | tuple):
        return None
    try:
        return np.array(labels, dtype=object)
    except ValueError:
        return None


def _is_none(labels: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    if labels.dtype != object:
        return np.zeros(labels.shape, dtype=bool)
    return np.fromiter((label is None for label in labels.flat), bool, labels.size).reshape(labels.shape)
