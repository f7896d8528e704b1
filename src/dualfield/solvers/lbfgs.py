"""Limited-memory BFGS on the primal; the loop is in ``core/solvers/lbfgs.hpp``."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from dualfield.fields import Field
from dualfield.solvers.base import Run, Solver, check_count, compiled
from dualfield.threads import thread_count

__all__ = ["LBFGS", "LBFGSRun"]

_EVERY_BLOCK = 2**62  # the size of the first sample: more than all blocks


@dataclass(frozen=True)
class LBFGS(Solver):
    """L-BFGS with the two-loop recursion and a strong Wolfe line search.

    With ``l1`` it is OWL-QN (Andrew & Gao 2007; ``core/solvers/owlqn.hpp``): the gradient gives way to the
    subgradient of least norm, no step leaves the orthant that it points into, and weights of no use end up exactly
    zero. There the lower bound on the optimum is the dual value of the mixture ``t p(w) + (1 − t) truth`` with the
    best t, which is a proof without ``l2`` too.

    Without, it minimises ``P(w) = l2/2 ‖w‖² + Σ c_i (−log p(y_i | x_i; w))``. A pass is one full gradient. Each
    gradient also gives a lower bound on the optimum, ``P(w) − ‖∇P(w)‖² / (2 l2)``; the certificate compares with the
    best one seen. That bound is loose, many times the true distance, so a tolerance costs this solver more passes
    than the weights themselves would need. Memory: ``corrections + 5`` vectors as long as the weights (pairs
    of corrections are kept in float32).

    Parameters
    ----------
    corrections : int
        How many past steps describe the curvature.
    n_jobs : int or None
        Threads that share each gradient; −1 for all cores; None for what the caller asks for. The result does not
        depend on how many there are.
    """

    corrections: int = 10
    n_jobs: int | None = None

    needs: ClassVar[frozenset[str]] = frozenset({"marginals"})
    takes: ClassVar[frozenset[str]] = frozenset({"l1", "centre"})
    distributed: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_count("LBFGS", "corrections", self.corrections, 1)
        thread_count(self.n_jobs, "LBFGS")

    def start(self, field: Field, seed: int) -> LBFGSRun:
        """Bind to a field, at weights zero; ``seed`` has no effect."""
        threads = min(thread_count(self.n_jobs), field.n_blocks)
        if field.l1 > 0 or field.centre is not None:
            core = compiled(
                "OWLQN", field, corrections=self.corrections, l1=field.l1, centre=field.centre, threads=threads
            )
        else:
            core = compiled(
                "LBFGS",
                field,
                corrections=self.corrections,
                first_sample=_EVERY_BLOCK,
                growth=1.0,
                threads=threads,
                seed=seed,
            )
        return LBFGSRun(self, field, core)


class LBFGSRun(Run):
    """A run of :class:`LBFGS` or :class:`Hybrid`: weights, gradient, and the past corrections."""

    updates_within_passes: ClassVar[bool] = False

    def advance(self, seconds: float, max_updates: int | None = None) -> bool:
        return super().advance(seconds) or self.stalled

    def estimate(self) -> tuple[float, float]:
        if not self._core.complete:
            return math.inf, 1.0
        return super().estimate()

    def certified_weights(self) -> npt.NDArray[np.float64]:
        return self.weights()

    def record(self) -> dict[str, float]:
        return {
            "dual": self.bound.dual,
            "gap_estimate": self.bound.gap,
            "gradient_norm": float(self._core.gradient_norm),
            "sample": float(self._core.sample),
        }
