// The most probable labellings of several chains that share one matrix of edges, where there are many labels.
//
// With hundreds of labels the matrix leaves the nearest cache, and a step waits for it. Here a part of it, all labels
// before and a few labels after, is used by several chains while it is at hand, and sums stay in registers. The scores
// are those of chain_viterbi.hpp to the last bit: a sum of two numbers, and maxima.
#pragma once

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "base/aligned.hpp"
#include "oracles/chain_potentials.hpp"
#include "simd/pieces.hpp"

namespace dualfield {

class ViterbiTogether {
   public:
    static constexpr Index kChains = 4;          // at a time
    static constexpr Index kFewestLabels = 100;  // with fewer the matrix is near enough

    // Keeps a copy of the matrix, K x K, by panels of labels after.
    void set_edges(Index K, const double* edge) {
        labels_ = K;
        stride_ = (K + kPanel - 1) / kPanel * kPanel;
        edge_ = edge;
        double* out = room(panels_, stride_ * K);
        for (Index first = 0; first < stride_; first += kPanel)
            for (Index i = 0; i < K; ++i)
                for (Index j = first; j < first + kPanel; ++j) *out++ = j < K ? edge[i * K + j] : 0.0;
    }

    // Writes the labels of the best path of each chain; ties go to the lower label. The edges are those that were set,
    // which must still be there.
    void decode(Index count, const ChainPotentials* chains, std::int32_t* const* paths) {
        std::array<Index, kChains> order{};  // the longest first
        for (Index c = 0; c < count; ++c) {
            Index place = c;
            for (; place > 0 && chains[order[place - 1]].length < chains[c].length; --place)
                order[place] = order[place - 1];
            order[place] = c;
        }
        for (Index c = 0; c < count; ++c) {
            const ChainPotentials& chain = chains[order[c]];
            double* first = room(best_[c], chain.length * stride_);
            std::copy(chain.node, chain.node + labels_, first);
        }
        for (Index t = 1; t < chains[order[0]].length; ++t) {
            Index active = count;
            while (chains[order[active - 1]].length <= t) --active;
            switch (active) {
                case 1:
                    step<1>(t);
                    break;
                case 2:
                    step<2>(t);
                    break;
                case 3:
                    step<3>(t);
                    break;
                default:
                    step<4>(t);
            }
            for (Index c = 0; c < active; ++c) {
                const double* node = chains[order[c]].node_row(t);
                double* best = &best_[c][t * stride_];
                for (Index j = 0; j < labels_; ++j) best[j] += node[j];
            }
        }
        for (Index c = 0; c < count; ++c) go_back(best_[c].data(), chains[order[c]].length, paths[order[c]]);
    }

   private:
    static constexpr Index kPieces = 2, kPanel = 8 * kPieces;

    template <Index N>
    void step(Index t) {
        const double* previous[N];
        for (Index c = 0; c < N; ++c) previous[c] = &best_[c][(t - 1) * stride_];
        const double* panel = panels_.data();
        for (Index first = 0; first < stride_; first += kPanel) {
            Piece best[N * kPieces];
            const Piece least = Piece{} - std::numeric_limits<double>::infinity();
            for_each_piece<N * kPieces>([&](Index n) DUALFIELD_INLINE { best[n] = least; });
            for (Index i = 0; i < labels_; ++i, panel += kPanel) {
                Piece edge[kPieces];
                for_each_piece<kPieces>([&](Index p) DUALFIELD_INLINE { load(panel + 8 * p, edge[p]); });
                for_each_piece<N * kPieces>(
                    [&](Index n) DUALFIELD_INLINE { raise(previous[n / kPieces][i] + edge[n % kPieces], best[n]); });
            }
            for_each_piece<N * kPieces>([&](Index n) DUALFIELD_INLINE {
                store(best[n], &best_[n / kPieces][t * stride_ + first + 8 * (n % kPieces)]);
            });
        }
    }

    void go_back(const double* best, Index T, std::int32_t* path) {
        path[T - 1] = static_cast<std::int32_t>(argmax(labels_, best + (T - 1) * stride_));
        candidates_.resize(labels_);
        for (Index t = T - 1; t > 0; --t) {
            const double* before = best + (t - 1) * stride_;
            for (Index i = 0; i < labels_; ++i) candidates_[i] = before[i] + edge_[i * labels_ + path[t]];
            path[t - 1] = static_cast<std::int32_t>(argmax(labels_, candidates_.data()));
        }
    }

    Index labels_ = 0, stride_ = 0;
    const double* edge_ = nullptr;
    AlignedVector panels_;
    std::array<std::vector<double>, kChains> best_;  // of each chain, longest first: T rows of scores
    std::vector<double> candidates_;
};

}  // namespace dualfield
