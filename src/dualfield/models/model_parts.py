"""What the model files of all estimators have in common: parameters, labels, weights, and how training went."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dualfield.models.chain_contents import check_solution, checked_labels
from dualfield.models.model_file import Part
from dualfield.solution import Solution

if TYPE_CHECKING:
    from dualfield.models.model_file import Arrays

__all__ = [
    "array_of",
    "check_dtype",
    "classes_of",
    "parts_of",
    "plain_solution",
    "rounded",
    "solution_of",
    "typed",
    "weights_of",
]

_CODES = {"d": "d", "f": "f", "q": "q", "l": "q", "i": "i", "B": "B"}  # of arrays, and as files have them


def check_dtype(dtype: npt.DTypeLike) -> None:
    """Refuse a type of weights that files do not have."""
    try:
        known = np.dtype(dtype) in (np.dtype(np.float32), np.dtype(np.float64))
    except TypeError:
        known = False
    if not known:
        raise ValueError(f"dtype must be float64 or float32; got {dtype!r}.")


def typed(arrays: Arrays, name: str, *types: type) -> npt.NDArray[Any]:
    """An array of the file, of one of the types that ``save`` writes."""
    if arrays[name].dtype not in types:
        raise ValueError(f"its {name} are of type {arrays[name].dtype}")
    return arrays[name]


def array_of(part: Part) -> npt.NDArray[Any]:
    """An array of the file, as an array of our own."""
    return np.array(part.numbers).reshape(part.shape)


def parts_of(arrays: Arrays) -> dict[str, Part]:
    """Arrays as they would be read from a file."""
    parts = {}
    for name, array in arrays.items():
        content = np.ascontiguousarray(array).data.cast("B") if array.size else memoryview(b"")
        parts[name] = Part(array.shape, content.cast(_CODES[array.dtype.char]))  # type: ignore[call-overload]
    return parts


def classes_of(labels: Any) -> npt.NDArray[Any]:
    """The labels of a model as an array."""
    return np.array(checked_labels(labels))


def rounded(weights: npt.NDArray[np.float64], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """The weights as a file is to have them; refuses those that are not finite."""
    with np.errstate(over="ignore"):
        stored = weights.astype(dtype, copy=False)
    if not np.isfinite(weights).all():
        raise ValueError("the model cannot be saved: some weights are not finite; train it again.")
    if not np.isfinite(stored).all():
        raise ValueError(f"the model cannot be saved: some weights are too large for {stored.dtype}; choose float64.")
    return stored


def weights_of(arrays: Arrays, dimension: int) -> npt.NDArray[np.float64]:
    """The weights of a model, as many as its layout has."""
    weights = typed(arrays, "weights", np.float64, np.float32).astype(np.float64, copy=False)
    if weights.shape != (dimension,):
        raise ValueError(f"it should have {dimension} weights but has {weights.shape}")
    if not np.isfinite(weights).all():
        raise ValueError("some weights are not finite")
    return weights


def plain_solution(solution: Solution) -> dict[str, Any]:
    """How training went, as JSON has it."""
    names = [f.name for f in dataclasses.fields(solution) if f.name not in ("weights", "history", "state")]
    plain = {name: getattr(solution, name) for name in names}
    # JSON has no NaN: an unknown value is null.
    return {name: None if isinstance(value, float) and value != value else value for name, value in plain.items()}


def solution_of(plain: dict[str, Any], weights: npt.NDArray[np.float64]) -> Solution:
    """The solution that was written down, with these weights and no history."""
    check_solution(plain)
    values: dict[str, Any] = {name: np.nan if value is None else value for name, value in plain.items()}
    return Solution(weights=weights, history={}, **values)
