// How the marginals of a chain change along a change of its potentials: Cov(F) dtheta.
#pragma once

#include "oracles/chain_potentials.hpp"

namespace dualfield {

// With S the score of a labelling under the change, dm = E[1 (S - E S)]. The expectation of S given one or two
// neighbouring labels is what lies before, a_t, and what lies after, b_t; each is a recursion over conditionals.
//
// `table` holds the marginals, [ (T-1) x K x K edges | T x K nodes ]. Fills `d_nodes`, T x K, and `d_edges`: where the
// change shares its edges the sum over edges, K x K, otherwise (T-1) x K x K. `scratch` has room for (T + 1) x K.
inline void chain_tangent(const ChainPotentials& change, const double* table, double* scratch, double* d_nodes,
                          double* d_edges) {
    const Index K = change.labels, T = change.length;
    const double* nodes = table + (T - 1) * K * K;
    double* before = scratch;
    double* after = before + T * K;  // the score of position t + 1 and of all that follows, given its label
    std::copy(change.node, change.node + K, before);
    for (Index t = 1; t < T; ++t) {
        double* at = before + t * K;
        std::fill(at, at + K, 0.0);
        for (Index j = 0; j < K; ++j) {
            const double* mu = table + ((t - 1) * K + j) * K;
            const double* edge = change.edge_row(t - 1, j);
            const double so_far = before[(t - 1) * K + j];
#pragma omp simd
            for (Index k = 0; k < K; ++k) at[k] += mu[k] * (so_far + edge[k]);
        }
        const double* node = nodes + t * K;
        const double* here = change.node_row(t);
        for (Index k = 0; k < K; ++k) at[k] = here[k] + (node[k] > kTiny ? at[k] / node[k] : 0.0);
    }
    const double expected = dot(K, nodes + (T - 1) * K, before + (T - 1) * K);
    double* last = d_nodes + (T - 1) * K;
    for (Index k = 0; k < K; ++k) last[k] = nodes[(T - 1) * K + k] * (before[(T - 1) * K + k] - expected);
    std::fill(d_edges, d_edges + (change.tied() ? 1 : T - 1) * K * K, 0.0);
    std::copy(change.node_row(T - 1), change.node_row(T - 1) + K, after);
    for (Index t = T - 2; t >= 0; --t) {
        double* at = d_nodes + t * K;  // first holds the expectation of what follows, given label j at t
        for (Index j = 0; j < K; ++j) {
            const double* mu = table + (t * K + j) * K;
            const double* edge = change.edge_row(t, j);
            double* sum = d_edges + t * change.edge_step + j * K;
            const double offset = before[t * K + j] - expected;
            double total = 0.0;
#pragma omp simd reduction(+ : total)
            for (Index k = 0; k < K; ++k) {
                const double follows = edge[k] + after[k];
                total += mu[k] * follows;
                sum[k] += mu[k] * (offset + follows);
            }
            const double node = nodes[t * K + j];
            at[j] = node > kTiny ? total / node : 0.0;
        }
        const double* here = change.node_row(t);
        for (Index j = 0; j < K; ++j) {
            after[j] = here[j] + at[j];
            at[j] = nodes[t * K + j] * (before[t * K + j] + at[j] - expected);
        }
    }
}

}  // namespace dualfield
