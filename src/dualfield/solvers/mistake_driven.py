"""The common part of the methods that learn from mistakes: ``core/solvers/primal/mistake_driven.hpp``."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from dualfield.solvers.base import Bound, Run

__all__ = ["MistakeDrivenRun"]


class MistakeDrivenRun(Run):
    """A run of a method that minimises no likelihood, so that there is nothing to confirm."""

    certifies: ClassVar[bool] = False

    def confirm(self, seconds: float) -> bool:
        return True

    @property
    def bound(self) -> Bound:
        return Bound(math.nan, math.nan, math.nan)

    def certified_weights(self) -> npt.NDArray[np.float64]:
        return self.weights()

    def record(self) -> dict[str, float]:
        """In the pass: the number of blocks that were mistaken, and the sum of the method's own losses."""
        return {"mistakes": float(self._core.mistakes_of_pass), "loss": float(self._core.loss_of_pass)}
