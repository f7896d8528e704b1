"""scikit-learn's errors and warnings where it is installed, and what stands in for them where it is not.

scikit-learn takes longer to import than most models take to train, so it is imported when one of these is needed.
"""

from __future__ import annotations

from typing import Any

__all__ = ["ConvergenceWarning", "NotFittedError", "check_fitted", "convergence_warning", "not_fitted_error"]


class NotFittedError(ValueError, AttributeError):
    """A model was asked before it was fitted."""


class ConvergenceWarning(UserWarning):
    """Training ended before the wanted tolerance."""


def convergence_warning() -> type[Warning]:
    """scikit-learn's class, so that its users' filters work, or that of this module."""
    try:
        from sklearn.exceptions import ConvergenceWarning as Known
    except ImportError:
        return ConvergenceWarning
    warning: type[Warning] = Known
    return warning


def not_fitted_error() -> type[Exception]:
    """scikit-learn's class, or that of this module."""
    try:
        from sklearn.exceptions import NotFittedError as Known
    except ImportError:
        return NotFittedError
    error: type[Exception] = Known
    return error


def check_fitted(estimator: Any) -> None:
    """Refuse an estimator that has no weights yet."""
    if not hasattr(estimator, "solution_"):
        name = type(estimator).__name__
        raise not_fitted_error()(f"This {name} instance is not fitted yet; call its fit before this method.")
