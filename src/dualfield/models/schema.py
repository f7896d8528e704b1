"""The contents that all model files share, and the one reader of them.

A file has a description, which is a JSON object, and arrays. :data:`ARRAYS` lists every array with its type. What all
models have is checked here, what chains have in :mod:`~dualfield.models.chain_contents`, without NumPy, since
``dualfield tag`` starts without it. :meth:`Contents.array` gives NumPy arrays to all other code.

============== ===================================================================
``estimator``  The class that wrote the file.
``parameters`` Its parameters, as JSON has them.
``classes``    The labels, sorted.
``solution``   How training went, see :class:`~dualfield.Solution`; null is NaN.
============== ===================================================================
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from dualfield import _core
from dualfield.models.model_file import DAMAGED, FileArray, read_parts, refusal

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["ARRAYS", "Contents", "StoredArray", "read_contents"]

_TYPES = {"d": "float64", "f": "float32", "q": "int64", "i": "int32", "B": "uint8"}
_TEXTS = ("certificate", "status", "message")
_COUNTS = ("passes", "updates", "oracle_calls")
_MEASURES = ("primal", "dual", "duality_gap", "seconds", "cpu_seconds")  # or null, where not known


class StoredArray(NamedTuple):
    """An array of model files: the codes of the types it may have, and its number of dimensions."""

    types: str
    n_dimensions: int = 1


ARRAYS = {
    "weights": StoredArray("df"),  # of every model; the others are of chains
    "transitions": StoredArray("i"),
    "row_starts": StoredArray("q"),
    "row_labels": StoredArray("i"),
    "vocabulary_text": StoredArray("B"),
    "vocabulary_offsets": StoredArray("q"),
    "vocabulary_index": StoredArray("i"),
    "allowed_transitions": StoredArray("B", 2),
    "allowed_begin": StoredArray("B"),
    "allowed_end": StoredArray("B"),
    "bigram_pairs": StoredArray("i"),
    "bigram_starts": StoredArray("q"),
    "bigram_vocabulary_text": StoredArray("B"),
    "bigram_vocabulary_offsets": StoredArray("q"),
}


class Contents(NamedTuple):
    """A file that has been read, and found to have what all models have; arrays are views of its bytes."""

    path: str
    parts: Mapping[str, FileArray]
    description: dict[str, Any]

    @property
    def labels(self) -> list[str] | list[int]:
        """The labels, sorted and of one type: strings, or integers of 64 bits."""
        labels: list[str] | list[int] = self.description["classes"]
        return labels

    def numbers(self, name: str) -> memoryview:
        """An array of the file, of a type and number of dimensions that the schema allows."""
        (shape, numbers), (types, n_dimensions) = self.parts[name], ARRAYS[name]
        if numbers.format not in types:
            expected = " or ".join(_TYPES[code] for code in types)
            raise ValueError(f"its {name} are of type {_TYPES[numbers.format]}, not {expected}")
        if len(shape) != n_dimensions:
            raise ValueError(f"its {name} are damaged: they have the shape {shape}")
        return numbers

    def array(self, name: str) -> npt.NDArray[Any]:
        """The same as an array of our own."""
        import numpy as np

        return np.array(self.numbers(name)).reshape(self.parts[name].shape)

    def check_weights(self, dimension: int) -> None:
        """Refuse weights that are not finite, and another number of them."""
        shape = self.parts["weights"].shape
        if shape != (dimension,):
            raise ValueError(f"it should have {dimension} weights but has {prod(shape) if len(shape) == 1 else shape}")
        if not _core.all_finite(self.numbers("weights")):
            raise ValueError("some weights are not finite")

    def checked(self, kind: str) -> Contents:
        """The same; raises one of ``DAMAGED``, with a clause that says why it is no model of this kind."""
        if self.description["estimator"] != kind:
            raise ValueError(f"it holds a model of another kind, {self.description['estimator']!r}")
        _check_solution(self.description["solution"])
        _check_labels(self.description["classes"])
        return self


def read_contents(path: str | os.PathLike[str], kind: str) -> Contents:
    """Read the model file of an estimator, or refuse it in a sentence."""
    parts, description = read_parts(path)
    try:
        return Contents(os.fspath(path), parts, description).checked(kind)
    except DAMAGED as error:
        raise refusal(path, kind, error) from error


def _check_solution(plain: Any) -> None:
    if not isinstance(plain, dict) or set(plain) != {*_TEXTS, *_COUNTS, *_MEASURES}:
        raise ValueError("its solution is damaged")
    sound = all(type(plain[name]) is str for name in _TEXTS)
    sound &= all(type(plain[name]) is int for name in _COUNTS)
    sound &= all(type(plain[name]) in (int, float, type(None)) for name in _MEASURES)
    if not sound:
        raise ValueError("its solution is damaged")


def _check_labels(given: Any) -> None:
    kinds = set(map(type, given)) if isinstance(given, list) else set()
    sound = kinds in ({str}, {int}) and len(given) >= 2 and given == sorted(set(given))
    if sound and kinds == {str}:
        sound = not any(label.endswith("\0") for label in given)  # which arrays of strings do not keep
    elif sound:
        sound = -(2**63) <= given[0] and given[-1] < 2**63
    if not sound:
        raise ValueError("its labels are damaged")
