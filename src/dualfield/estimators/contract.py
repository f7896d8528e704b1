"""What scikit-learn's contract asks of all estimators here."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator

__all__ = ["Estimator", "StructuredEstimator"]


class Estimator(BaseEstimator):
    """An estimator that may keep a solver's run from one fit to the next."""

    def __getstate__(self) -> dict[str, Any]:
        # A pickle carries the weights, not the solver's state.
        return {name: value for name, value in super().__getstate__().items() if name != "_run"}


class StructuredEstimator(Estimator):
    """One whose X has structures, such as sequences or graphs, and whose y has the labels of their parts."""

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "weights_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.target_tags.required = True
        return tags
