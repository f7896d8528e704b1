// Exact samples from p(y) of a chain.
#pragma once

#include "base/random.hpp"
#include "oracles/chain_forward_backward.hpp"

namespace dualfield {

// Draws one of K labels with probability proportional to exp(log_weights).
inline Index sample_log_weights(Index K, const double* log_weights, Random& random) {
    const double top = maximum(K, log_weights);
    double total = 0.0;
    for (Index k = 0; k < K; ++k) total += fast_exp(log_weights[k] - top);
    double rest = random.uniform() * total;
    Index last = 0;
    for (Index k = 0; k < K; ++k) {
        const double weight = fast_exp(log_weights[k] - top);
        if (weight > 0.0) {
            last = k;
            if (rest < weight) return k;
        }
        rest -= weight;
    }
    return last;
}

// Forward filtering, backward sampling: y_T ~ alpha_T, then p(y_t | y_{t+1}) ~ alpha_t[y_t]
// exp(edge[y_t][y_{t+1}]). `samples` is count x T.
inline void sample_posterior(const ChainPotentials& chain, Index count, Random& random, ForwardBackward& oracle,
                             std::int32_t* samples) {
    const Index K = chain.labels, T = chain.length;
    const double* messages = oracle.log_messages(chain);
    std::vector<double> weights(K);
    for (Index s = 0; s < count; ++s) {
        std::int32_t* path = samples + s * T;
        path[T - 1] = static_cast<std::int32_t>(sample_log_weights(K, messages + (T - 1) * K, random));
        for (Index t = T - 1; t > 0; --t) {
            for (Index i = 0; i < K; ++i) weights[i] = messages[(t - 1) * K + i] + chain.edge_row(t - 1, i)[path[t]];
            path[t - 1] = static_cast<std::int32_t>(sample_log_weights(K, weights.data(), random));
        }
    }
}

}  // namespace dualfield
