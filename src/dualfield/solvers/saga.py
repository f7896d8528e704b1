"""SAGA, the unbiased sibling of SAG; the loop is in ``core/solvers/saga.hpp``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from dualfield.fields import Field
from dualfield.solvers.base import Solver, compiled
from dualfield.solvers.dual import one_of
from dualfield.solvers.sag import SAMPLINGS, AverageGradientRun, shared_visits
from dualfield.threads import thread_count

__all__ = ["SAGA"]


@dataclass(frozen=True)
class SAGA(Solver):
    """SAGA (Defazio, Bach & Lacoste-Julien 2014), with the memory, sampling and constants L of :class:`SAG`.

    An update of block i, drawn with probability ``p_i``, moves along an unbiased estimate of the gradient::

        w −= α [ (g − g_i) / (n p_i) + d/n + λ w ],   then   d += g − g_i,   g_i = g

    with ``α = 1/(3 (L + λ))``, L the largest of ``L_i / (n p_i)``, and the same certificate. With ``l1`` each weight
    then moves towards zero by at most ``α l1/n``, lazily too: the weights that a block touches first make up for all
    the steps that they have missed, by a closed form. Memory: as SAG; with ``l1``, one vector more.

    Parameters
    ----------
    sampling : {"nus*", "nus", "uniform"}
        As for SAG.
    n_jobs : int or None
        As for SAG.

    Examples
    --------
    >>> from dualfield import ChainCRF
    >>> from dualfield.solvers import SAGA
    >>> crf = ChainCRF(solver=SAGA(), random_state=0)
    """

    sampling: Literal["nus*", "nus", "uniform"] = "nus*"
    n_jobs: int | None = None

    needs: ClassVar[frozenset[str]] = frozenset({"marginals"})
    takes: ClassVar[frozenset[str]] = frozenset({"l1"})

    def __post_init__(self) -> None:
        one_of(self.name, "sampling", self.sampling, SAMPLINGS)
        thread_count(self.n_jobs, self.name)

    def start(self, field: Field, seed: int) -> AverageGradientRun:
        """Bind to a field, at weights zero."""
        threads, window = shared_visits(self.n_jobs, field.n_blocks)
        options = {"sampling": self.sampling, "threads": threads, "window": window, "seed": seed}
        return AverageGradientRun(self, field, compiled("SAGA", field, l1=field.l1, **options))
