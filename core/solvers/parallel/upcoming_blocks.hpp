// Blocks drawn some updates before it is their turn, so that what an update looks at can be fetched into the cache.
//
// Draws then do not know of the few updates in between. Among thousands of blocks that is no matter, unless the rule
// takes the largest gap; fewer blocks are in the cache anyway, and none of them is drawn ahead.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "sampling/block_sampler.hpp"

namespace dualfield {

class UpcomingBlocks {
   public:
    explicit UpcomingBlocks(const BlockSampler& sampler)
        : ahead_(sampler.draws_per_pass() >= kMany && sampler.may_draw_ahead()) {}

    // fetch.operator()<Step>(i) is called three times before it is the turn of block i: what one step has fetched says
    // where that of the next is.
    template <class Fetch>
    Index next(BlockSampler& sampler, Random& random, Fetch&& fetch) {
        if (!ahead_) return sampler.draw(random);
        while (count_ <= kAhead) count_ += sampler.draw(random, BlockSampler::kAtOnce, &blocks_[count_]);
        const Index block = blocks_.front();
        std::copy(blocks_.begin() + 1, blocks_.begin() + count_--, blocks_.begin());
        fetch.template operator()<0>(blocks_[5]);
        fetch.template operator()<1>(blocks_[3]);
        fetch.template operator()<2>(blocks_[1]);
        return block;
    }

    void clear() { count_ = 0; }

    // `order` has every block that may be drawn.
    void archive(Archive& archive, const std::vector<Index>& order) {
        if (!ahead_) return;
        archive.index("upcoming", count_, std::ssize(blocks_));
        for (std::size_t k = 0; k < blocks_.size(); ++k) {
            Index place = std::find(order.begin(), order.end(), blocks_[k]) - order.begin();
            place = place < std::ssize(order) ? place : 0;
            archive.index(("upcoming" + std::to_string(k)).c_str(), place, std::ssize(order) - 1);
            blocks_[k] = order[place];
        }
    }

   private:
    static constexpr Index kMany = 4096, kAhead = 6;

    bool ahead_;
    Index count_ = 0;
    std::array<Index, kAhead + BlockSampler::kAtOnce> blocks_{};  // so many, the next one first
};

}  // namespace dualfield
