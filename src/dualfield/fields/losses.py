"""A field written in Python: losses and their gradients, for every method on the primal."""

from __future__ import annotations

import time
from abc import abstractmethod
from copy import copy
from typing import Any, Self
from weakref import ref

import numpy as np
import numpy.typing as npt

from dualfield import _core
from dualfield.core_arrays import check_sample_weight, contiguous
from dualfield.fields.base import Choice, Field, check_l2
from dualfield.given_numbers import check_integer

__all__ = ["Losses"]


class Losses(Field):
    """A training problem whose losses are written in Python.

    Subclasses have :meth:`loss`. The objective is

        ``l2/2 ‖w‖² + Σ_i c_i · loss_i(w)``,

    which "lbfgs", "hybrid", "sgd", "adagrad", "sag", "saga" and "svrg" minimise, with one call of :meth:`loss` for each
    look at a block. The certificate supposes that the losses are convex; where they are not, say ``convex = False``,
    and nothing is claimed.

    Parameters
    ----------
    n_blocks : int
        How many losses there are.
    dimension : int
        How many weights.
    l2 : float
        Strength of the penalty.
    sample_weight : array, shape (n_blocks,), optional
        The ``c_i``, not negative.

    Examples
    --------
    >>> import numpy as np
    >>> from dualfield import fields, solve
    >>> class Squares(fields.Losses):
    ...     def __init__(self, X, y, l2=1.0):
    ...         self.X, self.y = X, y
    ...         super().__init__(len(X), X.shape[1], l2)
    ...
    ...     def loss(self, i, w):
    ...         error = self.X[i] @ w - self.y[i]
    ...         return error**2 / 2, error * self.X[i]
    >>> X, y = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 2.0]]), np.array([1.0, 2.0, 3.0])
    >>> solution = solve(Squares(X, y, l2=0.5), tol=1e-8)
    >>> solution.weights.round(4).tolist(), solution.certificate
    ([0.6667, 1.3333], 'exact')
    """

    name = "Losses"
    offers = frozenset({"marginals"})
    instead = "use a solver on the primal such as 'lbfgs' or 'sgd'"
    default_solver = Choice("lbfgs", "losses written in Python cost a call each, and it needs the fewest")

    def __init__(
        self, n_blocks: int, dimension: int, l2: float = 1.0, sample_weight: npt.ArrayLike | None = None
    ) -> None:
        before = time.perf_counter(), time.process_time()
        self._size = (
            check_integer("n_blocks", n_blocks, 1, "a positive integer"),
            check_integer("dimension", dimension, 1, "a positive integer"),
        )
        self.l2 = check_l2(l2)
        self.sample_weight = check_sample_weight(sample_weight, self._size[0], "block")
        self._compile()
        self.preparation = time.perf_counter() - before[0], time.process_time() - before[1]

    @abstractmethod
    def loss(self, i: int, w: npt.NDArray[np.float64]) -> tuple[float, npt.ArrayLike]:
        """The loss of block i at weights w, and its gradient, shape (dimension,)."""

    def certifies(self, weights: npt.NDArray[np.float64]) -> tuple[Any, str]:
        """Say "exact", or "none" where the losses are not convex."""
        return ("exact", "") if self.convex else ("none", "the losses are not convex")

    def with_l2(self, l2: float) -> Self:
        """The same losses under another penalty."""
        other = copy(self)
        other.l2 = check_l2(l2)
        other._compile()
        return other

    def _compile(self) -> None:
        field = ref(self)  # the core must not keep alive what keeps it alive

        def loss(i: int, w: npt.NDArray[np.float64]) -> tuple[float, npt.NDArray[np.float64]]:
            owner = field()
            assert owner is not None
            return owner._checked_loss(i, w)

        self.core = _core.PythonLosses(loss, *self._size, self.sample_weight, self.l2)

    def _checked_loss(self, i: int, w: npt.NDArray[np.float64]) -> tuple[float, npt.NDArray[np.float64]]:
        value, gradient = self.loss(i, w)
        slope = contiguous(gradient, np.float64, f"the gradient of block {i}")
        if slope.shape != (self._size[1],):
            raise ValueError(
                f"the gradient of block {i} has shape {slope.shape}; expected ({self._size[1]},), one for each weight."
            )
        return float(value), slope

    def _content(self) -> list[Any]:
        return [self, self.l2]  # losses are known to be the same only where they are the same object
