"""``solve`` minimises a field's objective to a certificate; ``l2_path`` does so for several penalties."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from threading import Lock

import numpy as np
import numpy.typing as npt

from dualfield.core_arrays import as_numbers, contiguous
from dualfield.driver import Callback, Clock, Drive
from dualfield.fields import Field
from dualfield.fields.base import check_l2
from dualfield.parameters import check_limits
from dualfield.random_state import check_random_state
from dualfield.solution import Solution
from dualfield.solvers import Run, Solver, resolve
from dualfield.solvers.base import check_count
from dualfield.threads import all_threads

__all__ = ["check_l2s", "l2_path", "solve"]


def solve(
    field: Field,
    solver: Solver | str = "auto",
    tol: float = 1e-3,
    max_passes: int = 500,
    callbacks: Iterable[Callback] = (),
    callback_every: int | None = None,
    state: Run | None = None,
    random_state: int | np.random.RandomState | None = None,
    *,
    start: npt.ArrayLike | None = None,
    n_jobs: int | None = 1,
) -> Solution:
    """Minimise a field's objective and prove how close the result is.

    Parameters
    ----------
    field : Field
        The problem, from ``dualfield.fields``.
    solver : Solver or str
        A solver from ``dualfield.solvers``, its name in lower case, or "auto": what suits the field, by the
        measurements in docs/how-to-choose.md; the message says what that is and why.
    tol : float
        The run ends when a confirmed duality gap is at most ``tol`` times the objective. (An objective that is not
        convex, as with loopy belief propagation or partial labels, has no such gap; there ``‖∇P‖² / (2 l2)`` takes its
        place.)
    max_passes : int
        It also ends after so many passes over the data, in this call.
    callbacks : iterable of callables
        Each is called with a :class:`Progress` after every pass; one that returns True stops the run.
    callback_every : int, optional
        Call them within a pass too, after every so many updates: blocks, or the batches of SGD, AdaGrad and SMD.
        On several threads: at the end of the window of blocks that are updated together. (L-BFGS and Hybrid, whose
        steps take gradients of many blocks, call back at the ends of passes only.)
    state : Run, optional
        ``solution.state`` of an earlier run on the same field, which goes on where it stopped (in place).
    random_state : int, RandomState or None
        Seed of the sampling.
    start : array, shape (dimension,), optional
        Weights to begin at, by default zero. Where the objective is not convex (approximate inference), the result
        may depend on them. Methods on the dual refuse them: their weights belong to marginals.
    n_jobs : int or None
        Threads, if the solver can use them; −1 for all cores. An ``n_jobs`` of the solver object itself counts more.

    Returns
    -------
    Solution
        With a confirmed gap, unless the run was interrupted by Ctrl-C, or the field's approximate inference allows
        no proof: then gap NaN.

    Examples
    --------
    >>> import numpy as np
    >>> from dualfield import fields, solve
    >>> solution = solve(fields.Multiclass(np.eye(2), [0, 1]), "sdca", tol=1e-4, random_state=0)
    >>> solution.certificate, solution.relative_gap <= 1e-4
    ('exact', True)
    """
    reason = field.default_solver.reason if solver == "auto" else ""
    solver = resolve(solver, field.default_solver, n_jobs)
    check_limits(tol, max_passes)
    if callback_every is not None:
        check_count("solve", "callback_every", callback_every, 1)
    solver.check(field)
    clock = Clock(field.preparation if state is None else (0.0, 0.0))
    run = _bind(field, solver, tol, state, start, random_state)
    with _alone(run), all_threads():
        solution = Drive(run, clock, tol, max_passes, tuple(callbacks), callback_every).to_the_end()
    if reason:
        solution.message += f" ({solver.name} was chosen: {reason}.)"
    if run.note:
        solution.message += f" ({run.note}.)"
    return solution


_in_use: set[int] = set()
_entering = Lock()


@contextmanager
def _alone(run: Run) -> Iterator[None]:
    """Refuse a run that another thread is working on."""
    with _entering:
        if id(run) in _in_use:
            raise RuntimeError(
                "The state of an earlier run is in use by another thread; give each thread an estimator, or a state, "
                "of its own."
            )
        _in_use.add(id(run))
    try:
        yield
    finally:
        _in_use.discard(id(run))


def _bind(
    field: Field,
    solver: Solver,
    tol: float,
    state: Run | None,
    start: npt.ArrayLike | None,
    random_state: int | np.random.RandomState | None,
) -> Run:
    seed = int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
    if state is None:
        weights = None if start is None else _checked_start(start, field)
        run = solver.start_to(field, seed, tol)
        if weights is not None:
            run.begin_at(weights)
        return run
    if start is not None:
        raise ValueError("solve() was given both a state to go on from and weights to start at; give one of them.")
    if state.solver != solver:
        raise TypeError(f"The state comes from {state.solver}; {solver} cannot go on from it.")
    if state.field is not field:
        raise ValueError("The state belongs to another field; give solve() the field object that it was made with.")
    return state


def _checked_start(start: npt.ArrayLike, field: Field) -> npt.NDArray[np.float64]:
    weights = np.asarray(start) if isinstance(start, np.ndarray) else as_numbers(start, np.float64, "start")
    if weights.shape != (field.dimension,) or weights.dtype.kind not in "iuf":
        raise ValueError(
            f"start is an array of {weights.dtype} of shape {weights.shape}; expected numbers of shape "
            f"({field.dimension},), one for each weight of {field.name}."
        )
    if not np.isfinite(weights).all():
        place = int(np.argmin(np.isfinite(weights)))
        raise ValueError(f"weight {place} of start is {weights[place]}; expected a finite number.")
    return contiguous(weights, np.float64)


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
