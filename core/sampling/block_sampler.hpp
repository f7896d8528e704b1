// Which block to update next.
//
// Updates come in passes of n. The first pass, and then every `permutation_every`-th, visits each block once
// in a random order, so that every recorded gap is fresh. In the other passes a block is drawn with
// probability
//     (1 - non_uniformity) / n + non_uniformity * recorded_i / sum recorded,
// and with non_uniformity = 0 uniformly. Blocks of sample weight zero are never drawn.
#pragma once

#include <utility>
#include <vector>

#include "math/random.hpp"
#include "sampling/weighted_tree.hpp"

namespace dualfield {

class BlockSampler {
   public:
    BlockSampler(std::vector<Index> active, Index blocks, double non_uniformity, Index permutation_every)
        : order_(std::move(active)),
          recorded_(blocks),
          non_uniformity_(non_uniformity),
          permutation_every_(permutation_every) {}

    Index draws_per_pass() const { return static_cast<Index>(order_.size()); }

    Index draw(Random& random) {
        const Index pass = draws_ / draws_per_pass(), position = draws_ % draws_per_pass();
        ++draws_;
        if (pass == 0 || (permutation_every_ > 0 && pass % permutation_every_ == 0)) {
            std::swap(order_[position], order_[position + random.below(draws_per_pass() - position)]);
            return order_[position];
        }
        const bool by_weight = random.uniform() < non_uniformity_ && recorded_.total() > 0.0;
        return by_weight ? recorded_.find(random.uniform()) : order_[random.below(draws_per_pass())];
    }

    void record(Index i, double gap) { recorded_.set(i, gap); }
    double recorded(Index i) const { return recorded_.weight(i); }
    double recorded_total() const { return recorded_.total(); }

    // What is needed to go on exactly where a saved run stopped.
    Index draws() const { return draws_; }
    const std::vector<Index>& order() const { return order_; }
    void restore(Index draws, std::vector<Index> order) {
        draws_ = draws;
        order_ = std::move(order);
    }

   private:
    std::vector<Index> order_;  // the blocks of positive weight; shuffled in place during a permutation pass
    WeightedTree recorded_;
    double non_uniformity_;
    Index permutation_every_;
    Index draws_ = 0;
};

}  // namespace dualfield
