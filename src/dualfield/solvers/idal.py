"""IDAL: an inexact dual augmented Lagrangian; the loop is in ``core/solvers/clique_ascent.hpp``."""

from __future__ import annotations

from dataclasses import dataclass

from dualfield.solvers.base import check_count, check_flag
from dualfield.solvers.clique import CliqueSolver

__all__ = ["IDAL"]


@dataclass(frozen=True)
class IDAL(CliqueSolver):
    """SDCA-powered inexact dual augmented Lagrangian (Hu and Obozinski): learning without inference.

    The relaxed problem is ``min_w l2/2 ‖w‖² + Σ_i c_i (F_i(w) − ⟨θ_i(w), truth_i⟩)`` with
    ``F(θ) = max ⟨θ, μ⟩ + H(μ)`` over the local polytope: pseudo-marginals μ of nodes and edges whose sums agree,
    Aμ = 0. With the tree-reweighted entropy this is the objective of ``inference="trw"``, and on forests the exact one.
    The method keeps all μ, and ascends, clique by clique,

        ``D_ρ(μ, ξ) = Σ_i c_i [H(μ_i) + ⟨ξ_i, Aμ_i⟩ − ‖Aμ_i‖²/(2ρ)] − l2/2 ‖w(μ)‖²``.

    For a clique c, with ``G_c`` the gradient of D_ρ, the candidate is ``ν_c ∝ μ_c exp(G_c/κ_c)`` and the step to it an
    exact line search. After every ``inner_passes`` passes over all cliques, ``ξ ← ξ − Aμ/ρ``. No oracle is called but
    to confirm the certificate: an upper bound on the objective at the weights, which with "trw" holds for any messages,
    less the dual value of marginals made to agree (with exact inference, or the gradient's bound if that is larger).
    The outer iteration converges linearly (Theorem 1) if the inner passes are many enough; with too few it diverges.

    A pass is as many updates as there are nodes and edges. The history has, at the end of each pass, what was found
    after the last outer iteration: ``violation`` ‖Aμ‖, ``dual`` (after μ is made to agree), ``augmented_dual`` D_ρ,
    ``inner_gap`` (an estimate of Theorem 1's Δ̂_t, by the gaps that cliques had when last visited;
    ``solution.state.measured_gap()`` measures it), ``outer_gap`` (of its Γ_t, likewise), ``outer_iterations``,
    ``inner_passes`` and ``rho``.

    Parameters
    ----------
    rho : float
        How dear disagreement is: small values speed the multipliers and slow the cliques.
    inner_passes : int
        Passes over the cliques for one step of the multipliers.
    adapt : bool
        Whether to lower rho while cliques settle faster than they agree, and to double ``inner_passes`` (to 16), then
        rho, while ‖Aμ‖ does not fall.
    sampling : {"permuted", "uniform", "gap"}
        In each pass every clique once, in random order; or cliques at random, as in the paper; or in proportion to the
        gap they had when last visited.
    non_uniformity, permutation_every
        Of "gap": the share of draws that follow the gaps, and how often a pass visits all cliques instead.
    subprecision : float
        The relative precision of the step.

    Examples
    --------
    >>> import numpy as np
    >>> from dualfield import fields, solve
    >>> from dualfield.solvers import IDAL
    >>> square = (np.eye(4), [(0, 1), (1, 2), (2, 3), (3, 0)])
    >>> solution = solve(fields.Graph([square], [[0, 1, 1, 0]], inference="trw"), IDAL(), tol=1e-6)
    >>> solution.certificate, solution.relative_gap <= 1e-6
    ('relaxed', True)
    """

    inner_passes: int = 1
    adapt: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count(self.name, "inner_passes", self.inner_passes, 1)
        check_flag(self.name, "adapt", self.adapt)

    def _inner_passes(self) -> int:
        return int(self.inner_passes)

    def _adapts(self) -> bool:
        return bool(self.adapt)
