"""Stochastic meta-descent; the loop is in ``core/solvers/smd.hpp``."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from dualfield.fields import Field
from dualfield.solvers.base import Solver, check_count, check_number, compiled
from dualfield.solvers.primal import best_step, check_step
from dualfield.solvers.sgd import SteppedRun

__all__ = ["SMD"]


@dataclass(frozen=True)
class SMD(Solver):
    """Stochastic meta-descent (Vishwanathan, Schraudolph, Schmidt & Murphy 2006, equations 19 to 21).

    Every weight has its own gain, adapted by what successive gradients say. For a batch of b of the n blocks, with g
    the gradient of its losses and its share ``(b/n) l2/2 ‖w‖²`` of the penalty, and H their Hessian::

        η  = η · max(½, 1 − meta g · v)                 coordinate by coordinate
        w −= η · g
        v  = decay v − η · (g + decay H v)

    The product ``H v`` is exact, by differentiating the marginals along the potentials of v. Nothing is lazy: a step
    costs time in proportion to all weights. Convergence is not guaranteed: gains that grow too fast make it diverge
    (then lower ``meta`` or ``eta``), and gains that have shrunk stop it short of the optimum. The certificate, a full
    gradient after a number of passes that grows geometrically, says where it stands.

    Parameters
    ----------
    eta : float or "auto"
        The first gain of every weight; "auto" takes the power of ten that leads furthest down over a first look at
        up to 1000 blocks.
    meta : float
        The gain of the gains, μ in the paper.
    decay : float in [0, 1]
        How long the past of a gain is remembered, λ in the paper; 1: for ever.
    batch_size : int
        Blocks a batch.

    Examples
    --------
    >>> from dualfield import ChainCRF
    >>> from dualfield.solvers import SMD
    >>> crf = ChainCRF(solver=SMD(eta=0.1, batch_size=8), max_passes=10, random_state=0)
    """

    eta: float | Literal["auto"] = 0.1
    meta: float = 0.1
    decay: float = 1.0
    batch_size: int = 8

    needs: ClassVar[frozenset[str]] = frozenset({"marginals", "Hessian-vector products"})

    def __post_init__(self) -> None:
        check_step(self.name, "eta", self.eta)
        check_number(self.name, "meta", self.meta, lambda x: 0 <= x < math.inf, "a number, not negative")
        check_number(self.name, "decay", self.decay, lambda x: 0 <= x <= 1, "in [0, 1]")
        check_count(self.name, "batch_size", self.batch_size, 1)

    def start(self, field: Field, seed: int) -> SteppedRun:
        """Bind to a field, at weights zero; with eta="auto", after the search for it."""

        def make(eta: float) -> Any:
            return compiled(
                "SMD",
                field,
                self.needs,
                eta=eta,
                meta=float(self.meta),
                decay=float(self.decay),
                batch=self.batch_size,
                seed=seed,
            )

        eta = best_step(make, field) if self.eta == "auto" else float(self.eta)
        return SteppedRun(self, field, make(eta))

    @property
    def limits(self) -> str:
        return "SMD is not guaranteed to converge; SAG, SDCA and OEG are"

    @property
    def if_diverged(self) -> str:
        return "lower eta or meta, or scale the attributes down"
