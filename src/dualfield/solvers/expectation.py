"""Partial labels by a sequence of convex problems, each minimised by a method on the dual and certified.

Where labels are known in part the objective P is not convex. At any weights a there is a convex problem Q that bounds P
from above and meets it at a: the unknown labels count as the model expects them at a, a truth that is a distribution.
The run works on Q for some passes. Where P at the weights found is not above P(a), they are the next a, and the run
goes on from the marginals that it has. So P never rises from one problem to the next. The dual value of Q certifies how
far Q(a) = P(a) is above the minimum of Q. Where that is zero, a is a stationary point of P,
and others may be lower.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from dualfield.fields import Field
from dualfield.solvers.base import Bound, Run

if TYPE_CHECKING:
    from dualfield.solvers.dual import DualSolver

__all__ = ["ExpectationRun"]

# The labels are expected anew when the estimated gap is this part of the one that the problem had at first, or of the
# tolerance.
_OF_FIRST_GAP = 0.1
_OF_TOLERANCE = 0.5
_PASSES_OF_KNOWN = 2
_UNKNOWN = Bound(math.nan, math.nan, math.nan)


class ExpectationRun(Run):
    """A method on the dual at work on one convex problem after the other.

    The first expectations follow two passes over the sequences whose labels are all known, where there are any.

    Attributes
    ----------
    problem : Field
        The present convex problem. Its objective less ``problem.core.entropy`` bounds that of ``field``.
    problems : int
        How many there have been.
    anchor : array, shape (dimension,)
        The weights where the two meet, which ``bound`` speaks of.
    """

    proves: ClassVar[bool] = True  # ``bound`` is that of the convex problem, not of gradients
    solver: DualSolver

    def __init__(self, solver: DualSolver, field: Field, seed: int, tol: float) -> None:
        super().__init__(solver, field, None)
        self._seed, self._tol = seed, tol
        self._bound, self._confirmed = _UNKNOWN, False
        self._expected = self._moved = False  # within confirm(): whether the labels have been, and at new weights
        self.problems, self._enough = 0, math.inf
        self.problem = field.bounding_problem()
        self.anchor, self._at_anchor = self._nowhere(), math.inf
        self._passes_of_known = 0
        self._inner: Run
        if self.problem.core.some_known:
            self._inner = solver.start_to(self.problem, seed, tol)
        else:
            self.begin_at(self.anchor)

    def _nowhere(self) -> npt.NDArray[np.float64]:
        return np.zeros(self.field.dimension) if self.field.centre is None else self.field.centre.copy()

    def _meet(self, weights: npt.NDArray[np.float64]) -> bool:
        """Take the labels that the model expects at these weights. False if the objective has risen."""
        value = self.problem.core.expect(weights) + self.field.penalty(weights)
        if not value <= self._at_anchor:
            return False
        self.problem.core.meet()
        self.anchor, self._at_anchor = weights, value
        self.problems += 1
        return True

    def begin_at(self, weights: npt.NDArray[np.float64]) -> None:
        """Expect the unknown labels at these weights in the first problem."""
        self._at_anchor, self.problems = math.inf, 0
        self._meet(weights)
        self._enough = _OF_FIRST_GAP * self._at_anchor
        self._inner = self.solver.start_to(self.problem, self._seed, self._tol)

    def advance(self, seconds: float, max_updates: int | None = None) -> bool:
        self._confirmed = False
        if self.problems > 0:
            return self._inner.advance(seconds, max_updates)
        if self._inner.advance(seconds):
            self._passes_of_known += 1
        if self._passes_of_known == _PASSES_OF_KNOWN or self._inner.diverged:
            self.begin_at(self._nowhere() if self._inner.diverged else self._inner.weights())
        return False

    def worth_confirming(self, tol: float, understated: float) -> bool:
        gap, primal = self.estimate()
        return gap <= max(self._enough, _OF_TOLERANCE * tol * abs(primal))

    def confirm(self, seconds: float) -> bool:
        """Expect the labels at the present weights, if the objective is not higher there; certify that problem."""
        if self.problems == 0:
            self.begin_at(self._nowhere())
        if not self._expected:
            self._moved, self._expected = self._meet(self._inner.weights()), True
        if not self._inner.confirm(seconds):
            return False
        primal, dual, gap = self._inner.bound
        below, rounding = dual - self.problem.core.entropy, gap - (primal - dual)
        self._bound = Bound(self._at_anchor, below, self._at_anchor - below + rounding)
        self._inner.adopt()
        self._enough = _OF_FIRST_GAP * (self._bound.gap if self._moved else self._enough)
        self._expected, self._confirmed = False, True
        return True

    @property
    def bound(self) -> Bound:
        return self._bound

    def certified_weights(self) -> npt.NDArray[np.float64]:
        return self.anchor.copy()

    def weights(self) -> npt.NDArray[np.float64]:
        return self._inner.weights()

    def estimate(self) -> tuple[float, float]:
        gap, primal = self._inner.estimate()
        return gap, primal - self.problem.core.entropy

    def unproven(self, relative: float, objection: str) -> str:
        return (
            f"the last of {self.problems} convex problems, which bounds the objective and meets it at these weights, "
            f"is proven to be within {relative:.1e} (relative) of its optimum there, but {objection}, so there may be "
            "lower optima"
        )

    def record(self) -> dict[str, float]:
        row = self._inner.record()
        del row["dual"], row["true_gap"]  # of one convex problem, and of another
        gap = self._bound.gap if self._confirmed else math.nan
        return {**row, "problem": float(self.problems), "problem_gap": gap}

    def under_another_penalty(self, field: Field, seed: int) -> ExpectationRun:
        run = ExpectationRun(self.solver, field, seed, self._tol)
        run.begin_at(self.anchor)
        run._inner = self._inner.under_another_penalty(run.problem, seed)
        return run

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        if self.problems == 0:
            self.begin_at(self._nowhere())
        numbers = [*self._bound, self._enough, self.problems, self._confirmed]
        own = {"anchor": self.anchor.copy(), "expectation": np.array(numbers)}
        return {**self._inner.arrays(), **own, "passes_done": np.array([self.passes_done])}

    def restore(self, arrays: dict[str, npt.NDArray[Any]]) -> ExpectationRun:
        rest = dict(arrays)
        try:
            anchor, numbers = rest.pop("anchor"), rest.pop("expectation")
        except KeyError as error:
            raise ValueError(f"the state has no array {error}; it is not one of partial labels.") from None
        if numbers.shape != (6,) or anchor.shape != (self.field.dimension,) or not np.isfinite(anchor).all():
            raise ValueError("the arrays of the state are damaged: expected 6 numbers, and finite weights.")
        self.begin_at(anchor.copy())
        self.passes_done = self._inner.restore(rest).passes_done
        self._bound = Bound(*numbers[:3].tolist())
        self._enough, self.problems, self._confirmed = float(numbers[3]), int(numbers[4]), bool(numbers[5])
        return self

    # Properties of the inner run, passed on.

    @property
    def note(self) -> str:
        return self._inner.note

    @property
    def remark(self) -> str:
        return self._inner.remark

    @property
    def stalled(self) -> bool:
        return self._inner.stalled

    @property
    def diverged(self) -> bool:
        return self._inner.diverged

    @property
    def refreshing(self) -> bool:
        return self._inner.refreshing

    @property
    def updates(self) -> int:
        return self._inner.updates

    @property
    def oracle_calls(self) -> int:
        return self._inner.oracle_calls
