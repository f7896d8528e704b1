"""The stochastic variance-reduced gradient method; the loop is in ``core/solvers/svrg.hpp``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dualfield.fields import Field
from dualfield.solvers.base import Solver, check_count, compiled
from dualfield.solvers.sag import AverageGradientRun

__all__ = ["SVRG"]


@dataclass(frozen=True)
class SVRG(Solver):
    """SVRG (Johnson & Zhang 2013): variance reduction without a memory of gradients.

    Takes the full gradient ``d`` of the losses at a snapshot ``w̃``, one pass; then, with λ = l2/n, steps ::

        w −= α [ g_i(w) − g_i(w̃) + d/n + λ w ],   α = 1/(3 (L + λ))

    on blocks drawn uniformly, two calls of the oracle each; L is searched for as SAG does. With ``l1`` each weight then
    moves towards zero by at most ``α l1/n`` (Xiao & Zhang 2014), lazily as SAGA does. The gap is estimated at each
    snapshot, and confirmed as SAG's. Memory: three vectors as long as the weights; with ``l1``, four.

    Parameters
    ----------
    inner_passes : int
        Passes between two full gradients.

    Examples
    --------
    >>> from dualfield import ChainCRF
    >>> from dualfield.solvers import SVRG
    >>> crf = ChainCRF(solver=SVRG(), random_state=0)
    """

    inner_passes: int = 2

    needs: ClassVar[frozenset[str]] = frozenset({"marginals"})
    takes: ClassVar[frozenset[str]] = frozenset({"l1"})

    def __post_init__(self) -> None:
        check_count(self.name, "inner_passes", self.inner_passes, 1)

    def start(self, field: Field, seed: int) -> AverageGradientRun:
        """Bind to a field, at weights zero."""
        core = compiled("SVRG", field, l1=field.l1, inner_passes=self.inner_passes, seed=seed)
        return AverageGradientRun(self, field, core)
