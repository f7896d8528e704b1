"""``solve`` minimises a field's objective to a certificate; paths do so for several penalties, each from the last."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from threading import Lock

import numpy as np
import numpy.typing as npt

from dualfield.core_arrays import as_numbers, contiguous
from dualfield.driver import Callback, Clock, Drive, as_callbacks
from dualfield.fields import Field
from dualfield.fields.base import check_l1, check_l2
from dualfield.parameters import check_limits
from dualfield.random_state import check_random_state
from dualfield.solution import Solution
from dualfield.solvers import Run, Solver, resolve
from dualfield.solvers.base import check_count
from dualfield.solvers.resolving import warn_of_one_thread
from dualfield.threads import all_threads

__all__ = ["check_l1s", "check_l2s", "l1_path", "l2_path", "penalty_path", "solve"]


def solve(
    field: Field,
    solver: Solver | str = "auto",
    tol: float = 1e-3,
    max_passes: int = 500,
    callbacks: Iterable[Callback] | Callback = (),
    callback_every: int | None = None,
    state: Run | None = None,
    random_state: int | np.random.RandomState | None = None,
    *,
    start: npt.ArrayLike | None = None,
    n_jobs: int | None = 1,
    device: str = "cpu",
) -> Solution:
    """Minimise a field's objective and prove how close the result is.

    Parameters
    ----------
    field : Field
        The problem, from ``dualfield.fields``.
    solver : Solver or str
        A solver from ``dualfield.solvers``, its name in lower case, or "auto": what suits the field, by the
        measurements in docs/explanation/choosing-a-solver.md. ``field.default_solver`` says what that is and why, and
        so does the message where it is not the usual choice.
    tol : float
        The run ends when a confirmed duality gap is at most ``tol`` times the objective. (An objective that is not
        convex, as with loopy belief propagation or partial labels, has no such gap; there ``‖∇P‖² / (2 l2)`` takes its
        place, or with l1 alone ``‖∇P‖² / (2 l1)``.)
    max_passes : int
        It also ends after so many passes over the data, in this call.
    callbacks : iterable of callables, or one
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
        Threads; −1 for all cores. A solver that works on one thread brings a warning. An ``n_jobs`` of the solver
        object itself counts more.
    device : str
        "cpu", or "cuda" or "cuda:N" for a GPU: L-BFGS on chains and points; see docs/guides/gpu.md.

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
    chosen = field.default_solver
    reason = chosen.reason if solver == "auto" and not chosen.usual and device == "cpu" else ""
    solver = resolve(solver, chosen, n_jobs, device)
    check_limits(tol, max_passes)
    if callback_every is not None:
        check_count("solve", "callback_every", callback_every, 1)
    solver.check(field)
    warn_of_one_thread(solver, n_jobs)
    clock = Clock(field.preparation if state is None else (0.0, 0.0))
    run = _bind(field, solver, tol, state, start, random_state)
    with _alone(run), all_threads():
        solution = Drive(run, clock, tol, max_passes, as_callbacks(callbacks), callback_every).to_the_end()
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
    callbacks: Iterable[Callback] | Callback = (),
    random_state: int | np.random.RandomState | None = None,
    *,
    n_jobs: int | None = 1,
    device: str = "cpu",
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
    solver, tol, max_passes, callbacks, random_state, n_jobs, device
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
    pairs = [(field.l1, l2) for l2 in check_l2s(l2s, field.l1)]
    return _path(field, pairs, solver, tol, max_passes, callbacks, random_state, n_jobs, device)


def l1_path(
    field: Field,
    l1s: Iterable[float],
    solver: Solver | str = "auto",
    tol: float = 1e-3,
    max_passes: int = 500,
    callbacks: Iterable[Callback] | Callback = (),
    random_state: int | np.random.RandomState | None = None,
    *,
    n_jobs: int | None = 1,
    device: str = "cpu",
) -> list[Solution]:
    """Solve a field for each of several l1 penalties, from the largest to the smallest, each with its certificate.

    From one to the next more weights differ from zero. Each solution starts from the one before, as in
    :func:`dualfield.l2_path`; the data are compiled once.

    Parameters
    ----------
    field : Field
        The problem, chains or points; its own ``l1`` has no effect.
    l1s : iterable of float
        The penalties; zero too, where the field's ``l2`` is positive.
    solver, tol, max_passes, callbacks, random_state, n_jobs, device
        As for :func:`dualfield.solve`; ``max_passes`` counts for each penalty.

    Returns
    -------
    list of Solution
        In the order of ``l1s``. Their ``state`` is None.

    Examples
    --------
    >>> import numpy as np
    >>> from dualfield import fields, l1_path
    >>> field = fields.Multiclass(np.eye(3), [0, 1, 2], l2=0.1)
    >>> [int(np.count_nonzero(solution.weights)) for solution in l1_path(field, [1.0, 0.3, 0.0], random_state=0)]
    [0, 3, 12]
    """
    pairs = [(l1, check_l2(field.l2, l1)) for l1 in check_l1s(l1s)]
    return _path(field, pairs, solver, tol, max_passes, callbacks, random_state, n_jobs, device)


def penalty_path(
    field: Field,
    penalties: Iterable[tuple[float, float]],
    solver: Solver | str = "auto",
    tol: float = 1e-3,
    max_passes: int = 500,
    callbacks: Iterable[Callback] | Callback = (),
    random_state: int | np.random.RandomState | None = None,
    *,
    n_jobs: int | None = 1,
    device: str = "cpu",
) -> list[Solution]:
    """Solve a field for each of several pairs of penalties, such as a grid of them, each with its certificate.

    For each l1, from the largest to the smallest, the path goes along its l2, from the largest to the smallest. The
    first point of an l1 starts from the first point of the l1 before, any other from the point before it, as in
    :func:`dualfield.l2_path`.

    Parameters
    ----------
    field : Field
        The problem; its own penalties have no effect. Pairs whose l1 differs are for chains and points.
    penalties : iterable of pairs of float
        Pairs ``(l1, l2)``; l2 may be zero where l1 is positive.
    solver, tol, max_passes, callbacks, random_state, n_jobs, device
        As for :func:`dualfield.solve`; ``max_passes`` counts for each pair.

    Returns
    -------
    list of Solution
        In the order of ``penalties``. Their ``state`` is None.

    Examples
    --------
    >>> import numpy as np
    >>> from itertools import product
    >>> from dualfield import fields, penalty_path
    >>> field = fields.Multiclass(np.eye(3), [0, 1, 2])
    >>> [solution.status for solution in penalty_path(field, product([0.1, 0.0], [1.0, 0.1]), random_state=0)]
    ['converged', 'converged', 'converged', 'converged']
    """
    return _path(field, _checked_pairs(penalties), solver, tol, max_passes, callbacks, random_state, n_jobs, device)


def _path(
    field: Field,
    pairs: list[tuple[float, float]],
    solver: Solver | str,
    tol: float,
    max_passes: int,
    callbacks: Iterable[Callback] | Callback,
    random_state: int | np.random.RandomState | None,
    n_jobs: int | None,
    device: str,
) -> list[Solution]:
    check_limits(tol, max_passes)
    chosen = resolve(solver, field.default_solver, n_jobs, device)
    ordered = sorted(set(pairs), reverse=True)
    for pair in [ordered[0], *[pair for pair in ordered if pair[1] == 0][:1]]:  # all that a solver may refuse
        chosen.check(field.with_penalties(*pair))
    warn_of_one_thread(chosen, n_jobs)
    callbacks = as_callbacks(callbacks)
    random = check_random_state(random_state)
    solutions: dict[tuple[float, float], Solution] = {}
    first: Run | None = None  # the run at the first point of the present l1
    last: Run | None = None
    for k, pair in enumerate(ordered):
        this = field.with_penalties(*pair)
        seed = int(random.randint(np.iinfo(np.int32).max))
        opens_a_row = k == 0 or pair[0] != ordered[k - 1][0]
        before = first if opens_a_row else last
        run = None if before is None else before.under_another_penalty(this, seed)
        solution = solve(this, chosen, tol, max_passes, callbacks, state=run, random_state=seed, device=device)
        last, solution.state = solution.state, None
        if opens_a_row:
            first = last
        solutions[pair] = solution
        if solution.status in ("interrupted", "diverged"):
            break
    missing = next((pair for pair in pairs if pair not in solutions), None)
    if missing is not None:
        raise RuntimeError(f"The path ended before {_named(missing, pairs)}: {solution.message}")
    return [solutions[pair] for pair in pairs]


def _named(pair: tuple[float, float], pairs: list[tuple[float, float]]) -> str:
    """The name of a point of a path: the penalty that varies along it, and its value."""
    several_l1, several_l2 = (len(set(values)) > 1 for values in zip(*pairs, strict=True))
    l1, l2 = f"l1={pair[0]:g}", f"l2={pair[1]:g}"
    if several_l1:
        return f"{l1}, {l2}" if several_l2 else l1
    return l2


def check_l2s(l2s: Iterable[float], l1: float = 0.0) -> list[float]:
    """The penalties as a list of floats, or a refusal."""
    try:
        strengths = [check_l2(l2, l1) for l2 in l2s]
    except TypeError:
        raise ValueError(f"l2s must be a list of positive numbers; got {l2s!r}.") from None
    if not strengths:
        raise ValueError("l2s is empty; give at least one penalty.")
    return strengths


def check_l1s(l1s: Iterable[float]) -> list[float]:
    """The l1 penalties as a list of floats, or a refusal."""
    try:
        strengths = [check_l1(l1) for l1 in l1s]
    except TypeError:
        raise ValueError(f"l1s must be a list of numbers that are not negative; got {l1s!r}.") from None
    if not strengths:
        raise ValueError("l1s is empty; give at least one penalty.")
    return strengths


def _checked_pairs(penalties: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """The pairs as floats, or a refusal."""
    try:
        given = [tuple(pair) for pair in penalties]
    except TypeError:
        raise ValueError(f"penalties must be a list of pairs (l1, l2); got {penalties!r}.") from None
    pairs = []
    for k, pair in enumerate(given):
        if len(pair) != 2:
            raise ValueError(f"entry {k} of penalties is {pair!r}; expected a pair (l1, l2).")
        l1 = check_l1(pair[0])
        pairs.append((l1, check_l2(pair[1], l1)))
    if not pairs:
        raise ValueError("penalties is empty; give at least one pair (l1, l2).")
    return pairs
