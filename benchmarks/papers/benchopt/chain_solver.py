"""What the solvers have in common: benchopt looks at the weights after each pass, on its own clock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from benchopt import BaseSolver

from dualfield import solve
from dualfield.driver import Progress
from dualfield.solvers import Solver

__all__ = ["ChainSolver"]

MOST_PASSES = 10_000


class ChainSolver(BaseSolver):
    """A solver of dualfield; subclasses say which with :meth:`method`."""

    sampling_strategy = "callback"

    def set_objective(self, field: Any) -> None:
        self.field = field
        self.weights = np.zeros(field.dimension)

    def method(self) -> Solver:
        raise NotImplementedError

    def run(self, go_on: Callable[[], bool]) -> None:
        def look(progress: Progress) -> bool:
            self.weights = progress.weights()
            return not go_on()

        if go_on():
            solve(self.field, self.method(), tol=0.0, max_passes=MOST_PASSES, callbacks=[look], random_state=0)

    def get_result(self) -> dict[str, np.ndarray]:
        return {"weights": self.weights}
