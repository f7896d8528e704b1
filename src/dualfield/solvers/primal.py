"""The common part of stochastic methods on the primal; the compiled side is ``core/solvers/primal/primal_run.hpp``."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from dualfield.fields import Field
from dualfield.solvers.base import Run, Solver, check_number

__all__ = ["PrimalRun", "best_step", "check_step"]

_CONFIRM_GROWTH = 1.25  # where nothing tells of the gap, it is confirmed after passes 1, 2, 3, 4, 5, 7, 9, 12, ...
_TUNING_BLOCKS = 1000
_SMALLEST_STEP = 1e-12
_NO_TIME_LIMIT = 1e9


class PrimalRun(Run):
    """A stochastic method at work on the primal. Its certificate takes a full gradient,

        ``P(w) − P* ≤ P(w) − max_s D_s,   D_s = P(w_s) − ‖∇P(w_s)‖² / (2 l2)``,

    with the best of the lower bounds ``D_s`` seen at the confirming passes so far. (With l1, ``D_s`` is the dual value
    of the best mixture of ``p(w_s)`` and the truth, as for OWL-QN.)
    """

    def __init__(self, solver: Solver, field: Field, core: Any) -> None:
        super().__init__(solver, field, core)
        self._passes = 0
        self._next_confirmation = 1

    def advance(self, seconds: float, max_updates: int | None = None) -> bool:
        complete = super().advance(seconds, max_updates)
        self._passes += complete
        return complete

    def worth_confirming(self, tol: float, understated: float) -> bool:
        """Without an estimate of the gap: after a number of passes that grows geometrically, if ``tol`` asks for it."""
        if self._passes < self._next_confirmation or tol == 0:
            return False
        self._next_confirmation = math.ceil(self._passes * _CONFIRM_GROWTH)
        return True

    def record(self) -> dict[str, float]:
        dual = self._core.best_dual
        return {"dual": dual if math.isfinite(dual) else math.nan, "gap_estimate": self.estimate()[0]}

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {**super().arrays(), "schedule": np.array([self._passes, self._next_confirmation])}

    def restore(self, arrays: dict[str, npt.NDArray[Any]]) -> PrimalRun:
        if "schedule" not in arrays:
            raise ValueError("the saved state lacks an entry")
        schedule = np.asarray(arrays["schedule"])
        if schedule.shape != (2,) or schedule.dtype.kind != "i":
            raise ValueError("the saved state does not fit this field")
        super().restore({name: array for name, array in arrays.items() if name != "schedule"})
        self._passes, self._next_confirmation = schedule.tolist()
        return self


def check_step(owner: str, name: str, value: object) -> None:
    """Refuse a step size that is neither a positive number nor "auto"."""
    if value != "auto":
        check_number(owner, name, value, lambda x: 0 < x < math.inf, "a positive number or 'auto'")


def best_step(make: Callable[[float], Any], field: Field) -> float:
    """The power of ten that leads furthest down over a first look at some blocks.

    It is judged by the objective of the blocks looked at, once each, at the weights then reached. From 0.1 the search
    goes up while that gets better, or else down; a step that leads up is too long, however much others lead up.
    """
    share = min(1.0, _TUNING_BLOCKS / field.n_blocks)
    start = np.zeros(field.dimension)

    def reached(step: float) -> float:
        core = make(step)
        core.run(math.ceil(core.updates_per_pass * share), _NO_TIME_LIMIT)
        if core.diverged:
            return math.inf
        state = core.save()
        visited = state["order"][: state["next_in_order"][0] or None]
        value = float(field.core.sample_primal(core.weights(), visited, field.l1))
        return value if value < field.core.sample_primal(start, visited, field.l1) else math.inf

    step, least = 0.1, reached(0.1)
    for factor in (10.0, 0.1):
        moved = False
        while step * factor > _SMALLEST_STEP:
            value = reached(step * factor)
            if not (value < least or (factor < 1 and math.isinf(least))):
                break
            step, least, moved = step * factor, value, True
        if moved:
            break
    return step
