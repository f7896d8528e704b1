"""The structured perceptron; the loop is in ``core/solvers/perceptron.hpp``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dualfield.fields import Field
from dualfield.solvers.base import Solver, check_flag, compiled
from dualfield.solvers.mistake_driven import MistakeDrivenRun

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

    def start(self, field: Field, seed: int) -> MistakeDrivenRun:
        """Bind to a field, at weights zero."""
        return MistakeDrivenRun(self, field, compiled("Perceptron", field, average=bool(self.average), seed=seed))
