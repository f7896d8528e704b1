"""Numbers that every position has, such as embeddings: arrays that stay where they lie.

As entries of a CSR matrix they would take three times the memory, and their products ten times as long.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from dualfield import _core
from dualfield.nested import bounds_of

__all__ = ["DenseColumns", "Standard", "check_dense", "dense_columns", "uneven_scale"]

FloatArray = npt.NDArray[np.float32] | npt.NDArray[np.float64]


class WithDense(Protocol):
    """What may have dense columns."""

    @property
    def dense(self) -> DenseColumns | None: ...


_UNEVEN = 20.0  # times the usual size of a column, from which on methods need many more passes


class Standard(NamedTuple):
    """How columns are standardised: column x becomes ``(x − shift) · factor``."""

    shift: npt.NDArray[np.float64]
    factor: npt.NDArray[np.float64]

    @classmethod
    def of(cls, arrays: Sequence[FloatArray]) -> Standard:
        """To mean 0 and standard deviation 1 over all rows; columns that are constant are only shifted.

        Examples
        --------
        >>> Standard.of([np.array([[0.0, 1.0], [4.0, 1.0]])]).factor.tolist()
        [0.5, 1.0]
        """
        n = sum(map(len, arrays))
        mean = sum(array.sum(axis=0, dtype=np.float64) for array in arrays) / n
        squares = sum(np.square(array - mean).sum(axis=0) for array in arrays)
        deviation = np.sqrt(squares / n)
        constant = deviation <= 1e-10 * np.abs(mean)  # as far as rounding tells
        return cls(np.ascontiguousarray(mean), np.where(constant, 1.0, 1.0 / np.where(constant, 1.0, deviation)))

    def folded(
        self, weights: npt.NDArray[np.float64], bias: npt.NDArray[np.float64]
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Weights (D, K) and bias (K,) of the columns as they were that score as these of the standardised ones."""
        own = weights * self.factor[:, None]
        return own, bias - self.shift @ own


def uneven_scale(arrays: Sequence[FloatArray]) -> str:
    """A sentence about a column that is much larger than most, with the way out; empty where there is none.

    Examples
    --------
    >>> uneven_scale([np.array([[1.0, 2.0, 500.0]])])
    'Column 2 is 250 times as large as most, which slows training: standardize=True trains on columns of one scale.'
    """
    n = sum(map(len, arrays))
    with np.errstate(over="ignore"):
        squares = sum(np.einsum("ij,ij->j", array, array, dtype=np.float64) for array in arrays)
        sizes = np.sqrt(squares / n)
        some = sizes[sizes > 0]
        usual = np.median(some) if len(some) else 1.0
        largest = int(np.argmax(sizes))
        times = sizes[largest] / usual
    if not _UNEVEN <= times < np.inf:
        return ""
    return (
        f"Column {largest} is {times:.3g} times as large as most, which slows training: "
        "standardize=True trains on columns of one scale."
    )


class DenseColumns:
    """Arrays of one floating type and one width, one a sequence, with one row a position.

    Parameters
    ----------
    arrays : sequence of arrays, shape (length, n_columns)
        float32 or float64 in C order are used as they are, and must not be changed afterwards; others are copied, to
        float64 unless all are of single precision or less.
    place : str
        What an array is, for messages.
    width : int, optional
        How many columns there are, where there may be no array that tells.

    Raises
    ------
    ValueError
        If their widths differ, or a number is not finite.

    Examples
    --------
    >>> given = np.ones((2, 3), np.float32)
    >>> columns = DenseColumns([given, np.zeros((1, 3), np.float32)])
    >>> columns.width, columns.dtype, columns.offsets.tolist(), columns.arrays[0] is given
    (3, dtype('float32'), [0, 2, 3], True)
    """

    __slots__ = ("arrays", "core", "place", "width")

    arrays: tuple[FloatArray, ...]
    width: int
    core: _core.DenseColumns

    def __init__(self, arrays: Sequence[npt.NDArray[Any]], place: str = "sequence", width: int | None = None) -> None:
        wide = any(array.dtype.kind != "f" or array.dtype.itemsize > 4 for array in arrays)
        dtype = np.float64 if wide else np.float32
        self.arrays = tuple(np.require(array, dtype, ("C", "A")) for array in arrays)
        self.width, self.place = self.arrays[0].shape[1] if width is None else width, place
        for number, array in enumerate(self.arrays):
            if array.shape[1] != self.width:
                raise ValueError(
                    f"{place} {number} has {array.shape[1]} columns but {place} 0 has {self.width}; "
                    f"give every {place} the same columns."
                )
        self.core = _core.DenseColumns(self.arrays, self.width)
        wrong = self.core.first_not_finite
        if wrong is not None:
            number, row, column = wrong
            raise ValueError(
                f"column {column} at position {row} of {place} {number} is {self.arrays[number][row, column]}; "
                "expected a finite number; fill in or drop missing values first."
            )

    def __reduce__(self) -> tuple[Any, ...]:
        return DenseColumns, (self.arrays, self.place, self.width)

    def __len__(self) -> int:
        return len(self.arrays)

    def __getitem__(self, chosen: npt.NDArray[np.int64]) -> DenseColumns:
        """Those of some sequences."""
        return DenseColumns([self.arrays[number] for number in chosen.tolist()], self.place, self.width)

    def in_core(self, standard: Standard | None = None) -> _core.DenseColumns:
        """The columns for the core: as they are, or each shifted and scaled as it is read."""
        return self.core if standard is None else _core.DenseColumns(self.arrays, self.width, *standard)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DenseColumns):
            return NotImplemented
        if self.width != other.width or self.dtype != other.dtype or len(self) != len(other):
            return False
        return all(a is b or np.array_equal(a, b) for a, b in zip(self.arrays, other.arrays, strict=True))

    __hash__ = None  # type: ignore[assignment]

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of all arrays."""
        return self.arrays[0].dtype if self.arrays else np.dtype(np.float64)

    @property
    def offsets(self) -> npt.NDArray[np.int64]:
        """Where each sequence's positions begin."""
        return bounds_of([len(array) for array in self.arrays])

    @property
    def nbytes(self) -> int:
        """The memory of all arrays."""
        return sum(array.nbytes for array in self.arrays)


def dense_columns(given: Any, offsets: npt.NDArray[np.int64]) -> DenseColumns:
    """The dense columns of sequences that begin at ``offsets``.

    Parameters
    ----------
    given : 2-D array, or sequence of 2-D arrays
        One array with a row for each position of all sequences, in their order; or one array a sequence.
    offsets : array of int64
        Where each sequence's positions begin.

    Examples
    --------
    >>> dense_columns(np.ones((3, 2)), np.array([0, 1, 3])).offsets.tolist()
    [0, 1, 3]
    """
    lengths = np.diff(offsets)
    if isinstance(given, np.ndarray) and given.ndim == 2:
        _check_numbers(given, "dense")
        if len(given) != offsets[-1]:
            raise ValueError(
                f"dense has {len(given):,} rows and X has {offsets[-1]:,} positions; expected one row for each."
            )
        return DenseColumns([given[a:b] for a, b in pairwise(offsets.tolist())])
    if isinstance(given, str | bytes) or not hasattr(given, "__len__") or not hasattr(given, "__getitem__"):
        raise TypeError(
            f"dense is of type {type(given).__name__}; expected one 2-D array with a row for each position, or one "
            "array a sequence."
        )
    if len(given) != len(lengths):
        raise ValueError(f"dense has {len(given)} sequences, X has {len(lengths)}; expected one array for each.")
    arrays = [np.asarray(given[number]) for number in range(len(given))]
    for number, (array, length) in enumerate(zip(arrays, lengths.tolist(), strict=True)):
        _check_numbers(array, f"dense of sequence {number}")
        if len(array) != length:
            raise ValueError(
                f"dense of sequence {number} has {len(array)} rows for {length} positions; expected one row for each."
            )
    return DenseColumns(arrays)


def check_dense(encoded: WithDense, n_columns: int) -> None:
    """Refuse sequences with other dense columns beside their attributes than a model has, or without."""
    found = 0 if encoded.dense is None else encoded.dense.width
    if found == n_columns:
        return
    if n_columns == 0:
        raise ValueError(
            f"X has {found} dense columns beside its attributes, which the model was trained without; leave them out, "
            "as X.with_dense(None) does."
        )
    if found == 0:
        raise ValueError(
            f"the model has weights for {n_columns} dense columns beside the attributes, and X has none; give them as "
            "crf.encode(X, dense=...), or to commands as --embeddings."
        )
    raise ValueError(f"X has {found} dense columns but the model was trained on {n_columns}; give the same columns.")


def _check_numbers(array: npt.NDArray[Any], name: str) -> None:
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        raise ValueError(
            f"{name} is an array of {array.dtype} of shape {array.shape}; expected real numbers of shape "
            "(positions, columns)."
        )
