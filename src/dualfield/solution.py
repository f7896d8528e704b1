"""The result of a run: weights, objective values, a certificate, and the history."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from dualfield.history import known_history

__all__ = ["Solution"]

Certificate = Literal["exact", "relaxed", "none"]
Status = Literal["converged", "max_passes", "stopped", "interrupted", "stalled", "diverged", "imported"]


@dataclass
class Solution:
    """The record of one call of :func:`dualfield.solve`.

    Objective values are sums over blocks: ``primal`` is ``l1 ‖w‖₁ + l2/2 ‖w‖² + Σ_i c_i · (−log p(y_i | x_i))`` at
    ``weights``, so it can be laid beside CRFsuite's loss.

    Attributes
    ----------
    weights : array of float64, shape (dimension,)
        The weights, in the layout of the field.
    primal, dual : float
        The objective at ``weights``, and a lower bound on its optimum. NaN where not confirmed.
    duality_gap : float
        ``primal − dual`` enlarged by what rounding may have moved them: the objective at ``weights`` is proven
        to be no further than this above the optimum. NaN where not confirmed; never an estimate.
    certificate : {"exact", "relaxed", "none"}
        Which problem the gap speaks of: the one asked for, its relaxation, or none.
    status : {"converged", "max_passes", "stopped", "interrupted", "stalled", "diverged", "imported"}
        Why the run ended; "imported" is a model of another program, which has not been run here.
    message : str
        The same as a full sentence.
    passes, updates, oracle_calls : int
        Passes over the data (n block updates, or one full gradient), block updates, and calls of the inference
        oracle, those of the confirming passes included.
    seconds, cpu_seconds : float
        Wall and CPU time from encoded data to the end of the solver; callbacks are not counted.
    history : dict of arrays
        One entry per pass in each column, NaN where a pass was not confirmed; :meth:`history_frame` and :meth:`plot`
        show it without these holes. ``passes`` counts from the beginning of the state: where ``state`` went on, it goes
        on too. The other columns speak of this call.
    state : Run
        The solver's state. ``solve(field, solver, state=solution.state)`` goes on where this run stopped. To keep it in
        a file, save ``state.arrays()``, and go on with ``state=solver.start(field, 0).restore(arrays)``.
    """

    weights: npt.NDArray[np.float64]
    primal: float
    dual: float
    duality_gap: float
    certificate: Certificate
    status: Status
    message: str
    passes: int
    updates: int
    oracle_calls: int
    seconds: float
    cpu_seconds: float
    history: dict[str, npt.NDArray[np.float64]] = field(repr=False)
    state: Any = field(default=None, repr=False, compare=False)

    @property
    def relative_gap(self) -> float:
        """``duality_gap / primal``, the number that ``tol`` is compared with."""
        return self.duality_gap / self.primal if self.primal > 0 else (0.0 if self.duality_gap == 0 else np.nan)

    def history_frame(self) -> Any:
        """The history as a ``pandas.DataFrame``, one row per pass, without holes.

        ``objective`` and ``gap`` are confirmed values where ``confirmed`` is True, else the solver's estimates, else
        the last known values. pandas is not among the package's own requirements.

        Examples
        --------
        >>> import numpy as np
        >>> from dualfield import fields, solve
        >>> solution = solve(fields.Multiclass(np.eye(2), [0, 1]), tol=1e-6, random_state=0)
        >>> frame = solution.history_frame()
        >>> bool(frame["objective"].isna().any()), bool(frame["confirmed"].iloc[-1])
        (False, True)
        """
        try:
            import pandas
        except ModuleNotFoundError:
            raise ImportError("history_frame() needs pandas, which is not installed: pip install pandas.") from None
        return pandas.DataFrame(known_history(self.history))

    def plot(self, x: str = "passes", ax: Any = None) -> Any:
        """Draw the relative gap against passes, or another column such as "seconds"; confirmed values are dots.

        Parameters
        ----------
        x : str
            The column of :meth:`history_frame` to draw against.
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure. Matplotlib is not among the package's own requirements.

        Returns
        -------
        matplotlib.axes.Axes
        """
        known = known_history(self.history)
        if "gap" not in known:
            reason = "was loaded from a file without its history" if not self.history else "has no duality gap"
            raise ValueError(f"plot() has nothing to draw: this solution {reason}.")
        if x not in known or x == "confirmed":
            columns = ", ".join(repr(name) for name in known if name != "confirmed")
            raise ValueError(f"x must be a column of the history, one of {columns}; got {x!r}.")
        if ax is None:
            try:
                from matplotlib import pyplot
            except ModuleNotFoundError:
                raise ImportError("plot() needs Matplotlib, which is not installed: pip install matplotlib.") from None
            ax = pyplot.subplots()[1]
        confirmed = known["confirmed"].astype(bool)
        with np.errstate(divide="ignore", invalid="ignore"):
            relative = known["gap"].astype(float) / np.abs(known["objective"].astype(float))
        ax.plot(known[x], relative, label="estimate")
        ax.plot(known[x][confirmed], relative[confirmed], "o", label="confirmed")
        ax.set(xlabel=x.replace("_", " "), ylabel="relative duality gap", yscale="log")
        ax.legend()
        return ax

    def __getstate__(self) -> dict[str, object]:
        # A pickled solution carries the weights, not the solver's state, which is many times larger.
        return {**self.__dict__, "state": None}
