"""Adaptive regularisation of weights; the loop is in ``core/solvers/arow.hpp``."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from dualfield.fields import Field
from dualfield.solvers.base import Solver, check_number, compiled
from dualfield.solvers.mistake_driven import MistakeDrivenRun

__all__ = ["AROW"]


@dataclass(frozen=True)
class AROW(Solver):
    """Adaptive regularisation of weights, Crammer, Kulesza and Dredze (2009), with a diagonal covariance.

    A weight has a mean w and a variance v, which says how unsure it still is. Visits the blocks in a new random order
    each pass. Where the best labelling ŷ under w is not the true one, with ``D = F(x_i, y_i) − F(x_i, ŷ)`` and d the
    number of labels that are wrong in ŷ ::

        loss = <w, F(x_i, ŷ)> − <w, F(x_i, y_i)> + d
        w += c_i loss / (gamma + Σ_j v_j D_j²) · v D
        1/v += D² / gamma

    It minimises no likelihood: l2 and ``tol`` have no effect, there is no certificate (``certificate="none"``), and
    probabilities under its weights mean little. The run ends after ``max_passes``, or after a pass without a mistake.

    Parameters
    ----------
    variance : float
        Of every weight at the beginning.
    gamma : float
        The larger, the shorter the steps, and the slower the variances shrink.

    Examples
    --------
    >>> from dualfield import ChainCRF
    >>> from dualfield.solvers import AROW
    >>> crf = ChainCRF(solver=AROW(gamma=2.0), max_passes=10, random_state=0)
    """

    variance: float = 1.0
    gamma: float = 1.0

    needs: ClassVar[frozenset[str]] = frozenset({"decoding"})

    def __post_init__(self) -> None:
        for name in ("variance", "gamma"):
            check_number(self.name, name, getattr(self, name), lambda x: 0 < x < math.inf, "a positive number")

    def start(self, field: Field, seed: int) -> MistakeDrivenRun:
        """Bind to a field, at weights zero."""
        options = {"variance": float(self.variance), "gamma": float(self.gamma)}
        return MistakeDrivenRun(self, field, compiled("AROW", field, **options, seed=seed))
