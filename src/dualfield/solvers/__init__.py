"""The training methods: each a frozen set of parameters whose docstring states its update."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dualfield.fields.base import Choice
from dualfield.solvers.adagrad import AdaGrad
from dualfield.solvers.base import Bound, Run, Solver
from dualfield.solvers.gdmm import GDMM
from dualfield.solvers.hybrid import Hybrid
from dualfield.solvers.idal import IDAL
from dualfield.solvers.lbfgs import LBFGS
from dualfield.solvers.oeg import OEG
from dualfield.solvers.perceptron import Perceptron
from dualfield.solvers.python_run import PythonRun
from dualfield.solvers.sag import SAG
from dualfield.solvers.saga import SAGA
from dualfield.solvers.sdca import SDCA
from dualfield.solvers.sgd import SGD
from dualfield.solvers.smd import SMD
from dualfield.solvers.soft_bcfw import SoftBCFW
from dualfield.solvers.soft_sdca import SoftSDCA
from dualfield.solvers.svrg import SVRG

__all__ = [
    "BY_CLASS_NAME",
    "GDMM",
    "IDAL",
    "LBFGS",
    "NAMES",
    "OEG",
    "SAG",
    "SAGA",
    "SDCA",
    "SGD",
    "SMD",
    "SVRG",
    "THREADED",
    "AdaGrad",
    "Bound",
    "Hybrid",
    "Perceptron",
    "PythonRun",
    "Run",
    "SoftBCFW",
    "SoftSDCA",
    "Solver",
    "resolve",
]

_ALL = (SDCA, OEG, LBFGS, SAG, SAGA, SVRG, Hybrid, SGD, AdaGrad, SMD, Perceptron, IDAL, GDMM, SoftSDCA, SoftBCFW)
BY_CLASS_NAME: dict[str, type[Solver]] = {solver.name: solver for solver in _ALL}
_WORDS = {"SoftSDCA": "soft_sdca", "SoftBCFW": "soft_bcfw"}
_BY_NAME = {_WORDS.get(name, name.lower()): solver for name, solver in BY_CLASS_NAME.items()}
NAMES = tuple(_BY_NAME)
THREADED = tuple(name for name, solver in _BY_NAME.items() if hasattr(solver, "n_jobs"))  # those that take n_jobs


def resolve(solver: Solver | str, auto: Choice, n_jobs: int | None = 1) -> Solver:
    """The solver for a name; ``auto`` is what "auto" stands for.

    A solver takes ``n_jobs`` threads if it can use them, unless it is an object with an ``n_jobs`` of its own.

    Examples
    --------
    >>> resolve("lbfgs", Choice("oeg", "it is fast"), n_jobs=2)
    LBFGS(corrections=10, n_jobs=2)
    """
    threads: dict[str, Any] = {} if n_jobs in (None, 1) else {"n_jobs": n_jobs}  # one is what None means
    if isinstance(solver, Solver):
        free = getattr(solver, "n_jobs", 1) is None
        return replace(solver, **threads) if free else solver  # type: ignore[type-var]
    if isinstance(solver, str) and (solver == "auto" or solver in _BY_NAME):
        name, options = (auto.name, auto.options) if solver == "auto" else (solver, {})
        kind = _BY_NAME[name]
        return kind(**options, **(threads if hasattr(kind, "n_jobs") else {}))
    names = ", ".join(repr(name) for name in ("auto", *_BY_NAME))
    raise ValueError(f"solver must be one of {names}, or an object from dualfield.solvers; got {solver!r}.")
