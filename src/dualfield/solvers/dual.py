"""What the dual methods share, parameters and runs; the compiled side is ``core/solvers/dual_run.hpp``."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from dualfield.fields import Field
from dualfield.solvers.base import Bound, Run, Solver, check_count, check_number

__all__ = ["DualRun", "DualSolver"]


@dataclass(frozen=True)
class DualSolver(Solver):
    """How a dual method draws its blocks; :class:`~dualfield.solvers.SDCA` explains the parameters."""

    sampling: Literal["gap", "uniform"] = "gap"
    non_uniformity: float = 0.9
    permutation_every: int = 5

    def __post_init__(self) -> None:
        if self.sampling not in ("gap", "uniform"):
            raise ValueError(f"{self.name}: sampling must be 'gap' or 'uniform'; got {self.sampling!r}.")
        check_number(self.name, "non_uniformity", self.non_uniformity, lambda x: 0 <= x <= 1, "in [0, 1]")
        check_count(self.name, "permutation_every", self.permutation_every, 0)

    def _draws(self) -> tuple[float, int]:
        """The share of draws by gap and the period of permutations, as the core takes them."""
        return (self.non_uniformity, int(self.permutation_every)) if self.sampling == "gap" else (0.0, 0)


class DualRun(Run):
    """A dual method at work: the duals of all blocks, the recorded gaps, the random generator."""

    evaluations_column: ClassVar[str]  # what the method evaluates to find its steps

    def __init__(self, solver: Solver, field: Field, core: Any) -> None:
        super().__init__(solver, field, core)
        self._started = False
        self._marks = (0, 0, 0.0)  # updates, evaluations and step total at the end of the last pass

    def advance(self, seconds: float, max_updates: int | None = None) -> bool:
        if not self._started:
            self._started = self._core.start(seconds)
            return False
        per_pass = self._core.updates_per_pass
        missing = per_pass - self._core.updates % per_pass
        wanted = missing if max_updates is None else min(missing, max_updates)
        return bool(self._core.run(wanted, seconds) == missing or self._core.diverged)

    def confirm(self, seconds: float) -> bool:
        return bool(self._core.confirm(seconds))

    def adopt(self) -> None:
        self._core.adopt_confirmed()

    @property
    def bound(self) -> Bound:
        return Bound(*self._core.certificate)

    def estimate(self) -> tuple[float, float]:
        gap = math.nan if self._core.diverged else self._core.gap_estimate
        return gap, self._core.dual + gap

    @property
    def stalled(self) -> bool:
        return bool(self._core.stalled)

    @property
    def diverged(self) -> bool:
        return bool(self._core.diverged)

    @property
    def updates(self) -> int:
        return int(self._core.updates)

    @property
    def oracle_calls(self) -> int:
        return int(self._core.oracle_calls)

    @property
    def epsilon(self) -> float:
        """The ε of the start."""
        return float(self._core.epsilon)

    def weights(self) -> npt.NDArray[np.float64]:
        if not self._started:
            return np.zeros(self.field.dimension)
        weights: npt.NDArray[np.float64] = self._core.weights()
        return weights

    def certified_weights(self) -> npt.NDArray[np.float64]:
        weights: npt.NDArray[np.float64] = self._core.confirmed_weights()
        return weights

    def record(self) -> dict[str, float]:
        marks = (self._core.updates, self._core.evaluations, self._core.step_total)
        updates, evaluations, steps = (now - before for now, before in zip(marks, self._marks, strict=True))
        self._marks = marks
        return {
            "dual": self._core.dual,
            "gap_estimate": self._core.gap_estimate,
            "mean_step": steps / max(updates, 1),
            self.evaluations_column: evaluations / max(updates, 1),
        }

    def restore(self, arrays: dict[str, npt.NDArray[Any]]) -> DualRun:
        super().restore(arrays)
        self._started = True
        self._marks = (self._core.updates, self._core.evaluations, self._core.step_total)
        return self
