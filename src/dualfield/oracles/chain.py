"""Exact inference on one chain given as arrays; the recursions are in ``core/oracles``.

A potential of ``-inf`` forbids its label, or its pair of labels: the distribution is over the labellings that are left.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dualfield import _core
from dualfield.core_arrays import as_numbers, contiguous
from dualfield.given_numbers import check_integer
from dualfield.memory import check_labellings
from dualfield.random_state import check_random_state

__all__ = [
    "Marginals",
    "decode_posterior",
    "entropy",
    "kbest",
    "log_marginals",
    "log_partition",
    "marginals",
    "sample",
    "viterbi",
]

_LARGEST = 1e300  # beyond, sums of potentials overflow

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int32]


class Marginals(NamedTuple):
    """``log_partition``; ``nodes``, shape (T, K); ``edges``, shape (T − 1, K, K)."""

    log_partition: float
    nodes: FloatArray
    edges: FloatArray


def log_partition(node: npt.ArrayLike, edge: npt.ArrayLike) -> float:
    """``log Σ_y exp(score(y))`` over all K^T labellings.

    Refused where every one of them is impossible.

    Examples
    --------
    >>> round(log_partition([[0.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]]), 6)
    0.693147
    """
    return float(_core.chain_log_partition(*_potentials(node, edge)))


def marginals(node: npt.ArrayLike, edge: npt.ArrayLike) -> Marginals:
    """Probabilities of each label at each position and of each pair of labels at neighbouring positions.

    Examples
    --------
    >>> marginals([[0.0, 0.0], [1.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]]).nodes.round(3).tolist()
    [[0.5, 0.5], [0.731, 0.269]]
    """
    return Marginals(*_core.chain_marginals(*_potentials(node, edge), False))


def log_marginals(node: npt.ArrayLike, edge: npt.ArrayLike) -> Marginals:
    """The logarithms of :func:`marginals`, also where the probabilities themselves underflow to zero."""
    return Marginals(*_core.chain_marginals(*_potentials(node, edge), True))


def viterbi(node: npt.ArrayLike, edge: npt.ArrayLike) -> tuple[IntArray, float]:
    """A most probable labelling, shape (T,), and its score; ties go to the lower labels.

    Examples
    --------
    >>> labels, score = viterbi([[0.0, 1.0], [0.0, 0.0]], [[0.0, 0.0], [2.0, 0.0]])
    >>> labels.tolist(), score
    ([1, 0], 3.0)
    """
    labels, score = _core.chain_viterbi(*_potentials(node, edge))
    return labels, float(score)


def kbest(node: npt.ArrayLike, edge: npt.ArrayLike, k: int) -> tuple[IntArray, FloatArray]:
    """The ``min(k, K^T)`` best labellings, shape (·, T), and their scores, best first; possible ones only."""
    k = check_integer("k", k, 1, "a positive integer")
    potentials = _potentials(node, edge)
    check_labellings(k, len(potentials[0]), "A list", potentials[0].shape[1])
    labels, scores = _core.chain_kbest(*potentials, k)
    return labels, scores


def decode_posterior(node: npt.ArrayLike, edge: npt.ArrayLike) -> IntArray:
    """The label of largest marginal at each position, which minimises the expected number of wrong labels."""
    return marginals(node, edge).nodes.argmax(axis=1).astype(np.int32)


def sample(
    node: npt.ArrayLike, edge: npt.ArrayLike, n: int, random_state: int | np.random.RandomState | None = None
) -> IntArray:
    """``n`` independent exact samples of the labels, shape (n, T)."""
    n = check_integer("n", n, 0, "an integer, not negative")
    seed = int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
    potentials = _potentials(node, edge)
    check_labellings(n, len(potentials[0]), "A sample")
    samples: IntArray = _core.chain_sample(*potentials, n, seed)
    return samples


def entropy(nodes: npt.ArrayLike, edges: npt.ArrayLike) -> float:
    """Entropy of the chain with these marginals: ``Σ H(edge) − Σ H(interior node)``, or H of the only node.

    Examples
    --------
    >>> import numpy as np
    >>> round(entropy(np.full((3, 2), 1 / 2), np.full((2, 2, 2), 1 / 4)), 6)  # three fair coins: 3 log 2
    2.079442
    """
    node_table = as_numbers(nodes, np.float64, "nodes")
    edge_table = as_numbers(edges, np.float64, "edges")
    if node_table.ndim != 2 or 0 in node_table.shape:
        raise ValueError(f"nodes must have shape (T, K) with T, K >= 1; got {node_table.shape}.")
    if not (np.isfinite(node_table).all() and np.isfinite(edge_table).all()):
        raise ValueError("marginals must be finite.")
    length, labels = node_table.shape
    if edge_table.size != (length - 1) * labels * labels:
        raise ValueError(f"edges must have shape {(length - 1, labels, labels)}; got {edge_table.shape}.")
    if length == 1:
        return float(_core.table_entropy([(0, labels, 1.0)], node_table.ravel().copy()))
    table = np.concatenate([edge_table.ravel(), node_table[1:-1].ravel()])
    segments = [(0, edge_table.size, 1.0), (edge_table.size, table.size - edge_table.size, -1.0)]
    return float(_core.table_entropy(segments, table))


def _potentials(node: npt.ArrayLike, edge: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    nodes = contiguous(node, np.float64, "node")
    edges = contiguous(edge, np.float64, "edge")
    if nodes.ndim != 2 or 0 in nodes.shape:
        raise ValueError(f"node must have shape (T, K) with T, K >= 1; got {nodes.shape}.")
    length, labels = nodes.shape
    shared = edges.shape == (labels, labels)
    if not shared and edges.shape != (length - 1, labels, labels):
        raise ValueError(
            f"edge must have shape {(labels, labels)} or {(length - 1, labels, labels)} to go with node of shape "
            f"{nodes.shape}; got {edges.shape}."
        )
    for name, array in (("node", nodes), ("edge", edges)):
        bad = np.argwhere(~((np.abs(array) <= _LARGEST) | np.isneginf(array)))
        if bad.size:
            raise ValueError(
                f"{name}{bad[0].tolist()} is {array[tuple(bad[0])]}; potentials must be finite, at most {_LARGEST:g} "
                "in size, or -inf for what is impossible."
            )
    if shared:
        return nodes, edges[np.newaxis]
    return nodes, edges if length > 1 else np.zeros((1, labels, labels))
