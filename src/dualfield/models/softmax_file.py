"""A ``SoftmaxRegression`` as arrays and a description, for its model file."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

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


def save(model: Any, path: str | os.PathLike[str], dtype: npt.DTypeLike) -> None:
    """Write a fitted model."""
    check_dtype(dtype)
    description = {
        "estimator": "SoftmaxRegression",
        "parameters": model._plain_parameters(),
        "classes": model.classes_.tolist(),
        "n_features": int(model.n_features_in_),
        "feature_names": getattr(model, "feature_names_in_", np.array([])).tolist(),
        "solution": plain_solution(model.solution_),
    }
    weights = np.concatenate([model.coef_.T.ravel(), model.intercept_])
    arrays: Arrays = {"weights": rounded(weights, dtype)}
    as_read = json.loads(json.dumps(description))
    try:
        _restore(type(model), arrays, as_read)
    except DAMAGED as error:
        raise ValueError(f"the model cannot be saved: {clause(error)}.") from error
    write_model(path, arrays, description)


def load(kind: type[Any], path: str | os.PathLike[str]) -> Any:
    """Read a model, or refuse it in a sentence."""
    arrays, description = read_model(path)
    try:
        if description["estimator"] != "SoftmaxRegression":
            raise ValueError(f"it holds a model of another kind, {description['estimator']!r}")
        return _restore(kind, arrays, description)
    except DAMAGED as error:
        raise refusal(path, "SoftmaxRegression", error) from error


def _restore(kind: type[Any], arrays: Arrays, description: dict[str, Any]) -> Any:
    model = kind._of_parameters(description["parameters"])
    classes, d = classes_of(description["classes"]), description["n_features"]
    if type(d) is not int or d < 1:
        raise ValueError("its number of features is damaged")
    names = description["feature_names"]
    if not isinstance(names, list) or len(names) not in (0, d) or not all(isinstance(name, str) for name in names):
        raise ValueError("its names of features are damaged")
    weights = weights_of(arrays, (d + 1) * len(classes))
    model.classes_, model.n_features_in_ = classes, d
    if names:
        model.feature_names_in_ = np.array(names, dtype=object)
    model.coef_ = weights[: d * len(classes)].reshape(d, len(classes)).T.copy()
    model.intercept_ = weights[d * len(classes) :].copy()
    model.solution_ = solution_of(description["solution"], weights if model.bias else weights[: d * len(classes)])
    return model
