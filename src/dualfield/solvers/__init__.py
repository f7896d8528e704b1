"""The training methods: each a frozen set of parameters whose docstring states its update."""

from __future__ import annotations

from dualfield.solvers.base import Bound, Run, Solver
from dualfield.solvers.lbfgs import LBFGS
from dualfield.solvers.oeg import OEG
from dualfield.solvers.sdca import SDCA

__all__ = ["BY_CLASS_NAME", "LBFGS", "OEG", "SDCA", "Bound", "Run", "Solver", "resolve"]

BY_CLASS_NAME: dict[str, type[Solver]] = {solver.name: solver for solver in (SDCA, OEG, LBFGS)}
_BY_NAME = {name.lower(): solver for name, solver in BY_CLASS_NAME.items()}


def resolve(solver: Solver | str, auto: str) -> Solver:
    """The solver for a name; ``auto`` is the name that "auto" stands for.

    Examples
    --------
    >>> resolve("auto", "lbfgs")
    LBFGS(corrections=10)
    """
    if isinstance(solver, Solver):
        return solver
    name = auto if solver == "auto" else solver
    if isinstance(name, str) and name in _BY_NAME:
        return _BY_NAME[name]()
    names = ", ".join(repr(name) for name in ("auto", *_BY_NAME))
    raise ValueError(f"solver must be one of {names}, or an object from dualfield.solvers; got {solver!r}.")
