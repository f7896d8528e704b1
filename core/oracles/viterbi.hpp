// The most probable labelling of a chain.
//
// The forward sweep keeps only the best score of a prefix that ends in each label; the way back finds each
// predecessor again as the argmax over K candidates, which is cheaper than storing T x K back-pointers.
#pragma once

#include "oracles/chain_potentials.hpp"

namespace dualfield {

class Viterbi {
   public:
    // Writes the T labels of the best path and returns its score; ties go to the lower label.
    double decode(const ChainPotentials& chain, std::int32_t* path) {
        const Index K = chain.labels, T = chain.length;
        best_.resize(T * K);
        candidates_.resize(K);
        std::copy(chain.node_row(0), chain.node_row(0) + K, best_.begin());
        for (Index t = 1; t < T; ++t) {
            const double* previous = &best_[(t - 1) * K];
            double* best = &best_[t * K];
            const double* first = chain.edge_row(t - 1, 0);
            for (Index j = 0; j < K; ++j) best[j] = previous[0] + first[j];
            for (Index i = 1; i < K; ++i) {
                const double* edge = chain.edge_row(t - 1, i);
#pragma omp simd
                for (Index j = 0; j < K; ++j) {
                    const double score = previous[i] + edge[j];
                    best[j] = score > best[j] ? score : best[j];
                }
            }
            const double* node = chain.node_row(t);
            for (Index j = 0; j < K; ++j) best[j] += node[j];
        }
        const double* last = &best_[(T - 1) * K];
        path[T - 1] = static_cast<std::int32_t>(argmax(K, last));
        for (Index t = T - 1; t > 0; --t) {
            for (Index i = 0; i < K; ++i) candidates_[i] = best_[(t - 1) * K + i] + chain.edge_row(t - 1, i)[path[t]];
            path[t - 1] = static_cast<std::int32_t>(argmax(K, candidates_.data()));
        }
        return last[path[T - 1]];
    }

   private:
    std::vector<double> best_, candidates_;
};

}  // namespace dualfield
