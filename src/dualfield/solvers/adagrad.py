"""AdaGrad with proximal l1 and l2; the loop is in ``core/solvers/adagrad.hpp``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from dualfield.fields import Field
from dualfield.solvers.base import Solver, check_count, check_number, compiled
from dualfield.solvers.primal import best_step, check_step
from dualfield.solvers.sgd import SteppedRun

__all__ = ["AdaGrad"]


@dataclass(frozen=True)
class AdaGrad(Solver):
    """AdaGrad (Duchi, Hazan & Singer 2011): a step of its own for every weight, and an exact step for the penalty.

    For a batch of b of the n blocks, in sum units, with g the gradient of its losses and ``r = l2 b/n``::

        G_j += g_j²,   η_j = η / (δ + √G_j),   w_j = soft(w_j − η_j g_j, η_j l1 b/n) / (1 + η_j r)

    where ``soft(x, t)`` is x moved towards zero by at most t. Weights that no block of the batch touches only shrink,
    and do so when they are next needed, by a closed form. It converges slowly; the certificate, a full gradient after a
    number of passes that grows geometrically, says where it stands. Memory: four vectors as long as the weights.

    Parameters
    ----------
    eta : float or "auto"
        The step η; "auto" takes the power of ten that leads furthest down over a first look at up to 1000
        blocks.
    delta : float
        δ, which keeps the first steps bounded.
    batch_size : int
        Blocks a batch.

    Examples
    --------
    >>> from dualfield import ChainCRF
    >>> from dualfield.solvers import AdaGrad
    >>> crf = ChainCRF(solver=AdaGrad(), max_passes=10, random_state=0)
    """

    eta: float | Literal["auto"] = "auto"
    delta: float = 1.0
    batch_size: int = 1

    needs: ClassVar[frozenset[str]] = frozenset({"marginals"})
    takes: ClassVar[frozenset[str]] = frozenset({"l1"})

    def __post_init__(self) -> None:
        check_step(self.name, "eta", self.eta)
        check_number(self.name, "delta", self.delta, lambda x: 0 < x < float("inf"), "a positive number")
        check_count(self.name, "batch_size", self.batch_size, 1)

    def start(self, field: Field, seed: int) -> SteppedRun:
        """Bind to a field, at weights zero; with eta="auto", after the search for it."""

        def make(eta: float) -> Any:
            options = {"eta": eta, "delta": float(self.delta), "batch": self.batch_size, "seed": seed}
            return compiled("AdaGrad", field, l1=field.l1, **options)

        eta = best_step(make, field) if self.eta == "auto" else float(self.eta)
        return SteppedRun(self, field, make(eta))

    @property
    def limits(self) -> str:
        return "AdaGrad converges slowly; SAGA, SDCA and OEG converge linearly"

    @property
    def if_diverged(self) -> str:
        return "lower eta or scale the attributes down"
