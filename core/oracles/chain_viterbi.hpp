// The most probable labelling of a chain.
//
// The forward sweep keeps only the best score of a prefix that ends in each label; the way back finds each
// predecessor again as the argmax over K candidates, which is cheaper than storing T x K back-pointers.
#pragma once

#include <limits>

#include "oracles/chain_potentials.hpp"
#include "simd/pieces.hpp"

namespace dualfield {

class Viterbi {
   public:
    // Writes the T labels of the best path and returns its score; ties go to the lower label.
    double decode(const ChainPotentials& chain, std::int32_t* path) {
        double score = 0.0;
        if (chain.labels > kMostInPieces || !chain.tied() || chain.length == 1) {
            score = sweep(chain, path);
        } else {
            for_each_group((chain.labels + 7) / 8, [&]<Index B>(Index) { score = sweep_pieces<B>(chain, path); });
        }
        return score;
    }

   private:
    static constexpr Index kMostInPieces = 64;

    double sweep(const ChainPotentials& chain, std::int32_t* path) {
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

    // The same where one matrix holds for all edges, and a row of it fits into B pieces of registers: the matrix is
    // copied once a chain, its rows padded, and once more by columns for the way back.
    template <Index B>
    double sweep_pieces(const ChainPotentials& chain, std::int32_t* path) {
        constexpr Index stride = 8 * B;
        const Index K = chain.labels, T = chain.length;
        copy_edges(chain, stride);
        best_.resize(T * stride);
        std::fill(best_.begin(), best_.begin() + stride, 0.0);
        std::copy(chain.node_row(0), chain.node_row(0) + K, best_.begin());
        for (Index t = 1; t < T; ++t) {
            const double* previous = &best_[(t - 1) * stride];
            Piece best[B], edge;
            for (Index p = 0; p < B; ++p) {
                load(&from_[8 * p], edge);
                best[p] = previous[0] + edge;
            }
            for (Index i = 1; i < K; ++i)
                for (Index p = 0; p < B; ++p) {
                    load(&from_[i * stride + 8 * p], edge);
                    raise(previous[i] + edge, best[p]);
                }
            double* row = &best_[t * stride];
            for (Index p = 0; p < B; ++p) store(best[p], row + 8 * p);
            const double* node = chain.node_row(t);
            for (Index j = 0; j < K; ++j) row[j] += node[j];
        }
        const double* last = &best_[(T - 1) * stride];
        path[T - 1] = static_cast<std::int32_t>(argmax(K, last));
        for (Index t = T - 1; t > 0; --t) path[t - 1] = first_best<B>(&best_[(t - 1) * stride], &to_[path[t] * stride]);
        return last[path[T - 1]];
    }

    // The padding is never the best to come from.
    void copy_edges(const ChainPotentials& chain, Index stride) {
        const Index K = chain.labels;
        from_.assign(K * stride, 0.0);
        to_.assign(K * stride, -std::numeric_limits<double>::infinity());
        for (Index i = 0; i < K; ++i) {
            const double* row = chain.edge_row(0, i);
            std::copy(row, row + K, &from_[i * stride]);
            for (Index j = 0; j < K; ++j) to_[j * stride + i] = row[j];
        }
    }

    // The first i with the largest x_i + y_i.
    template <Index B>
    static std::int32_t first_best(const double* x, const double* y) {
        Piece sums[B], tops;
        for (Index p = 0; p < B; ++p) {
            Piece other;
            load(x + 8 * p, sums[p]), load(y + 8 * p, other);
            sums[p] += other;
            if (p == 0) tops = sums[0];
            raise(sums[p], tops);
        }
        const double top = largest(tops);
        double all[8 * B];
        for (Index p = 0; p < B; ++p) store(sums[p], all + 8 * p);
        const double* first = std::find(all, all + 8 * B, top);
        return first == all + 8 * B ? 0 : static_cast<std::int32_t>(first - all);  // scores that are no numbers: any
    }

    std::vector<double> best_, candidates_;
    std::vector<double> from_, to_;  // the edges by rows and by columns, padded
};

}  // namespace dualfield
