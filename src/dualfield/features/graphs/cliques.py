"""Cliques of three nodes and more, of many graphs, as contiguous arrays."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dualfield.nested import bounds_of, gather

__all__ = ["Cliques", "encode_cliques"]

_SMALLEST = 3


@dataclass(frozen=True, eq=False)
class Cliques:
    """Lists of nodes that have a potential of their own.

    Parameters
    ----------
    offsets : array of int64, shape (n_graphs + 1,)
        Where each graph's cliques begin, from 0; a graph may have none.
    starts : array of int64, shape (n_cliques + 1,)
        Where each clique's nodes begin, from 0.
    nodes : array of int32
        Node numbers within their graph, in the order of the tensor's axes.
    """

    offsets: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]
    nodes: npt.NDArray[np.int32]

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        """The distinct numbers of nodes of the cliques, increasing."""
        return np.unique(np.diff(self.starts))

    def __getitem__(self, graphs: npt.NDArray[np.int64]) -> Cliques:
        """The cliques of the chosen graphs."""
        chosen, offsets = gather(self.offsets, graphs)
        nodes, starts = gather(self.starts, chosen)
        return Cliques(offsets, starts, self.nodes[nodes])

    def first_graph_with(self, size: int) -> int:
        """The number of the first graph that has a clique of so many nodes."""
        clique = int(np.argmax(np.diff(self.starts) == size))
        return int(np.searchsorted(self.offsets, clique, side="right")) - 1


def encode_cliques(lists: list[Any], n_nodes: list[int]) -> Cliques | None:
    """The cliques of graphs of these sizes, checked; None where no graph has any.

    Parameters
    ----------
    lists : list of (None or iterable of node sequences)
        The cliques of every graph.
    n_nodes : list of int
        How many nodes each graph has.

    Examples
    --------
    >>> encode_cliques([[(0, 2, 1)], None], [3, 1]).nodes.tolist()
    [0, 2, 1]
    """
    members: list[npt.NDArray[np.int64]] = []
    counts = []
    for graph, (given, size) in enumerate(zip(lists, n_nodes, strict=True)):
        cliques = [] if given is None else _as_list(graph, given)
        counts.append(len(cliques))
        members += [_clique(graph, number, clique, size) for number, clique in enumerate(cliques)]
    if not members:
        return None
    return Cliques(
        bounds_of(counts), bounds_of([len(clique) for clique in members]), np.concatenate(members, dtype=np.int32)
    )


def _as_list(graph: int, given: Any) -> list[Any]:
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise TypeError(
            f"the cliques of graph {graph} are of type {type(given).__name__}; expected a list of node sequences."
        )
    return list(given)


def _clique(graph: int, number: int, given: Any, n_nodes: int) -> npt.NDArray[np.int64]:
    place = f"clique {number} of graph {graph}"
    clique = np.asarray(given)
    if clique.ndim != 1 or clique.dtype.kind not in "iu":
        raise TypeError(f"{place} is {given!r}; expected a sequence of node numbers.")
    if len(clique) < _SMALLEST:
        raise ValueError(f"{place} has {len(clique)} nodes; expected at least {_SMALLEST}; a pair of nodes is an edge.")
    if clique.min() < 0 or clique.max() >= n_nodes:
        raise ValueError(f"{place} is {tuple(clique.tolist())}; expected node numbers from 0 to {n_nodes - 1}.")
    if len(np.unique(clique)) < len(clique):
        raise ValueError(f"{place} is {tuple(clique.tolist())}, with a node twice; expected different nodes.")
    return clique.astype(np.int64)
