// Blocks drawn some updates before it is their turn, so that what an update looks at can be fetched into the cache.
//
// Draws then do not know of the few updates in between. Among thousands of blocks that is no matter; fewer are in the
// cache anyway, and none of them is drawn ahead.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "sampling/block_sampler.hpp"

namespace dualfield {

class UpcomingBlocks {
   public:
    explicit UpcomingBlocks(Index blocks) : ahead_(blocks >= kMany) {}

    // fetch.operator()<Step>(i) is called three times before it is the turn of block i: what one step has fetched says where
    // that of the next is.
    template <class Fetch>
    Index next(BlockSampler& sampler, Random& random, Fetch&& fetch) {
        if (!ahead_) return sampler.draw(random);
        if (!filled_)
            for (Index& block : blocks_) block = sampler.draw(random);
        filled_ = true;
        const Index block = blocks_.front();
        std::rotate(blocks_.begin(), blocks_.begin() + 1, blocks_.end());
        blocks_.back() = sampler.draw(random);
        fetch.template operator()<0>(blocks_[5]);
        fetch.template operator()<1>(blocks_[3]);
        fetch.template operator()<2>(blocks_[1]);
        return block;
    }

    void clear() { filled_ = false; }

    // `order` has every block that may be drawn.
    void archive(Archive& archive, const std::vector<Index>& order) {
        if (!ahead_) return;
        archive.flag("upcoming", filled_);
        for (std::size_t k = 0; k < blocks_.size(); ++k) {
            Index place = std::find(order.begin(), order.end(), blocks_[k]) - order.begin();
            place = place < std::ssize(order) ? place : 0;
            archive.index(("upcoming" + std::to_string(k)).c_str(), place, std::ssize(order) - 1);
            blocks_[k] = order[place];
        }
    }

   private:
    static constexpr Index kMany = 4096;

    bool ahead_, filled_ = false;
    std::array<Index, 6> blocks_{};  // the next one first
};

}  // namespace dualfield
