// Impossible labels. A potential of -inf forbids its label or its pair of labels; a label that no labelling of finite
// score has at some position is *dead* there, whatever its own potential says.
//
// Recursions that run over live labels alone meet no dead end: every message that they hold can still matter.
#pragma once

#include <limits>

#include "oracles/chain_potentials.hpp"

namespace dualfield {

inline constexpr double kImpossible = -std::numeric_limits<double>::infinity();

// Writes the node potentials, T x K, with -inf for every dead label. Returns the first position that no labelling of
// finite score reaches, T where there is such a labelling; below T the rest is not written.
inline Index keep_live(const ChainPotentials& chain, double* node) {
    const Index K = chain.labels, T = chain.length;
    std::copy(chain.node, chain.node + T * K, node);
    std::vector<char> reached(K);
    for (Index t = 0; t < T; ++t, node += K) {
        if (t > 0) {
            std::fill(reached.begin(), reached.end(), 0);
            for (Index i = 0; i < K; ++i) {
                if (!(node[i - K] > kImpossible)) continue;
                const double* edge = chain.edge_row(t - 1, i);
                for (Index j = 0; j < K; ++j) reached[j] |= static_cast<char>(edge[j] > kImpossible);
            }
            for (Index j = 0; j < K; ++j)
                if (!reached[j]) node[j] = kImpossible;
        }
        if (!(maximum(K, node) > kImpossible)) return t;
    }
    node -= K;  // the last position
    for (Index t = T - 1; t > 0; --t, node -= K)
        for (Index i = 0; i < K; ++i) {
            if (!(node[i - K] > kImpossible)) continue;
            const double* edge = chain.edge_row(t - 1, i);
            double best = kImpossible;
#pragma omp simd reduction(max : best)
            for (Index j = 0; j < K; ++j) best = edge[j] + node[j] > best ? edge[j] + node[j] : best;
            if (!(best > kImpossible)) node[i - K] = kImpossible;
        }
    return T;
}

// Whether any label or pair is impossible.
inline bool has_impossible(const ChainPotentials& chain) {
    const Index K = chain.labels;
    return !(minimum(chain.length * K, chain.node) > kImpossible) ||
           (chain.edge_matrices() > 0 && !(minimum(chain.edge_matrices() * K * K, chain.edge) > kImpossible));
}

}  // namespace dualfield
