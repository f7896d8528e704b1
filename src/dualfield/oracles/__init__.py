"""Exact inference on a chain, on its own: any potentials, no model.

A chain of T positions and K labels has node potentials ``node``, shape (T, K), and edge potentials ``edge``, shape
(K, K) where all neighbours share one matrix, or (T − 1, K, K). Its distribution is
``p(y) ∝ exp(Σ_t node[t, y_t] + Σ_t edge_t[y_t, y_{t+1}])``. Potentials may be of any size up to 1e300.
"""

from dualfield.oracles.chain import (
    decode_posterior,
    entropy,
    kbest,
    log_marginals,
    log_partition,
    marginals,
    sample,
    viterbi,
)
from dualfield.oracles.junction_tree import ExactMarginals, JunctionTree

__all__ = [
    "ExactMarginals",
    "JunctionTree",
    "decode_posterior",
    "entropy",
    "kbest",
    "log_marginals",
    "log_partition",
    "marginals",
    "sample",
    "viterbi",
]
