"""A ``GraphCRF`` or ``GridCRF`` as arrays and a description, for its model file."""

from __future__ import annotations

import dataclasses
import json
import os
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dualfield.features import GridEncoding
from dualfield.features.graphs.encoded_grids import check_grid_parameters
from dualfield.models import GraphLayout
from dualfield.models.model_file import DAMAGED, clause, read_model, refusal, write_model
from dualfield.models.model_parts import (
    check_dtype,
    classes_of,
    plain_solution,
    rounded,
    solution_of,
    weights_of,
)

if TYPE_CHECKING:
    from dualfield.models.model_file import Arrays

__all__ = ["load", "save"]


def save(crf: Any, path: str | os.PathLike[str], dtype: npt.DTypeLike) -> None:
    """Write a fitted model."""
    check_dtype(dtype)
    encoding: GridEncoding | None = getattr(crf, "encoding_", None)
    description = {
        "estimator": type(crf).__name__,
        "parameters": crf._plain_parameters(),
        "classes": crf.classes_.tolist(),
        "layout": dataclasses.asdict(crf.layout_),
        "encoding": None if encoding is None else dataclasses.asdict(encoding),
        "solution": plain_solution(crf.solution_),
    }
    arrays: Arrays = {"weights": rounded(crf.weights_, dtype)}
    as_read = json.loads(json.dumps(description))
    try:
        _restore(type(crf), arrays, as_read)
    except DAMAGED as error:
        raise ValueError(f"the model cannot be saved: {clause(error)}.") from error
    write_model(path, arrays, description)


def load(kind: type[Any], path: str | os.PathLike[str]) -> Any:
    """Read a model, or refuse it in a sentence."""
    arrays, description = read_model(path)
    try:
        if description["estimator"] != kind.__name__:
            raise ValueError(f"it holds a model of another kind, {description['estimator']!r}")
        return _restore(kind, arrays, description)
    except DAMAGED as error:
        raise refusal(path, kind.__name__, error) from error


def _restore(kind: type[Any], arrays: Arrays, description: dict[str, Any]) -> Any:
    crf = kind._of_parameters(description["parameters"])
    crf._inference()  # refuses what predicting would refuse
    crf._check_prediction()
    classes = classes_of(description["classes"])
    layout = GraphLayout(**description["layout"])
    sizes = (layout.n_labels, layout.n_attributes, layout.n_edge_features)
    sound = layout.n_labels == len(classes) and all(type(size) is int and size >= 0 for size in sizes)
    if not sound or type(layout.bias) is not bool or type(layout.edge_scale) not in (int, float):
        raise ValueError("its layout is damaged")
    weights = weights_of(arrays, layout.dimension)
    if (description["encoding"] is not None) != (description["estimator"] == "GridCRF"):
        raise ValueError("its encoding of images is damaged")
    if description["encoding"] is not None:
        encoding = GridEncoding(**description["encoding"])
        _check_encoding(encoding, layout)
        crf._take_encoding(encoding)
    crf.classes_, crf.layout_, crf.weights_ = classes, layout, weights
    crf.solution_ = solution_of(description["solution"], weights)
    return crf


def _check_encoding(encoding: GridEncoding, layout: GraphLayout) -> None:
    """Refuse an encoding that would not give the features that the layout has weights for."""
    check_grid_parameters(encoding.neighbours, None if encoding.edge_features == "given" else encoding.edge_features)
    contrast = encoding.edge_features == "contrast"
    numbers = (encoding.neighbours, encoding.n_attributes, encoding.n_edge_features)
    sound = all(type(number) is int for number in numbers)
    sound &= (encoding.n_attributes, encoding.n_edge_features) == (layout.n_attributes, layout.n_edge_features)
    mean = encoding.mean_difference
    if not sound or contrast != (mean is not None) or not (mean is None or (np.isfinite(mean) and mean > 0)):
        raise ValueError("its encoding of images is damaged")
