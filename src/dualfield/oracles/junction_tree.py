"""Exact inference on any pairwise graph whose junction tree is small enough; the recursions are in ``core/oracles``."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dualfield import _core
from dualfield.given_numbers import check_integer
from dualfield.memory import check_labellings
from dualfield.oracles.graph_arrays import checked_edges, checked_potentials
from dualfield.random_state import check_random_state

__all__ = ["ExactMarginals", "JunctionTree"]

_BUDGET = 1 << 24

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int32]


class ExactMarginals(NamedTuple):
    """``log_partition``; ``nodes`` (V, K); ``edges`` (E, K, K); one table for each clique and for each separator.

    The table of a clique of m nodes has shape (K, ..., K), m times, in the order of ``JunctionTree.cliques``.
    """

    log_partition: float
    nodes: FloatArray
    edges: FloatArray
    cliques: list[FloatArray]
    separators: list[FloatArray]


class JunctionTree:
    """The cliques of a graph, and exact inference on them.

    A graph of V nodes with K labels has the distribution
    ``p(y) ∝ exp(Σ_v node[v, y_v] + Σ_e edge_e[y_s, y_t])``, its edges ``e = (s, t)`` directed as given. Inference costs
    ``K^(treewidth + 1)`` for each clique; the tree is made once and serves any potentials. Nodes are eliminated by
    min-fill, or where that makes smaller tables in the order of their numbers, or of the columns of a lattice that is
    numbered row by row.

    Parameters
    ----------
    n_nodes : int
        V.
    edges : array of int, shape (E, 2)
        Pairs of different nodes, none twice.
    n_labels : int
        K.
    table_budget : int
        The most numbers that all tables may take together. Beyond it, a ``ValueError`` names the treewidth.

    Attributes
    ----------
    treewidth : int
        One less than the size of the largest clique.
    cliques, separators : lists of arrays
        Their nodes. Each clique but the roots has one separator, what it shares with its parent.

    Examples
    --------
    >>> tree = JunctionTree(4, [(0, 1), (1, 2), (2, 3), (3, 0)], n_labels=2)
    >>> tree.treewidth
    2
    >>> round(tree.marginals([[0.0, 0.0]] * 4, [[1.0, 0.0], [0.0, 1.0]]).log_partition, 6)
    5.297642
    """

    def __init__(self, n_nodes: int, edges: npt.ArrayLike, n_labels: int, table_budget: int = _BUDGET) -> None:
        rule = "an integer, at least 1"
        self.n_nodes = check_integer("n_nodes", n_nodes, 1, rule, most=2**31 - 1)
        self.n_labels = check_integer("n_labels", n_labels, 1, rule, most=2**31 - 1)
        check_integer("table_budget", table_budget, 1, rule)
        self.edges = checked_edges(self.n_nodes, edges)
        try:
            self._core = _core.JunctionTree(self.n_nodes, self.edges.ravel(), self.n_labels, int(table_budget))
        except ValueError as error:
            sentence = str(error)
            raise ValueError(
                f"{sentence[0].upper()}{sentence[1:]}; use belief_propagation, tree_reweighted or mean_field instead."
            ) from None
        self._parts = self._core.cliques()
        self.treewidth: int = self._core.treewidth
        self.cliques: list[IntArray] = [nodes for nodes, *_ in self._parts]
        self.separators: list[IntArray] = [nodes[:shared] for nodes, shared, parent, *_ in self._parts if parent >= 0]

    def marginals(self, node: npt.ArrayLike, edge: npt.ArrayLike) -> ExactMarginals:
        """The log-partition and all marginals; ``edge`` has shape (K, K), shared, or (E, K, K)."""
        log_z, nodes, edges, table = self._core.infer(*self._potentials(node, edge))
        K = self.n_labels
        cliques, separators = [], []
        for members, shared, parent, start, separator in self._parts:
            size = len(members)
            cliques.append(table[start : start + K**size].reshape((K,) * size))
            if parent >= 0:
                separators.append(table[separator : separator + K**shared].reshape((K,) * shared))
        return ExactMarginals(float(log_z), nodes, edges, cliques, separators)

    def log_partition(self, node: npt.ArrayLike, edge: npt.ArrayLike) -> float:
        """``log Σ_y exp(score(y))`` over all K^V labellings."""
        return self.marginals(node, edge).log_partition

    def map_labels(self, node: npt.ArrayLike, edge: npt.ArrayLike) -> tuple[IntArray, float]:
        """A most probable labelling, shape (V,), and its score."""
        labels, score = self._core.decode(*self._potentials(node, edge))
        return labels, float(score)

    def sample(
        self,
        node: npt.ArrayLike,
        edge: npt.ArrayLike,
        n_samples: int = 1,
        random_state: int | np.random.RandomState | None = None,
    ) -> IntArray:
        """Independent exact samples, shape (n_samples, V)."""
        check_integer("n_samples", n_samples, 0, "an integer, not negative")
        check_labellings(n_samples, self.n_nodes, "A sample")
        seed = int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
        samples: IntArray = self._core.sample(*self._potentials(node, edge), int(n_samples), seed)
        return samples

    def _potentials(self, node: npt.ArrayLike, edge: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        nodes, _, matrices = checked_potentials(node, self.edges, edge)
        if nodes.shape != (self.n_nodes, self.n_labels):
            raise ValueError(f"node must have shape {(self.n_nodes, self.n_labels)}; got {nodes.shape}.")
        return nodes, matrices if len(matrices) == len(self.edges) else matrices[0]
