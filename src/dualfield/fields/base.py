"""The base class of fields: a compiled problem, and a list of the abilities that solvers may ask for."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from dualfield.core_arrays import contiguous
from dualfield.counted import counted
from dualfield.memory import check_memory
from dualfield.parameters import check_l1, check_l2
from dualfield.ranks import Communicator
from dualfield.solution import Certificate

__all__ = [
    "APPROXIMATE",
    "EXACT",
    "PER_CLIQUE",
    "Choice",
    "Field",
    "check_l1",
    "check_l2",
    "check_label_count",
]

# What fields offer to solvers, by their inference.
APPROXIMATE = frozenset({"marginals", "Hessian-vector products", "decoding"})
EXACT = APPROXIMATE | {"exact marginals", "entropy", "clique tables", "compact potentials", "independent nodes"}
PER_CLIQUE = frozenset({"per-clique access"})  # and entropies that are concave clique by clique


class Choice(NamedTuple):
    """A solver by its name, why it suits a field, as a clause, and parameters that are not its defaults.

    The usual choice goes without saying: its reason is not in the message of a run.
    """

    name: str
    reason: str
    options: Mapping[str, Any] = MappingProxyType({})
    usual: bool = False


class Field(ABC):
    """A training problem: blocks, weights, an l2 penalty, and what its inference can do.

    ``offers`` names what a solver may need; a solver lists what it does need in ``needs``, and an impossible pair is
    refused before any work, with ``instead`` as the way out.
    """

    offers: frozenset[str]
    name: str
    instead: str = ""
    exact: bool = True  # whether inference is
    partitioned: bool = False  # whether it is compiled partition by partition
    communicator: Communicator | None = None  # the ranks among which it is shared out
    convex: bool = True  # whether the objective is; otherwise no dual value bounds its optimum
    entropy: str = "trw"  # of cliques, where there is per-clique access
    default_solver: Choice  # what "auto" means here
    core: Any
    l2: float
    l1: float = 0.0
    centre: npt.NDArray[np.float64] | None = None  # the weights that the penalty is about; None: zero
    preparation: tuple[float, float]  # wall and CPU seconds from encoded data to the compiled field

    @property
    def dimension(self) -> int:
        """The number of weights."""
        return int(self.core.dimension)

    @property
    def n_blocks(self) -> int:
        """The number of training structures."""
        return int(self.core.blocks)

    @property
    def obstacle(self) -> str:
        """What slows training on this problem, and the way out, in a sentence; asked for where tol was not reached."""
        return ""

    def __repr__(self) -> str:
        *first, last = [counted(count, noun) for noun, count in self._sizes().items()]
        penalties = f"l1={self.l1:g}, l2={self.l2:g}" if self.l1 > 0 else f"l2={self.l2:g}"
        about = "" if self.centre is None else ", about given weights"
        return f"<{self.name}: {', '.join(first)} and {last}; {penalties}{about}>"

    def _sizes(self) -> dict[str, int]:
        """The sizes of the problem: a noun in the singular and how many."""
        return {"block": self.n_blocks, "weight": self.dimension}

    def core_with(self, needs: frozenset[str]) -> Any:
        """The compiled problem for a solver that needs this."""
        return self.core

    def primal(self, weights: npt.ArrayLike) -> float:
        """The objective ``l1 ‖u‖₁ + l2/2 ‖u‖² + Σ_i c_i · (−log p(y_i | x_i; w))``, ``u = w − centre``."""
        w = self._checked(weights)
        return float(self.core.primal(w)) + self._beyond_core(w)

    def gradient(self, weights: npt.ArrayLike) -> tuple[float, npt.NDArray[np.float64]]:
        """The objective and its gradient ``l2 u + Σ_i c_i · (E_w F − F(x_i, y_i))``, ``u = w − centre``.

        With l1, the subgradient of least norm: that plus ``l1 sign(u_k)``, and where ``u_k = 0``, that moved towards
        zero by at most l1. It is zero at the optimum and only there.
        """
        w = self._checked(weights)
        value, gradient = self.core.gradient(w)
        value = float(value) + self._beyond_core(w)
        change = w
        if self.centre is not None:
            change = w - self.centre
            gradient -= self.l2 * self.centre
        if self.l1 > 0:
            towards_zero = np.sign(gradient) * np.maximum(np.abs(gradient) - self.l1, 0.0)
            gradient = np.where(change == 0, towards_zero, gradient + self.l1 * np.sign(change))
        return value, gradient

    def _beyond_core(self, w: npt.NDArray[np.float64]) -> float:
        """What the objective has in addition to ``l2/2 ‖w‖²`` and the losses."""
        if self.centre is None:
            return self.l1 * float(np.abs(w).sum())
        change = w - self.centre
        return self.l1 * float(np.abs(change).sum()) + 0.5 * self.l2 * float(change @ change - w @ w)

    def penalty(self, w: npt.NDArray[np.float64]) -> float:
        """What the objective has beside the losses."""
        return 0.5 * self.l2 * float(w @ w) + self._beyond_core(w)

    def hessian_product(self, weights: npt.ArrayLike, vector: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """The Hessian at ``weights`` times ``vector``: ``l2 v + Σ_i c_i · Cov_w(F(x_i, ·)) v``."""
        core = self.core_with(frozenset({"Hessian-vector products"}))
        product: npt.NDArray[np.float64] = core.hessian_product(self._checked(weights), self._checked(vector))
        return product

    def certifies(self, weights: npt.NDArray[np.float64]) -> tuple[Certificate, str]:
        """Of which problem a gap confirmed at these weights speaks; if of none, why not, as a clause."""
        return "exact", ""

    def relaxed_bound(self, weights: npt.ArrayLike) -> tuple[float, float, float]:
        """(primal, dual, gap) as far as they are proven at these weights, errors of inference and rounding included.

        For convex problems with approximate inference.
        """
        primal, dual, gap = self.core.relaxed_bound(self._checked(weights))
        return primal, dual, gap

    def bounding_problem(self) -> Field:
        """A convex problem that bounds an objective that is not convex."""
        raise TypeError(f"{self.name} has no convex problems that bound it; only chains with partial labels have them.")

    @abstractmethod
    def with_l2(self, l2: float) -> Self:
        """The same problem under another penalty; the data are shared."""

    def with_l1(self, l1: float) -> Self:
        """The same problem under another l1 penalty; the data are shared."""
        if check_l1(l1) == self.l1:
            return self
        raise TypeError(f"{self.name} has no l1 penalty; only chains and points have one: leave l1 out.")

    def with_penalties(self, l1: float, l2: float) -> Self:
        """The same problem under other penalties; the data are shared."""
        # Neither may be zero while the other one is.
        if check_l1(l1) > 0:
            other = self.with_l1(l1)
            return other if l2 == other.l2 else other.with_l2(l2)
        return (self if l2 == self.l2 else self.with_l2(l2)).with_l1(l1)

    @abstractmethod
    def _content(self) -> list[Any]:
        """Everything that the problem consists of, as arrays and plain values."""

    def same_as(self, other: Field) -> bool:
        """Whether the other field poses the same problem, so that the state of one fits the other."""
        return type(self) is type(other) and all(
            np.array_equal(a, b)
            if isinstance(a, np.ndarray) and isinstance(b, np.ndarray)
            else type(a) is type(b) and a == b
            for a, b in zip(self._content(), other._content(), strict=True)
        )

    def _checked(self, weights: npt.ArrayLike) -> npt.NDArray[np.float64]:
        array = contiguous(weights, np.float64, "the weights")
        if array.shape != (self.dimension,):
            raise ValueError(f"{self.name} has {self.dimension} weights; got an array of shape {array.shape}.")
        return array


def check_label_count(n_labels: int) -> None:
    """Refuse so many labels that tables of all their pairs do not fit, before one is made."""
    most = math.isqrt(np.iinfo(np.int32).max)
    if n_labels > most:
        raise ValueError(
            f"y has {n_labels:,} different labels; expected at most {most:,}, since pairs of labels are numbered up to "
            "2^31: merge rare labels."
        )
    tables = 4  # potentials and marginals of a block, what their sums need, and a mask
    check_memory(
        tables * 8 * n_labels * n_labels, f"A model of {n_labels:,} labels and their pairs", "merge rare labels"
    )
