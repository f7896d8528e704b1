"""The part of a model file that only graphs and grids have: ``layout``, and ``encoding`` of images."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from dualfield.features import GridEncoding, NumberedColumns, Vocabulary
from dualfield.features.graphs.encoded_grids import check_grid_parameters
from dualfield.models.graph_layout import GraphLayout
from dualfield.models.schema import Contents

__all__ = ["description_of", "encoding_of", "layout_of", "vocabulary_of"]


def description_of(layout: GraphLayout, encoding: GridEncoding | None) -> dict[str, Any]:
    """What a description says of the layout of the weights, and of how images were encoded."""
    plain = None if encoding is None else dataclasses.asdict(encoding)
    return {"layout": dataclasses.asdict(layout), "encoding": plain}


def layout_of(contents: Contents) -> GraphLayout:
    """Where the weights are; refuses weights that do not fit."""
    layout = GraphLayout(**contents.description["layout"])
    sizes = (layout.n_labels, layout.n_attributes, layout.n_edge_features)
    sound = layout.n_labels == len(contents.labels) and all(type(size) is int and size >= 0 for size in sizes)
    if not sound or type(layout.bias) is not bool or type(layout.edge_scale) not in (int, float):
        raise ValueError("its layout is damaged")
    contents.check_weights(layout.dimension)
    return layout


def vocabulary_of(contents: Contents, layout: GraphLayout) -> Vocabulary | NumberedColumns:
    """The names of the attributes of nodes, or their number where the file has no names."""
    if "vocabulary_text" not in contents.parts and "vocabulary_offsets" not in contents.parts:
        return NumberedColumns(layout.n_attributes)
    names = Vocabulary.from_arrays(contents.array("vocabulary_text"), contents.array("vocabulary_offsets"))
    if len(names) != layout.n_attributes:
        raise ValueError(f"it should have {layout.n_attributes} names of attributes but has {len(names)}")
    return names


def encoding_of(contents: Contents, layout: GraphLayout) -> GridEncoding | None:
    """How images were encoded; refuses what would not give the features that the layout has weights for."""
    plain = contents.description["encoding"]
    if (plain is not None) != (contents.description["estimator"] == "GridCRF"):
        raise ValueError("its encoding of images is damaged")
    if plain is None:
        return None
    encoding = GridEncoding(**plain)
    check_grid_parameters(encoding.neighbours, None if encoding.edge_features == "given" else encoding.edge_features)
    contrast = encoding.edge_features == "contrast"
    numbers = (encoding.neighbours, encoding.n_attributes, encoding.n_edge_features)
    sound = all(type(number) is int for number in numbers)
    sound &= (encoding.n_attributes, encoding.n_edge_features) == (layout.n_attributes, layout.n_edge_features)
    mean = encoding.mean_difference
    if not sound or contrast != (mean is not None) or not (mean is None or (np.isfinite(mean) and mean > 0)):
        raise ValueError("its encoding of images is damaged")
    return encoding
