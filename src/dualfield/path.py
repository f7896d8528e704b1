"""``l2_path``: one problem under several strengths of the penalty, each solved from the last."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dualfield.driver import Callback, check_limits, solve
from dualfield.fields import Field
from dualfield.fields.base import check_l2
from dualfield.random_state import check_random_state
from dualfield.solution import Solution
from dualfield.solvers import Run, Solver, resolve

__all__ = ["check_l2s", "l2_path"]


def l2_path(
    field: Field,
    l2s: Iterable[float],
    solver: Solver | str = "auto",
    tol: float = 1e-3,
    max_passes: int = 500,
    callbacks: Iterable[Callback] = (),
    random_state: int | np.random.RandomState | None = None,
    *,
    n_jobs: int | None = 1,
) -> list[Solution]:
    """Solve a field for each of several penalties, from the largest to the smallest, each with its certificate.

    Each solution starts from the one before. Primal methods take over its weights. Dual methods take over the
    marginals; with acceleration the weights too, as the first centre of its proximal problems (without it, the weights
    that belong to the same marginals grow by the ratio of the penalties, which costs much of the gain).

    Parameters
    ----------
    field : Field
        The problem; its own ``l2`` has no effect.
    l2s : iterable of float
        The penalties.
    solver, tol, max_passes, callbacks, random_state, n_jobs
        As for :func:`dualfield.solve`; ``max_passes`` counts for each penalty.

    Returns
    -------
    list of Solution
        In the order of ``l2s``. Their ``state`` is None.

    Examples
    --------
    >>> import numpy as np
    >>> from dualfield import fields, l2_path
    >>> field = fields.Multiclass(np.eye(3), [0, 1, 2])
    >>> [solution.status for solution in l2_path(field, [0.1, 1.0, 10.0], random_state=0)]
    ['converged', 'converged', 'converged']
    """
    strengths = check_l2s(l2s)
    check_limits(tol, max_passes)
    chosen = resolve(solver, field.default_solver, n_jobs)
    chosen.check(field)
    callbacks = tuple(callbacks)
    random = check_random_state(random_state)
    solutions: dict[float, Solution] = {}
    run: Run | None = None
    for l2 in sorted(set(strengths), reverse=True):
        this = field.with_l2(l2)
        seed = int(random.randint(np.iinfo(np.int32).max))
        if run is not None:
            run = run.under_another_penalty(this, seed)
        solutions[l2] = solve(this, chosen, tol, max_passes, callbacks, state=run, random_state=seed)
        run, solutions[l2].state = solutions[l2].state, None
        if solutions[l2].status in ("interrupted", "diverged"):
            break
    missing = next((l2 for l2 in strengths if l2 not in solutions), None)
    if missing is not None:
        last = solutions[min(solutions)]
        raise RuntimeError(f"The path ended before l2={missing:g}: {last.message}")
    return [solutions[l2] for l2 in strengths]


def check_l2s(l2s: Iterable[float]) -> list[float]:
    """The penalties as a list of floats, or a refusal."""
    try:
        strengths = [check_l2(l2) for l2 in l2s]
    except TypeError:
        raise ValueError(f"l2s must be a list of positive numbers; got {l2s!r}.") from None
    if not strengths:
        raise ValueError("l2s is empty; give at least one penalty.")
    return strengths
