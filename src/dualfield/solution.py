"""What a run leaves behind: weights, objective values, a certificate, and how it went."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

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
        One entry per pass in each column; ``pandas.DataFrame(solution.history)`` is a table.
    state : Run
        The solver's state. ``solve(field, solver, state=solution.state)`` goes on where this run stopped.
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

    def __getstate__(self) -> dict[str, object]:
        # A pickled solution carries the weights, not the solver's state, which is many times larger.
        return {**self.__dict__, "state": None}
