"""A trained chain as arrays and a description, for its model file."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dualfield import _core
from dualfield.features import Columns, Vocabulary
from dualfield.labels import Constraints
from dualfield.models.bigram_layout import BigramLayout
from dualfield.models.chain_contents import MASKS, ChainContents, chain_contents, read_chain
from dualfield.models.chain_layout import ChainLayout
from dualfield.models.model_file import DAMAGED, clause, refusal, write_model
from dualfield.models.model_parts import array_of, check_dtype, parts_of, plain_solution, rounded, solution_of

if TYPE_CHECKING:
    from dualfield.models.model_file import Arrays

__all__ = ["load", "model_of", "plain_constraints", "save"]


def save(crf: Any, path: str | os.PathLike[str], dtype: npt.DTypeLike) -> None:
    """Write a fitted model."""
    check_dtype(dtype)
    layout, vocabulary = crf.layout_, crf.vocabulary_
    arrays: Arrays = {"weights": rounded(crf.weights_, dtype), "transitions": layout.transitions}
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
        arrays.update({f"allowed_{name}": getattr(layout.constraints, name).astype(np.uint8) for name in MASKS})
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
    as_read = json.loads(json.dumps(description))
    try:
        chain_contents(os.fspath(path), parts_of(arrays), as_read)
    except DAMAGED as error:
        raise ValueError(f"the model cannot be saved: {clause(error)}.") from error
    write_model(path, arrays, description)


def load(kind: type[Any], path: str | os.PathLike[str]) -> Any:
    """Read a model, or refuse it in a sentence."""
    contents = read_chain(path)
    try:
        return model_of(kind, contents)
    except DAMAGED as error:  # parameters that only an estimator looks at
        raise refusal(path, "ChainCRF", error) from error


def model_of(kind: type[Any], contents: ChainContents) -> Any:
    """The model that a file holds, with arrays of its own."""
    description, arrays = contents.description, {name: array_of(part) for name, part in contents.parts.items()}
    crf = kind._of_parameters(description["parameters"])
    classes = np.array(contents.labels)
    vocabulary = _vocabulary_of(arrays, description["columns"], "vocabulary")
    rows = None if contents.rows is None else (arrays["row_starts"], arrays["row_labels"])
    bias, begin, end = (description["layout"][name] for name in ("bias", "begin", "end"))
    rules = None
    if "allowed_transitions" in arrays:
        rules = Constraints(contents.labels, **{name: arrays[f"allowed_{name}"].astype(bool) for name in MASKS})
    bigram_vocabulary, pairs = None, None
    if contents.bigrams is not None:
        bigram_vocabulary = _vocabulary_of(arrays, description["bigram_columns"], "bigram_vocabulary")
        starts = arrays.get("bigram_starts")
        pairs = BigramLayout(contents.bigrams.size, len(classes), arrays["bigram_pairs"], starts)
    size, transitions = contents.n_attributes, arrays["transitions"]
    layout = ChainLayout(size, len(classes), transitions, rows, bias, begin, end, rules, pairs)
    weights = arrays["weights"].astype(np.float64, copy=False)
    crf.classes_, crf.vocabulary_, crf.layout_, crf.weights_ = classes, vocabulary, layout, weights
    crf.bigram_vocabulary_ = bigram_vocabulary
    crf.column_features_ = description["column_features"]
    crf.solution_ = solution_of(description["solution"], weights)
    return crf


def _vocabulary_of(arrays: Arrays, columns: int | None, name: str) -> Vocabulary | Columns:
    """The names of attributes, or how many columns there are."""
    if columns is not None:
        return Columns(columns)
    # not the names of the contents, which would keep the whole file in memory
    return Vocabulary.from_core(_core.Names(arrays[f"{name}_text"], arrays[f"{name}_offsets"]))


def plain_constraints(given: Any) -> Any:
    """Constraints as JSON has them: a name, or labels and 0/1 masks."""
    if not isinstance(given, Constraints):
        return given
    return {"labels": list(given.labels), **{name: getattr(given, name).astype(int).tolist() for name in MASKS}}
