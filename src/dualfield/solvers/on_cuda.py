"""L-BFGS on a GPU: a run of :class:`~dualfield.solvers.LBFGS` whose vectors and data stay there.

Past iterates and gradients of the losses are rows of two arrays. A step reads them twice: one pass gives the inner
products of the newest row with all others, of which the two loops of L-BFGS are made on the CPU
(:mod:`dualfield.cuda.products`); another pass writes the next iterate, a combination of rows.

The same products give the lower bound of :mod:`dualfield.cuda.cuts`, which is close to the truth where that of one
gradient is far from it. A bound counts when it was confirmed: the losses and gradients of the cuts in the mixture are
computed again in float64.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dualfield import _core
from dualfield.core_arrays import contiguous
from dualfield.cuda.cuts import best_mixture, mixed_value
from dualfield.cuda.problem import check_field
from dualfield.cuda.products import Products
from dualfield.devices import check_device
from dualfield.fields import Field
from dualfield.solvers.base import Bound, Run, Solver, check_count

__all__ = ["CudaLBFGS", "CudaRun"]

_DECREASE = 1e-4  # Armijo's condition
_NOISE = 1e-7  # the relative rounding error of the objective in float32
_FLAT = 0.9  # where that hides a decrease, the slope must have fallen by a tenth
_MOST_TRIALS = 20
_WORTH_MIXING = 100.0  # times the tolerance: where one gradient's bound is further off, cuts are not yet mixed
_SELDOM, _CLOSE = 4, 6.0  # mix every 4 steps, and each step once the gap is below 6 times tol
_IN_MIXTURE = 1e-2  # cuts of at least this share are computed again to confirm


@dataclass(frozen=True)
class CudaLBFGS(Solver):
    """What "auto" and "lbfgs" stand for where ``device`` is a GPU: L-BFGS on chains and points, without l1.

    Parameters
    ----------
    corrections : int
        How many past steps describe the curvature.
    device : str
        "cuda" or "cuda:N".
    """

    corrections: int = 10
    device: str = "cuda"

    name: ClassVar[str] = "LBFGS"
    needs: ClassVar[frozenset[str]] = frozenset({"exact marginals"})

    def __post_init__(self) -> None:
        check_count("LBFGS", "corrections", self.corrections, 1)
        check_device(self.device)

    def check(self, field: Field) -> None:
        """Refuse what has no kernels yet, before any work."""
        check_field(field)
        super().check(field)

    def start(self, field: Field, seed: int) -> Run:
        return self.start_to(field, seed, 1e-3)

    def start_to(self, field: Field, seed: int, tol: float) -> Run:
        from dualfield.cuda.engine import Engine

        return CudaRun(self, field, Engine(field, self.corrections + 2, self.device), tol)


class CudaRun(Run):
    """L-BFGS at work on a GPU.

    Parameters
    ----------
    solver : Solver
    field : Field
        Of chains or points, without l1.
    engine : Engine
        What has the vectors, ``corrections + 2`` rows of them.
    tol : float
        What the run is to reach; bounds far from it are not computed with care.
    """

    updates_within_passes = False

    def __init__(self, solver: Solver, field: Field, engine: Any, tol: float) -> None:
        super().__init__(solver, field, None)
        self.engine, self._tol = engine, tol
        self._corrections = engine.rows - 2
        self._products = Products(engine.rows, field.l2)
        self._live: list[int] = []  # rows of accepted iterates, the oldest first
        self._evaluations = self._steps = 0
        self._best_dual = -math.inf  # in float32: an estimate
        self._proven_dual = -math.inf
        self._bound = Bound(math.nan, math.nan, math.nan)
        self._stalled = self._diverged = False

    def advance(self, seconds: float, max_updates: int | None = None) -> bool:
        if not self._live:
            self._begin()
        else:
            self._step()
        if not self._diverged:
            self._bound_from_below()
        return True

    def _begin(self) -> None:
        self._diverged = not math.isfinite(self._look(0))
        self._live = [0]

    def _look(self, row: int) -> float:
        """Evaluate at a row; the objective there."""
        self._products.learn(row, *self.engine.look(row))
        self._evaluations += 1
        return self._products.objective(row)

    def _step(self) -> None:
        now = self._live[-1]
        direction = self._products.direction(self._live)
        slope, primal, step = self._products.slope(now, direction), self._products.objective(now), 1.0
        free = next(row for row in range(self.engine.rows) if row not in self._live)
        if slope < 0:
            for _ in range(_MOST_TRIALS):
                towards = step * direction
                towards[now] += 1.0
                self.engine.combine(free, towards)
                reached = self._look(free)
                end = self._products.slope(free, direction) if math.isfinite(reached) else math.inf
                hidden = reached <= primal + _NOISE * abs(primal) and abs(end) <= _FLAT * abs(slope)
                if reached <= primal + _DECREASE * step * slope or hidden:
                    self._accept(free)
                    return
                # The slope where the step ended tells where between the two it is zero.
                factor = slope / (slope - end) if math.isfinite(end) and end > slope else 0.5
                step *= min(max(factor, 0.1), 0.5)
        if len(self._live) > 1:
            del self._live[:-1]  # once more from the gradient alone
        else:
            self._stalled = True

    def _accept(self, row: int) -> None:
        self._live.append(row)
        if len(self._live) > self._corrections + 1:
            del self._live[0]
        self._steps += 1

    def _bound_from_below(self) -> None:
        l2, primal = self.field.l2, self._products.objective(self._live[-1])
        constants, products = self._products.cuts(self._live)
        alone = float(constants[-1] - products[-1, -1] / (2 * l2))
        unit = self._tol * abs(primal)
        close = primal - self._best_dual <= _CLOSE * unit or self._steps % _SELDOM == 0
        if close and primal - alone <= _WORTH_MIXING * unit and len(constants) > 1:
            alone = max(alone, mixed_value(best_mixture(constants, products, l2), constants, products, l2))
        self._best_dual = max(self._best_dual, alone)

    def confirm(self, seconds: float) -> bool:
        if not self._live:
            self._begin()
        l2, newest = self.field.l2, self._live[-1]
        mixture = best_mixture(*self._products.cuts(self._live), l2)
        mixture[mixture < _IN_MIXTURE] = 0.0
        mixture /= mixture.sum()
        shares = {row: float(a) for row, a in zip(self._live, mixture, strict=True) if a > 0 or row == newest}
        values, square = self.engine.exact(shares)
        self._evaluations += len(values)
        loss, _, size, _ = values[-1]  # the newest row is the last of the live ones
        primal = loss + 0.5 * l2 * size
        constant = math.fsum(a * (value[0] - value[1]) for a, value in zip(shares.values(), values, strict=True))
        magnitude = max(value[3] + abs(value[1]) + 0.5 * l2 * value[2] for value in values) + square / (2 * l2)
        allowance = _core.rounding_allowance(magnitude) * self.engine.growth
        self._proven_dual = max(self._proven_dual, constant - square / (2 * l2) - allowance)
        self._bound = Bound(primal, self._proven_dual, primal - self._proven_dual + allowance)
        return True

    @property
    def bound(self) -> Bound:
        return self._bound

    def estimate(self) -> tuple[float, float]:
        if not self._live:
            return math.inf, 1.0
        primal = self._products.objective(self._live[-1])
        return primal - max(self._best_dual, self._proven_dual), primal

    @property
    def stalled(self) -> bool:
        return self._stalled

    @property
    def diverged(self) -> bool:
        return self._diverged

    @property
    def updates(self) -> int:
        return self._steps

    @property
    def oracle_calls(self) -> int:
        return self._evaluations * self.field.n_blocks

    def weights(self) -> npt.NDArray[np.float64]:
        return self.engine.weights(self._live[-1] if self._live else 0)

    def certified_weights(self) -> npt.NDArray[np.float64]:
        return self.weights()

    def record(self) -> dict[str, float]:
        gap, primal = self.estimate()
        norm = self._products.gradient_norm(self._live[-1])
        return {"dual": primal - gap, "gap_estimate": gap, "gradient_norm": norm}

    def begin_at(self, weights: npt.NDArray[np.float64]) -> None:
        self.engine.set_weights(0, contiguous(weights, np.float64))
        self._live = []

    def under_another_penalty(self, field: Field, seed: int) -> Run:
        """A run on the same arrays, which begins at these weights and takes over the vectors."""
        run = CudaRun(self.solver, field, self.engine, self._tol)
        run.begin_at(self.weights())
        return run

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The weights; the curvature is learnt again."""
        return {"weights": self.weights(), "passes_done": np.array([self.passes_done])}

    def restore(self, arrays: dict[str, npt.NDArray[Any]]) -> Run:
        """Begin at saved weights."""
        if set(arrays) != {"weights", "passes_done"} or arrays["weights"].shape != (self.field.dimension,):
            raise ValueError("the saved state does not fit this field")
        self.begin_at(arrays["weights"])
        self.passes_done = int(arrays["passes_done"][0])
        return self
