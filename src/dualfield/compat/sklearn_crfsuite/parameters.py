"""CRFsuite's parameters in dualfield's terms."""

from __future__ import annotations

import math
from itertools import chain
from numbers import Real
from typing import Any

from dualfield.estimators import ChainCRF
from dualfield.given_numbers import as_float, check_integer
from dualfield.solvers import SGD, Perceptron, Solver

__all__ = ["as_chain_crf", "checked_algorithm", "count", "delta_of", "number"]

# What each algorithm takes; CRFsuite too refuses the parameters of another.
_TAKES = {
    "lbfgs": [
        *("c1", "c2", "max_iterations", "num_memories", "epsilon", "period", "delta", "linesearch", "max_linesearch")
    ],
    "l2sgd": [
        *("c2", "max_iterations", "period", "delta", "calibration_eta", "calibration_rate"),
        *("calibration_samples", "calibration_candidates", "calibration_max_trials"),
    ],
    "ap": ["max_iterations", "epsilon"],
    "pa, arow": ["pa_type", "c", "error_sensitive", "averaging", "variance", "gamma"],
}
_ALGORITHMS = ("lbfgs", "l2sgd", "ap")
_MAX_ITERATIONS = {"lbfgs": 10_000, "l2sgd": 1000, "ap": 100}
_DELTA = {"lbfgs": 1e-5, "l2sgd": 1e-6, "ap": 1e-5}
_GAP_OF_DELTA = 100.0  # CRFsuite's default delta is then ChainCRF's default tol

# With c1, CRFsuite is often percents from the optimum when its iterations are over. A model of ours must not be worse,
# so it is trained to this gap, with more passes than there are iterations, above all where the gap can be proven: where
# c2 is not small beside c1. Whoever asks for fewer iterations than these wants a quick answer.
_GAP_WITH_C1 = 1e-4
_FEW_ITERATIONS, _ENOUGH_PASSES, _SOME_PASSES, _TIGHT = 20, 500, 200, 0.1


def checked_algorithm(crf: Any) -> str:
    """The algorithm, or a refusal of it or of a parameter that is not its own."""
    algorithm = "lbfgs" if crf.algorithm is None else crf.algorithm
    if algorithm in ("pa", "arow"):
        raise ValueError(
            f"algorithm={algorithm!r} has no counterpart in dualfield; use 'ap', the averaged perceptron, for training "
            "without probabilities, or 'lbfgs'."
        )
    if algorithm not in _ALGORITHMS:
        raise ValueError(f"algorithm must be 'lbfgs', 'l2sgd' or 'ap'; got {algorithm!r}.")
    for name in sorted(set(chain.from_iterable(_TAKES.values())) - set(_TAKES[algorithm])):
        value = getattr(crf, name)
        if value is not None:
            listed = ", ".join(_TAKES[algorithm])
            raise ValueError(f"{name}={value!r} is no parameter of algorithm={algorithm!r}, which takes {listed}.")
    if crf.trainer_cls is not None:
        raise ValueError(
            "trainer_cls needs a pycrfsuite.Trainer, which dualfield does not use; leave it out and read training_log_."
        )
    return str(algorithm)


def as_chain_crf(crf: Any, algorithm: str) -> ChainCRF:
    """The estimator that trains the same objective."""
    c1, c2 = number("c1", crf.c1, 0.0), number("c2", crf.c2, 1.0)
    if c1 == 0 and c2 == 0:
        raise ValueError("c1 and c2 are both zero; without any penalty there may be no optimum: give one of them.")
    count("num_memories", crf.num_memories, 6)
    solver: Solver | str = {"ap": Perceptron(), "l2sgd": SGD(average=True)}.get(algorithm, "auto")
    tol = _GAP_OF_DELTA * delta_of(crf, algorithm)
    max_passes = count("max_iterations", crf.max_iterations, _MAX_ITERATIONS[algorithm])
    if c1 > 0:
        tol = min(tol, _GAP_WITH_C1)
        if max_passes >= _FEW_ITERATIONS:
            max_passes = max(max_passes, _ENOUGH_PASSES if 2.0 * c2 >= _TIGHT * c1 else _SOME_PASSES)
    return ChainCRF(
        l2=2.0 * c2,
        l1=c1,
        solver=solver,
        tol=tol,
        max_passes=max_passes,
        state_features="all" if crf.all_possible_states else "observed",
        transitions="all" if crf.all_possible_transitions else "observed",
        bias=False,
        begin=False,
        end=False,
        random_state=0,
    )


def delta_of(crf: Any, algorithm: str) -> float:
    """The improvement below which CRFsuite stops."""
    return number("delta", crf.delta, _DELTA[algorithm])


def number(name: str, value: object, default: float) -> float:
    """A parameter that is a number, not negative."""
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= as_float(value) < math.inf:
        raise ValueError(f"{name} must be a finite number, not negative; got {value!r}.")
    return float(value)


def count(name: str, value: object, default: int) -> int:
    """A parameter that is a positive integer."""
    if value is None:
        return default
    return check_integer(name, value, 1, "a positive integer")
