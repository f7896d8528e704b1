"""How training went, under the names that readers of ``training_log_`` use."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import precision_recall_fscore_support

from dualfield.compat.sklearn_crfsuite.metrics import flat_accuracy_score, flatten, sequence_accuracy_score
from dualfield.solution import Solution

__all__ = ["TrainingLog"]


@dataclass(frozen=True)
class TrainingLog:
    """What ``CRF.training_log_`` says.

    Attributes
    ----------
    iterations : list of dict
        For every pass ``num``, ``time`` (seconds since the one before) and ``loss``, the objective as far as the solver
        knew it then, NaN where it did not. The last has also ``active_features`` (weights that are not zero),
        ``feature_norm``, and with held-out sequences ``avg_precision``, ``avg_recall``, ``avg_f1`` (unweighted means
        over labels), ``item_accuracy_float`` and ``instance_accuracy_float``.
    featgen_num_features : int
        The number of weights.
    training_seconds : float
        The time of the solver.
    message : str
        How close to the optimum the result is proven to be, as a sentence.
    """

    iterations: list[dict[str, Any]]
    featgen_num_features: int
    training_seconds: float
    message: str

    @property
    def last_iteration(self) -> dict[str, Any]:
        """The last of ``iterations``."""
        return self.iterations[-1]

    @classmethod
    def of(
        cls, solution: Solution, dimension: int, held_out: tuple[Sequence[Any], Sequence[Any]] | None
    ) -> TrainingLog:
        """The log of a solution; ``held_out`` are true and predicted labels."""
        history = solution.history
        unknown = np.full(len(history.get("passes", ())), np.nan)  # a pass that left floating point has no row
        passes = zip(
            np.diff(history.get("seconds", unknown), prepend=0.0).tolist(),
            history.get("primal", unknown).tolist(),
            (history.get("dual", unknown) + history.get("gap_estimate", unknown)).tolist(),
            strict=True,
        )
        iterations: list[dict[str, Any]] = [
            {"num": number, "time": seconds, "loss": estimate if math.isnan(confirmed) else confirmed}
            for number, (seconds, confirmed, estimate) in enumerate(passes, 1)
        ]
        last = iterations[-1] if iterations else {"num": 0, "time": 0.0, "loss": math.nan}
        last["active_features"] = int(np.count_nonzero(solution.weights))
        last["feature_norm"] = float(np.linalg.norm(solution.weights))
        if not math.isnan(solution.primal):
            last["loss"] = solution.primal
        if held_out is not None:
            true, predicted = held_out
            means = precision_recall_fscore_support(flatten(true), flatten(predicted), average="macro", zero_division=0)
            last.update(zip(("avg_precision", "avg_recall", "avg_f1"), map(float, means[:3]), strict=True))
            last["item_accuracy_float"] = flat_accuracy_score(true, predicted)
            last["instance_accuracy_float"] = sequence_accuracy_score(true, predicted)
        return cls(iterations or [last], dimension, solution.seconds, solution.message)
