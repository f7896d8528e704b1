"""Drives a run pass by pass until its certificate meets the tolerance: what :func:`dualfield.solve` does inside."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from dualfield.solution import Certificate, Solution, Status
from dualfield.solvers import Bound, Run

__all__ = ["Callback", "Clock", "Drive", "Progress", "as_callbacks"]

# Compiled work runs in slices of this length. Between two of them Python can notice Ctrl-C.
_SLICE_SECONDS = 0.1
_MOST_UNDERSTATED = 100.0
_UNCONFIRMED = Bound(math.nan, math.nan, math.nan)


@dataclass(frozen=True)
class Progress:
    """What a callback is told at the end of a pass, or after so many updates.

    ``passes`` counts the complete ones, ``updates`` the steps of this call. ``gap_estimate`` and ``dual`` are the
    solver's own bookkeeping, not confirmed (NaN or infinite where it has none). ``primal()`` computes the objective
    at the current weights with a full pass; like all time spent in callbacks it is not counted.
    """

    passes: int
    max_passes: int
    tol: float
    updates: int
    dual: float
    gap_estimate: float
    seconds: float
    cpu_seconds: float
    run: Run = field(repr=False)

    def weights(self) -> npt.NDArray[np.float64]:
        """A copy of the current weights."""
        return self.run.weights()

    def primal(self) -> float:
        """The objective at the current weights."""
        return self.run.field.primal(self.run.weights())


Callback = Callable[[Progress], object]


def as_callbacks(given: Iterable[Callback] | Callback) -> tuple[Callback, ...]:
    """Callbacks, of which one may be given by itself."""
    listed = (given,) if callable(given) or not isinstance(given, Iterable) else tuple(given)
    for number, callback in enumerate(listed):
        if not callable(callback):
            place = f"callbacks[{number}]" if isinstance(given, Iterable) else "callbacks"
            raise TypeError(f"{place} is {callback!r:.60}; expected a function of a Progress, or a list of functions.")
    return listed


class Drive:
    """One call of solve: the clock, the history, and the decision to stop."""

    def __init__(
        self,
        run: Run,
        clock: Clock,
        tol: float,
        max_passes: int,
        callbacks: tuple[Callback, ...],
        callback_every: int | None,
    ) -> None:
        self.run, self.clock, self.callbacks = run, clock, callbacks
        self.callback_every = callback_every if callbacks and run.updates_within_passes else None
        self.tol, self.max_passes = float(tol), int(max_passes)
        self.history: dict[str, list[float]] = {}
        self.passes = 0
        self.within_pass = False
        self.oracle_calls_before, self.updates_before = run.oracle_calls, run.updates
        self.bound = _UNCONFIRMED
        self.proven_dual = -math.inf  # of a relaxed problem
        self.understated = 1.0  # by what factor the last confirming pass found the estimate too low

    def to_the_end(self) -> Solution:
        """Pass after pass, and the record of how it went."""
        try:
            status = self._passes()
            if self.bound is _UNCONFIRMED and status != "diverged" and self.run.certifies:
                self._confirm()
                if not self.within_pass:  # the last pass is confirmed after all
                    for column, value in (("primal", self.bound.primal), ("duality_gap", self._gap)):
                        self.history.get(column, [math.nan])[-1] = value
            if self.bound is not _UNCONFIRMED and not math.isfinite(self.bound.gap):
                status = "diverged"
            if status == "diverged":
                self.bound = _UNCONFIRMED
        except KeyboardInterrupt:
            status, self.bound = "interrupted", _UNCONFIRMED
        confirmed = self.bound is not _UNCONFIRMED
        if confirmed and status != "converged" and self._met():
            status = "converged"
        weights = self.run.certified_weights() if confirmed else self._last_finite_weights()
        certificate, objection = self.run.certificate(weights) if confirmed else ("none", "")
        return Solution(
            weights=weights,
            primal=self.bound.primal,
            dual=self.bound.dual if certificate != "none" else math.nan,
            duality_gap=self.bound.gap if certificate != "none" else math.nan,
            certificate=certificate,
            status=status,
            message=self._message(status, certificate, objection),
            passes=self.passes,
            updates=self.run.updates - self.updates_before,
            oracle_calls=self.run.oracle_calls - self.oracle_calls_before,
            seconds=self.clock.seconds,
            cpu_seconds=self.clock.cpu_seconds,
            history={column: np.array(values) for column, values in self.history.items()},
            state=self.run,
        )

    def _last_finite_weights(self) -> npt.NDArray[np.float64]:
        """The weights of the run, which solvers keep finite; zeros if even the start was not."""
        weights = self.run.weights()
        return weights if np.isfinite(weights).all() else np.zeros_like(weights)

    def _passes(self) -> Status:
        while not self.run.stalled:
            self.bound = _UNCONFIRMED
            self.within_pass = True
            if self._pass():
                return "stopped"
            self.within_pass = False
            self.passes += 1
            self.run.passes_done += 1
            self.understated = max(1.0, 0.5 * self.understated)  # an old factor counts less and less
            if self.run.diverged:
                return "diverged"
            met = False
            if self.run.certifies and self.run.worth_confirming(self.tol, self.understated):
                gap, _ = self.run.estimate()
                self._confirm()
                if not math.isfinite(self.bound.gap):
                    return "diverged"
                met = self._met()
                self.understated = min(max(1.0, self.bound.gap / gap), _MOST_UNDERSTATED) if 0 < gap < math.inf else 1.0
                if not met:
                    self.run.adopt()
            self._record()
            stopped = self._call_back()
            if met:
                return "converged"
            if stopped:
                return "stopped"
            if self.passes >= self.max_passes and not self.run.stalled:
                return "max_passes"
        return "diverged" if self.run.diverged else "stalled"

    def _pass(self) -> bool:
        """Work to the end of the pass; True when a callback within it asks to stop."""
        while True:
            if self.callback_every is None:
                if self.run.advance(_SLICE_SECONDS):
                    return False
                continue
            done = self.run.updates - self.updates_before
            if self.run.advance(_SLICE_SECONDS, self.callback_every - done % self.callback_every):
                return False
            reached = self.run.updates - self.updates_before
            due = reached // self.callback_every > done // self.callback_every and not self.run.refreshing
            if due and self._call_back():
                return True

    def _confirm(self) -> None:
        while not self.run.confirm(_SLICE_SECONDS):
            pass
        self.bound = self.run.bound
        field = self.run.field
        if not (field.exact and field.convex) and not self.run.proves and math.isfinite(self.bound.gap):
            # If inference has not converged or the objective is not convex, lower bounds from earlier weights prove
            # nothing: only the bound found here counts. For an objective that is not convex, a small ‖∇P‖² / (2 l2), or
            # ‖∇P‖² / (2 l1) without l2, shows that the place is flat.
            weights = self.run.certified_weights()
            if field.convex:
                primal, dual, _ = field.relaxed_bound(weights)
                self.proven_dual = max(self.proven_dual, dual)  # a bound that is proven at some weights holds for all
                self.bound = Bound(primal, self.proven_dual, primal - self.proven_dual)
            else:
                primal, gradient = field.gradient(weights)
                self.bound = Bound(primal, math.nan, float(gradient @ gradient) / (2 * (field.l2 or field.l1)))

    def _met(self) -> bool:
        return math.isfinite(self.bound.gap) and self.bound.gap <= self.tol * abs(self.bound.primal)

    @property
    def _gap(self) -> float:
        """The confirmed gap, where the objective has one."""
        return self.bound.gap if self.run.field.convex else math.nan

    def _record(self) -> None:
        row = {
            "passes": float(self.run.passes_done),
            "updates": float(self.run.updates - self.updates_before),
            "oracle_calls": float(self.run.oracle_calls - self.oracle_calls_before),
            "seconds": self.clock.seconds,
            "cpu_seconds": self.clock.cpu_seconds,
            "primal": self.bound.primal,
            "duality_gap": self._gap,
            **self.run.record(),
        }
        proven = (self.run.field.exact and self.run.field.convex) or self.run.proves
        if not proven and "dual" in row:
            row["dual"] = self.bound.dual
        for column, value in row.items():
            self.history.setdefault(column, []).append(value)

    def _call_back(self) -> bool:
        stop = False
        if self.callbacks:
            gap, primal = self.run.estimate()
            seconds, cpu_seconds = self.clock.seconds, self.clock.cpu_seconds
            updates = self.run.updates - self.updates_before
            progress = Progress(
                self.passes, self.max_passes, self.tol, updates, primal - gap, gap, seconds, cpu_seconds, self.run
            )
            with self.clock.paused():
                for callback in self.callbacks:
                    answer = callback(progress)
                    stop = stop or (isinstance(answer, bool | np.bool_) and bool(answer))
        return stop

    def _message(self, status: Status, certificate: Certificate, objection: str) -> str:
        solver = self.run.solver
        name = solver.name
        relative = self.bound.gap / abs(self.bound.primal) if self.bound.primal else math.nan
        relaxed = f"of {self.run.field.name} " if certificate == "relaxed" else ""
        whose = "its" if relaxed else "the"
        proven = f"the objective {relaxed}is proven to be within {relative:.1e} (relative) of {whose} optimum"
        if objection:
            proven = self.run.unproven(relative, objection)
        if not self.run.certifies:
            proven = "it minimises no likelihood, so there is no certificate"
        if status in ("max_passes", "stopped", "stalled"):
            remarks = "; ".join(filter(None, (solver.limits if status != "stalled" else "", self.run.remark)))
            proven += f" ({remarks})" if remarks else ""
        obstacle = self.run.field.obstacle if status in ("max_passes", "stalled") else ""
        obstacle = f" {obstacle}" if obstacle and self.run.certifies else ""
        after = f"after {self.passes} pass{'' if self.passes == 1 else 'es'}"
        return {
            "converged": f"{name} {'reached tol' if objection else 'converged'} {after}: {proven}.",
            "max_passes": f"{name} stopped at max_passes={self.max_passes} before tol={self.tol:g}: {proven}; "
            f"raise max_passes or tol.{obstacle}"
            if self.run.certifies
            else f"{name} stopped at max_passes={self.max_passes}: {proven}.",
            "stopped": f"{name} was stopped by a callback {after}: {proven}.",
            "diverged": f"{name} stopped {after}: the objective is too large for floating point, so nothing is proven; "
            f"{solver.if_diverged}.",
            "stalled": f"{name} can make no further progress in floating point {after}: {proven}.{obstacle}"
            if self.run.certifies
            else f"{name} stopped {after}, the last without a mistake: {proven}.",
            "interrupted": f"{name} was interrupted {after}: the weights are those reached so far, "
            "and their distance from the optimum is not known.",
        }[status]


class Clock:
    """Wall and CPU time since it was made, plus what was spent before, less the time spent paused."""

    def __init__(self, before: tuple[float, float]) -> None:
        self._wall, self._cpu = time.perf_counter() - before[0], time.process_time() - before[1]

    @property
    def seconds(self) -> float:
        """Wall time."""
        return time.perf_counter() - self._wall

    @property
    def cpu_seconds(self) -> float:
        """CPU time of this process."""
        return time.process_time() - self._cpu

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Stand still while a callback works."""
        seconds, cpu_seconds = self.seconds, self.cpu_seconds
        try:
            yield
        finally:
            self._wall = time.perf_counter() - seconds
            self._cpu = time.process_time() - cpu_seconds
