"""Passive aggressive learning; the loop is in ``core/solvers/pa.hpp``."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

from dualfield.fields import Field
from dualfield.solvers.base import Solver, check_flag, check_number, compiled
from dualfield.solvers.mistake_driven import MistakeDrivenRun

__all__ = ["PA"]


@dataclass(frozen=True)
class PA(Solver):
    """Passive aggressive learning, Crammer et al. (2006): PA, PA-I and PA-II.

    Visits the blocks in a new random order each pass. Where the best labelling ŷ under w is not the true one, with
    ``D = F(x_i, y_i) − F(x_i, ŷ)`` and d the number of labels that are wrong in ŷ ::

        loss = <w, F(x_i, ŷ)> − <w, F(x_i, y_i)> + √d
        w += c_i τ D,   τ = loss / ‖D‖²                  PA     (slack="none")
                        τ = min(c, loss / ‖D‖²)          PA-I   (slack="linear")
                        τ = loss / (‖D‖² + 1 / (2 c))    PA-II  (slack="squared")

    It minimises no likelihood: l2 and ``tol`` have no effect, there is no certificate (``certificate="none"``), and
    probabilities under its weights mean little. The run ends after ``max_passes``, or after a pass without a mistake.

    Parameters
    ----------
    slack : {"linear", "none", "squared"}
        How a loss that remains is penalised.
    c : float
        How much: the larger, the longer the steps. Of no effect with ``slack="none"``.
    error_sensitive : bool
        Whether a labelling with more errors has to lose by more; if not, √d is 1.
    average : bool
        Whether the average of the weights over all steps stands for the run; it usually tags better.

    Examples
    --------
    >>> from dualfield import ChainCRF
    >>> from dualfield.solvers import PA
    >>> crf = ChainCRF(solver=PA(c=0.5), max_passes=10, random_state=0)
    """

    slack: Literal["linear", "none", "squared"] = "linear"
    c: float = 1.0
    error_sensitive: bool = True
    average: bool = True

    needs: ClassVar[frozenset[str]] = frozenset({"decoding"})

    def __post_init__(self) -> None:
        if self.slack not in ("linear", "none", "squared"):
            raise ValueError(f"{self.name}: slack must be 'linear', 'none' or 'squared'; got {self.slack!r}.")
        check_number(self.name, "c", self.c, lambda x: 0 < x < math.inf, "a positive number")
        check_flag(self.name, "error_sensitive", self.error_sensitive)
        check_flag(self.name, "average", self.average)

    def start(self, field: Field, seed: int) -> MistakeDrivenRun:
        """Bind to a field, at weights zero."""
        options = {"slack": self.slack, "c": float(self.c), "error_sensitive": bool(self.error_sensitive)}
        return MistakeDrivenRun(self, field, compiled("PA", field, **options, average=bool(self.average), seed=seed))
