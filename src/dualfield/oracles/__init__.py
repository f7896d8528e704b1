"""Inference on its own, on a chain or a graph, exact or approximate: any potentials, no model.

A chain of T positions and K labels has node potentials ``node``, shape (T, K), and edge potentials ``edge``, shape
(K, K) where all neighbours share one matrix, or (T − 1, K, K). Its distribution is
``p(y) ∝ exp(Σ_t node[t, y_t] + Σ_t edge_t[y_t, y_{t+1}])``. Potentials may be of any size up to 1e300.

A graph of V nodes has node potentials (V, K), ``edges``, shape (E, 2), and edge potentials (K, K) or (E, K, K); its
distribution is ``p(y) ∝ exp(Σ_v node[v, y_v] + Σ_e edge_e[y_s, y_t])``. ``JunctionTree`` is exact. Loopy belief
propagation, its tree-reweighted form (an upper bound on ``log Z``) and mean field (a lower one) give approximate
marginals, ``map_labels`` a labelling.
"""

from typing import TYPE_CHECKING

from dualfield._deferred import deferred

if TYPE_CHECKING:
    from dualfield.oracles.approximate import (
        Approximation,
        Labelling,
        belief_propagation,
        map_labels,
        mean_field,
        spanning_tree_probabilities,
        tree_reweighted,
    )
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
    from dualfield.oracles.spans import SpanRules, span_probabilities

__all__ = [
    "Approximation",
    "ExactMarginals",
    "JunctionTree",
    "Labelling",
    "SpanRules",
    "belief_propagation",
    "decode_posterior",
    "entropy",
    "kbest",
    "log_marginals",
    "log_partition",
    "map_labels",
    "marginals",
    "mean_field",
    "sample",
    "span_probabilities",
    "spanning_tree_probabilities",
    "tree_reweighted",
    "viterbi",
]

__getattr__, __dir__ = deferred(
    __name__,
    {
        "approximate": "Approximation Labelling belief_propagation map_labels mean_field "
        "spanning_tree_probabilities tree_reweighted",
        "chain": "decode_posterior entropy kbest log_marginals log_partition marginals sample viterbi",
        "junction_tree": "ExactMarginals JunctionTree",
        "spans": "SpanRules span_probabilities",
    },
)
