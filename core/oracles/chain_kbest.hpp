// The k most probable labellings of a chain, in order (list Viterbi).
//
// For each position and label keep the k best prefixes that end there. A prefix is its score and which entry
// of the previous position it extends, so the paths are read backwards from the k best at the end.
#pragma once

#include <numeric>

#include "oracles/chain_live_labels.hpp"

namespace dualfield {

// K^T, or the largest number where that is larger still.
inline Index labellings(Index length, Index labels) {
    constexpr Index kMost = std::numeric_limits<Index>::max();
    Index count = 1;
    for (Index t = 0; t < length; ++t) {
        if (count > kMost / labels) return kMost;
        count *= labels;
    }
    return count;
}

class KBest {
   public:
    // Returns how many paths of finite score exist, at most k: min(k, K^T) where all potentials are finite. `paths` is
    // k x T, `scores` k.
    Index decode(const ChainPotentials& chain, Index k, std::int32_t* paths, double* scores) {
        const Index K = chain.labels, T = chain.length;
        prefixes_.assign(T * K, {});
        for (Index j = 0; j < K; ++j)
            if (chain.node_row(0)[j] > kImpossible) prefixes_[j].push_back({chain.node_row(0)[j], -1, 0});
        for (Index t = 1; t < T; ++t)
            for (Index j = 0; j < K; ++j) {
                candidates_.clear();
                for (Index i = 0; i < K; ++i) {
                    const double step = chain.edge_row(t - 1, i)[j] + chain.node_row(t)[j];
                    if (!(step > kImpossible)) continue;
                    const auto& previous = prefixes_[(t - 1) * K + i];
                    for (Index r = 0; r < static_cast<Index>(previous.size()); ++r)
                        candidates_.push_back({previous[r].score + step, i, r});
                }
                keep_best(k);
                prefixes_[t * K + j] = candidates_;
            }
        candidates_.clear();
        for (Index j = 0; j < K; ++j) {
            const auto& last = prefixes_[(T - 1) * K + j];
            for (Index r = 0; r < static_cast<Index>(last.size()); ++r) candidates_.push_back({last[r].score, j, r});
        }
        keep_best(k);
        for (Index p = 0; p < static_cast<Index>(candidates_.size()); ++p) {
            scores[p] = candidates_[p].score;
            Index label = candidates_[p].label, rank = candidates_[p].rank;
            for (Index t = T - 1; t >= 0; --t) {
                paths[p * T + t] = static_cast<std::int32_t>(label);
                const Prefix& prefix = prefixes_[t * K + label][rank];
                label = prefix.label;
                rank = prefix.rank;
            }
        }
        return static_cast<Index>(candidates_.size());
    }

   private:
    struct Prefix {
        double score;
        Index label, rank;  // which prefix of the previous position this one extends
    };

    void keep_best(Index k) {
        const auto better = [](const Prefix& a, const Prefix& b) {
            if (a.score != b.score) return a.score > b.score;
            return a.label != b.label ? a.label < b.label : a.rank < b.rank;
        };
        const Index kept = std::min<Index>(k, static_cast<Index>(candidates_.size()));
        std::partial_sort(candidates_.begin(), candidates_.begin() + kept, candidates_.end(), better);
        candidates_.resize(kept);
    }

    std::vector<std::vector<Prefix>> prefixes_;
    std::vector<Prefix> candidates_;
};

}  // namespace dualfield
