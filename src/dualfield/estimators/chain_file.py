"""A trained chain as arrays and a description, for its model file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from dualfield.estimators import model_parts
from dualfield.estimators.model_parts import (
    check_dtype,
    classes_of,
    plain_solution,
    solution_of,
    typed,
    weights_of,
)
from dualfield.features import Columns, Constraints, Vocabulary
from dualfield.fields import BigramLayout, ChainLayout
from dualfield.io.model_file import DAMAGED, read_model, refusal, write_model

if TYPE_CHECKING:
    from dualfield.estimators.chain_model import ChainModel
    from dualfield.io.model_file import Arrays

__all__ = ["load", "parameters_of", "plain_parameters", "save"]

Model = TypeVar("Model", bound="ChainModel")


def save(crf: ChainModel, path: str | os.PathLike[str], dtype: npt.DTypeLike) -> None:
    """Write a fitted model."""
    check_dtype(dtype)
    layout, vocabulary = crf.layout_, crf.vocabulary_
    arrays: Arrays = {"weights": crf.weights_.astype(dtype, copy=False), "transitions": layout.transitions}
    if layout.rows is not None:
        arrays["row_starts"], arrays["row_labels"] = layout.rows
    if isinstance(vocabulary, Vocabulary):
        arrays.update(vocabulary.to_bytes_arrays())
    bigrams = crf.bigram_vocabulary_
    if layout.bigrams is not None:
        arrays["bigram_pairs"] = layout.bigrams.pairs
        if layout.bigrams.starts is not None:
            arrays["bigram_starts"] = layout.bigrams.starts
    if isinstance(bigrams, Vocabulary):
        arrays.update({f"bigram_{name}": array for name, array in bigrams.to_bytes_arrays().items()})
    if layout.constraints is not None:
        arrays.update({f"allowed_{name}": getattr(layout.constraints, name).astype(np.uint8) for name in _MASKS})
    description = {
        "estimator": "ChainCRF",
        "parameters": crf._plain_parameters(),
        "classes": crf.classes_.tolist(),
        "columns": None if isinstance(vocabulary, Vocabulary) else len(vocabulary),
        "layout": {name: getattr(layout, name) for name in ("bias", "begin", "end")},
        "column_features": crf.column_features_,
        "solution": plain_solution(crf.solution_),
    }
    if bigrams is not None:
        description["bigram_columns"] = None if isinstance(bigrams, Vocabulary) else len(bigrams)
    write_model(path, arrays, description)


def load(kind: type[Model], path: str | os.PathLike[str]) -> Model:
    """Read a model, or refuse it in a sentence."""
    arrays, description = read_model(path)
    try:
        if description["estimator"] != "ChainCRF":
            raise ValueError(f"it holds a model of another kind, {description['estimator']!r}")
        return _restore(kind, arrays, description)
    except DAMAGED as error:
        raise refusal(path, "ChainCRF", error) from error


def _restore(kind: type[Model], arrays: Arrays, description: dict[str, Any]) -> Model:
    crf = kind._of_parameters(description["parameters"])
    flags = description["layout"]
    vocabulary = _vocabulary_of(arrays, description["columns"], "vocabulary")
    rows = None
    if "row_starts" in arrays:
        rows = typed(arrays, "row_starts", np.int64), typed(arrays, "row_labels", np.int32)
    classes = classes_of(description["classes"])
    transitions = typed(arrays, "transitions", np.int32)
    _check_transitions(transitions, len(classes))
    if rows is not None:
        _check_rows(*rows, len(vocabulary), len(classes))
    bias, begin, end = (bool(flags[name]) for name in ("bias", "begin", "end"))
    rules = _constraints_of(arrays, classes.tolist())
    bigram_vocabulary, bigrams = None, None
    if "bigram_columns" in description:
        bigram_vocabulary = _vocabulary_of(arrays, description["bigram_columns"], "bigram_vocabulary")
        bigrams = _bigrams_of(arrays, len(bigram_vocabulary), len(classes))
    layout = ChainLayout(len(vocabulary), len(classes), transitions, rows, bias, begin, end, rules, bigrams)
    weights = weights_of(arrays, layout.dimension)
    crf.classes_, crf.vocabulary_, crf.layout_, crf.weights_ = classes, vocabulary, layout, weights
    crf.bigram_vocabulary_ = bigram_vocabulary
    crf.column_features_ = description["column_features"]
    crf.solution_ = solution_of(description["solution"], weights)
    return crf


def _vocabulary_of(arrays: Arrays, columns: Any, name: str) -> Vocabulary | Columns:
    """The names of attributes, or how many columns there are."""
    if columns is None:
        return Vocabulary.from_arrays(arrays[f"{name}_text"], arrays[f"{name}_offsets"])
    return Columns(int(columns))


def _bigrams_of(arrays: Arrays, n_bigrams: int, n_labels: int) -> BigramLayout:
    """The weights of bigrams; refuses pairs that would point outside their arrays, or stand twice."""
    pairs = typed(arrays, "bigram_pairs", np.int32)
    starts = typed(arrays, "bigram_starts", np.int64) if "bigram_starts" in arrays else None
    try:
        return BigramLayout(n_bigrams, n_labels, pairs, starts)
    except (TypeError, ValueError):  # the core's checks
        raise ValueError("its table of bigrams is damaged") from None


_MASKS = ("transitions", "begin", "end")


def plain_parameters(parameters: dict[str, Any]) -> dict[str, Any]:
    """The parameters of a constructor as JSON has them; constraints are a name, or labels and 0/1 masks."""
    given = parameters["constraints"]
    if isinstance(given, Constraints):
        masks = {name: getattr(given, name).astype(int).tolist() for name in _MASKS}
        parameters = {**parameters, "constraints": {"labels": list(given.labels), **masks}}
    return model_parts.plain_parameters(parameters)


def parameters_of(plain: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of a constructor that :func:`plain_parameters` wrote down."""
    parameters = model_parts.parameters_of(plain)
    constraints = parameters.get("constraints")  # files written before there were constraints lack it
    if isinstance(constraints, dict):
        masks = {name: np.array(constraints[name], dtype=bool) for name in _MASKS}
        parameters["constraints"] = Constraints(constraints["labels"], **masks)
    return parameters


def _constraints_of(arrays: Arrays, labels: list[Any]) -> Constraints | None:
    """The rules of the trained model."""
    if "allowed_transitions" not in arrays:
        return None
    return Constraints(labels, **{name: typed(arrays, f"allowed_{name}", np.uint8).astype(bool) for name in _MASKS})


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
