"""Stochastic gradient descent; the loop is in ``core/solvers/sgd.hpp``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from dualfield.fields import Field
from dualfield.solvers.base import Solver, check_count, check_flag, compiled
from dualfield.solvers.primal import PrimalRun, best_step, check_step

__all__ = ["SGD"]

_SCHEDULES = ("constant", "annealed", "pegasos")


@dataclass(frozen=True)
class SGD(Solver):
    """Stochastic gradient descent on mini-batches, in a new random order each pass.

    For a batch of b of the n blocks, in sum units::

        g  = Σ_batch c_i (E_w F − F_i) + (b/n) l2 w
        w −= η_t g                                      lazily: only the features of the batch are touched

    With ``l1`` each weight then moves towards zero by at most ``η_t l1 b/n``. Weights that no block of the batch
    touches make up for that when they are next needed, by a closed form.

    With a constant step the weights end up wandering around the optimum, the closer the smaller η; with the other
    schedules they converge slowly. So do not expect a small tolerance from it: the certificate, a full gradient after
    a number of passes that grows geometrically, says where it stands. Use SAGA, SDCA or OEG to get to the optimum.

    Parameters
    ----------
    eta : float or "auto"
        The step η; "auto" takes the power of ten that leads furthest down over a first look at up to 1000
        blocks.
    schedule : {"constant", "annealed", "pegasos"}
        ``η_t = η``; ``η_t = η/t`` with t the number of the batch (Vishwanathan et al. 2006, ASG); or Pegasos'
        ``η_t = η n / (l2 b t)`` (Shalev-Shwartz et al. 2011).
    average : bool
        Whether the average of the iterates, from the second pass on, stands for the run (ASG in Schmidt et al. 2015).
        With ``l1``, few of its weights are exactly zero: those that have never left zero since.
    batch_size : int
        Blocks a batch.

    Examples
    --------
    >>> from dualfield import ChainCRF
    >>> from dualfield.solvers import SGD
    >>> crf = ChainCRF(solver=SGD(eta=0.1, batch_size=8), max_passes=10, random_state=0)
    """

    eta: float | Literal["auto"] = "auto"
    schedule: Literal["constant", "annealed", "pegasos"] = "constant"
    average: bool = False
    batch_size: int = 1

    needs: ClassVar[frozenset[str]] = frozenset({"marginals"})
    takes: ClassVar[frozenset[str]] = frozenset({"l1"})

    def __post_init__(self) -> None:
        check_step(self.name, "eta", self.eta)
        if self.schedule not in _SCHEDULES:
            raise ValueError(f"SGD: schedule must be 'constant', 'annealed' or 'pegasos'; got {self.schedule!r}.")
        check_flag(self.name, "average", self.average)
        check_count(self.name, "batch_size", self.batch_size, 1)

    def check(self, field: Field) -> None:
        """Refuse a field that lacks something, or has a penalty that the method does not take, by name."""
        super().check(field)
        if field.l2 == 0 and self.schedule == "pegasos":
            raise TypeError(
                "SGD with schedule='pegasos' needs l2 > 0, since its steps are divided by l2; use schedule='annealed'."
            )

    def start(self, field: Field, seed: int) -> PrimalRun:
        """Bind to a field, at weights zero; with eta="auto", after the search for it."""

        def make(eta: float, average: bool) -> Any:
            return compiled(
                "SGD",
                field,
                l1=field.l1,
                schedule=self.schedule,
                eta=eta,
                batch=self.batch_size,
                average_after=1 if average else -1,
                seed=seed,
            )

        eta = best_step(lambda eta: make(eta, False), field) if self.eta == "auto" else float(self.eta)
        return SteppedRun(self, field, make(eta, self.average))

    @property
    def limits(self) -> str:
        if self.schedule == "constant" and not self.average:
            return "with a constant step SGD does not converge, it hovers near the optimum; SAGA, SDCA and OEG converge"
        return "SGD converges slowly; SAGA, SDCA and OEG converge linearly"

    @property
    def if_diverged(self) -> str:
        return "lower eta or scale the attributes down"


class SteppedRun(PrimalRun):
    """A run of a method with a step size that may have been chosen for it."""

    @property
    def eta(self) -> float:
        """The step size η."""
        return float(self._core.eta)

    def record(self) -> dict[str, float]:
        return {**super().record(), "eta": self.eta}
