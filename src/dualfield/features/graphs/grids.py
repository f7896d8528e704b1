"""Grids as graphs: the order of their edges, and edge features made from node features.

A grid of H rows and W columns has the nodes ``r W + c``, row by row. Its edges point right and down, and are
listed direction by direction; within one direction they follow the row order of their first ends:

1. right: (r, c) to (r, c + 1), H (W − 1) edges;
2. down: (r, c) to (r + 1, c), (H − 1) W edges;
3. down-right: (r, c) to (r + 1, c + 1), (H − 1)(W − 1) edges, with 8 neighbours only;
4. down-left: (r, c) to (r + 1, c − 1), as many, with 8 neighbours only.

Everything that holds one row per edge of a grid has this order.
"""

from __future__ import annotations

from operator import index
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["edge_differences", "edge_ends", "grid_edges"]


def grid_edges(height: int, width: int, neighbours: int = 4) -> npt.NDArray[np.int32]:
    """Edges of a grid, in the order of this module.

    Parameters
    ----------
    height, width : int
        Rows and columns, at least 1 each.
    neighbours : {4, 8}
        8 adds the diagonals.

    Returns
    -------
    edges : array of int32, shape (n_edges, 2)
        Both ends of each edge, as node numbers.

    Raises
    ------
    ValueError
        If there is no grid of that size, or ``neighbours`` is neither 4 nor 8.

    Examples
    --------
    The nodes of two rows of three are 0 1 2 and 3 4 5:

    >>> grid_edges(2, 3).tolist()
    [[0, 1], [1, 2], [3, 4], [4, 5], [0, 3], [1, 4], [2, 5]]
    >>> grid_edges(2, 3, neighbours=8)[7:].tolist()
    [[0, 4], [1, 5], [1, 3], [2, 4]]
    """
    ends = _edges_by_direction(height, width, neighbours)
    return np.ascontiguousarray(np.concatenate(ends, axis=1).T)


def edge_differences(features: npt.ArrayLike, neighbours: int = 4) -> npt.NDArray[np.float64]:
    """A constant and the absolute differences of the node features: ``h_ij = [1, |m_i − m_j|]``.

    With them an edge can say less where the picture changes. They do not depend on the direction of the edge.

    Parameters
    ----------
    features : array of shape (height, width, d)
        Node features ``m``.
    neighbours : {4, 8}
        Which edges, see :func:`grid_edges`.

    Returns
    -------
    edge_features : array of float64, shape (n_edges, 1 + d)

    Examples
    --------
    >>> edge_differences([[[0.0], [2.0]], [[5.0], [5.0]]]).tolist()
    [[1.0, 2.0], [1.0, 0.0], [1.0, 5.0], [1.0, 3.0]]
    """
    nodes, ends = _nodes_and_edges(features, neighbours)
    first, second = np.concatenate(ends, axis=1)
    return np.column_stack([np.ones(len(first)), np.abs(nodes[first] - nodes[second])])


def edge_ends(features: npt.ArrayLike, neighbours: int = 4) -> npt.NDArray[np.float64]:
    """Node features of both ends, apart for each direction: ``h_ij = e_direction ⊗ [m_i, m_j]``.

    With them an edge can depend on what is at its ends and on where they lie to each other, as needed where the
    picture says which way to go on. Pairs of labels still share the weights of all edges of one direction.

    Parameters
    ----------
    features : array of shape (height, width, d)
        Node features ``m``.
    neighbours : {4, 8}
        Which edges, see :func:`grid_edges`.

    Returns
    -------
    edge_features : array of float64, shape (n_edges, directions × 2 × d)
        Column ``(2 direction + end) d + k`` holds feature ``k`` of the first (``end = 0``) or second end of an edge
        of that direction, and 0 for an edge of another.

    Examples
    --------
    >>> edge_ends([[[1.0], [2.0]], [[3.0], [4.0]]]).tolist()
    [[1.0, 2.0, 0.0, 0.0], [3.0, 4.0, 0.0, 0.0], [0.0, 0.0, 1.0, 3.0], [0.0, 0.0, 2.0, 4.0]]
    """
    nodes, ends = _nodes_and_edges(features, neighbours)
    blocks = [np.hstack([nodes[first], nodes[second]]) for first, second in ends]
    width = 2 * nodes.shape[1]
    edge_features = np.zeros((sum(map(len, blocks)), len(blocks) * width))
    start = 0
    for direction, block in enumerate(blocks):
        edge_features[start : start + len(block), direction * width : (direction + 1) * width] = block
        start += len(block)
    return edge_features


def _edges_by_direction(height: int, width: int, neighbours: int) -> list[npt.NDArray[np.int32]]:
    """For each direction the first and second ends of its edges, shape (2, edges)."""
    height, width = index(height), index(width)
    if height < 1 or width < 1:
        raise ValueError(f"a grid has at least one row and one column; found {height} rows and {width} columns.")
    if height * width > np.iinfo(np.int32).max:
        raise ValueError(
            f"a grid of {height} rows and {width} columns has {height * width} nodes; "
            f"expected at most {np.iinfo(np.int32).max}, so that 32 bits number them."
        )
    if not isinstance(neighbours, int | np.integer) or neighbours not in (4, 8):
        raise ValueError(f"a node of a grid has 4 or 8 neighbours; found neighbours={neighbours!r}.")
    nodes = np.arange(height * width, dtype=np.int32).reshape(height, width)
    pairs = [(nodes[:, :-1], nodes[:, 1:]), (nodes[:-1], nodes[1:])]
    if neighbours == 8:
        pairs += [(nodes[:-1, :-1], nodes[1:, 1:]), (nodes[:-1, 1:], nodes[1:, :-1])]
    return [np.stack([first.ravel(), second.ravel()]) for first, second in pairs]


def _nodes_and_edges(
    features: npt.ArrayLike, neighbours: int
) -> tuple[npt.NDArray[np.float64], list[npt.NDArray[Any]]]:
    """Node features as rows, and the edges of each direction."""
    grid = np.asarray(features, dtype=np.float64)
    if grid.ndim != 3:
        raise ValueError(
            f"the node features are an array of shape {grid.shape}; expected a grid of shape (height, width, features)."
        )
    height, width, n_features = grid.shape
    return grid.reshape(height * width, n_features), _edges_by_direction(height, width, neighbours)
