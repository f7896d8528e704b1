"""The one-node field: multinomial logistic regression."""

from __future__ import annotations

import time
from copy import copy
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from dualfield import _core
from dualfield.core_arrays import as_numbers, check_sample_weight, contiguous, frozen
from dualfield.features.sequences.arrays import is_mostly_nonzero
from dualfield.features.sequences.dense import Standard, uneven_scale
from dualfield.fields.base import EXACT, Choice, Field, check_l1, check_l2
from dualfield.fields.distinct_rows import distinct_dense_rows, distinct_rows

__all__ = ["Multiclass", "compile_rows"]


_SPARSE = 0.1  # the share of entries below which points count as sparse


class Multiclass(Field):
    """Labelled points as a training problem: ``p(y | x) ∝ exp(⟨w_y, x⟩ + b_y)``.

    Equal points become one block with the sum of their weights (``fields/distinct_rows.py``). The objective is
    ``l1 (‖w‖₁ + ‖b‖₁) + l2/2 (‖w‖² + ‖b‖²) + Σ_i c_i · (−log p(y_i | x_i))``. Weights are one flat vector,
    ``[ attribute × label | bias ]``.

    Parameters
    ----------
    X : array or sparse matrix, shape (n, d)
        The points. A floating array with few zeros is used where it lies, if it is in C order: do not change it.
    y : array, shape (n,)
        Their labels.
    l2 : float
        Strength of the penalty, on the bias too; zero only with a positive ``l1``.
    bias : bool
        Whether labels have a bias weight.
    sample_weight : array, shape (n,), optional
        The ``c_i``, not negative.
    l1 : float
        Strength of the penalty that makes weights exactly zero.
    standardize : bool
        Whether the problem is that of columns shifted and scaled to mean 0 and standard deviation 1; for dense points
        and with a bias. ``standard.folded`` makes weights of the columns as they are.

    Examples
    --------
    >>> import numpy as np
    >>> from dualfield import fields, solve
    >>> field = fields.Multiclass(np.eye(3), ["a", "b", "c"], l2=1.0)
    >>> solve(field, "lbfgs", tol=1e-6).status
    'converged'
    """

    name: str = "Multiclass"
    offers: frozenset[str] = EXACT | {"one node"}

    def __init__(
        self,
        X: Any,
        y: npt.ArrayLike,
        l2: float = 1.0,
        *,
        bias: bool = True,
        sample_weight: npt.ArrayLike | None = None,
        l1: float = 0.0,
        standardize: bool = False,
    ) -> None:
        before = time.perf_counter(), time.process_time()
        self.l1 = check_l1(l1)
        self.l2 = check_l2(l2, self.l1)
        matrix = _finite_rows(X)
        self.chosen = None
        self.classes, codes = sorted_labels(y, matrix.shape[0])
        if len(self.classes) < 2:
            raise ValueError(f"Training needs at least two classes; y has only one class, {self.classes[0]}.")
        weights = check_sample_weight(sample_weight, matrix.shape[0], "row")
        own = codes.astype(np.int32)
        if _is_dense(matrix):
            kept, self.sample_weight = distinct_dense_rows(matrix, own, weights)
            self._points, self.chosen, own = matrix, frozen(kept, np.int64), own[kept]
        else:
            self._points, own, self.sample_weight = distinct_rows(canonical_rows(matrix), own, weights)
        self.codes = frozen(own, np.int32)
        self.standard = self._standard(bool(bias)) if standardize else None
        self.core = self._compile(bool(bias))
        self.default_solver = _default_solver(self._points)
        self.preparation = time.perf_counter() - before[0], time.process_time() - before[1]

    @property
    def rows(self) -> Any:
        """The distinct points as a CSR matrix, in the order of the blocks; made anew of dense ones."""
        return self._points if self.chosen is None else sparse.csr_matrix(self._points[self.chosen], dtype=np.float64)

    @property
    def obstacle(self) -> str:
        """A column that is much larger than most, and that columns can be standardised."""
        return uneven_scale([self._points]) if self.chosen is not None and self.standard is None else ""

    def with_l2(self, l2: float) -> Multiclass:
        """The same points under another penalty."""
        other = copy(self)
        other.l2 = check_l2(l2, self.l1)
        before = time.perf_counter(), time.process_time()
        bias = self.dimension > self._points.shape[1] * len(self.classes)
        other.core = other._compile(bias)
        other.preparation = time.perf_counter() - before[0], time.process_time() - before[1]
        return other

    def _compile(self, bias: bool) -> Any:
        shape = len(self.classes), bias, self.codes, self.sample_weight, self.l2
        if self.chosen is None:
            return _compile_sparse(self._points, *shape)
        return _compile_dense(self._points, *shape, self.chosen, self.standard)

    def _standard(self, bias: bool) -> Standard:
        if not bias:
            raise ValueError(
                "standardize=True shifts the columns, which needs a bias to make up for it; set bias=True."
            )
        if self.chosen is None:
            raise ValueError(
                "standardize=True is for dense points, and more than half of the numbers of X are zero; scale its "
                "columns yourself, or leave it out."
            )
        return Standard.of([self._points])

    def with_l1(self, l1: float) -> Multiclass:
        """The same points under another l1 penalty."""
        other = copy(self)
        other.l1 = check_l1(l1)
        check_l2(self.l2, other.l1)
        return other

    def _sizes(self) -> dict[str, int]:
        return {"distinct point": self.n_blocks, "label": len(self.classes), "weight": self.dimension}

    def _content(self) -> list[Any]:
        rows = self._points
        return [
            *(self.l2, self.l1, self.centre, self.dimension, self.sample_weight, self.classes, self.codes),
            *((rows.indptr, rows.indices, rows.data) if self.chosen is None else (self.chosen, rows, None)),
            self.standard is None,
        ]


def _default_solver(rows: Any) -> Choice:
    """The solver that docs/explanation/choosing-a-solver.md found best."""
    if sparse.issparse(rows) and rows.nnz < _SPARSE * rows.shape[0] * rows.shape[1]:
        return Choice("sdca", "it was the fastest to a certificate on sparse points", usual=True)
    return Choice("oeg", "it was the fastest to a certificate on most dense points", usual=True)


def compile_rows(matrix: Any, n_labels: int, bias: bool) -> Any:
    """The compiled field over the rows of a matrix, which can predict, not train."""
    compiled = _compile_dense if _is_dense(matrix) else _compile_sparse
    return compiled(matrix, n_labels, bias, None, None, 1.0)


def _compile_dense(
    matrix: npt.NDArray[Any],
    n_labels: int,
    bias: bool,
    codes: npt.NDArray[np.int32] | None,
    sample_weight: npt.NDArray[np.float64] | None,
    l2: float,
    chosen: npt.NDArray[np.int64] | None = None,
    standard: Standard | None = None,
) -> Any:
    """The compiled field over a dense matrix, where it lies, or some of its rows."""
    points = np.require(matrix, requirements=("C", "A"))
    n = len(points) if chosen is None else len(chosen)
    nothing = np.zeros(n + 1, np.int64), np.zeros(0, np.int32), None, 0
    starts = np.arange(n + 1, dtype=np.int64)
    arguments = starts, *nothing, n_labels, bias, codes, sample_weight, l2, points, chosen
    return _core.Multiclass(*arguments, *(standard or (None, None)))


def _compile_sparse(
    matrix: Any,
    n_labels: int,
    bias: bool,
    codes: npt.NDArray[np.int32] | None,
    sample_weight: npt.NDArray[np.float64] | None,
    l2: float,
) -> Any:
    """The compiled field over the rows of a matrix, without its zeros."""
    csr = canonical_rows(matrix)
    values = contiguous(csr.data, np.float64)
    return _core.Multiclass(
        np.arange(csr.shape[0] + 1, dtype=np.int64),
        csr.indptr.astype(np.int64),
        csr.indices.astype(np.int32),
        None if (values == 1.0).all() else values,
        csr.shape[1],
        n_labels,
        bias,
        codes,
        sample_weight,
        l2,
    )


def _is_dense(matrix: Any) -> bool:
    return isinstance(matrix, np.ndarray) and matrix.size > 0 and is_mostly_nonzero([matrix])


def canonical_rows(matrix: Any) -> Any:
    """The matrix in CSR form: sorted columns, none twice, no explicit zeros."""
    csr = sparse.csr_matrix(matrix, dtype=np.float64)
    if not (csr.has_canonical_format and csr.data.all()):
        csr = csr.copy()
        csr.sum_duplicates()
        csr.eliminate_zeros()
    return csr


def sorted_labels(y: npt.ArrayLike, n_rows: int) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
    """The distinct labels in their order, and the number of each row's."""
    try:
        labels = np.asarray(y)
    except ValueError:
        raise ValueError("y must have one label per row of X; got rows of different lengths.") from None
    if labels.shape != (n_rows,):
        raise ValueError(f"y must have one label per row of X, {n_rows}; got shape {labels.shape}.")
    try:
        classes, codes = np.unique(labels, return_inverse=True)
    except TypeError:
        kinds = sorted({type(label).__name__ for label in labels.tolist()})
        raise TypeError(
            f"the labels of y are of types that have no order: {', '.join(kinds)}; give one type."
        ) from None
    return classes, codes


def _finite_rows(X: Any) -> Any:
    single = isinstance(X, np.ndarray) and X.dtype == np.float32
    matrix = (
        X
        if sparse.issparse(X)
        else np.require(as_numbers(X, np.float32 if single else np.float64, "X"), None, ("C", "A"))
    )
    if matrix.ndim != 2 or matrix.shape[0] == 0:
        raise ValueError(f"X must be a matrix with at least one row; got shape {matrix.shape}.")
    if not np.isfinite(matrix.data if sparse.issparse(matrix) else matrix).all():
        rows = np.flatnonzero(~np.isfinite(np.asarray(abs(matrix).sum(axis=1))).ravel())
        raise ValueError(f"Row {rows[0]} of X has a NaN or infinite value; impute or drop it.")
    return matrix
