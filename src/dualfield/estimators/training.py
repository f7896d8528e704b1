"""A call of ``solve`` as all estimators make it: with progress bar, warm start and warnings."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy.typing as npt

from dualfield.driver import Callback
from dualfield.fields import Field
from dualfield.fields.base import Choice, check_l1, check_l2
from dualfield.labels import check_costs
from dualfield.parameters import check_ignore_label, check_limits
from dualfield.reporting.training import solve_visibly, warn_of_shortfall
from dualfield.solution import Solution
from dualfield.solvers import Run, resolve
from dualfield.threads import thread_count

__all__ = ["check_parameters", "train"]


def check_parameters(estimator: Any) -> None:
    """Refuse parameters that make no sense, before any work."""
    device = getattr(estimator, "device", "cpu")
    resolve(estimator.solver, Choice("oeg", "only to check the name"), device=device)
    check_l2(estimator.l2, check_l1(getattr(estimator, "l1", 0.0)))
    check_limits(estimator.tol, estimator.max_passes)
    thread_count(estimator.n_jobs)
    check_ignore_label(getattr(estimator, "ignore_label", None))
    check_costs(getattr(estimator, "class_weight", None), getattr(estimator, "costs", None))


def train(
    estimator: Any,
    field: Field,
    callbacks: Iterable[Callback] | Callback = (),
    start: Callable[[], npt.ArrayLike | None] = lambda: None,
) -> Solution:
    """Solve ``field`` with an estimator's parameters, and warn where the result is not what was asked for.

    With ``warm_start`` the run of the previous fit goes on, provided that its field poses the same
    problem; otherwise ``start`` gives the weights to begin at.
    """
    state: Run | None = getattr(estimator, "_run", None) if estimator.warm_start else None
    if state is not None:
        if field.same_as(state.field) and state.solver == resolve(
            estimator.solver, field.default_solver, estimator.n_jobs, getattr(estimator, "device", "cpu")
        ):
            field = state.field
        else:
            warnings.warn(
                "warm_start: the data, the penalty or the solver differ from those of the previous fit, whose state "
                "cannot be used; training starts afresh.",
                UserWarning,
                stacklevel=3,
            )
            state = None
    solution = solve_visibly(
        field,
        estimator.solver,
        bar=bool(estimator.verbose),
        callbacks=callbacks,
        tol=estimator.tol,
        max_passes=estimator.max_passes,
        state=state,
        random_state=estimator.random_state,
        start=None if state is not None else start(),
        n_jobs=estimator.n_jobs,
        device=getattr(estimator, "device", "cpu"),
    )
    estimator._run = solution.state if estimator.warm_start else None
    solution.state = None
    warn_of_shortfall(solution, estimator.tol, stacklevel=3)
    return solution
