"""Graphs: a feature row per node, edges between nodes, and perhaps a feature row per edge.

An :class:`EncodedGraphs` stores many graphs as contiguous arrays, ready for the core. Nodes are what positions are
in :class:`~dualfield.features.Encoded`; edges add a second family of offsets::

    graph i   has the nodes     offsets[i] : offsets[i + 1]
    node v    has the entries   indptr[v] : indptr[v + 1]   of ``indices`` (and of ``values``)
    graph i   has the edges     edge_offsets[i] : edge_offsets[i + 1]   of ``ends`` (and of ``edge_features``)

An edge is a pair of node numbers local to its graph, in a direction: its potential has one row per label of the first
node and one column per label of the second. A pair of nodes has at most one edge.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dualfield.core_arrays import contiguous, frozen
from dualfield.features.graphs.cliques import Cliques
from dualfield.features.vocabulary import Vocabulary
from dualfield.nested import (
    GRAPHS,
    Key,
    bounds_of,
    check_entries,
    check_offsets,
    check_values,
    chosen_groups,
    gather,
    integers,
)

__all__ = ["EncodedGraphs", "check_edges"]


@dataclass(frozen=True, eq=False)
class EncodedGraphs:
    """Graphs of nodes with numbered, weighted attributes, and of edges with feature rows.

    Parameters
    ----------
    offsets : array of int64, shape (n_graphs + 1,)
        Where each graph's nodes begin; strictly increasing from 0, since no graph is without nodes.
    indptr : array of int64, shape (n_nodes + 1,)
        Where each node's entries begin, from 0.
    indices : array of int32, shape (n_entries,)
        Attribute numbers, distinct and increasing within a node.
    values : array of float64, shape (n_entries,), or None
        The attributes' values; None means that all are 1.
    n_attributes : int
        How many attributes a node may have.
    edge_offsets : array of int64, shape (n_graphs + 1,)
        Where each graph's edges begin, from 0; a graph may have none.
    ends : array of int32, shape (n_edges, 2)
        The nodes that each edge joins, numbered within their graph.
    edge_features : array of float64, shape (n_edges, n_edge_features), or None
        None means one feature of value 1 at every edge.
    cliques : Cliques or None
        Cliques of three nodes and more that have a potential of their own.
    vocabulary : Vocabulary or None
        The names of the attributes; None where they are the columns of arrays.

    Raises
    ------
    ValueError
        If the arrays do not fit together, or an edge is out of range, a loop, or a repetition: the core relies on
        them without looking again.

    Examples
    --------
    >>> from dualfield.features import encode_graphs
    >>> graphs = encode_graphs([(np.eye(3), [(0, 1), (1, 2)]), (np.ones((1, 3)), [])])
    >>> len(graphs), graphs.sizes.tolist(), graphs.edge_offsets.tolist()
    (2, [3, 1], [0, 2, 2])
    >>> graphs[1].n_nodes, graphs[1].n_edges
    (1, 0)
    """

    offsets: npt.NDArray[np.int64]
    indptr: npt.NDArray[np.int64]
    indices: npt.NDArray[np.int32]
    values: npt.NDArray[np.float64] | None
    n_attributes: int
    edge_offsets: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int32]
    edge_features: npt.NDArray[np.float64] | None
    cliques: Cliques | None = None
    vocabulary: Vocabulary | None = None

    def __post_init__(self) -> None:
        for name in ("offsets", "indptr", "edge_offsets"):
            object.__setattr__(self, name, integers(name, getattr(self, name), np.int64))
        object.__setattr__(self, "indices", integers("indices", self.indices, np.int32))
        for name in ("values", "edge_features"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, contiguous(getattr(self, name), np.float64))
        check_offsets(self.offsets, self.n_nodes, GRAPHS)
        check_entries(self.indptr, self.indices, self.n_attributes, GRAPHS)
        check_values(self.values, len(self.indices))
        if self.vocabulary is not None and len(self.vocabulary) != self.n_attributes:
            raise ValueError(f"there are {self.n_attributes} attributes but {len(self.vocabulary)} names.")
        if np.asarray(self.ends).shape != (len(self.ends), 2):
            raise ValueError(f"ends must have shape (edges, 2); found {np.asarray(self.ends).shape}.")
        ends = integers("ends", np.asarray(self.ends).ravel(), np.int64).reshape(-1, 2)
        _check_edge_offsets(self.edge_offsets, len(self), len(ends))
        check_edges(self.sizes, self.edge_offsets, ends)
        _check_edge_features(self.edge_features, self.edge_offsets)
        object.__setattr__(self, "ends", frozen(ends, np.int32))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def shape(self) -> tuple[int]:
        """(n_graphs,): to scikit-learn, a one-dimensional array of graphs."""
        return (len(self),)

    @property
    def n_nodes(self) -> int:
        """Number of nodes of all graphs together."""
        return len(self.indptr) - 1

    @property
    def n_edges(self) -> int:
        """Number of edges of all graphs together."""
        return len(self.ends)

    @property
    def n_edge_features(self) -> int:
        """Number of features of an edge; 0 where edges have none of their own."""
        return 0 if self.edge_features is None else int(self.edge_features.shape[1])

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        """Number of nodes of every graph, shape (n_graphs,)."""
        return np.diff(self.offsets)

    def __repr__(self) -> str:
        own = f", {self.n_edge_features} edge features" if self.edge_features is not None else ""
        return (
            f"EncodedGraphs({len(self):,} graphs, {self.n_nodes:,} nodes, {self.n_edges:,} edges, "
            f"{self.n_attributes} attributes{own})"
        )

    def __iter__(self) -> Iterator[EncodedGraphs]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, key: Key) -> EncodedGraphs:
        """Return the chosen graphs: an int, a slice, an array of int, or a boolean mask of shape (n_graphs,)."""
        chosen = chosen_groups(key, len(self), GRAPHS)
        nodes, offsets = gather(self.offsets, chosen)
        entries, indptr = gather(self.indptr, nodes)
        edges, edge_offsets = gather(self.edge_offsets, chosen)
        return EncodedGraphs(
            offsets,
            indptr,
            self.indices[entries],
            None if self.values is None else self.values[entries],
            self.n_attributes,
            edge_offsets,
            self.ends[edges],
            None if self.edge_features is None else self.edge_features[edges],
            None if self.cliques is None else self.cliques[chosen],
            self.vocabulary,
        )

    def with_nodes(self, kept: npt.NDArray[np.bool_]) -> EncodedGraphs:
        """The graphs that these nodes make, a truth value a node, with the edges between them.

        A graph without nodes is left out. Cliques are refused.

        Examples
        --------
        >>> from dualfield.features import encode_graphs
        >>> graphs = encode_graphs([(np.eye(3), [(0, 1), (1, 2)]), (np.ones((1, 3)), [])])
        >>> some = graphs.with_nodes(np.array([False, True, True, False]))
        >>> some.sizes.tolist(), some.ends.tolist()
        ([2], [[0, 1]])
        """
        if self.cliques is not None:
            raise ValueError("the graphs have cliques, of which no node can be left out.")
        rank: npt.NDArray[np.int64] = np.cumsum(kept) - kept  # the number of kept nodes before each node
        firsts = np.concatenate((rank, [int(kept.sum())]))[self.offsets]
        graph_of = np.repeat(np.arange(len(self)), np.diff(self.edge_offsets))
        nodes = self.ends + self.offsets[graph_of][:, np.newaxis]  # numbered through all graphs
        edges = kept[nodes].all(axis=1)
        left = np.diff(firsts) > 0
        entries, indptr = gather(self.indptr, np.flatnonzero(kept))
        n_edges = np.bincount(graph_of[edges], minlength=len(self))[left]
        return EncodedGraphs(
            np.concatenate((firsts[:-1][left], firsts[-1:])),
            indptr,
            self.indices[entries],
            None if self.values is None else self.values[entries],
            self.n_attributes,
            bounds_of(n_edges),
            rank[nodes[edges]] - firsts[graph_of[edges]][:, np.newaxis],
            None if self.edge_features is None else self.edge_features[edges],
            vocabulary=self.vocabulary,
        )


def _check_edge_offsets(offsets: npt.NDArray[np.int64], n_graphs: int, n_edges: int) -> None:
    if len(offsets) != n_graphs + 1 or offsets[0] != 0 or offsets[-1] != n_edges or (np.diff(offsets) < 0).any():
        raise ValueError(
            f"edge_offsets must have {n_graphs + 1} entries that run from 0 to the number of edges, {n_edges}, without "
            f"decreasing; found {len(offsets)} entries from {offsets[:1]} to {offsets[-1:]}."
        )


def check_edges(
    sizes: npt.NDArray[np.int64], edge_offsets: npt.NDArray[np.int64], ends: npt.NDArray[np.integer[Any]]
) -> None:
    """Refuse the first edge that is out of range, a loop, or a repetition."""
    if len(ends) == 0:
        return
    graph_of = np.repeat(np.arange(len(sizes)), np.diff(edge_offsets))
    low, high = ends.min(axis=1), ends.max(axis=1)
    outside, loop = (low < 0) | (high >= sizes[graph_of]), low == high
    wrong = outside | loop
    if not wrong.any():
        # Equal pairs stand side by side in this order, the earlier edge first.
        order = np.lexsort((high, low, graph_of))
        same = (np.diff(graph_of[order]) == 0) & (np.diff(low[order]) == 0) & (np.diff(high[order]) == 0)
        wrong[order[1:][same]] = True
        earlier = dict(zip(order[1:][same].tolist(), order[:-1][same].tolist(), strict=True))
        if not earlier:
            return
    edge = int(np.argmax(wrong))
    graph = int(graph_of[edge])
    place = f"edge {edge - edge_offsets[graph]} of graph {graph} is {tuple(ends[edge].tolist())}"
    if outside[edge]:
        raise ValueError(f"{place}; expected node numbers from 0 to {sizes[graph] - 1}.")
    if loop[edge]:
        raise ValueError(f"{place}, a loop; expected two different nodes; put what it says into the node's features.")
    raise ValueError(
        f"{place} and repeats edge {earlier[edge] - edge_offsets[graph]}; expected each pair of nodes once, in "
        "whichever order; add up the features of repeated edges first."
    )


def _check_edge_features(rows: npt.NDArray[np.float64] | None, edge_offsets: npt.NDArray[np.int64]) -> None:
    if rows is None:
        return
    n_edges = edge_offsets[-1]
    if rows.ndim != 2 or rows.shape[0] != n_edges or rows.shape[1] == 0:
        raise ValueError(f"edge_features must have a row per edge, {n_edges}; found shape {rows.shape}.")
    if not np.isfinite(rows).all():
        raise ValueError(f"edge_features must be finite; row {np.argmin(np.isfinite(rows).all(axis=1))} is not.")
