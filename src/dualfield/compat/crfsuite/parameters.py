"""CRFsuite's algorithms and their parameters: names, defaults, and what they mean in dualfield's terms.

The names are CRFsuite's own, as ``pycrfsuite.Trainer.params()`` lists them. This is the one place that decides with
which solver, to which tolerance and for how many passes an algorithm of CRFsuite is trained here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from numbers import Real
from typing import Any, NamedTuple

from dualfield.driver import Callback, Progress
from dualfield.estimators import ChainCRF
from dualfield.given_numbers import as_float, check_integer
from dualfield.solvers import AROW, PA, SGD, Perceptron, Solver

__all__ = ["ALGORITHMS", "Asked", "Parameter", "asked"]


class Parameter(NamedTuple):
    """A parameter of an algorithm: its default, and a sentence about it."""

    default: float | int | bool | str
    help: str


_FEATURES = {
    "feature.minfreq": Parameter(0.0, "A weight exists for a feature at least this frequent."),
    "feature.possible_states": Parameter(
        False, "Whether pairs of attribute and label that do not occur have a weight."
    ),
    "feature.possible_transitions": Parameter(False, "Whether pairs of labels that do not occur have a weight."),
}
_NO_EFFECT = "Of no effect here: it steers how CRFsuite approaches the optimum."
_C2 = Parameter(1.0, "The L2 penalty: the objective has c2 times the squared norm of the weights.")
_PASSES = "The most passes over the data."
_MEAN_LOSS = "Training ends when the mean loss of a pass is at most this."

ALGORITHMS: dict[str, dict[str, Parameter]] = {
    "lbfgs": {
        **_FEATURES,
        "c1": Parameter(0.0, "The L1 penalty: the objective has c1 times the sum of the weights' magnitudes."),
        "c2": _C2,
        "max_iterations": Parameter(2**31 - 1, _PASSES),
        "num_memories": Parameter(6, _NO_EFFECT),
        "epsilon": Parameter(1e-5, _NO_EFFECT),
        "period": Parameter(10, _NO_EFFECT),
        "delta": Parameter(1e-5, "Training ends at a proven distance from the optimum of 100 times this (relative)."),
        "linesearch": Parameter("MoreThuente", _NO_EFFECT),
        "max_linesearch": Parameter(20, _NO_EFFECT),
    },
    "l2sgd": {
        **_FEATURES,
        "c2": _C2,
        "max_iterations": Parameter(1000, _PASSES),
        "period": Parameter(10, "After how many passes the objective is looked at."),
        "delta": Parameter(1e-6, "Training ends when period passes lower the objective by less than this share."),
        "calibration.eta": Parameter(0.1, _NO_EFFECT),
        "calibration.rate": Parameter(2.0, _NO_EFFECT),
        "calibration.samples": Parameter(1000.0, _NO_EFFECT),
        "calibration.candidates": Parameter(10, _NO_EFFECT),
        "calibration.max_trials": Parameter(20, _NO_EFFECT),
    },
    "ap": {
        **_FEATURES,
        "max_iterations": Parameter(100, _PASSES),
        "epsilon": Parameter(0.0, "Training ends when the mean share of wrong labels in a pass is at most this."),
    },
    "pa": {
        **_FEATURES,
        "type": Parameter(1, "The rule for the length of a step: 0 is PA, 1 is PA-I, 2 is PA-II."),
        "c": Parameter(1.0, "How long the steps of PA-I and PA-II may be."),
        "error_sensitive": Parameter(True, "Whether the loss grows with the number of wrong labels."),
        "averaging": Parameter(True, "Whether the average of the weights over all steps is the result."),
        "max_iterations": Parameter(100, _PASSES),
        "epsilon": Parameter(0.0, _MEAN_LOSS),
    },
    "arow": {
        **_FEATURES,
        "variance": Parameter(1.0, "The variance of every weight at the beginning."),
        "gamma": Parameter(1.0, "The larger, the shorter the steps."),
        "max_iterations": Parameter(100, _PASSES),
        "epsilon": Parameter(0.0, _MEAN_LOSS),
    },
}
_MANY_PASSES = 10_000  # enough, if no number is given
_GAP_OF_DELTA = 100.0  # CRFsuite's default delta is then ChainCRF's default tol

# With c1, CRFsuite is often percents from the optimum when its iterations are over. A model of ours must not be worse,
# so it is trained to this gap, with more passes than there are iterations, above all where the gap can be proven: where
# c2 is not small beside c1. If the user asks for fewer iterations than these, that number is kept.
_GAP_WITH_C1 = 1e-4
_FEW_ITERATIONS, _ENOUGH_PASSES, _SOME_PASSES, _TIGHT = 20, 500, 200, 0.1


class Asked(NamedTuple):
    """A request for CRFsuite, in our terms."""

    algorithm: str
    model: ChainCRF  # the estimator that trains the same objective
    min_freq: float
    stops: tuple[Callback, ...]  # rules of CRFsuite that end training
    passes_wanted: bool  # whether the user gave a limit of passes


def asked(algorithm: str, given: Mapping[str, Any], name_of: Callable[[str], str] = lambda name: name) -> Asked:
    """What an algorithm with these parameters asks for.

    Parameters
    ----------
    algorithm : str
        One of ``ALGORITHMS``.
    given : mapping
        Values by CRFsuite's names; what is not there, or None, is CRFsuite's default.
    name_of : callable
        The names that the user knows the parameters by, for errors.
    """
    values = _Values(algorithm, given, name_of)
    c1, c2 = values.number("c1"), values.number("c2")
    if c1 == 0 and c2 == 0:
        raise ValueError("c1 and c2 are both zero; without any penalty there may be no optimum: give one of them.")
    values.count("num_memories")
    tol = _GAP_OF_DELTA * values.number("delta")
    passes_wanted = values.given("max_iterations")
    max_passes = values.count("max_iterations")
    if not passes_wanted:
        max_passes = min(max_passes, _MANY_PASSES)
    if c1 > 0:
        tol = min(tol, _GAP_WITH_C1)
        if max_passes >= _FEW_ITERATIONS:
            max_passes = max(max_passes, _ENOUGH_PASSES if 2.0 * c2 >= _TIGHT * c1 else _SOME_PASSES)
    stops: tuple[Callback, ...] = ()
    if algorithm == "l2sgd":
        stops = (_Flat(values.count("period"), values.number("delta")),)
    elif algorithm != "lbfgs" and values.number("epsilon") > 0:
        stops = (_SmallLoss(values.number("epsilon")),)
    model = ChainCRF(
        l2=2.0 * c2,
        l1=c1,
        solver=_solver(values),
        tol=tol,
        max_passes=max_passes,
        state_features="all" if values.flag("feature.possible_states") else "observed",
        transitions="all" if values.flag("feature.possible_transitions") else "observed",
        bias=False,
        begin=False,
        end=False,
        random_state=0,
    )
    return Asked(algorithm, model, values.number("feature.minfreq"), stops, passes_wanted)


def _solver(values: _Values) -> Solver | str:
    if values.algorithm == "pa":
        kind = values["type"]
        if kind not in (0, 1, 2) or isinstance(kind, bool):
            raise ValueError(f"{values.name_of('type')} must be 0, 1 or 2; got {kind!r}.")
        slack: Any = ("none", "linear", "squared")[int(kind)]
        return PA(slack, values.positive("c"), values.flag("error_sensitive"), values.flag("averaging"))
    if values.algorithm == "arow":
        return AROW(values.positive("variance"), values.positive("gamma"))
    return {"ap": Perceptron(), "l2sgd": SGD(average=True)}.get(values.algorithm, "auto")


class _Values:
    """The given parameters or their defaults, as checked numbers."""

    def __init__(self, algorithm: str, given: Mapping[str, Any], name_of: Callable[[str], str]) -> None:
        self.algorithm, self.name_of, self._given = algorithm, name_of, given

    def default(self, name: str) -> Any:
        # c2 and delta stand in the estimator whether the algorithm knows them or not.
        known = ALGORITHMS[self.algorithm]
        return known[name].default if name in known else ALGORITHMS["lbfgs"][name].default

    def given(self, name: str) -> bool:
        return self._given.get(name) is not None

    def __getitem__(self, name: str) -> Any:
        return self._given[name] if self.given(name) else self.default(name)

    def number(self, name: str) -> float:
        """A parameter that is a number, not negative."""
        value = self[name]
        if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= as_float(value) < math.inf:
            raise ValueError(f"{self.name_of(name)} must be a finite number, not negative; got {value!r}.")
        return float(value)

    def positive(self, name: str) -> float:
        """A parameter that is a number above zero."""
        if self.number(name) == 0:
            raise ValueError(f"{self.name_of(name)} must be a positive number; got {self[name]!r}.")
        return self.number(name)

    def count(self, name: str) -> int:
        """A parameter that is a positive integer."""
        return check_integer(self.name_of(name), self[name], 1, "a positive integer")

    def flag(self, name: str) -> bool:
        return bool(self[name])


class _Flat:
    """Stops a run when so many passes lower the objective by less than a share of it."""

    def __init__(self, period: int, delta: float) -> None:
        self.period, self.delta, self.last = period, delta, math.inf

    def __call__(self, progress: Progress) -> bool:
        if progress.passes % self.period:
            return False
        before, self.last = self.last, progress.primal()
        return math.isfinite(before) and before - self.last < self.delta * abs(self.last)


class _SmallLoss:
    """Stops a run of a method with a loss of its own when the mean loss of a pass is small."""

    def __init__(self, epsilon: float) -> None:
        self.epsilon = epsilon

    def __call__(self, progress: Progress) -> bool:
        return progress.run.record()["loss"] <= self.epsilon * progress.run.field.n_blocks
