"""A dual method whose data lie in several parts; the compiled side is ``core/solvers/dual/common_state.hpp``.

Each part has a compiled run. The weights and the proximal centre are those of all parts: the *common state*, which goes
from run to run. So does what is known of the objective: sums over the parts.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from dualfield import _core
from dualfield.fields import Field
from dualfield.solvers.base import Bound, MarginalsRun, Run

if TYPE_CHECKING:
    from dualfield.solvers.dual import DualSolver

__all__ = ["CommonStateRun"]


class CommonStateRun(MarginalsRun):
    """A dual method at work on several parts, in memory one after the other or each on a rank."""

    solver: DualSolver
    field: Any
    evaluations_column: ClassVar[str] = "trials"

    def __init__(self, solver: DualSolver, field: Field, seed: int, threads: int) -> None:
        super().__init__(solver, field, None)
        self._common = _core.CommonState(
            l1=float(field.l1),
            l2=float(field.l2),
            centre=None,
            dimension=field.dimension,
            accelerate=solver.accelerate,
            seed=seed,
            threads=threads,
        )
        self._run: Any = None  # of the part at work
        self._diverged = False
        self._gap = self._dual = self._true_gap = math.nan
        self._bound = Bound(math.nan, math.nan, math.nan)

    @property
    def bound(self) -> Bound:
        """The values that the last confirming pass found."""
        return self._bound

    def estimate(self) -> tuple[float, float]:
        gap = math.nan if self.diverged else self._gap
        return gap, self._dual + gap

    @property
    def diverged(self) -> bool:
        return self._diverged

    @property
    def _holder(self) -> Any:
        """Who has the common state: itself, or a run that took it."""
        return self._common

    def weights(self) -> npt.NDArray[np.float64]:
        found: npt.NDArray[np.float64] = self._holder.weights()
        return found

    def certified_weights(self) -> npt.NDArray[np.float64]:
        return self.weights()  # a confirming pass is adopted at once

    def under_another_penalty(self, field: Any, seed: int) -> Run:
        """A new run from the start."""
        return self.solver.start(field, seed)
