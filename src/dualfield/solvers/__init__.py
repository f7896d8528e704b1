"""The training methods: each a frozen set of parameters whose docstring states its update."""

from __future__ import annotations

from dualfield.solvers.base import Bound, Run, Solver
from dualfield.solvers.lbfgs import LBFGS
from dualfield.solvers.sdca import SDCA

__all__ = ["BY_CLASS_NAME", "LBFGS", "SDCA", "Bound", "Run", "Solver", "resolve"]

BY_CLASS_NAME: dict[str, type[Solver]] = {solver.name: solver for solver in (SDCA, LBFGS)}
_BY_NAME = {name.lower(): solver for name, solver in BY_CLASS_NAME.items()}


def resolve(solver: Solver | str) -> Solver:
    """The solver for a name; "auto" is SDCA with gap sampling, the fastest to a certificate so far.

    Examples
    --------
    >>> resolve("lbfgs")
    LBFGS(corrections=10)
    """
    if isinstance(solver, Solver):
        return solver
    if solver == "auto":
        return SDCA()
    if isinstance(solver, str) and solver in _BY_NAME:
        return _BY_NAME[solver]()
    names = ", ".join(repr(name) for name in ("auto", *_BY_NAME))
    raise ValueError(f"solver must be one of {names}, or an object from dualfield.solvers; got {solver!r}.")
