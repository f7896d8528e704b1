"""Online exponentiated gradient on the dual; the loop is in ``core/solvers/oeg.hpp``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from dualfield.fields import Field
from dualfield.solvers.base import Run, compiled
from dualfield.solvers.distributed import DistributedRun
from dualfield.solvers.dual import FINEST, DualRun, DualSolver, one_of
from dualfield.solvers.expectation import ExpectationRun
from dualfield.solvers.partitioned import PartitionedRun

__all__ = ["OEG"]


@dataclass(frozen=True)
class OEG(DualSolver):
    """OEG (Collins, Globerson, Koo, Carreras & Bartlett 2008), with duality-gap sampling.

    The state is one compact vector of potentials ``ϑ_i`` for each block, ``α_i ∝ exp ϑ_i``, with its marginals
    ``m_i`` and entropy ``H_i``, and ``w = ŵ(α)`` at all times. One update of block i::

        θ   = potentials of block i under w
        g_i = log Z(θ) − ⟨θ, m_i⟩ − H_i                the block's duality gap, extrapolated from the step
        ϑ'  = (1 − η) ϑ_i + η θ                        one call of the oracle gives m' and H'
        accept if the dual rises, else halve η         rise = H' − H_i + ⟨θ, m' − m_i⟩ − c_i/(2 l2) ‖F(m' − m_i)‖²

    It mixes potentials where SDCA mixes marginals, so it needs no logarithms and stores little: for chains
    ``16 (K T + K²)`` bytes a sequence, against ``8 (K² (T − 1) + K T)``, and half of either in float32. The certificate
    is confirmed as SDCA's.

    Parameters
    ----------
    sampling : {"gap", "uniform", "importance", "gap*importance", "max", "safemax"}
        How blocks are drawn after a first pass in random order, with ``c_i g_i`` the gap recorded at the block's last
        visit and ``L_i = l2 + c_i R_i`` its smoothness::

            gap             p_i ∝ c_i g_i
            uniform
            importance      p_i ∝ L_i
            gap*importance  p_i ∝ c_i g_i L_i
            max             the block of largest c_i g_i
            safemax         the same, but a share of the draws is uniform

        ``R_i`` is the squared distance between the features of the truth and those of the labelling that has
        everywhere the label rarest in it.
    non_uniformity : float in [0, 1]
        The share of draws that follow the rule; the rest are uniform. Without effect on "uniform" and "max".
    permutation_every : int
        One pass in so many visits every block once in random order; 0: only the first pass does. Without effect on
        "uniform".
    refresh_every : int
        After every so many passes, a full pass computes w, the entropies and all gaps afresh, as the confirming pass
        does; 0: none but that one.
    accelerate, n_jobs, memory
        As for :class:`SDCA`.
    step : {"secant", "published"}
        How a block's η changes after a success: by a factor 1.25 up or down, as the slope of the dual along the step
        says; or up by 1.05, as published.

    Notes
    -----
    Every block begins at its truth, and adds nothing to w until its first update takes it to the potentials θ plus
    those of independent labels, each wrong with probability ε; ε is steered by the slope at which such steps end. So
    the first pass already learns from block to block.

    Examples
    --------
    >>> from dualfield import ChainCRF, OEG
    >>> crf = ChainCRF(solver=OEG(), random_state=0)
    """

    step: Literal["secant", "published"] = "secant"

    needs: ClassVar[frozenset[str]] = frozenset({"exact marginals", "entropy", "compact potentials"})
    distributed: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("OEG", "step", self.step, ("secant", "published"))

    def bind(self, field: Field, seed: int, single: bool) -> Any:
        """The compiled run, with duals in single or double precision."""
        return compiled("OEG", field, **self._options(field, seed, single), secant=self.step == "secant")

    def start_to(self, field: Field, seed: int, tol: float) -> Run:
        """Bind to a field; the first slices of work make the start."""
        if field.partitioned:
            coarse = self.memory == "float32" or (self.memory == "auto" and tol >= FINEST)
            return PartitionedRun(self, field, seed, coarse)
        if field.communicator is not None:
            return DistributedRun(self, field, seed, tol)
        if not field.convex:
            return ExpectationRun(self, field, seed, tol)
        return OEGRun(self, field, seed, self.single(field, tol))


class OEGRun(DualRun):
    """A run of :class:`OEG`."""

    evaluations_column: ClassVar[str] = "trials"
