"""The structured perceptron; the loop is in ``core/solvers/perceptron.hpp``."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from dualfield.fields import Field
from dualfield.solvers.base import Bound, Run, Solver, check_flag, compiled

__all__ = ["Perceptron"]


@dataclass(frozen=True)
class Perceptron(Solver):
    """Collins' perceptron (2002), plain or averaged.

    Visits the blocks in a new random order each pass; where the best labelling ŷ under w is not the true one ::

        w += c_i (F(x_i, y_i) − F(x_i, ŷ))

    It minimises no likelihood: l2 and ``tol`` have no effect, there is no certificate (``certificate="none"``), and
    probabilities under its weights mean little. The run ends after ``max_passes``, or after a pass without a mistake.

    Parameters
    ----------
    average : bool
        Whether the average of the weights over all steps stands for the run; it usually tags better.

    Examples
    --------
    >>> from dualfield import ChainCRF
    >>> from dualfield.solvers import Perceptron
    >>> crf = ChainCRF(solver=Perceptron(), max_passes=10, random_state=0)
    """

    average: bool = True

    needs: ClassVar[frozenset[str]] = frozenset({"decoding"})

    def __post_init__(self) -> None:
        check_flag(self.name, "average", self.average)

    def start(self, field: Field, seed: int) -> PerceptronRun:
        """Bind to a field, at weights zero."""
        return PerceptronRun(self, field, compiled("Perceptron", field, average=bool(self.average), seed=seed))


class PerceptronRun(Run):
    """A run of :class:`Perceptron`."""

    certifies: ClassVar[bool] = False

    def confirm(self, seconds: float) -> bool:
        return True

    @property
    def bound(self) -> Bound:
        return Bound(math.nan, math.nan, math.nan)

    def certified_weights(self) -> npt.NDArray[np.float64]:
        return self.weights()

    def record(self) -> dict[str, float]:
        return {"mistakes": float(self._core.mistakes_of_pass)}
