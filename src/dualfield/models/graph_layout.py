"""Where the weights of a graph model are: the part of it that does not depend on data.

Weights are one flat vector, ``[ attribute × label | edge feature × parameter | clique size × K^size | bias ]``.
The potential of an edge with features x joins the labels a and b of its ends by ``Σ_f x_f W_f[a, b]``, and every
matrix ``W_f`` has P parameters::

    W_f[a, b] = edge_scale · pattern_values[a, b] · w[f, pattern[a, b]]          0 where pattern[a, b] is −1

The scale carries a penalty of the edges' own: with ``edge_scale² = l2 / edge_l2`` the penalty ``l2/2 ‖w‖²`` of the
vector is ``edge_l2/2`` times the squares of the edges' natural weights ``edge_scale · w``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dualfield.features import EncodedGraphs
from dualfield.features.graphs.cliques import Cliques

__all__ = ["EDGE_WEIGHTS", "GraphLayout", "edge_pattern"]

FloatArray = npt.NDArray[np.float64]

EDGE_WEIGHTS = ("full", "symmetric", "potts", "ising")


def edge_pattern(edge_weights: str, n_labels: int) -> tuple[npt.NDArray[np.int32], FloatArray, int]:
    """Which parameter a pair of labels has, with which factor, and how many parameters there are.

    Parameters
    ----------
    edge_weights : {"full", "symmetric", "potts", "ising"}
        "full": a parameter for every pair (a, b), K² in all; "symmetric": one for (a, b) and (b, a) together,
        K (K + 1)/2; "potts": one for equal labels, unequal ones have none; "ising", for two labels: one, with +1 for
        equal labels and −1 for unequal ones.
    n_labels : int
        K.

    Returns
    -------
    pattern : array of int32, shape (K, K)
        The parameter's number, or −1.
    values : array of float64, shape (K, K)
        The factor.
    n_parameters : int
        P.

    Examples
    --------
    >>> edge_pattern("symmetric", 2)[0].tolist(), edge_pattern("ising", 2)[1].tolist()
    ([[0, 1], [1, 2]], [[1.0, -1.0], [-1.0, 1.0]])
    """
    if edge_weights not in EDGE_WEIGHTS:
        names = ", ".join(map(repr, EDGE_WEIGHTS[:-1])) + f" or {EDGE_WEIGHTS[-1]!r}"
        raise ValueError(f"edge_weights must be {names}; got {edge_weights!r}.")
    if edge_weights == "ising" and n_labels != 2:
        raise ValueError(f"edge_weights='ising' needs exactly two labels; y has {n_labels}; choose 'potts'.")
    shape = (n_labels, n_labels)
    values, equal = np.ones(shape), np.eye(n_labels, dtype=bool)
    if edge_weights == "full":
        pattern = np.arange(n_labels * n_labels).reshape(shape)
    elif edge_weights == "symmetric":
        pattern = np.zeros(shape, dtype=np.int64)
        upper = np.triu_indices(n_labels)
        pattern[upper] = pattern.T[upper] = np.arange(len(upper[0]))
    elif edge_weights == "potts":
        pattern = np.where(equal, 0, -1)
    else:
        pattern, values = np.zeros(shape, dtype=np.int64), np.where(equal, 1.0, -1.0)
    return np.ascontiguousarray(pattern, dtype=np.int32), values, int(pattern.max()) + 1


@dataclass(frozen=True)
class GraphLayout:
    """The weights that a graph model has.

    Parameters
    ----------
    n_attributes, n_labels : int
        A and K.
    n_edge_features : int
        De; 0 stands for one feature of value 1.
    edge_weights : {"full", "symmetric", "potts", "ising"}
        Which pairs of labels share a parameter; see :func:`edge_pattern`.
    bias : bool
        Whether there is a weight per label at every node.
    edge_scale : float
        ``sqrt(l2 / edge_l2)``: the natural weights of edges are ``edge_scale`` times those of the vector.
    clique_sizes : tuple of int
        The sizes of larger cliques that have weights, K^size each, increasing.
    """

    n_attributes: int
    n_labels: int
    n_edge_features: int
    edge_weights: str
    bias: bool
    edge_scale: float = 1.0
    clique_sizes: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not (math.isfinite(self.edge_scale) and self.edge_scale > 0):
            raise ValueError(f"edge_scale must be a positive finite number; got {self.edge_scale!r}.")
        edge_pattern(self.edge_weights, self.n_labels)
        object.__setattr__(self, "clique_sizes", tuple(self.clique_sizes))
        if any(type(size) is not int or size < 3 for size in self.clique_sizes):
            raise ValueError(f"clique_sizes must be integers from 3 on; got {self.clique_sizes!r}.")

    @property
    def n_node_weights(self) -> int:
        """How many (attribute, label) pairs there are."""
        return self.n_attributes * self.n_labels

    @property
    def edge_shape(self) -> tuple[int, int]:
        """How many edge features there are, and parameters to each."""
        return max(self.n_edge_features, 1), edge_pattern(self.edge_weights, self.n_labels)[2]

    @property
    def dimension(self) -> int:
        """The number of weights."""
        features, parameters = self.edge_shape
        cliques = sum(self.n_labels**size for size in self.clique_sizes)
        return self.n_node_weights + features * parameters + cliques + self.n_labels * self.bias

    def arguments(
        self,
        graphs: EncodedGraphs,
        codes: npt.NDArray[np.int32] | None = None,
        sample_weight: FloatArray | None = None,
        l2: float = 1.0,
    ) -> dict[str, Any]:
        """What every compiled graph field takes, by name; without ``codes`` it can predict, not train."""
        pattern, values, n_parameters = edge_pattern(self.edge_weights, self.n_labels)
        rows, cliques = graphs.edge_features, self._cliques(graphs)
        return {
            "offsets": graphs.offsets,
            "indptr": graphs.indptr,
            "indices": graphs.indices,
            "values": graphs.values,
            "attributes": self.n_attributes,
            "labels": self.n_labels,
            "edge_offsets": graphs.edge_offsets,
            "ends": graphs.ends.ravel(),
            "edge_features": None if rows is None else rows.ravel(),
            "n_edge_features": max(self.n_edge_features, 1),
            "pattern": pattern.ravel(),
            "pattern_values": values.ravel(),
            "parameters": n_parameters,
            "edge_scale": self.edge_scale,
            "bias": self.bias,
            "y": codes,
            "sample_weight": sample_weight,
            "l2": l2,
            "clique_offsets": None if cliques is None else cliques.offsets,
            "clique_starts": None if cliques is None else cliques.starts,
            "clique_nodes": None if cliques is None else cliques.nodes,
            "clique_sizes": None if cliques is None else np.array(self.clique_sizes, dtype=np.int64),
        }

    def _cliques(self, graphs: EncodedGraphs) -> Cliques | None:
        """The larger cliques as the core takes them: all of sizes that have weights."""
        if graphs.cliques is None:
            if not self.clique_sizes:
                return None
            return Cliques(np.zeros(len(graphs) + 1, np.int64), np.zeros(1, np.int64), np.empty(0, np.int32))
        for size in graphs.cliques.sizes.tolist():
            if size not in self.clique_sizes:
                known = " or ".join(map(str, self.clique_sizes)) or "two"
                graph = graphs.cliques.first_graph_with(size)
                raise ValueError(
                    f"graph {graph} has a clique of {size} nodes but the model was trained on cliques of {known}; "
                    "leave it out."
                )
        return graphs.cliques

    def split(self, weights: FloatArray) -> dict[str, FloatArray]:
        """The natural weights by name.

        Returns
        -------
        dict
            ``node``, shape (A, K); ``edge``, shape (De, K, K), the matrices ``W_f`` above, zero where there is no
            parameter; and, where they exist, ``bias``, shape (K,), and ``clique_n`` for cliques of n nodes, shape
            (K, ..., K).
        """
        pattern, values, _ = edge_pattern(self.edge_weights, self.n_labels)
        shape = self.edge_shape
        lengths = [self.n_node_weights, shape[0] * shape[1], *(self.n_labels**size for size in self.clique_sizes)]
        node, edge, *larger, bias = np.split(weights, np.cumsum(lengths))
        matrices = self.edge_scale * values * edge.reshape(shape)[:, np.maximum(pattern, 0)]
        parts = {
            "node": node.reshape(self.n_attributes, self.n_labels),
            "edge": np.where(pattern >= 0, matrices, 0.0),
        }
        for size, tensor in zip(self.clique_sizes, larger, strict=True):
            parts[f"clique_{size}"] = tensor.reshape((self.n_labels,) * size)
        return parts | {"bias": bias} if self.bias else parts
