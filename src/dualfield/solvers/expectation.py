"""Partial labels by convex problems that bound the objective, minimised by a method on the dual and certified.

Where labels are known in part the objective P is not convex. Put a distribution over the labellings left open in the
place of each sequence's labels: with it the problem Q is convex, and bounds P from above. The work goes in turns.

* The distributions *follow* the potentials that the method keeps of each sequence, step by step
  (``core/fields/expected_chain.hpp``), until the estimated gap is within the tolerance. This comes near.
* Then the labels are *expected* at the weights a reached, where P is not higher than at those of the turn before, and
  at those otherwise. With these Q meets P at a. They stay as they are for some passes, and the dual value of Q
  certifies how far P(a) is above the minimum of Q. Where that is zero, a is a stationary point of P, and others may be
  lower.
* If the minimum of Q is too far below P(a), the labels are expected anew near this minimum, where P is lower than at a,
  and the distributions follow again.

Distributions that follow may come to rest where the gap is too large. Then too the labels are expected, which leads on.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from dualfield.core_arrays import contiguous
from dualfield.fields import Field
from dualfield.solvers.base import Bound, Run

if TYPE_CHECKING:
    from dualfield.solvers.dual import DualSolver

__all__ = ["ExpectationRun"]

# Labels follow until the estimated gap is this part of the tolerance.
_OF_TOLERANCE = 0.5
# They are at rest when the gap has not fallen to this part of the least one for so many passes.
_LOWER, _PATIENCE = 0.9, 10
# Labels that stay are expected anew when P(a) is known to be above the minimum of Q by more than the tolerance, and the
# gap of Q is this part of how far P(a) is above the dual value; half as much each time that P was not lower there.
_EXHAUSTED = 0.5
_SLICE_SECONDS = 0.1
_UNKNOWN = Bound(math.nan, math.nan, math.nan)


class ExpectationRun(Run):
    """A method on the dual at work on convex problems that bound the objective.

    Attributes
    ----------
    problem : Field
        The present convex problem. Its objective less ``problem.core.entropy`` bounds that of ``field``.
    problems : int
        How many of them have met the objective.
    anchor : array, shape (dimension,)
        The weights where the last of these did, which ``bound`` speaks of.
    """

    proves: ClassVar[bool] = True  # ``bound`` is that of the convex problem, not of gradients
    solver: DualSolver

    def __init__(self, solver: DualSolver, field: Field, seed: int, tol: float) -> None:
        super().__init__(solver, field, None)
        self._seed, self._tol = seed, tol
        self._bound, self._confirmed = _UNKNOWN, False
        self._certifying = False  # the certificate is under way
        self._least_gap, self._passes_above, self._at_rest = math.inf, 0, False
        self._share = _EXHAUSTED
        self._exhausted = False  # the minimum of the problem is known to be too far below the objective
        self.problem = field.bounding_problem()
        self.begin_at(np.zeros(field.dimension) if field.centre is None else field.centre.copy())
        self._follow(True)

    def begin_at(self, weights: npt.NDArray[np.float64]) -> None:
        """Expect the unknown labels at these weights, in the first pass."""
        self._at_anchor, self.problems = math.inf, 0
        self._follow(False)
        self._first_pass = True
        self._meet(weights)
        self._inner = self.solver.start_to(self.problem, self._seed, self._tol)

    def _meet(self, weights: npt.NDArray[np.float64]) -> bool:
        """Take the labels that the model expects at these weights. False if the objective has risen."""
        value = self.problem.core.expect(weights) + self.field.penalty(weights)
        if not value <= self._at_anchor:
            return False
        self.problem.core.meet()
        self.anchor, self._at_anchor = weights, value
        self.problems += 1
        return True

    def _follow(self, follows: bool) -> None:
        self.problem.core.follow(follows)
        self._following = follows

    def advance(self, seconds: float, max_updates: int | None = None) -> bool:
        if self._certifying:  # a certificate was interrupted: the weights do not yet go with the labels expected
            self.confirm(seconds)
            return False
        self._confirmed = False
        complete = self._inner.advance(seconds, max_updates)
        if complete and self._first_pass:  # its labels were expected where it began
            self._first_pass = False
            self._follow(True)
        elif complete and self._following:
            self._look_for_rest()
        elif complete:
            gap, above = self._inner.estimate()[0], self._above_dual()
            hopeless = above - gap > self._tol * abs(self._at_anchor)
            self._exhausted = hopeless and gap <= self._share * above
        return complete

    def _look_for_rest(self) -> None:
        gap = self._inner.estimate()[0]
        lower = gap < _LOWER * self._least_gap
        self._least_gap = min(gap, self._least_gap)
        self._passes_above = 0 if lower else self._passes_above + 1
        self._at_rest = self._at_rest or self._passes_above >= _PATIENCE

    def _above_dual(self) -> float:
        """How far the objective at the anchor is above the dual value of the problem."""
        gap, primal = self._inner.estimate()
        return self._at_anchor - (primal - gap - self.problem.core.entropy)

    def worth_confirming(self, tol: float, understated: float) -> bool:
        self._tol = tol
        if self._following:
            gap, primal = self.estimate()
            return self._at_rest or gap <= _OF_TOLERANCE * tol * abs(primal)
        return self._exhausted or self._above_dual() <= tol * abs(self._at_anchor)

    def confirm(self, seconds: float) -> bool:
        """Certify the present problem, of labels that are expected anew if they followed or it has nothing to gain."""
        if not self._certifying:
            if self._following or self._exhausted:
                lower = self._meet(self._inner.weights())
                if not lower:
                    self.problem.core.expect(self.anchor)
                    self.problem.core.meet()
                if lower:
                    self._share = _EXHAUSTED
                elif self._exhausted:
                    self._share, self._exhausted = 0.5 * self._share, False
                self._first_pass = False
                self._follow(False)
            self._certifying = True
        if not self._inner.confirm(seconds):
            return False
        primal, dual, gap = self._inner.bound
        below, rounding = dual - self.problem.core.entropy, gap - (primal - dual)
        self._bound = Bound(self._at_anchor, below, self._at_anchor - below + rounding)
        self._inner.adopt()
        self._follow(self._exhausted)
        self._least_gap, self._passes_above, self._at_rest = math.inf, 0, False
        self._certifying, self._exhausted, self._confirmed = False, False, True
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
        run.problem.core.set_truth(*self.problem.core.truth())
        run._first_pass = False
        run._follow(True)
        run._inner = self._inner.under_another_penalty(run.problem, seed)
        return run

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        while self._certifying:
            self.confirm(_SLICE_SECONDS)
        flags = [self._confirmed, self._first_pass, self._following, self._exhausted, self._at_rest]
        numbers = [*self._bound, self._at_anchor, self._share, self.problems, *flags]
        expected, entropies = self.problem.core.truth()
        own = {"anchor": self.anchor.copy(), "expected": expected, "entropies_of_expected": entropies}
        own["expectation"] = np.array(numbers)
        return {**self._inner.arrays(), **own, "passes_done": np.array([self.passes_done])}

    def restore(self, arrays: dict[str, npt.NDArray[Any]]) -> ExpectationRun:
        rest = dict(arrays)
        try:
            own = [rest.pop(name) for name in ("anchor", "expected", "entropies_of_expected", "expectation")]
        except KeyError as error:
            raise ValueError(f"the state has no array {error}; it is not one of partial labels.") from None
        anchor, expected, entropies, numbers = (contiguous(array, np.float64) for array in own)
        if numbers.shape != (11,) or anchor.shape != (self.field.dimension,) or not np.isfinite(anchor).all():
            raise ValueError("the arrays of the state are damaged: expected 11 numbers, and finite weights.")
        self.begin_at(anchor.copy())
        self.problem.core.set_truth(expected, entropies)
        self.passes_done = self._inner.restore(rest).passes_done
        self._bound = Bound(*numbers[:3].tolist())
        self._at_anchor, self._share, self.problems = float(numbers[3]), float(numbers[4]), int(numbers[5])
        self._confirmed, self._first_pass, following, self._exhausted, self._at_rest = map(bool, numbers[6:])
        self._follow(following)
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
