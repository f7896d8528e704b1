"""What the dual methods share, parameters and runs; the compiled side is ``core/solvers/dual_run.hpp``."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from dualfield.fields import Field
from dualfield.solvers.base import Bound, MarginalsRun, Solver, check_count, check_number
from dualfield.threads import thread_count

__all__ = ["DualRun", "DualSolver", "Sampling", "one_of"]

WINDOW_OF_A_THREAD = 8  # updates; more of them wait for each other less, and know less of each other
LEAST_BLOCKS_OF_A_THREAD = 4  # fewer in all the data are not worth it

Sampling = Literal["gap", "uniform", "importance", "gap*importance", "max", "safemax", "residual"]


@dataclass(frozen=True)
class DualSolver(Solver):
    """How a dual method draws its blocks; :class:`~dualfield.solvers.SDCA` explains the parameters."""

    sampling: Sampling = "gap"
    non_uniformity: float = 0.9
    permutation_every: int = 4
    refresh_every: int = 0
    accelerate: bool = False
    n_jobs: int | None = 1

    samplings: ClassVar[tuple[str, ...]] = ("gap", "uniform", "importance", "gap*importance", "max", "safemax")

    def __post_init__(self) -> None:
        one_of(self.name, "sampling", self.sampling, self.samplings)
        check_number(self.name, "non_uniformity", self.non_uniformity, lambda x: 0 <= x <= 1, "in [0, 1]")
        check_count(self.name, "permutation_every", self.permutation_every, 0)
        check_count(self.name, "refresh_every", self.refresh_every, 0)
        if not isinstance(self.accelerate, bool):
            raise ValueError(f"{self.name}: accelerate must be True or False; got {self.accelerate!r}.")
        thread_count(self.n_jobs, self.name)

    def _draws(self, n_blocks: int) -> tuple[str, float, int, int, int, bool]:
        """The rule, its share of the draws, the period of permutations, threads, window, and acceleration."""
        threads = min(thread_count(self.n_jobs, self.name), max(1, n_blocks // LEAST_BLOCKS_OF_A_THREAD))
        return (
            self.sampling,
            float(self.non_uniformity),
            0 if self.sampling == "uniform" else int(self.permutation_every),
            threads,
            1 if threads == 1 else WINDOW_OF_A_THREAD * threads,
            self.accelerate,
        )


def one_of(owner: str, name: str, value: object, choices: tuple[str, ...]) -> None:
    """Refuse a parameter that is none of the choices."""
    if not isinstance(value, str) or value not in choices:
        listed = ", ".join(map(repr, choices[:-1])) + f" or {choices[-1]!r}"
        raise ValueError(f"{owner}: {name} must be {listed}; got {value!r}.")


class DualRun(MarginalsRun):
    """A dual method at work: the duals of all blocks, the recorded gaps, the random generator."""

    evaluations_column: ClassVar[str]  # what the method evaluates to find its steps

    def __init__(self, solver: DualSolver, field: Field, core: Any) -> None:
        super().__init__(solver, field, core)
        self._refresh_every = int(solver.refresh_every)
        self._started = False
        self._estimated_gap = self._true_gap = math.nan  # at the end of the last pass
        self._marks = (0, 0, 0.0)  # updates, evaluations and step total at the end of the last pass

    def advance(self, seconds: float, max_updates: int | None = None) -> bool:
        if not self._started:
            self._started = self._core.start(seconds)
            return False
        if not self.refreshing:
            per_pass = self._core.updates_per_pass
            missing = per_pass - self._core.updates % per_pass
            wanted = missing if max_updates is None else min(missing, max_updates)
            if self._core.run(wanted, seconds) < missing and not self._core.diverged:
                return False
            self._estimated_gap, self._true_gap = self._core.gap_estimate, math.nan
            return not self.refreshing
        if not self.confirm(seconds):
            return False
        self.adopt()
        return True

    @property
    def refreshing(self) -> bool:
        """Whether a pass has just ended after which all gaps are to be computed, and they are not yet."""
        updates, period = self._core.updates, self._refresh_every * self._core.updates_per_pass
        due = period > 0 and updates > 0 and updates % period == 0 and updates != self._core.adopted_at
        return bool(due and not self._core.diverged)

    def confirm(self, seconds: float) -> bool:
        complete = bool(self._core.confirm(seconds))
        if complete:
            self._true_gap = self.bound.gap
        return complete

    def adopt(self) -> None:
        self._core.adopt_confirmed()

    @property
    def bound(self) -> Bound:
        return Bound(*self._core.certificate)

    def estimate(self) -> tuple[float, float]:
        gap = math.nan if self.diverged else self._core.gap_estimate
        return gap, self._core.dual + gap

    @property
    def stalled(self) -> bool:
        return bool(self._core.stalled)

    @property
    def diverged(self) -> bool:
        return bool(self._core.diverged or math.isnan(self._core.dual))  # no dual: a refresh could not certify

    @property
    def updates(self) -> int:
        return int(self._core.updates)

    @property
    def epsilon(self) -> float:
        """The ε of the start; NaN where it has none."""
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
            "gap_estimate": self._estimated_gap,
            "true_gap": self._true_gap,
            "chi": self._core.chi,
            "mean_step": steps / max(updates, 1),
            self.evaluations_column: evaluations / max(updates, 1),
        }

    def restore(self, arrays: dict[str, npt.NDArray[Any]]) -> DualRun:
        super().restore(arrays)
        self._started = True
        self._marks = (self._core.updates, self._core.evaluations, self._core.step_total)
        return self
