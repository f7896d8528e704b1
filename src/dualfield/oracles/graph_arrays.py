"""A pairwise graph and its potentials as users give them, checked and in the form that the core reads."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dualfield.core_arrays import contiguous

__all__ = ["checked_edges", "checked_potentials"]

_LARGEST = 1e100  # beyond, potentials divided by edge probabilities and added up may overflow

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int32]


def checked_edges(n_nodes: int, edges: npt.ArrayLike, where: str = "") -> IntArray:
    """Edges as a contiguous int32 array, shape (E, 2), refused in one sentence unless they form a simple graph.

    Parameters
    ----------
    n_nodes : int
        Edges may name the nodes 0 … n_nodes − 1.
    edges : array-like of integers, shape (E, 2)
        One row an edge; an empty list is a graph without edges.
    where : str
        Follows the name of the edge in error messages, such as ``" of graph 3"``.
    """
    try:
        table = np.asarray(edges)
    except ValueError:
        raise ValueError(f"edges{where} must have shape (E, 2); got rows of different lengths.") from None
    if table.size == 0 and table.shape in ((0,), (0, 2)):
        return np.empty((0, 2), dtype=np.int32)
    if table.ndim != 2 or table.shape[1] != 2:
        raise ValueError(f"edges{where} must have shape (E, 2); got {table.shape}.")
    if not np.issubdtype(table.dtype, np.integer):
        raise TypeError(f"edges{where} must hold integers, the numbers of nodes; got {table.dtype}.")
    if len(table) >= 2**30:
        raise ValueError(f"edges{where} has {len(table)} rows; at most 2^30 − 1 are supported.")
    outside = (table < 0) | (table >= n_nodes)
    if outside.any():
        e = int(outside.any(axis=1).argmax())
        raise ValueError(f"edges[{e}]{where} is {_pair(table[e])}, but nodes are numbered 0 to {n_nodes - 1}.")
    loops = table[:, 0] == table[:, 1]
    if loops.any():
        e = int(loops.argmax())
        raise ValueError(f"edges[{e}]{where} is {_pair(table[e])}, but an edge must join two different nodes.")
    keys = table.min(axis=1).astype(np.int64) * n_nodes + table.max(axis=1)
    order = np.argsort(keys, kind="stable")
    again = np.flatnonzero(np.diff(keys[order]) == 0)
    if again.size:
        k = again[order[again + 1].argmin()]
        before, e = int(order[k]), int(order[k + 1])
        raise ValueError(
            f"edges[{e}]{where} is {_pair(table[e])}, but edges[{before}] already joins these nodes; add up the "
            "potentials of both and give one edge."
        )
    return contiguous(table, np.int32)


def checked_potentials(
    node: npt.ArrayLike, edges: npt.ArrayLike, edge: npt.ArrayLike
) -> tuple[FloatArray, IntArray, FloatArray]:
    """(node, edges, edge) as the core takes them: (V, K), (E, 2), and (1, K, K) where all edges share a matrix.

    Parameters
    ----------
    node : array-like, shape (V, K)
    edges : array-like of integers, shape (E, 2)
    edge : array-like, shape (K, K) or (E, K, K)
        ``edge[e, a, b]`` for label a at ``edges[e, 0]`` and label b at ``edges[e, 1]``.
    """
    nodes = _floats("node", node)
    matrices = _floats("edge", edge)
    if nodes.ndim != 2 or 0 in nodes.shape:
        raise ValueError(f"node must have shape (V, K) with V, K >= 1; got {nodes.shape}.")
    n_nodes, labels = nodes.shape
    if n_nodes > np.iinfo(np.int32).max:
        raise ValueError(f"node has {n_nodes} rows; at most 2^31 − 1 are supported.")
    ends = checked_edges(n_nodes, edges)
    shared = matrices.shape == (labels, labels)
    if not shared and matrices.shape != (len(ends), labels, labels):
        raise ValueError(
            f"edge must have shape {(labels, labels)} or {(len(ends), labels, labels)} to go with node of shape "
            f"{nodes.shape} and {len(ends)} edges; got {matrices.shape}."
        )
    for name, array in (("node", nodes), ("edge", matrices)):
        bad = ~(np.abs(array) <= _LARGEST)
        if bad.any():
            place = np.argwhere(bad)[0]
            raise ValueError(
                f"{name}{place.tolist()} is {array[tuple(place)]}; potentials must be finite, at most {_LARGEST:g} in "
                "size."
            )
    if shared:
        return nodes, ends, matrices[np.newaxis]
    return nodes, ends, matrices if len(ends) else np.zeros((1, labels, labels))


def _floats(name: str, values: npt.ArrayLike) -> FloatArray:
    return contiguous(values, np.float64, name)


def _pair(row: npt.NDArray[np.integer]) -> tuple[int, int]:
    return int(row[0]), int(row[1])
