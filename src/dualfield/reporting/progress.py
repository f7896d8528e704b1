"""Progress bars for :func:`dualfield.solve` and for searches of many fits, as callbacks.

The bar of one fit fills with the *logarithm* of the estimated gap, which falls by about the same amount each pass, so
the time that is left can be forecast. The estimate is marked ≈: only the certificate at the end is proven.
"""

from __future__ import annotations

import math
import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, TextColumn
from rich.progress import Progress as Display

from dualfield.driver import Progress

__all__ = ["CountBar", "FitsBar", "ProgressBar"]


class _Bar:
    """A display that is there from ``with`` to the end of its block."""

    _display: Display

    def __enter__(self) -> Self:
        self._display.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._display.stop()


class ProgressBar(_Bar):
    """Shows pass, dual value, estimated relative gap and time left on standard error.

    Examples
    --------
    >>> from dualfield import fields, solve
    >>> field = fields.Multiclass([[0.0], [1.0]], [0, 1])
    >>> with ProgressBar() as bar:
    ...     solution = solve(field, callbacks=[bar])
    """

    def __init__(self, console: Console | None = None) -> None:
        self._display = Display(
            TextColumn("pass {task.fields[passes]}"),
            BarColumn(),
            TextColumn("dual {task.fields[dual]}  gap ≈ {task.fields[gap]}  {task.fields[left]}"),
            console=console or Console(stderr=True),
            transient=False,
        )
        self._task = self._display.add_task("", total=1.0, passes=0, dual="–", gap="–", left="")
        self._first: tuple[float, float] | None = None  # log gap and seconds at the first pass

    def __call__(self, progress: Progress) -> None:
        """Show the state after a pass."""
        primal = progress.dual + progress.gap_estimate
        relative = progress.gap_estimate / primal if primal > 0 else math.nan
        share, left = self._forecast(progress, relative)
        self._display.update(
            self._task,
            completed=share,
            passes=progress.passes,
            dual=f"{progress.dual:.6g}" if math.isfinite(progress.dual) else "–",
            gap=f"{relative:.1e}" if math.isfinite(relative) else "–",
            left="" if left is None else f"about {_duration(left)} left",
        )

    def _forecast(self, progress: Progress, relative: float) -> tuple[float, float | None]:
        """The share of the way done, in logarithms, and the seconds left; None where they cannot be told."""
        passes = progress.passes / progress.max_passes
        if not (relative > 0 and progress.tol > 0):
            return passes, None
        now = math.log(relative)
        if self._first is None:
            self._first = now, progress.seconds
        start, since = self._first
        target = math.log(progress.tol)
        fallen, to_fall = start - now, now - target
        if to_fall <= 0:
            return 1.0, None
        if fallen <= 0:
            return passes, None
        left = to_fall * (progress.seconds - since) / fallen
        return max(fallen / (fallen + to_fall), passes), left


class CountBar(_Bar):
    """Counts on standard error what is done of a long work, and foretells its end by the time taken so far.

    Examples
    --------
    >>> with CountBar(3, "sequence") as bar:
    ...     for done in range(3):
    ...         bar.show(done + 1)
    """

    def __init__(self, total: int, what: str, console: Console | None = None) -> None:
        self._display = Display(
            TextColumn(f"{what} {{task.completed:,.0f}} of {{task.total:,.0f}}"),
            BarColumn(),
            TextColumn("{task.fields[left]}"),
            console=console or Console(stderr=True),
        )
        self._task = self._display.add_task("", total=total, left="")
        self._total = total
        self._start = time.perf_counter()

    def show(self, done: int) -> None:
        """Say that so much is done."""
        rest = self._total - done
        taken = (time.perf_counter() - self._start) / done if done else math.nan
        left = f"about {_duration(rest * taken)} left" if done and rest > 0 else ""
        self._display.update(self._task, completed=done, total=self._total, left=left)

    def show_end(self) -> None:
        """Say that all is done."""
        self.show(self._total)


class FitsBar(CountBar):
    """Counts the fits of a search. As a callback of the fits it sees each begin, when the one before has ended.

    Examples
    --------
    >>> from dualfield import fields, l2_path
    >>> field = fields.Multiclass([[0.0], [1.0]], [0, 1])
    >>> with FitsBar(total=2) as bar:
    ...     solutions = l2_path(field, [1.0, 0.1], callbacks=[bar])
    """

    def __init__(self, total: int, console: Console | None = None) -> None:
        super().__init__(total, "fit", console)
        self._begun = 0

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:  # a search may need fewer fits than it announced
            self._total = self._begun
            self.show(self._begun)
        super().__exit__(kind, error, trace)

    def __call__(self, progress: Progress) -> None:
        """Notice a fit that has begun."""
        if progress.passes == 1:
            self.show(self._begun)
            self._begun += 1


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
