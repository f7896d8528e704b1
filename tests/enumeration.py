"""Chains by brute force: every labelling is written down, so every answer is a plain sum.

Sums run over logarithms in extended precision, so the answers hold for potentials of any size.
"""

from __future__ import annotations

from functools import cached_property
from itertools import product

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.floating]


def all_labellings(length: int, labels: int) -> npt.NDArray[np.int64]:
    """All K^T labellings in lexicographic order, shape (K^T, T)."""
    return np.array(list(product(range(labels), repeat=length)), dtype=np.int64).reshape(-1, length)


def log_sum_exp(x: npt.ArrayLike) -> np.longdouble:
    """``log Σ exp(x)``; ``-inf`` for no terms."""
    terms = np.asarray(x, dtype=np.longdouble)
    return np.logaddexp.reduce(terms, initial=-np.inf)


def entropy(log_p: Array) -> np.longdouble:
    """``−Σ p log p`` with ``0 log 0 = 0``."""
    possible = log_p[log_p > -np.inf]
    return -np.sum(np.exp(possible) * possible)


def divergence(log_p: Array, log_q: Array) -> np.longdouble:
    """``KL(p ‖ q) = Σ p log(p / q)``."""
    possible = log_p > -np.inf
    return np.sum(np.exp(log_p[possible]) * (log_p[possible] - log_q[possible]))


class Enumeration:
    """``p(y) ∝ exp(Σ_t node[t, y_t] + Σ_t edge_t[y_t, y_{t+1}])``, labelling by labelling."""

    def __init__(self, node: npt.ArrayLike, edge: npt.ArrayLike) -> None:
        node = np.asarray(node, dtype=np.longdouble)
        self.length, self.labels = node.shape
        edge = np.broadcast_to(np.asarray(edge, dtype=np.longdouble), (self.length - 1, self.labels, self.labels))
        self.labellings = all_labellings(self.length, self.labels)
        self.scores = node[np.arange(self.length), self.labellings].sum(axis=1)
        for t in range(self.length - 1):
            self.scores = self.scores + edge[t, self.labellings[:, t], self.labellings[:, t + 1]]

    @cached_property
    def log_partition(self) -> np.longdouble:
        return log_sum_exp(self.scores)

    @cached_property
    def log_probabilities(self) -> Array:
        return self.scores - self.log_partition

    @cached_property
    def probabilities(self) -> Array:
        return np.exp(self.log_probabilities)

    @cached_property
    def log_nodes(self) -> Array:
        """Logarithms of the node marginals, shape (T, K)."""
        return np.array(
            [
                [log_sum_exp(self.log_probabilities[self.labellings[:, t] == k]) for k in range(self.labels)]
                for t in range(self.length)
            ]
        )

    @cached_property
    def log_edges(self) -> Array:
        """Logarithms of the edge marginals, shape (T − 1, K, K)."""
        table = np.empty((self.length - 1, self.labels, self.labels), dtype=np.longdouble)
        for t, i, j in np.ndindex(*table.shape):
            chosen = (self.labellings[:, t] == i) & (self.labellings[:, t + 1] == j)
            table[t, i, j] = log_sum_exp(self.log_probabilities[chosen])
        return table

    @cached_property
    def entropy(self) -> np.longdouble:
        return entropy(self.log_probabilities)

    def kbest(self, k: int) -> tuple[npt.NDArray[np.int64], Array]:
        """The k best possible labellings and their scores, best first; ``kbest(1)`` is Viterbi's answer."""
        order = np.argsort(-self.scores, kind="stable")[: min(k, int((self.scores > -np.inf).sum()))]
        return self.labellings[order], self.scores[order]

    def score(self, labels: npt.ArrayLike) -> np.longdouble:
        """The score of one labelling."""
        place = np.ravel_multi_index(tuple(np.asarray(labels)), (self.labels,) * self.length)
        return self.scores[place]


def joint_of_marginals(nodes: npt.ArrayLike, edges: npt.ArrayLike) -> Array:
    """Log-probability of every labelling under the chain ``Π edge marginals / Π interior node marginals``."""
    with np.errstate(divide="ignore"):
        log_nodes = np.log(np.asarray(nodes, dtype=np.longdouble))
        log_edges = np.log(np.asarray(edges, dtype=np.longdouble))
    length, labels = log_nodes.shape
    labellings = all_labellings(length, labels)
    if length == 1:
        return log_nodes[0, labellings[:, 0]]
    # An impossible label makes its edges impossible: −inf − (−inf) would not be a number, −inf − 0 is right.
    log_nodes = np.where(np.isneginf(log_nodes), 0.0, log_nodes)
    total = np.zeros(len(labellings), dtype=np.longdouble)
    for t in range(length - 1):
        total += log_edges[t, labellings[:, t], labellings[:, t + 1]]
    for t in range(1, length - 1):
        total -= log_nodes[t, labellings[:, t]]
    return total
