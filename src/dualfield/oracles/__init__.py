"""Inference on its own, on a chain or a graph, exact or approximate: any potentials, no model.

A chain of T positions and K labels has node potentials ``node``, shape (T, K), and edge potentials ``edge``, shape
(K, K) where all neighbours share one matrix, or (T − 1, K, K). Its distribution is
``p(y) ∝ exp(Σ_t node[t, y_t] + Σ_t edge_t[y_t, y_{t+1}])``. Potentials may be of any size up to 1e300.
``ChainBatch`` asks the same of many chains in one call: padded or one after the other, float32 or float64, on threads.

A graph of V nodes has node potentials (V, K), ``edges``, shape (E, 2), and edge potentials (K, K) or (E, K, K); its
distribution is ``p(y) ∝ exp(Σ_v node[v, y_v] + Σ_e edge_e[y_s, y_t])``. ``JunctionTree`` is exact. Loopy belief
propagation, its tree-reweighted form (an upper bound on ``log Z``) and mean field (a lower one) give approximate
marginals, ``map_labels`` a labelling.
"""

from typing import TYPE_CHECKING

from dualfield._deferred import deferred, written_imports

if TYPE_CHECKING:
    from dualfield.oracles.approximate import Approximation as Approximation
    from dualfield.oracles.approximate import Labelling as Labelling
    from dualfield.oracles.approximate import belief_propagation as belief_propagation
    from dualfield.oracles.approximate import map_labels as map_labels
    from dualfield.oracles.approximate import mean_field as mean_field
    from dualfield.oracles.approximate import spanning_tree_probabilities as spanning_tree_probabilities
    from dualfield.oracles.approximate import tree_reweighted as tree_reweighted
    from dualfield.oracles.batch import BatchMarginals as BatchMarginals
    from dualfield.oracles.batch import ChainBatch as ChainBatch
    from dualfield.oracles.chain import decode_posterior as decode_posterior
    from dualfield.oracles.chain import entropy as entropy
    from dualfield.oracles.chain import kbest as kbest
    from dualfield.oracles.chain import log_marginals as log_marginals
    from dualfield.oracles.chain import log_partition as log_partition
    from dualfield.oracles.chain import marginals as marginals
    from dualfield.oracles.chain import sample as sample
    from dualfield.oracles.chain import viterbi as viterbi
    from dualfield.oracles.junction_tree import ExactMarginals as ExactMarginals
    from dualfield.oracles.junction_tree import JunctionTree as JunctionTree
    from dualfield.oracles.spans import SpanRules as SpanRules
    from dualfield.oracles.spans import span_probabilities as span_probabilities

__all__, __getattr__, __dir__ = deferred(__name__, written_imports())
