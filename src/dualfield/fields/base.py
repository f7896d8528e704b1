"""What every field has in common: a compiled problem, and a list of what it offers to solvers."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from numbers import Real
from types import MappingProxyType
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from dualfield.solution import Certificate

__all__ = ["APPROXIMATE", "EXACT", "PER_CLIQUE", "Choice", "Field", "check_l2", "check_sample_weight"]

# What fields offer to solvers, by their inference.
APPROXIMATE = frozenset({"marginals", "Hessian-vector products", "decoding"})
EXACT = APPROXIMATE | {"exact marginals", "entropy", "clique tables", "compact potentials", "independent nodes"}
PER_CLIQUE = frozenset({"per-clique access"})  # and entropies that are concave clique by clique


class Choice(NamedTuple):
    """A solver by its name, why it suits a field, as a clause, and parameters that are not its defaults."""

    name: str
    reason: str
    options: Mapping[str, Any] = MappingProxyType({})


class Field(ABC):
    """A training problem: blocks, weights, an l2 penalty, and what its inference can do.

    ``offers`` names what a solver may need; a solver lists what it does need in ``needs``, and an impossible pair is
    refused before any work, with ``instead`` as the way out.
    """

    offers: frozenset[str]
    name: str
    instead: str = ""
    exact: bool = True  # whether inference is
    convex: bool = True  # whether the objective is; otherwise no dual value bounds its optimum
    entropy: str = "trw"  # of cliques, where there is per-clique access
    default_solver: Choice  # what "auto" means here
    core: Any
    l2: float
    preparation: tuple[float, float]  # wall and CPU seconds from encoded data to the compiled field

    @property
    def dimension(self) -> int:
        """The number of weights."""
        return int(self.core.dimension)

    @property
    def n_blocks(self) -> int:
        """The number of training structures."""
        return int(self.core.blocks)

    def primal(self, weights: npt.ArrayLike) -> float:
        """The objective ``l2/2 ‖w‖² + Σ_i c_i · (−log p(y_i | x_i; w))``."""
        return float(self.core.primal(self._checked(weights)))

    def gradient(self, weights: npt.ArrayLike) -> tuple[float, npt.NDArray[np.float64]]:
        """The objective and its gradient ``l2 w + Σ_i c_i · (E_w F − F(x_i, y_i))``."""
        value, gradient = self.core.gradient(self._checked(weights))
        return float(value), gradient

    def hessian_product(self, weights: npt.ArrayLike, vector: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """The Hessian at ``weights`` times ``vector``: ``l2 v + Σ_i c_i · Cov_w(F(x_i, ·)) v``."""
        product: npt.NDArray[np.float64] = self.core.hessian_product(self._checked(weights), self._checked(vector))
        return product

    def certifies(self, weights: npt.NDArray[np.float64]) -> tuple[Certificate, str]:
        """Of which problem a gap confirmed at these weights speaks; if of none, why not, as a clause."""
        return "exact", ""

    @abstractmethod
    def with_l2(self, l2: float) -> Self:
        """The same problem under another penalty; the data are shared."""

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
        array = np.ascontiguousarray(weights, dtype=np.float64)
        if array.shape != (self.dimension,):
            raise ValueError(f"{self.name} has {self.dimension} weights; got an array of shape {array.shape}.")
        return array


def check_l2(l2: object) -> float:
    """Return ``l2`` as a float, or refuse it: the dual exists only for a positive penalty."""
    if not isinstance(l2, Real) or isinstance(l2, bool) or not math.isfinite(float(l2)) or float(l2) <= 0:
        raise ValueError(f"l2 must be a positive finite number; got {l2!r}.")
    return float(l2)


def check_sample_weight(sample_weight: npt.ArrayLike | None, n: int, what: str) -> npt.NDArray[np.float64] | None:
    """Return the weights as an array, or refuse them with the first offending place."""
    if sample_weight is None:
        return None
    weights = np.asarray(sample_weight, dtype=np.float64)
    weights = np.full(n, float(weights)) if weights.ndim == 0 else np.ascontiguousarray(weights)
    if weights.shape != (n,):
        raise ValueError(f"sample_weight must have one entry per {what}, {n} in all; got shape {weights.shape}.")
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if bad.size:
        raise ValueError(f"sample_weight[{bad[0]}] is {weights[bad[0]]}; weights must be finite and not negative.")
    if not weights.any():
        raise ValueError(f"Every sample_weight is zero; at least one {what} needs a positive weight.")
    return weights
