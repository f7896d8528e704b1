"""Sequences given as matrices: one row per position, one column per attribute.

Floating arrays with few zeros stay where they lie. Others, and scipy's sparse matrices, become one CSR matrix of all
positions. Its zeros are not stored, so a dense array of pixels costs what its ink costs.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import numpy.typing as npt

from dualfield.features.sequences.dense import DenseColumns
from dualfield.features.sequences.dense_encoded import DenseEncoded
from dualfield.features.sequences.encoded import Encoded
from dualfield.features.vocabulary import NumberedColumns
from dualfield.nested import bounds_of

__all__ = ["encode_arrays", "is_mostly_nonzero", "is_sparse", "rows_of", "stack_matrices"]


def is_sparse(matrix: Any) -> bool:
    """Whether it is one of SciPy's sparse matrices; where nobody has imported those, there are none."""
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and bool(sparse.issparse(matrix))


def encode_arrays(sequences: list[Any], vocabulary: NumberedColumns | None = None) -> Encoded:
    """Encode matrices of shape (length, n_columns), dense or sparse.

    Parameters
    ----------
    sequences : list of 2-D arrays or scipy sparse matrices
        At least one; all of the same width.
    vocabulary : NumberedColumns, optional
        The width to insist on, as learnt in training.

    Returns
    -------
    encoded : Encoded
        A :class:`~dualfield.features.sequences.dense_encoded.DenseEncoded` for floating arrays of which more than half
        of the numbers are not zero. Otherwise entries; ``values`` is None when every stored value is 1.

    Examples
    --------
    >>> encoded = encode_arrays([np.eye(2), np.array([[0.0, 3.0]])])
    >>> encoded.indices.tolist(), encoded.values.tolist()
    ([0, 1, 1], [1.0, 1.0, 3.0])
    """
    for number, matrix in enumerate(sequences):
        _check_matrix(number, matrix)
    if vocabulary is None:
        vocabulary, origin = NumberedColumns(sequences[0].shape[1]), "sequence 0 has"
    else:
        origin = "the model was trained on"
    for number, matrix in enumerate(sequences):
        if matrix.shape[1] != len(vocabulary):
            raise ValueError(
                f"sequence {number} has {matrix.shape[1]} columns but {origin} {len(vocabulary)}; "
                "give every sequence the same columns."
            )
    if is_mostly_nonzero(sequences):
        return DenseEncoded(DenseColumns(sequences))
    return stack_matrices(sequences, vocabulary, "column {} at position {} of sequence {}")


def is_mostly_nonzero(matrices: list[Any]) -> bool:
    """Whether they are floating arrays of which more than half of the numbers are not zero."""
    if any(is_sparse(matrix) or matrix.dtype.kind != "f" for matrix in matrices):
        return False
    return sum(map(np.count_nonzero, matrices)) > sum(matrix.size for matrix in matrices) / 2


def stack_matrices(matrices: list[Any], vocabulary: NumberedColumns, place: str) -> Encoded:
    """The rows of matrices of one width, all in one; ``place`` names an entry by column, row and matrix."""
    rows = [rows_of(matrix) for matrix in matrices]
    offsets = bounds_of([matrix.shape[0] for matrix in matrices])
    indptr = bounds_of(np.concatenate([sizes for sizes, _, _ in rows]))
    indices = np.concatenate([indices for _, indices, _ in rows])
    values = np.concatenate([values for _, _, values in rows])
    if not np.isfinite(values).all():
        entry = int(np.argmin(np.isfinite(values)))
        row = int(np.searchsorted(indptr, entry, side="right")) - 1
        matrix = int(np.searchsorted(offsets, row, side="right")) - 1
        raise ValueError(
            f"{place.format(indices[entry], row - offsets[matrix], matrix)} is {values[entry]}; "
            "expected a finite number; fill in or drop missing values first."
        )
    return Encoded.from_entries(offsets, indptr, indices, values, vocabulary)


def _check_matrix(number: int, matrix: Any) -> None:
    if matrix.ndim != 2:
        hint = "reshape one position of d columns to (1, d)" if matrix.ndim == 1 else "give one matrix per sequence"
        raise ValueError(
            f"sequence {number} is a {matrix.ndim}-D array of shape {matrix.shape}; "
            f"expected a 2-D array of shape (positions, columns); {hint}."
        )
    if matrix.dtype.kind not in "biuf":
        raise TypeError(
            f"sequence {number} is an array of dtype {matrix.dtype}; expected real numbers; "
            "give non-numeric attributes as dicts or lists of strings."
        )
    if matrix.shape[0] == 0:
        raise ValueError(f"sequence {number} is empty; expected at least one position; leave it out of X and y.")


def rows_of(
    matrix: Any,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.float64]]:
    """Entries per row, then column numbers and values of the entries, row by row."""
    if is_sparse(matrix):
        from scipy import sparse

        compressed = sparse.csr_array(matrix)
        sizes = np.diff(compressed.indptr).astype(np.int64)
        return sizes, compressed.indices.astype(np.int32), compressed.data.astype(np.float64)
    dense = np.asarray(matrix)
    row, column = np.nonzero(dense)
    sizes = np.bincount(row, minlength=len(dense)).astype(np.int64)
    return sizes, column.astype(np.int32), dense[row, column].astype(np.float64)
