"""L-BFGS on a growing sample; the loop is in ``core/solvers/lbfgs.hpp``."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from dualfield.fields import Field
from dualfield.solvers.base import Solver, check_count, check_number, compiled
from dualfield.solvers.lbfgs import LBFGSRun
from dualfield.threads import thread_count

__all__ = ["Hybrid"]


@dataclass(frozen=True)
class Hybrid(Solver):
    """The hybrid of stochastic and quasi-Newton methods of Friedlander & Schmidt (2012).

    L-BFGS on the losses of a random sample of the blocks, scaled up to the weight of all. After each step the sample
    grows, ``b ← min(growth · b + 1, n)``, until it is everything and the method is L-BFGS. Samples are nested, so
    growing one costs the gradients of the new blocks alone, and each correction compares two gradients of one sample.
    A pass is n gradients of blocks. There is no certificate without a full pass while b < n; once b = n it is that of
    L-BFGS.

    Parameters
    ----------
    first_sample : int
        How many blocks the first step looks at.
    growth : float
        The factor by which the sample grows.
    corrections : int
        How many past steps describe the curvature.
    n_jobs : int or None
        Threads that share each gradient; −1 for all cores; None for what the caller asks for. The result does not
        depend on how many there are.

    Examples
    --------
    >>> from dualfield import ChainCRF
    >>> from dualfield.solvers import Hybrid
    >>> crf = ChainCRF(solver=Hybrid(), random_state=0)
    """

    first_sample: int = 1
    growth: float = 1.1
    corrections: int = 10
    n_jobs: int | None = None

    needs: ClassVar[frozenset[str]] = frozenset({"marginals"})

    def __post_init__(self) -> None:
        check_count(self.name, "first_sample", self.first_sample, 1)
        check_number(self.name, "growth", self.growth, lambda x: 1 <= x < math.inf, "at least 1")
        check_count(self.name, "corrections", self.corrections, 1)
        thread_count(self.n_jobs, self.name)

    def start(self, field: Field, seed: int) -> LBFGSRun:
        """Bind to a field, at weights zero; ``seed`` orders the blocks."""
        threads = min(thread_count(self.n_jobs), field.n_blocks)
        core = compiled(
            "LBFGS",
            field,
            corrections=self.corrections,
            first_sample=self.first_sample,
            growth=float(self.growth),
            threads=threads,
            seed=seed,
        )
        return LBFGSRun(self, field, core)
