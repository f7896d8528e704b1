"""A run written in Python: the weights are an array, and one method makes a pass."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt

from dualfield import _core
from dualfield.fields import Field
from dualfield.solvers.base import Bound, Run, Solver

__all__ = ["PythonRun"]


class PythonRun(Run):
    """A method at work that is written in Python; subclasses have :meth:`make_pass`.

    The certificate is the gradient's, ``P(w) − P* ≤ ‖∇P(w)‖² / (2 l2)``, and the best lower bound seen counts. A pass
    is not cut into slices, so Ctrl-C waits for its end.

    Parameters
    ----------
    solver : Solver
    field : Field
    seed : int
        Of ``random``.

    Attributes
    ----------
    w : array, shape (dimension,)
        The weights.
    random : numpy.random.Generator
    """

    updates_within_passes = False

    def __init__(self, solver: Solver, field: Field, seed: int) -> None:
        super().__init__(solver, field, None)
        self.w = np.zeros(field.dimension)
        self.random = np.random.default_rng(seed)
        self.passes = self._gradients = 0
        self._best_dual = -math.inf
        self._bound = Bound(math.nan, math.nan, math.nan)
        self._certified = self.w

    @abstractmethod
    def make_pass(self) -> None:
        """Change ``self.w`` by a pass of the method."""

    def advance(self, seconds: float, max_updates: int | None = None) -> bool:
        self.make_pass()
        self.passes += 1
        return True

    def confirm(self, seconds: float) -> bool:
        primal, gradient = self.field.gradient(self.w)
        _, magnitude = self.field.core.primal_bound(self.w)
        self._gradients += 2
        self._certified = self.w.copy()
        allowance = _core.rounding_allowance(magnitude)
        with np.errstate(over="ignore", invalid="ignore"):  # then it bounds nothing
            dual = primal - float(gradient @ gradient) / (2 * self.field.l2) - allowance
        self._best_dual = max(self._best_dual, dual)
        self._bound = Bound(primal, self._best_dual, primal - self._best_dual + allowance)
        return True

    def worth_confirming(self, tol: float, understated: float) -> bool:
        """After every pass: the method keeps no estimate of its own."""
        return True

    @property
    def bound(self) -> Bound:
        return self._bound

    @property
    def stalled(self) -> bool:
        return False

    @property
    def diverged(self) -> bool:
        return not bool(np.isfinite(self.w).all())

    @property
    def updates(self) -> int:
        return self.passes

    @property
    def oracle_calls(self) -> int:
        return self._gradients * self.field.n_blocks

    def weights(self) -> npt.NDArray[np.float64]:
        return self.w.copy()

    def certified_weights(self) -> npt.NDArray[np.float64]:
        return self._certified.copy()

    def begin_at(self, weights: npt.NDArray[np.float64]) -> None:
        self.w = np.array(weights, dtype=np.float64)

    def record(self) -> dict[str, float]:
        return {"dual": self._best_dual}

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {"weights": self.w.copy(), "counters": np.array([self.passes, self._gradients])}

    def restore(self, arrays: dict[str, npt.NDArray[Any]]) -> PythonRun:
        if arrays["weights"].shape != self.w.shape:
            raise ValueError("the saved state does not fit this field")
        self.begin_at(arrays["weights"])
        self.passes, self._gradients = (int(number) for number in arrays["counters"])
        self.passes_done = self.passes
        return self
