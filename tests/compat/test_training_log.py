"""The log of a run whose last pass left floating point has the passes before it."""

from __future__ import annotations

from dataclasses import replace

from dualfield import solve
from dualfield.compat.sklearn_crfsuite.training_log import TrainingLog
from tests.zoo import problem


def test_a_pass_without_a_row_is_left_out() -> None:
    field = problem("chain-dense")
    solution = solve(field, "lbfgs", tol=0.0, max_passes=3, random_state=0)
    one_more = replace(solution, passes=solution.passes + 1)
    assert len(TrainingLog.of(one_more, field.dimension, None).iterations) == 3
