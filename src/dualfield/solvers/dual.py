"""The common part of the dual methods, parameters and runs; the compiled side is ``core/solvers/dual/dual_run.hpp``."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from dualfield.fields import Field
from dualfield.memory import check_memory
from dualfield.solvers.base import MarginalsRun, Run, Solver, check_count, check_number, compiled
from dualfield.threads import thread_count

__all__ = ["DualRun", "DualSolver", "Memory", "Sampling", "one_of"]

WINDOW_OF_A_THREAD = 4  # updates; with more, threads wait less, but steps know less of each other
LEAST_BLOCKS_OF_A_THREAD = 4  # with fewer blocks than that, threads are not used
LEAST_WORKERS = 12  # from this number on, threads own blocks of chains; fewer threads do better in windows
LEAST_BLOCKS_OF_A_WORKER = 100  # with fewer, workers would exchange weights most of the time

LARGE = 64e6  # bytes of duals; from there on "auto" takes float32
FINEST = 1e-7  # relative gap that duals kept in float32 reach where the penalty is not weak
PATIENCE = 10  # passes without progress, after which "auto" takes float64 instead

Memory = Literal["auto", "float32", "float64"]
Sampling = Literal["gap", "uniform", "importance", "gap*importance", "max", "safemax", "residual"]


@dataclass(frozen=True)
class DualSolver(Solver):
    """How a dual method draws its blocks; :class:`~dualfield.solvers.SDCA` explains the parameters."""

    sampling: Sampling = "gap"
    non_uniformity: float = 0.9
    permutation_every: int = 4
    refresh_every: int = 0
    accelerate: bool = True
    n_jobs: int | None = None
    memory: Memory = "auto"

    takes: ClassVar[frozenset[str]] = frozenset({"l1", "centre"})
    samplings: ClassVar[tuple[str, ...]] = ("gap", "uniform", "importance", "gap*importance", "max", "safemax")

    def __post_init__(self) -> None:
        one_of(self.name, "sampling", self.sampling, self.samplings)
        check_number(self.name, "non_uniformity", self.non_uniformity, lambda x: 0 <= x <= 1, "in [0, 1]")
        check_count(self.name, "permutation_every", self.permutation_every, 0)
        check_count(self.name, "refresh_every", self.refresh_every, 0)
        if not isinstance(self.accelerate, bool):
            raise ValueError(f"{self.name}: accelerate must be True or False; got {self.accelerate!r}.")
        thread_count(self.n_jobs, self.name)
        one_of(self.name, "memory", self.memory, ("auto", "float32", "float64"))

    def check(self, field: Field) -> None:
        """Refuse a field that lacks something, by name."""
        super().check(field)
        if field.l2 == 0 and not self.accelerate:
            raise TypeError(
                f"{self.name} without acceleration needs l2 > 0, since the weights of its marginals are divided by l2; "
                "set accelerate=True, or use solver='lbfgs'."
            )

    @abstractmethod
    def bind(self, field: Field, seed: int, single: bool) -> Any:
        """The compiled run, with duals in single or double precision."""

    @abstractmethod
    def start_to(self, field: Field, seed: int, tol: float) -> Run:
        """Bind to a field; the first slices of work make the start."""

    def start(self, field: Field, seed: int) -> Run:
        """The same for any tolerance that duals in float32 reach."""
        return self.start_to(field, seed, math.inf)

    def kept_numbers(self, field: Field) -> int:
        """How many numbers the duals of a field are."""
        return int(compiled(f"numbers_of_{self.name}", field, self.needs))

    def single(self, field: Field, tol: float) -> bool:
        """Whether the duals are kept in float32."""
        if self.memory == "auto":
            return tol >= FINEST and 8 * self.kept_numbers(field) > LARGE
        return self.memory == "float32"

    def check_memory(self, field: Field, single: bool) -> None:
        """Refuse a field whose duals, and the weights that go with them, do not fit."""
        duals = (4 if single else 8) * self.kept_numbers(field)
        kept = 16 if field.l1 > 0 or field.centre is not None else 8  # w, and where it differs v / l2
        weights = (2 * kept + (8 if self.accelerate else 0)) * field.dimension  # confirmed too; centre and last weights
        leaner = "" if single else "memory='float32', "
        check_memory(
            duals + weights,
            f"{self.name}, which keeps {self.kept_numbers(field):,} numbers of duals and {field.dimension:,} weights,",
            f"take {leaner}a solver that keeps nothing of blocks such as 'lbfgs', fewer attributes, or fewer blocks",
        )

    def _options(self, field: Field, seed: int, single: bool) -> dict[str, Any]:
        """The options of the compiled run of every method on the dual; ``single``: duals in single precision."""
        threads = min(thread_count(self.n_jobs, self.name), max(1, field.n_blocks // LEAST_BLOCKS_OF_A_THREAD))
        working = LEAST_WORKERS <= threads <= field.n_blocks // LEAST_BLOCKS_OF_A_WORKER and field.centre is None
        return {
            "l1": float(field.l1),
            "centre": field.centre,
            "sampling": self.sampling,
            "non_uniformity": float(self.non_uniformity),
            "permutation_every": 0 if self.sampling == "uniform" else int(self.permutation_every),
            "threads": threads,
            "window": 1 if threads == 1 else WINDOW_OF_A_THREAD * threads,
            "workers": threads if working else 0,
            "accelerate": self.accelerate,
            "precision": "single" if single else "double",
            "seed": seed,
        }


def one_of(owner: str, name: str, value: object, choices: tuple[str, ...]) -> None:
    """Refuse a parameter that is none of the choices."""
    if not isinstance(value, str) or value not in choices:
        listed = ", ".join(map(repr, choices[:-1])) + f" or {choices[-1]!r}"
        raise ValueError(f"{owner}: {name} must be {listed}; got {value!r}.")


class DualRun(MarginalsRun):
    """A dual method at work: the duals of all blocks, the recorded gaps, the random generator."""

    solver: DualSolver
    evaluations_column: ClassVar[str]  # what the method evaluates to find its steps

    def __init__(self, solver: DualSolver, field: Field, seed: int, single: bool) -> None:
        solver.check_memory(field, single)
        super().__init__(solver, field, solver.bind(field, seed, single))
        self.single, self._widened = single, False
        self._refresh_every = int(solver.refresh_every)
        self._started = False
        self._estimated_gap = self._true_gap = math.nan  # at the end of the last pass
        self._refresh_due = False  # after a change of precision
        self._least_gap, self._since = math.inf, 0  # the smallest estimated gap, and passes since there was one
        self._marks = (0, 0, 0.0)  # updates, evaluations and step total at the end of the last pass

    def advance(self, seconds: float, max_updates: int | None = None) -> bool:
        if not self._started:
            self._started = self._core.start(seconds)
            return False
        if not self.refreshing:
            if not super().advance(seconds, max_updates):
                return False
            self._estimated_gap, self._true_gap = self._core.gap_estimate, math.nan
            self._watch_precision()
            return not self.refreshing
        if not self.confirm(seconds):
            return False
        self.adopt()
        return True

    def _watch_precision(self) -> None:
        """If "auto" chose float32 and that proves too coarse, go on in float64, if there is memory for it."""
        if not self.single or self.solver.memory != "auto":
            return
        progress = self._estimated_gap < 0.9 * self._least_gap
        self._least_gap = min(self._least_gap, self._estimated_gap)
        self._since = 0 if progress else self._since + 1
        if self._core.stalled or self._since >= PATIENCE:
            self._since = 0
            try:
                self.solver.check_memory(self.field, single=False)
            except MemoryError:
                return
            self._core.widen()
            self.single, self._widened, self._refresh_due = False, True, True

    @property
    def refreshing(self) -> bool:
        """Whether a pass has just ended after which all gaps are to be computed, and they are not yet."""
        updates, period = self._core.updates, self._refresh_every * self._core.updates_per_pass
        due = period > 0 and updates > 0 and updates % period == 0 and updates != self._core.adopted_at
        return bool((due or self._refresh_due) and not self._core.diverged)

    def confirm(self, seconds: float) -> bool:
        complete = super().confirm(seconds)
        if complete:
            self._true_gap = self.bound.gap
        return complete

    def adopt(self) -> None:
        self._core.adopt_confirmed()
        self._refresh_due = False

    def estimate(self) -> tuple[float, float]:
        gap = math.nan if self.diverged else self._core.gap_estimate
        return gap, self._core.dual + gap

    @property
    def diverged(self) -> bool:
        return super().diverged or math.isnan(self._core.dual)  # no dual: a refresh could not certify

    @property
    def epsilon(self) -> float:
        """The ε of the start; NaN where it has none."""
        return float(self._core.epsilon)

    def under_another_penalty(self, field: Field, seed: int) -> Run:
        run = self.solver.start(field, seed).restore(self.arrays())
        run._core.begin_again(self.field.l2, self.field.l1)
        run.passes_done = 0
        return run

    def weights(self) -> npt.NDArray[np.float64]:
        if not self._started:
            return np.zeros(self.field.dimension)
        return super().weights()

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

    @property
    def note(self) -> str:
        if self._widened:
            return "The duals were kept in float32 at first, and in float64 once that was too coarse"
        if self.solver.memory != "auto" or not self.single:
            return ""
        size = 4 * self.solver.kept_numbers(self.field)
        return f"The duals were kept in float32, {size / 1e6:.0f} MB; memory='float64' would have taken twice as much"

    @property
    def remark(self) -> str:
        if not self.single:
            return ""
        return f"duals in float32 end at gaps of {FINEST:g}, or more under weak penalties; memory='float64' goes on"

    def restore(self, arrays: dict[str, npt.NDArray[Any]]) -> DualRun:
        precisions = {np.dtype(np.float32): True, np.dtype(np.float64): False}
        single = precisions.get(arrays["duals"].dtype, self.single) if "duals" in arrays else self.single
        core = self._core
        if single != self.single:  # as they were kept where the state comes from
            self._core = self.solver.bind(self.field, 0, single)
        try:
            super().restore(arrays)
        except ValueError:
            self._core = core
            raise
        self.single = single
        self._started = True
        self._marks = (self._core.updates, self._core.evaluations, self._core.step_total)
        return self
