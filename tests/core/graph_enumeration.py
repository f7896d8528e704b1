"""Pairwise graphs by brute force, and random ones for hypothesis."""

from __future__ import annotations

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tests.enumeration import all_labellings, log_sum_exp


class Graph(NamedTuple):
    node: Any
    edges: Any
    edge: Any

    @property
    def matrices(self) -> npt.NDArray[np.float64]:
        """One matrix an edge, also where they are shared."""
        labels = self.node.shape[1]
        return np.broadcast_to(self.edge, (len(self.edges), labels, labels))


class GraphEnumeration:
    """``p(y) ∝ exp(Σ_v node[v, y_v] + Σ_e edge_e[y_s, y_t])``, labelling by labelling, in extended precision."""

    def __init__(self, graph: Graph) -> None:
        n_nodes, self.labels = graph.node.shape
        self.graph = graph
        self.labellings = all_labellings(n_nodes, self.labels)
        self.scores = graph.node.astype(np.longdouble)[np.arange(n_nodes), self.labellings].sum(axis=1)
        for (s, t), matrix in zip(graph.edges, graph.matrices, strict=True):
            self.scores = self.scores + matrix.astype(np.longdouble)[self.labellings[:, s], self.labellings[:, t]]
        self.log_partition = float(log_sum_exp(self.scores))
        self.probabilities = np.exp(self.scores - log_sum_exp(self.scores))

    @property
    def nodes(self) -> npt.NDArray[Any]:
        table = np.zeros(self.graph.node.shape, dtype=np.longdouble)
        for v in range(len(table)):
            np.add.at(table[v], self.labellings[:, v], self.probabilities)
        return table

    @property
    def edges(self) -> npt.NDArray[Any]:
        table = np.zeros(self.graph.matrices.shape, dtype=np.longdouble)
        for e, (s, t) in enumerate(self.graph.edges):
            np.add.at(table[e], (self.labellings[:, s], self.labellings[:, t]), self.probabilities)
        return table

    def marginal(self, members: Any) -> npt.NDArray[Any]:
        """The marginal of some nodes, one axis each."""
        table = np.zeros((self.labels,) * len(members), dtype=np.longdouble)
        np.add.at(table, tuple(self.labellings[:, v] for v in members), self.probabilities)
        return table

    def score(self, labels: npt.ArrayLike) -> float:
        place = np.ravel_multi_index(tuple(np.asarray(labels)), (self.labels,) * len(self.graph.node))
        return float(self.scores[place])


@st.composite
def edge_lists(draw: st.DrawFn, n_nodes: int, forest: bool = False) -> npt.NDArray[np.int64]:
    """A simple graph on so many nodes, or a forest; edges in any order and direction."""
    if forest:
        parents = [draw(st.integers(-1, v - 1)) for v in range(n_nodes)]
        names = draw(st.permutations(range(n_nodes)))
        pairs = [(names[p], names[v]) for v, p in enumerate(parents) if p >= 0]
    else:
        every = list(combinations(range(n_nodes), 2))
        pairs = draw(st.lists(st.sampled_from(every), unique=True, max_size=len(every))) if every else []
    turned = [pair if draw(st.booleans()) else pair[::-1] for pair in draw(st.permutations(pairs))]
    return np.array(turned, dtype=np.int64).reshape(-1, 2)


@st.composite
def graphs(
    draw: st.DrawFn, bound: float = 2.0, forest: bool = False, max_nodes: int = 8, labels: tuple[int, ...] = (1, 2, 3)
) -> Graph:
    """Potentials within ±bound, one matrix for all edges or one for each; at most 4^7 labellings."""
    K = draw(st.sampled_from(labels))
    V = draw(st.integers(1, min(max_nodes, 7) if K > 2 else max_nodes))
    edges = draw(edge_lists(V, forest))
    shape = (K, K) if draw(st.booleans()) else (len(edges), K, K)
    # Random numbers rather than hypothesis's: the interesting thing is the graph, and its floats favour zero.
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    if draw(st.booleans()):
        return Graph(rng.uniform(-bound, bound, (V, K)), edges, rng.uniform(-bound, bound, shape))
    values = st.floats(-bound, bound, allow_subnormal=False)
    node = draw(hnp.arrays(np.float64, (V, K), elements=values))
    return Graph(node, edges, draw(hnp.arrays(np.float64, shape, elements=values)))
