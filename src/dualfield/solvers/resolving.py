"""From the name of a method to a solver."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

from dualfield import solvers
from dualfield.devices import on_gpu
from dualfield.fields.base import Choice
from dualfield.solvers.base import Solver
from dualfield.solvers.lbfgs import LBFGS
from dualfield.threads import thread_count

__all__ = ["BY_CLASS_NAME", "THREADED", "on_one_thread", "resolve", "warn_of_one_thread"]

BY_CLASS_NAME: dict[str, type[Solver]] = {kind: getattr(solvers, kind) for kind in solvers.CLASS_NAMES.values()}
_BY_NAME = dict(zip(solvers.NAMES, BY_CLASS_NAME.values(), strict=True))
THREADED = tuple(name for name, kind in _BY_NAME.items() if hasattr(kind, "n_jobs"))  # those that take n_jobs


def resolve(solver: Solver | str, auto: Choice, n_jobs: int | None = 1, device: str = "cpu") -> Solver:
    """The solver for a name; ``auto`` is what "auto" stands for.

    A solver takes ``n_jobs`` threads if it can use them, unless it is an object with an ``n_jobs`` of its own. On a GPU
    there is L-BFGS alone.

    Examples
    --------
    >>> resolve("lbfgs", Choice("oeg", "it is fast"), n_jobs=2)
    LBFGS(corrections=10, n_jobs=2)
    """
    threads: dict[str, Any] = {} if n_jobs in (None, 1) else {"n_jobs": n_jobs}  # one is what None means
    if on_gpu(device):
        return _on_gpu(solver, device)
    if isinstance(solver, Solver):
        free = getattr(solver, "n_jobs", 1) is None
        return replace(solver, **threads) if free else solver  # type: ignore[type-var]
    if isinstance(solver, str) and (solver == "auto" or solver in _BY_NAME):
        name, options = (auto.name, auto.options) if solver == "auto" else (solver, {})
        kind = _BY_NAME[name]
        return kind(**options, **(threads if hasattr(kind, "n_jobs") else {}))
    names = ", ".join(repr(name) for name in ("auto", *_BY_NAME))
    raise ValueError(f"solver must be one of {names}, or an object from dualfield.solvers; got {solver!r}.")


def on_one_thread(solver: str, option: str, jobs: int) -> str:
    """What to say where ``jobs`` threads are asked for and the method of this name works on one.

    Examples
    --------
    >>> on_one_thread("sgd", "n_jobs", 2)[:51]
    'n_jobs=2: sgd works on one thread; choose one of sd'
    """
    asked = f"{option} {jobs}" if option.startswith("-") else f"{option}={jobs}"
    return f"{asked}: {solver} works on one thread; choose one of {', '.join(THREADED)}, or leave {option} out."


def warn_of_one_thread(solver: Solver, n_jobs: int | None) -> None:
    """Warn where a solver works on one thread of the CPU and more are asked for. (Prediction may still use them.)"""
    jobs = thread_count(n_jobs)
    if jobs > 1 and not hasattr(solver, "n_jobs") and not hasattr(solver, "device"):
        name = next((name for name, kind in _BY_NAME.items() if type(solver) is kind), solver.name)
        warnings.warn(on_one_thread(name, "n_jobs", jobs), UserWarning, stacklevel=3)


def _on_gpu(solver: Solver | str, device: str) -> Solver:
    from dualfield.solvers.on_cuda import CudaLBFGS

    if isinstance(solver, CudaLBFGS):
        return solver
    if isinstance(solver, LBFGS):
        return CudaLBFGS(solver.corrections, device)
    if solver in ("auto", "lbfgs"):
        return CudaLBFGS(device=device)
    name = solver.name if isinstance(solver, Solver) else repr(solver)
    raise TypeError(
        f"{name} does not run on a GPU; with device={device!r} use solver='auto' or 'lbfgs', or leave device out."
    )
