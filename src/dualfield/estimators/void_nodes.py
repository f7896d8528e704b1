"""Nodes without a label, such as the void pixels of an image.

Training leaves them out: it sees the graph without them and without their edges. Predictions are of all nodes.
"""

from __future__ import annotations

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
    """The same without the nodes of this label; graphs of which nothing is left are left out."""
    if ignore_label is None:
        return given
    grids = given.data if isinstance(given.data, EncodedGrids) else None
    graphs = given.data.graphs if isinstance(given.data, EncodedGrids) else given.data
    classes, codes = encode_graph_labels(given.y, graphs.sizes, shapes=None if grids is None else grids.shapes)
    labels = classes[codes]
    known = labels != ignore_label
    if known.all():
        return given
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
    same_type = isinstance(ignore_label, str) == (classes.dtype.kind == "U")
    if ignore_label is None or not same_type or ignore_label in classes.tolist():
        _, codes = encode_graph_labels(y, sizes, classes, shapes=shapes)
        return codes, np.zeros(len(codes), dtype=bool)
    _, codes = encode_graph_labels(y, sizes, np.array([*classes.tolist(), ignore_label]), shapes=shapes)
    void = codes == len(classes)
    return np.where(void, -1, codes).astype(np.int32), void
