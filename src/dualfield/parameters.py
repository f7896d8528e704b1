"""Checks of the parameters of training, without NumPy: for solvers, estimators and model files."""

from __future__ import annotations

import math
from numbers import Integral, Real

from dualfield.given_numbers import as_float, check_integer

__all__ = ["TRAINING", "check_ignore_label", "check_l1", "check_l2", "check_limits"]

# What the parameters of estimators say of training, not of the model.
TRAINING = (
    *("solver", "tol", "max_passes", "n_jobs", "warm_start", "random_state", "verbose", "ignore_label"),
    *("class_weight", "costs"),
)


def check_l1(l1: object) -> float:
    """Return ``l1`` as a float, or refuse it."""
    if not isinstance(l1, Real) or isinstance(l1, bool) or not math.isfinite(as_float(l1)) or l1 < 0:
        raise ValueError(f"l1 must be a finite number, not negative; got {l1!r}.")
    return float(l1)


def check_l2(l2: object, l1: float = 0.0) -> float:
    """Return ``l2`` as a float, or refuse it: it is positive, or zero beside a positive ``l1``."""
    if l1 > 0 and isinstance(l2, Real) and not isinstance(l2, bool) and l2 == 0:
        return 0.0
    if not isinstance(l2, Real) or isinstance(l2, bool) or not math.isfinite(as_float(l2)) or l2 <= 0:
        raise ValueError(f"l2 must be a positive finite number; got {l2!r}.")
    return float(l2)


def check_ignore_label(ignore_label: object) -> None:
    """Refuse what cannot be a label."""
    if ignore_label is not None and (isinstance(ignore_label, bool) or not isinstance(ignore_label, str | Integral)):
        raise ValueError(f"ignore_label must be a string, an integer or None; got {ignore_label!r}.")


def check_limits(tol: float, max_passes: int) -> None:
    """Refuse a tolerance or a number of passes that makes no sense."""
    if not (isinstance(tol, Real) and not isinstance(tol, bool) and math.isfinite(as_float(tol)) and tol >= 0):
        raise ValueError(f"tol must be a finite number, not negative; got {tol!r}.")
    check_integer("max_passes", max_passes, 1, "a positive integer")
