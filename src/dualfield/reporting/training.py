"""A call of ``solve`` with a progress bar, and a warning if the result is not what was asked for."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from dualfield._deferred import explained
from dualfield.driver import Callback, as_callbacks
from dualfield.fields import Field
from dualfield.scikit_learn import convergence_warning
from dualfield.solution import Solution
from dualfield.solving import solve

__all__ = ["counted_sequences", "fits_shown", "in_shown_steps", "solve_visibly", "warn_of_shortfall"]

_MANY = 1000  # sequences; below that no bar is shown


def solve_visibly(
    field: Field, solver: Any = "auto", *, bar: bool, callbacks: Iterable[Callback] | Callback = (), **options: Any
) -> Solution:
    """What :func:`dualfield.solve` does, with a progress bar if ``bar`` says so."""
    with ExitStack() as stack:
        if bar:
            try:
                from dualfield.reporting.progress import ProgressBar  # rich, which takes a while to import
            except ModuleNotFoundError as error:
                raise explained(error, "a progress bar (verbose)") from error
            callbacks = [*as_callbacks(callbacks), stack.enter_context(ProgressBar())]
        return solve(field, solver=solver, callbacks=callbacks, **options)


def in_shown_steps(work: Callable[[int, int], list[Any]], total: int, what: str, step: int) -> list[Any]:
    """``work(first, last)`` over 0 … total in steps, joined, under a bar that counts what is done."""
    try:
        from dualfield.reporting.progress import CountBar  # rich, which takes a while to import
    except ModuleNotFoundError as error:
        raise explained(error, "a progress bar (verbose)") from error
    found: list[Any] = []
    with CountBar(total, what) as bar:
        for first in range(0, total, step):
            last = min(first + step, total)
            found += work(first, last)
            bar.show(last)
    return found


def counted_sequences(X: Any) -> Any:
    """X as it is or, of many sequences in a list, one after the other under a bar that counts what is encoded."""
    of_sequences = isinstance(X, list | tuple) and len(X) > _MANY and isinstance(X[0], list | tuple)
    return _counted(X) if of_sequences else X


def _counted(X: list[Any] | tuple[Any, ...]) -> Iterator[Any]:
    try:
        from dualfield.reporting.progress import CountBar  # rich, which takes a while to import
    except ModuleNotFoundError as error:
        raise explained(error, "a progress bar (verbose)") from error
    with CountBar(len(X), "encoding: sequence") as bar:
        for number, sequence in enumerate(X):
            if number % _MANY == 0:
                bar.show(number)
            yield sequence
        bar.show(len(X))


@contextmanager
def fits_shown(total: int, shown: bool) -> Iterator[list[Callback]]:
    """The callbacks of a search of so many fits: a bar that counts them, if ``shown`` says so."""
    if not shown:
        yield []
        return
    try:
        from dualfield.reporting.progress import FitsBar  # rich, which takes a while to import
    except ModuleNotFoundError as error:
        raise explained(error, "a progress bar (verbose)") from error
    with FitsBar(total) as bar:
        yield [bar]


def warn_of_shortfall(
    solution: Solution, tol: float, *, expected: Collection[str] = (), of: str = "", stacklevel: int = 2
) -> None:
    """Warn, as scikit-learn does, of a run that was interrupted, diverged, or ended before ``tol``.

    Parameters
    ----------
    solution : Solution
        How it ended. Without a confirmed objective there was no tolerance to meet: the method has none.
    tol : float
        What was asked for; 0 is to go on to the last pass.
    expected : collection of str
        A status that the caller has asked for, such as "max_passes".
    of : str
        Which of several runs it is, to begin the message with.
    stacklevel : int
        Whose line is shown: 2 is that of the caller of this function.
    """
    asked = {"max_passes", "stalled"} - set(expected) if math.isfinite(solution.primal) and tol > 0 else set()
    if solution.status in asked | {"interrupted", "diverged"}:
        warnings.warn(of + solution.message, convergence_warning(), stacklevel=stacklevel + 1)
