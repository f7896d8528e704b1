"""Graphs whose log-partition is replaced by a maximum over the local polytope."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from dualfield import _core
from dualfield.features import EncodedGraphs
from dualfield.fields.base import APPROXIMATE, PER_CLIQUE, Choice
from dualfield.fields.graph import GraphField, GraphInference
from dualfield.solution import Certificate

__all__ = ["RelaxedGraph"]

_ENTROPIES = ("trw", "shannon", "gini")
_ROUNDING = 1e-9


class RelaxedGraph(GraphField):
    """Labelled graphs as a convex training problem, whatever their loops.

    As :class:`Graph`, but in the objective ``l2/2 ‖w‖² + Σ_i c_i · (F(θ_i) − score(x_i, y_i))`` the log-partition is

        ``F(θ) = max ⟨θ, μ⟩ + H(μ)``  over the local polytope,

    pseudo-marginals of nodes and edges whose sums agree. With H the true entropy, and the polytope that of true
    marginals, F would be log Z. The choices of H, each a sum of concave terms, one for each clique:

    * "trw", the tree-reweighted entropy ``Σ_v H(μ_v) − Σ_e ρ_e I(μ_e)``: F is an upper bound on log Z, and exact on
      forests. The same objective as ``Graph(inference="trw")``.
    * "shannon", ``node_count Σ_v H(μ_v) + edge_count Σ_e H(μ_e)``.
    * "gini", the same with ``(1 − ‖μ_c‖²)/2`` in place of H(μ_c).

    :class:`~dualfield.solvers.IDAL` solves it without inference; solvers on the primal find F by messages ("trw") or by
    accelerated gradient descent on the multipliers of agreement, to a relative precision of ``inference_tol``.

    Parameters
    ----------
    X, y, l2, edge_l2, edge_weights, bias, sample_weight
        As of :class:`Graph`.
    entropy : {"trw", "shannon", "gini"}
        See above.
    node_count, edge_count : float
        Of "shannon" and "gini": by what entropies count; positive, or they would not be concave.
    tree_weights : sequence of arrays, optional
        Of "trw": for each graph the ρ_e of its edges in (0, 1], the probabilities of edges in a mixture of spanning
        forests. They are checked to cover every edge, to be no more in sum than a forest has edges, and to leave the
        entropy concave; whether every part of the graph could have them is not. By default they are chosen.
    damping, max_sweeps, inference_tol
        Of inference, where a solver or a certificate needs it.

    Examples
    --------
    >>> import numpy as np
    >>> from dualfield import fields, solve
    >>> triangle = (np.eye(3), [(0, 1), (1, 2), (2, 0)])
    >>> field = fields.RelaxedGraph([triangle], [["a", "b", "a"]], entropy="gini")
    >>> solve(field, "idal", tol=1e-5).status
    'converged'
    """

    offers = APPROXIMATE | PER_CLIQUE
    exact = False
    convex = True
    instead = "use solver='idal', or one on the primal such as 'lbfgs'"

    def __init__(
        self,
        X: Any,
        y: Any,
        l2: float = 1.0,
        *,
        entropy: str = "trw",
        node_count: float = 1.0,
        edge_count: float = 1.0,
        tree_weights: Any = None,
        edge_l2: float | None = None,
        edge_weights: str = "full",
        bias: bool = False,
        sample_weight: npt.ArrayLike | None = None,
        damping: float = 0.0,
        max_sweeps: int = 2000,
        inference_tol: float = 1e-9,
    ) -> None:
        if entropy not in _ENTROPIES:
            raise ValueError(f"entropy must be 'trw', 'shannon' or 'gini'; got {entropy!r}.")
        self.entropy = entropy
        self.name = f"RelaxedGraph with entropy={entropy!r}"
        self.node_count = _positive_count("node_count", node_count)
        self.edge_count = _positive_count("edge_count", edge_count)
        self.inference = GraphInference("trw", damping=damping, max_sweeps=max_sweeps, tolerance=inference_tol)
        if tree_weights is not None and entropy != "trw":
            raise ValueError(f"tree_weights belong to entropy='trw'; with entropy={entropy!r} leave them out.")
        self._given_weights = tree_weights
        self.tree_weights: npt.NDArray[np.float64] | None = None
        self._prepare(X, y, l2, edge_l2, edge_weights, bias, sample_weight)
        self.default_solver = Choice("lbfgs", "with converged inference it needs few passes")

    def _compile(self) -> Any:
        if self._given_weights is not None and self.tree_weights is None:
            self.tree_weights = _checked_tree_weights(self._given_weights, self.encoded)
        return _core.LoopyGraph(
            **self._arguments(),
            inference=self.entropy,
            damping=float(self.inference.damping),
            max_sweeps=int(self.inference.max_sweeps),
            tolerance=float(self.inference.tolerance),
            node_count=self.node_count,
            edge_count=self.edge_count,
            edge_probabilities=self.tree_weights,
        )

    def certifies(self, weights: npt.NDArray[np.float64]) -> tuple[Certificate, str]:
        """Say "relaxed": what inference leaves open, converged or not, is part of the gap."""
        return "relaxed", ""

    def _content(self) -> list[Any]:
        chosen = [self.entropy, self.node_count, self.edge_count, self.tree_weights, self.inference]
        return [*super()._content(), *chosen]


def _positive_count(name: str, value: object) -> float:
    number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    if not number or not 0 < float(value) < math.inf:  # type: ignore[arg-type]
        raise ValueError(f"{name} must be a positive finite number, or the entropy is not concave; got {value!r}.")
    return float(value)  # type: ignore[arg-type]


def _checked_tree_weights(given: Any, graphs: EncodedGraphs) -> npt.NDArray[np.float64]:
    """All weights in one array, or a sentence on the first that cannot be."""
    given = list(given)
    if len(given) != len(graphs):
        raise ValueError(f"tree_weights has {len(given)} entries; expected one for each of the {len(graphs)} graphs.")
    parts = []
    for number, weights in enumerate(given):
        first, last = graphs.edge_offsets[number], graphs.edge_offsets[number + 1]
        part = np.asarray(weights, dtype=np.float64)
        if part.shape != (last - first,):
            raise ValueError(
                f"tree_weights of graph {number} have shape {part.shape}; expected one number for each of its "
                f"{last - first} edges."
            )
        outside = np.flatnonzero(~((part > 0) & (part <= 1)))
        if outside.size:
            raise ValueError(
                f"tree_weights of graph {number} give edge {outside[0]} the weight {part[outside[0]]}; every edge must "
                "be covered, by a number in (0, 1]."
            )
        size = int(graphs.sizes[number])
        ends = graphs.ends[first:last]
        joined = coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(size, size))
        most = size - connected_components(joined, directed=False)[0]
        if part.sum() > most + _ROUNDING * max(1, most):
            raise ValueError(
                f"tree_weights of graph {number} add up to {part.sum():g}; a spanning forest of it has {most} edges, "
                "so expected at most that."
            )
        parts.append(part)
    return np.ascontiguousarray(np.concatenate(parts))
