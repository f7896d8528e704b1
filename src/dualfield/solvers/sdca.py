"""Stochastic dual coordinate ascent with duality-gap sampling; the loop is in ``core/solvers/sdca.hpp``."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from dualfield.fields import Field
from dualfield.solvers.base import check_number, compiled
from dualfield.solvers.dual import DualRun, DualSolver, one_of

__all__ = ["SDCA"]

_STEPS = ("newton", "newton-1", "golden", "guaranteed")


@dataclass(frozen=True)
class SDCA(DualSolver):
    """SDCA for conditional random fields (Le Priol, Piché & Lacoste-Julien 2018, Algorithm 2).

    The state is a table of clique marginals ``μ_i`` for each block, with ``w = ŵ(μ) = 1/l2 Σ c_i (F_i − E_μ F)``
    at all times. One update of block i::

        ν = marginals of block i under w               one call of the oracle
        g_i = KL(μ_i ‖ ν)                              the block's duality gap
        δ = ν − μ_i,   v = −(c_i/l2) E_δ F             ascent direction, and its image in the weights
        γ = argmax of the dual along (δ, v)            no further oracle call; or another rule, see ``step``
        μ_i += γ δ,    w += γ v

    ``Σ c_i g_i`` is the duality gap. The gaps recorded at each visit estimate it; when the estimate passes the
    tolerance, a full pass recomputes w, the entropies and all gaps from the stored marginals, and that is what is
    reported. Memory: the tables, for chains ``8 (K² (T − 1) + K T)`` bytes a sequence.

    By default it is accelerated. ``SDCA(non_uniformity=0.8, permutation_every=0, accelerate=False)`` is the published
    method.

    The history adds, per pass: ``dual``; ``gap_estimate``, the sum of the recorded gaps, and ``true_gap``, where a full
    pass computed it; ``chi``, the non-uniformity ``(mean g²)^½ / mean g`` of the recorded gaps; ``mean_step``;
    ``line_search_evaluations`` an update; ``line_search_share``, of the time (one update in 16 is timed).

    Parameters
    ----------
    sampling : {"gap", "uniform", "importance", "gap*importance", "max", "safemax", "residual"}
        How blocks are drawn after a first pass in random order, with ``c_i g_i`` the gap recorded at the block's last
        visit and ``L_i = l2 + c_i R_i`` its smoothness::

            gap             p_i ∝ c_i g_i
            uniform
            importance      p_i ∝ L_i
            gap*importance  p_i ∝ c_i g_i L_i
            max             the block of largest c_i g_i
            safemax         the same, but a share of the draws is uniform
            residual        p_i ∝ ‖ν − μ_i‖₁ (c_i L_i)^½, at the last visit; one-node fields only

        ``R_i`` is the squared distance between the features of the truth and those of the labelling that has
        everywhere the label rarest in it.
    non_uniformity : float in [0, 1]
        The share of draws that follow the rule; the rest are uniform. Without effect on "uniform" and "max".
    permutation_every : int
        One pass in so many visits every block once in random order, which keeps the recorded gaps fresh (they go
        stale under weak regularisation); 0: only the first pass does. The paper has 0 here, and 0.8 for the share.
        Without effect on "uniform".
    refresh_every : int
        After every so many passes, a full pass computes w, the entropies and all gaps afresh, as the confirming pass
        does; 0: none but that one. Lengths for "residual" stay those of the last visits.
    accelerate : bool
        Work on proximal problems ``P(w) + κ/2 ‖w − z‖²``, a pass or some each, and extrapolate z between them (Lin,
        Mairal & Harchaoui 2015). κ adapts itself. Under weak regularisation this saves most of the passes; under
        strong it costs little. Two vectors of floats as long as the weights. The dual of P may fall on the way;
        False never lowers it, and is what the papers describe.
    n_jobs : int or None
        Threads; −1 for all cores; None for what the caller asks for.
        With more than one, up to 4 blocks a thread are updated at a time from the same
        weights, fewer where blocks have much in common, and each step reckons with the curvature of the others, as
        measured; now and then a window may lower the dual.
        The result depends on how many threads there are, but not on their timing.
    memory : {"auto", "float32", "float64"}
        How the duals are kept. In float32 they take half the memory; all arithmetic is in float64, and so are the
        certificates, which then reach a relative gap of about 1e-7, or less far under weak penalties. "auto": float32
        where float64 would take more than 64 MB and the tolerance is 1e-7 or more, until it proves too coarse; the
        message of the solution says so.
    step : {"newton", "newton-1", "golden", "guaranteed"} or float in (0, 1]
        How γ is found. "newton": a first guess from the gap and, where that is not close enough, Newton's method on
        the derivative of the dual along the segment. "golden": golden sections on its values. "guaranteed":
        ``γ = l2 / (l2 + max_i c_i R_i)`` with ``R_i = (‖F(y_i)‖ + max_y ‖F(y)‖)²`` or a bound on it: every block
        ascends by at least γ times its gap. These three never lower the dual of the problem that is worked on.
        "newton-1": one Newton step from γ = 0.5, cut to [0, 1]. A number: always that γ. With these two the dual may
        fall and nothing ensures convergence; certificates are true all the same.
    subprecision : float
        "newton" ends when its next move would be shorter than this fraction of the step; "golden", when its bracket
        is. A step that is wrong by a tenth loses about a hundredth of the ascent, and one evaluation finds most.
    init : {"mixture", "product", "peaked", "uniform", "random"}
        Where μ_i begins. "mixture": ``ε · uniform + (1 − ε) · truth``, equation (21). "product": independent labels,
        each that mixture. "peaked": the marginals of potentials 10 on the true labels and the true pairs. "uniform".
        "random": the marginals of potentials ``log E``, E exponential; for one node that is uniform over all
        distributions. The further from the truth, the larger the initial weights.
    epsilon : float in (0, 1] or "auto"
        Of "mixture" and "product" only. "auto" takes the ε of largest dual value.

    Examples
    --------
    >>> from dualfield import ChainCRF, SDCA
    >>> crf = ChainCRF(solver=SDCA(sampling="uniform"), random_state=0)
    """

    step: Literal["newton", "newton-1", "golden", "guaranteed"] | float = "newton"
    subprecision: float = 0.1
    init: Literal["mixture", "product", "peaked", "uniform", "random"] = "mixture"
    epsilon: float | Literal["auto"] = "auto"

    samplings: ClassVar[tuple[str, ...]] = (*DualSolver.samplings, "residual")
    needs: ClassVar[frozenset[str]] = frozenset({"exact marginals", "entropy", "clique tables"})

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (isinstance(self.step, str) and self.step in _STEPS):
            rule = ", ".join(map(repr, _STEPS)) + " or a number in (0, 1]"
            check_number("SDCA", "step", self.step, lambda x: 0 < x <= 1, rule)
        check_number("SDCA", "subprecision", self.subprecision, lambda x: 0 < x < 1, "in (0, 1)")
        one_of("SDCA", "init", self.init, ("mixture", "product", "peaked", "uniform", "random"))
        if self.epsilon != "auto":
            if self.init not in ("mixture", "product"):
                raise ValueError(
                    f"SDCA: epsilon belongs to init='mixture' and init='product', and init={self.init!r} has none; "
                    f"got epsilon={self.epsilon!r}."
                )
            check_number("SDCA", "epsilon", self.epsilon, lambda x: 0 < x <= 1, "in (0, 1] or 'auto'")

    def check(self, field: Field) -> None:
        """Refuse a field that lacks something, by name."""
        super().check(field)
        if self.sampling == "residual" and "one node" not in field.offers:
            raise TypeError(
                f"SDCA: sampling='residual' needs one node a block, which {field.name} does not offer: over whole "
                "labellings ‖ν − μ‖₁ cannot be computed, so choose another rule, such as 'gap'."
            )

        if self.init == "product" and "independent nodes" not in field.offers:
            raise TypeError(
                f"SDCA: init='product' starts with independent labels, which {field.name} does not offer; choose "
                "another start, such as 'mixture'."
            )

    @property
    def limits(self) -> str:
        if self.step == "newton-1" or not isinstance(self.step, str):
            return "with this step rule the dual may fall and nothing ensures convergence; step='newton' converges"
        return ""

    def bind(self, field: Field, seed: int, single: bool) -> Any:
        """The compiled run, with duals in single or double precision."""
        return compiled(
            "SDCA",
            field,
            self.needs,
            **self._options(field, seed, single),
            step=self.step if isinstance(self.step, str) else "fixed",
            subprecision=float(self.subprecision),
            step_size=0.0 if isinstance(self.step, str) else float(self.step),
            init="mixture" if self.init == "uniform" else self.init,
            epsilon=1.0 if self.init == "uniform" else 0.0 if self.epsilon == "auto" else float(self.epsilon),
        )

    def start_to(self, field: Field, seed: int, tol: float) -> SDCARun:
        """Bind to a field; the first slices of work make the start."""
        return SDCARun(self, field, seed, self.single(field, tol))


class SDCARun(DualRun):
    """A run of :class:`SDCA`."""

    evaluations_column: ClassVar[str] = "line_search_evaluations"
    _timed = (0.0, 0.0)  # seconds in the line search and in whole updates, at the end of the last pass

    def record(self) -> dict[str, float]:
        now = (self._core.search_seconds, self._core.update_seconds)
        search, update = (after - before for after, before in zip(now, self._timed, strict=True))
        self._timed = now
        return {**super().record(), "line_search_share": search / update if update > 0 else math.nan}
