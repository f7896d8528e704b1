"""The objective for benchopt: the penalised negative log-likelihood of a chain.

    pip install benchopt
    benchopt run benchmarks/papers/benchopt -d papers[task=ocr] -s SDCA

The sum over all sequences, ``l2/2 ‖w‖² + Σ −log p(y_i | x_i; w)``, and the share of wrong labels on the test set. Data
sets are those of ``datasets.py``, cut or generated with ``size="quick"``.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from benchopt import BaseObjective


class Objective(BaseObjective):
    """P(w) in sum units; P* is unknown to it, so benchopt plots distances from the best value found."""

    name = "Chain CRF"
    min_benchopt_version = "1.6"
    parameters: ClassVar = {"l2": [1.0]}

    def set_data(self, problem: Any) -> None:
        self.problem, self.field = problem, problem.under(self.l2)

    def evaluate_result(self, weights: np.ndarray) -> dict[str, float]:
        return {"value": self.field.primal(weights), "test_error": self.problem.test_error(weights)}

    def get_one_result(self) -> dict[str, np.ndarray]:
        return {"weights": np.zeros(self.field.dimension)}

    def get_objective(self) -> dict[str, Any]:
        return {"field": self.field}
