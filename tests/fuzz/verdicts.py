"""What a call of the public interface may do: answer, or refuse in a sentence of ours. Anything else is a defect.

A refusal is ours where a ``raise`` of this package (or scikit-learn's checks, which estimators share) made it. An error
that the interpreter or NumPy raises inside the package says that a check is missing, whatever its type.
"""

from __future__ import annotations

import linecache
import math
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

REFUSALS = (ValueError, TypeError, RuntimeError, MemoryError, NotFittedError, OSError)
_FOREIGN = ("incompatible function arguments", "std::", "bad_alloc", "vector::", "basic_string")
# Python's own words for an argument of another type, by its own protocols for paths and whole numbers.
_PLAIN = ("os.PathLike object, not", "cannot be interpreted as an integer")
# Sentences that the compiled tagger of single sequences raises below a plain call.
_TAGGER = (
    "the model is damaged: ",
    "no labelling of this sequence is possible",
    "the scores of this sequence are beyond",
)


class Broken(Exception):
    """A promise that an answer does not keep."""


def verdict(error: BaseException) -> str:
    """ "refused", or what is wrong with the error."""
    kind = type(error).__name__
    message = str(error)
    where, line = _innermost(error)
    if isinstance(error, Broken):
        return f"broken promise: {message}"
    if not isinstance(error, REFUSALS) or isinstance(error, (RecursionError, NotImplementedError)):
        return f"{kind} at {where}: {message:.200}"
    if any(mark in message for mark in _FOREIGN):
        return f"{kind} of the binding layer at {where}: {message:.160}"
    compiled = "core" in line or "on_threads(" in line  # which calls the core
    ours = "/dualfield/" in where and (line.startswith("raise") or compiled)
    if "/sklearn/" in where or any(mark in message for mark in _PLAIN) or message.startswith(_TAGGER):
        return "refused"
    if not ours:
        return f"{kind} not of ours at {where} [{line:.80}]: {message:.100}"
    if not message.strip() or isinstance(error, KeyError):
        return f"{kind} without a sentence at {where}"
    return "refused"


def _innermost(error: BaseException) -> tuple[str, str]:
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    if traceback is None:
        return "nowhere", ""
    name, number = traceback.tb_frame.f_code.co_filename, traceback.tb_lineno
    return f"{name}:{number}", linecache.getline(name, number).strip()


# ---- promises -----------------------------------------------------------------------------------------------------


def promise(holds: Any, what: str) -> None:
    if not bool(holds):
        raise Broken(what)


def check_solution(solution: Any) -> None:
    """Finite weights, and a gap that is not negative beyond rounding."""
    promise(np.isfinite(solution.weights).all(), f"weights are finite (status {solution.status})")
    if solution.certificate == "none" or math.isnan(solution.duality_gap):
        return
    size = 1.0 + abs(solution.primal)
    promise(solution.duality_gap >= -1e-9 * size, f"a gap is not negative: {solution.duality_gap}")
    promise(solution.dual <= solution.primal + 1e-9 * size, f"dual {solution.dual} <= primal {solution.primal}")


def check_objective(field: Any, solution: Any) -> None:
    """The objective at the weights is what the solution says."""
    if math.isnan(solution.primal):
        return
    found = field.primal(solution.weights)
    bound = 1e-6 * (1.0 + abs(found))
    promise(abs(found - solution.primal) <= bound, f"primal {solution.primal} is that of the weights, {found}")


def check_pair(first: Any, second: Any) -> None:
    """Of one convex problem: no run's lower bound exceeds what another reaches."""
    for low, high in ((first, second), (second, first)):
        if low.certificate != "exact" or math.isnan(low.dual) or math.isnan(high.primal):
            continue
        bound = 1e-8 * (1.0 + abs(high.primal))
        promise(low.dual <= high.primal + bound, f"a dual value {low.dual} is at most another primal {high.primal}")


def check_labels(predicted: Any, classes: Any) -> None:
    known = set(np.asarray(classes).tolist())
    for row in predicted:
        flat = row.ravel().tolist() if isinstance(row, np.ndarray) else row
        promise(set(flat) <= known, "predictions are labels that the model knows")


def check_marginals(marginals: Any) -> None:
    for array in marginals:
        array = np.asarray(array)
        promise(np.isfinite(array).all(), "marginals are finite")
        promise((array >= -1e-12).all() and (array <= 1 + 1e-9).all(), "marginals are within [0, 1]")
        promise(np.allclose(array.sum(axis=-1), 1.0, atol=1e-6), f"marginals add up to 1: {array.sum(axis=-1).min()}")
