"""A ``ChainCRF`` as arrays and a description, for its model file."""

from __future__ import annotations

import dataclasses
import os
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from dualfield import solvers
from dualfield.estimators.training import check_parameters
from dualfield.features import Columns, Vocabulary
from dualfield.fields import ChainLayout
from dualfield.io.model_file import Arrays, read_model, write_model
from dualfield.solution import Solution

if TYPE_CHECKING:
    from dualfield.estimators.chain_crf import ChainCRF

__all__ = ["load", "save"]

Model = TypeVar("Model", bound="ChainCRF")


def save(crf: ChainCRF, path: str | os.PathLike[str], dtype: npt.DTypeLike) -> None:
    """Write a fitted model."""
    if np.dtype(dtype) not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise ValueError(f"dtype must be float64 or float32; got {dtype!r}.")
    layout, vocabulary = crf.layout_, crf.vocabulary_
    arrays: Arrays = {"weights": crf.weights_.astype(dtype), "transitions": layout.transitions}
    if layout.rows is not None:
        arrays["row_starts"], arrays["row_labels"] = layout.rows
    if isinstance(vocabulary, Vocabulary):
        arrays.update(vocabulary.to_bytes_arrays())
    description = {
        "estimator": "ChainCRF",
        "parameters": _plain_parameters(crf.get_params(deep=False)),
        "classes": crf.classes_.tolist(),
        "columns": None if isinstance(vocabulary, Vocabulary) else len(vocabulary),
        "layout": {name: getattr(layout, name) for name in ("bias", "begin", "end")},
        "column_features": crf.column_features_,
        "solution": _plain_solution(crf.solution_),
    }
    write_model(path, arrays, description)


def load(kind: type[Model], path: str | os.PathLike[str]) -> Model:
    """Read a model, or refuse it in a sentence."""
    arrays, description = read_model(path)
    try:
        if description["estimator"] != "ChainCRF":
            raise ValueError(f"it holds a model of another kind, {description['estimator']!r}")
        return _restore(kind, arrays, description)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError) as error:
        shown = f"it lacks {error}" if isinstance(error, KeyError) else str(error).rstrip(".")
        raise ValueError(f"{os.fspath(path)!r} cannot be used as a ChainCRF: {shown}.") from error


def _restore(kind: type[Model], arrays: Arrays, description: dict[str, Any]) -> Model:
    crf = kind(**_parameters(description["parameters"]))
    check_parameters(crf)
    columns, flags = description["columns"], description["layout"]
    vocabulary: Vocabulary | Columns
    if columns is None:
        vocabulary = Vocabulary.from_arrays(arrays["vocabulary_text"], arrays["vocabulary_offsets"])
    else:
        vocabulary = Columns(int(columns))
    rows = None
    if "row_starts" in arrays:
        rows = _typed(arrays, "row_starts", np.int64), _typed(arrays, "row_labels", np.int32)
    labels = description["classes"]
    kinds = set(map(type, labels))
    if len(labels) < 2 or kinds not in ({str}, {int}) or labels != sorted(set(labels)):
        raise ValueError("its labels are damaged")
    classes = np.array(labels)
    transitions = _typed(arrays, "transitions", np.int32)
    _check_transitions(transitions, len(classes))
    if rows is not None:
        _check_rows(*rows, len(vocabulary), len(classes))
    present = (bool(flags[name]) for name in ("bias", "begin", "end"))
    layout = ChainLayout(len(vocabulary), len(classes), transitions, rows, *present)
    weights = _typed(arrays, "weights", np.float64, np.float32).astype(np.float64)
    if weights.shape != (layout.dimension,):
        raise ValueError(f"it should have {layout.dimension} weights but has {weights.shape}")
    if not np.isfinite(weights).all():
        raise ValueError("some weights are not finite")
    crf.classes_, crf.vocabulary_, crf.layout_, crf.weights_ = classes, vocabulary, layout, weights
    crf.column_features_ = description["column_features"]
    crf.solution_ = _solution(description["solution"], weights)
    return crf


def _typed(arrays: Arrays, name: str, *types: type) -> npt.NDArray[Any]:
    """An array of the file, of one of the types that ``save`` writes."""
    if arrays[name].dtype not in types:
        raise ValueError(f"its {name} are of type {arrays[name].dtype}")
    return arrays[name]


def _check_transitions(flat: npt.NDArray[Any], n_labels: int) -> None:
    """Refuse transitions that would point outside the K × K of them, or stand twice."""
    if flat.ndim != 1 or not ((flat >= 0) & (flat < n_labels**2)).all() or (np.diff(flat) <= 0).any():
        raise ValueError("its transitions are damaged")


def _check_rows(starts: npt.NDArray[Any], labels: npt.NDArray[Any], n_attributes: int, n_labels: int) -> None:
    """Refuse rows that would point outside their arrays, or name a label twice."""
    sound = (
        starts.shape == (n_attributes + 1,)
        and labels.ndim == 1
        and starts[0] == 0
        and starts[-1] == len(labels)
        and (np.diff(starts) >= 0).all()
        and ((labels >= 0) & (labels < n_labels)).all()
    )
    if sound:
        first_of_row = np.zeros(len(labels) + 1, dtype=bool)
        first_of_row[starts] = True
        sound = (np.diff(labels)[~first_of_row[1:-1]] > 0).all()
    if not sound:
        raise ValueError("its table of observed pairs is damaged")


def _plain_parameters(parameters: dict[str, Any]) -> dict[str, Any]:
    """Constructor parameters as JSON has them."""
    plain = dict(parameters)
    if isinstance(plain["solver"], solvers.Solver):
        solver: Any = plain["solver"]
        plain["solver"] = {"name": solver.name, **_plain_numbers(dataclasses.asdict(solver))}
    if not isinstance(plain["random_state"], int | np.integer):
        plain["random_state"] = None  # a generator's state is not part of a model
    return _plain_numbers(plain)


def _plain_numbers(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value.item() if isinstance(value, np.generic) else value for name, value in values.items()}


def _parameters(plain: dict[str, Any]) -> dict[str, Any]:
    parameters = dict(plain)
    if isinstance(parameters["solver"], dict):
        options = dict(parameters["solver"])
        name = options.pop("name")
        if name not in solvers.BY_CLASS_NAME:
            raise ValueError(f"its solver {name!r} is unknown")
        parameters["solver"] = solvers.BY_CLASS_NAME[name](**options)
    return parameters


def _plain_solution(solution: Solution) -> dict[str, Any]:
    names = [f.name for f in dataclasses.fields(solution) if f.name not in ("weights", "history", "state")]
    plain = {name: getattr(solution, name) for name in names}
    # JSON has no NaN: an unknown value is null.
    return {name: None if isinstance(value, float) and value != value else value for name, value in plain.items()}


def _solution(plain: dict[str, Any], weights: npt.NDArray[np.float64]) -> Solution:
    values: dict[str, Any] = {name: np.nan if value is None else value for name, value in plain.items()}
    return Solution(weights=weights, history={}, **values)
