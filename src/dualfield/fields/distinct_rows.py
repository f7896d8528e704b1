"""Labelled points without repeats, in an order of their own.

Points with equal attributes and label share their dual optimum, so one block with the sum of their weights stands for
them all, exactly; points of weight zero need no block. Blocks are sorted by a fingerprint of their content, so the
result of training depends neither on the order of the points nor on how often a point is written down instead of
being given a weight.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

__all__ = ["distinct_dense_rows", "distinct_rows"]

_AT_A_TIME = 1 << 19  # numbers of which bits are scrambled


def distinct_rows(
    matrix: Any, codes: npt.NDArray[np.int32], weights: npt.NDArray[np.float64] | None
) -> tuple[Any, npt.NDArray[np.int32], npt.NDArray[np.float64] | None]:
    """Merge equal labelled rows.

    Parameters
    ----------
    matrix : CSR matrix, shape (n, d)
        Canonical: column indices sorted within a row, none twice, no explicit zeros.
    codes : array of int32, shape (n,)
        Labels of the rows.
    weights : array of float64, shape (n,), or None
        Their weights, not negative.

    Returns
    -------
    (matrix, codes, weights)
        Of the distinct rows; weights None where all are one.
    """
    kept, total = _merged(
        _fingerprints(matrix, codes), lambda a, b: _equal_rows(matrix, codes, a, b), matrix.shape[0], weights
    )
    return matrix[kept], codes[kept], total


def distinct_dense_rows(
    matrix: npt.NDArray[Any], codes: npt.NDArray[np.int32], weights: npt.NDArray[np.float64] | None
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64] | None]:
    """The same for a dense matrix of floating numbers, in C order: which rows are kept, and their weights."""
    prints = np.empty(len(matrix), np.uint64)
    with np.errstate(over="ignore"):
        columns = _scramble(np.arange(1, matrix.shape[1] + 1, dtype=np.uint64))
        step = max(1, _AT_A_TIME // max(1, matrix.shape[1]))
        for start in range(0, len(matrix), step):
            numbers = np.ascontiguousarray(matrix[start : start + step], np.float64)
            entries = _scramble(columns ^ numbers.view(np.uint64))
            entries[numbers == 0] = 0
            prints[start : start + step] = entries.sum(axis=1, dtype=np.uint64)
        prints = _scramble(prints ^ _scramble(codes.astype(np.uint64) + np.uint64(1)))

    def equal(a: int, b: int) -> bool:
        return bool(codes[a] == codes[b] and (matrix[a] == matrix[b]).all())

    return _merged(prints, equal, len(matrix), weights)


def _merged(
    prints: npt.NDArray[np.uint64], equal: Callable[[int, int], bool], n: int, weights: npt.NDArray[np.float64] | None
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64] | None]:
    """The first of the rows that are equal, by their fingerprints and then in full, and the sum of their weights."""
    given = np.ones(n) if weights is None else weights
    order = np.argsort(prints, kind="stable")
    order = order[given[order] > 0]
    first = np.ones(len(order), dtype=bool)
    # Equal fingerprints mean equal rows but for a coincidence, which the comparison rules out.
    for k in np.flatnonzero(prints[order][1:] == prints[order][:-1]):
        first[k + 1] = not equal(order[k], order[k + 1])
    starts = np.flatnonzero(first)
    total = np.add.reduceat(given[order], starts)
    return order[starts], None if (total == 1.0).all() else total


def _fingerprints(matrix: Any, codes: npt.NDArray[np.int32]) -> npt.NDArray[np.uint64]:
    """A 64-bit number for each labelled row: the sum of its scrambled entries, scrambled with the label."""
    with np.errstate(over="ignore"):
        entries = _scramble(_scramble(matrix.indices.astype(np.uint64) + np.uint64(1)) ^ matrix.data.view(np.uint64))
        running = np.concatenate([np.zeros(1, np.uint64), np.cumsum(entries, dtype=np.uint64)])
        rows = running[matrix.indptr[1:]] - running[matrix.indptr[:-1]]
        return _scramble(rows ^ _scramble(codes.astype(np.uint64) + np.uint64(1)))


def _scramble(x: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """The finaliser of splitmix64: every input bit moves every output bit."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _equal_rows(matrix: sparse.csr_matrix, codes: npt.NDArray[np.int32], a: int, b: int) -> bool:
    start_a, end_a, start_b, end_b = (
        matrix.indptr[a],
        matrix.indptr[a + 1],
        matrix.indptr[b],
        matrix.indptr[b + 1],
    )
    return bool(
        codes[a] == codes[b]
        and end_a - start_a == end_b - start_b
        and (matrix.indices[start_a:end_a] == matrix.indices[start_b:end_b]).all()
        and (matrix.data[start_a:end_a] == matrix.data[start_b:end_b]).all()
    )
