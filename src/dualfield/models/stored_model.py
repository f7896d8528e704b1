"""Saving and loading for the models of all estimators. Each class says what its file holds."""

from __future__ import annotations

import dataclasses
import json
import os
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from dualfield.models.model_file import DAMAGED, Arrays, FileArray, clause, refusal, write_model
from dualfield.models.schema import Contents, read_contents
from dualfield.scikit_learn import check_fitted
from dualfield.solution import Solution

__all__ = ["StoredModel", "imported_solution", "solution_of"]

_CODES = {"d": "d", "f": "f", "q": "q", "l": "q", "i": "i", "B": "B"}  # of arrays, and as files have them


class StoredModel:
    """A model that has a file; subclasses say what it holds, as :mod:`~dualfield.models.schema` lists it."""

    _stored_as: ClassVar[str]
    classes_: npt.NDArray[Any]
    solution_: Solution

    def _stored(self) -> tuple[npt.NDArray[np.float64], Arrays, dict[str, Any]]:
        """The weights, the other arrays, and what the description has beside labels and solution."""
        raise NotImplementedError

    @classmethod
    def _of_contents(cls, contents: Contents) -> Self:
        """The model that a file holds, with arrays of its own; raises one of ``DAMAGED`` where it is damaged."""
        raise NotImplementedError

    @classmethod
    def _check_contents(cls, contents: Contents) -> None:
        """Raise one of ``DAMAGED`` where :meth:`_of_contents` would."""
        cls._of_contents(contents)

    def _check_fitted(self) -> None:
        """Refuse an estimator that has no weights yet."""
        check_fitted(self)

    def save(self, path: str | os.PathLike[str], dtype: npt.DTypeLike = np.float64) -> None:
        """Write the model to a safetensors file; ``dtype`` float32 halves its size and rounds the weights."""
        self._check_fitted()
        _check_dtype(dtype)
        weights, others, particular = self._stored()
        arrays: Arrays = {"weights": _rounded(weights, dtype), **others}
        description = {
            "estimator": self._stored_as,
            "classes": self.classes_.tolist(),
            "solution": _plain_solution(self.solution_),
            **particular,
        }
        as_read = json.loads(json.dumps(description))
        try:
            self._check_contents(Contents(os.fspath(path), _parts_of(arrays), as_read).checked(self._stored_as))
        except DAMAGED as error:
            raise ValueError(f"the model cannot be saved: {clause(error)}.") from error
        write_model(path, arrays, description)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model that ``save`` wrote. No code in the file is run."""
        contents = read_contents(path, cls._stored_as)
        try:
            return cls._of_contents(contents)
        except DAMAGED as error:
            raise refusal(path, cls._stored_as, error) from error


def solution_of(contents: Contents, weights: npt.NDArray[np.float64]) -> Solution:
    """How training went, with these weights and no history."""
    plain = contents.description["solution"].items()
    values: dict[str, Any] = {name: np.nan if value is None else value for name, value in plain}
    return Solution(weights=weights, history={}, **values)


def imported_solution(weights: npt.NDArray[np.float64], origin: str, program: str) -> Solution:
    """What is known of weights that another program has trained: nothing."""
    message = (
        f"Read from {origin}: the weights are as {program} left them, and since its training data and objective are "
        "not in the file, nothing is proven about them."
    )
    return Solution(
        weights=weights,
        primal=np.nan,
        dual=np.nan,
        duality_gap=np.nan,
        certificate="none",
        status="imported",
        message=message,
        passes=0,
        updates=0,
        oracle_calls=0,
        seconds=0.0,
        cpu_seconds=0.0,
        history={},
    )


def _plain_solution(solution: Solution) -> dict[str, Any]:
    names = [f.name for f in dataclasses.fields(solution) if f.name not in ("weights", "history", "state")]
    plain = {name: getattr(solution, name) for name in names}
    # JSON has no NaN: an unknown value is null.
    return {name: None if isinstance(value, float) and value != value else value for name, value in plain.items()}


def _check_dtype(dtype: npt.DTypeLike) -> None:
    """Refuse a type of weights that files do not have."""
    try:
        known = np.dtype(dtype) in (np.dtype(np.float32), np.dtype(np.float64))
    except TypeError:
        known = False
    if not known:
        raise ValueError(f"dtype must be float64 or float32; got {dtype!r}.")


def _rounded(weights: npt.NDArray[np.float64], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """The weights as a file is to have them; refuses those that are not finite."""
    with np.errstate(over="ignore"):
        stored = weights.astype(dtype, copy=False)
    if not np.isfinite(weights).all():
        raise ValueError("the model cannot be saved: some weights are not finite; train it again.")
    if not np.isfinite(stored).all():
        raise ValueError(f"the model cannot be saved: some weights are too large for {stored.dtype}; choose float64.")
    return stored


def _parts_of(arrays: Arrays) -> dict[str, FileArray]:
    """Arrays as they would be read from a file."""
    parts = {}
    for name, array in arrays.items():
        content = np.ascontiguousarray(array).data.cast("B") if array.size else memoryview(b"")
        parts[name] = FileArray(array.shape, content.cast(_CODES[array.dtype.char]))  # type: ignore[call-overload]
    return parts
