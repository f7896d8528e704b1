"""The common part of methods on single cliques; the compiled side is ``core/solvers/clique_ascent.hpp``."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from dualfield import _core
from dualfield.fields import Field
from dualfield.solution import Certificate
from dualfield.solvers.base import Bound, MarginalsRun, Solver, check_count, check_number
from dualfield.solvers.dual import one_of

__all__ = ["CliqueRun", "CliqueSampling", "CliqueSolver"]

CliqueSampling = Literal["permuted", "uniform", "gap"]

_FIRST_CHECKPOINT = 16


@dataclass(frozen=True)
class CliqueSolver(Solver):
    """How a method on cliques weighs disagreement and draws cliques; :class:`IDAL` explains the parameters."""

    rho: float = 0.3
    sampling: CliqueSampling = "permuted"
    non_uniformity: float = 0.9
    permutation_every: int = 4
    subprecision: float = 0.01

    needs: ClassVar[frozenset[str]] = frozenset({"per-clique access"})
    candidate: ClassVar[str] = "proximal"
    multipliers: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_number(self.name, "rho", self.rho, lambda x: 0 < x < math.inf, "a positive finite number")
        one_of(self.name, "sampling", self.sampling, ("permuted", "uniform", "gap"))
        check_number(self.name, "non_uniformity", self.non_uniformity, lambda x: 0 <= x <= 1, "in [0, 1]")
        check_count(self.name, "permutation_every", self.permutation_every, 0)
        check_number(self.name, "subprecision", self.subprecision, lambda x: 0 < x < 1, "in (0, 1)")

    @property
    def if_diverged(self) -> str:
        return "raise rho, scale the attributes down or raise l2"

    def start(self, field: Field, seed: int) -> CliqueRun:
        """Bind to a field, with the marginals of every clique next to the truth."""
        kind = "Gini" if field.entropy == "gini" else "Entropic"
        core = getattr(_core, f"CliqueAscent{kind}")(
            field.core_with(self.needs),
            rho=float(self.rho),
            inner_passes=self._inner_passes(),
            multipliers=self.multipliers,
            adapt=self._adapts(),
            candidate=self.candidate,
            subprecision=float(self.subprecision),
            epsilon=math.nan,
            sampling="gap" if self.sampling == "gap" else "uniform",
            non_uniformity=float(self.non_uniformity),
            permutation_every={"permuted": 1, "uniform": 0}.get(self.sampling, int(self.permutation_every)),
            seed=seed,
        )
        return CliqueRun(self, field, core)

    def _inner_passes(self) -> int:
        return 1

    def _adapts(self) -> bool:
        return False


class CliqueRun(MarginalsRun):
    """A method on cliques at work: pseudo-marginals, multipliers, and the weights that go with them."""

    proves: ClassVar[bool] = True

    def __init__(self, solver: CliqueSolver, field: Field, core: Any) -> None:
        super().__init__(solver, field, core)
        self._bound = Bound(math.nan, math.nan, math.nan)
        self._certified = np.zeros(0)
        self._oracle_calls = 0

    def confirm(self, seconds: float) -> bool:
        weights = self._core.weights()
        primal, magnitude = self.field.core.primal_bound(weights)
        dual, allowance = self._core.dual_bound(True), _core.rounding_allowance(magnitude)
        self._oracle_calls += self.field.n_blocks
        self._certified = weights
        dual = max(dual, self._bound_by_gradient(weights, primal) - allowance)
        if math.isfinite(primal) and dual <= primal + allowance:
            self._bound = Bound(primal, min(dual, primal), max(0.0, primal - dual) + allowance)
        else:  # not a number, or a defect: then nothing is certified
            self._bound = Bound(math.nan, math.nan, math.nan)
        return True

    def _bound_by_gradient(self, weights: npt.NDArray[np.float64], primal: float) -> float:
        """``P(w) − ‖∇P(w)‖² / (2 l2)``, mostly the larger bound once cliques nearly agree.

        −∞ with approximate inference: there it would hold only as far as messages have converged.
        """
        if not self.field.exact:
            return -math.inf
        _, gradient = self.field.gradient(weights)
        self._oracle_calls += self.field.n_blocks
        with np.errstate(over="ignore"):  # then it bounds nothing
            return primal - float(gradient @ gradient) / (2 * self.field.l2)

    def worth_confirming(self, tol: float, understated: float) -> bool:
        passes = self._core.updates // self._core.updates_per_pass
        odd = passes // (passes & -passes) if passes else 0
        checkpoint = passes >= _FIRST_CHECKPOINT and odd in (1, 3)  # 16, 24, 32, 48, 64, ...
        return checkpoint or super().worth_confirming(tol, understated)

    @property
    def bound(self) -> Bound:
        return self._bound

    def certificate(self, weights: npt.NDArray[np.float64]) -> tuple[Certificate, str]:
        """Whether inference converged does not matter: its value is an upper bound in any case."""
        return ("exact" if self.field.exact else "relaxed"), ""

    def estimate(self) -> tuple[float, float]:
        augmented = self._core.augmented_dual
        return abs(augmented - self._core.dual_bound(False)), augmented

    @property
    def oracle_calls(self) -> int:
        return self._oracle_calls

    @property
    def violation(self) -> float:
        """``‖Aμ‖`` at the end of the last outer iteration."""
        return float(self._core.violation)

    @property
    def remark(self) -> str:
        disagreement = f"the constraint violation ‖Aμ‖ is {self.violation:.1e}"
        if not self.solver.multipliers:  # type: ignore[attr-defined]
            return f"{disagreement}: {self.solver.name} minimises another objective, so its gap does not vanish"
        if self._core.waited > 0:
            rest = f"and has not fallen for {self._core.waited} of {self._core.outer_iterations} outer iterations"
            return f"{disagreement} {rest}; raise rho or inner_passes"
        return disagreement

    def certified_weights(self) -> npt.NDArray[np.float64]:
        return self._certified.copy()

    def record(self) -> dict[str, float]:
        dual = float(self._core.dual_bound(False))
        inner = float(self._core.recorded_gap)
        return {
            "dual": dual,
            "violation": self.violation,
            "augmented_dual": float(self._core.augmented_dual),
            "inner_gap": inner,
            "outer_gap": float(self._core.augmented_dual) + inner - dual,
            "outer_iterations": float(self._core.outer_iterations),
            "inner_passes": float(self._core.inner_passes),
            "rho": float(self._core.rho),
        }

    def measured_gap(self, max_passes: int = 1000) -> float:
        """``max_μ D_ρ(μ, ξ) − D_ρ(μ̂, ξ)`` at the present multipliers, found by going on with a copy."""
        return float(self._core.measured_gap(max_passes))
