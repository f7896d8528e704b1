// Mini-batches: every pass visits each block once, in a new random order, a batch at a time.
#pragma once

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "base/archive.hpp"

namespace dualfield {

class Batches {
   public:
    Batches(std::vector<Index> blocks, Index size)
        : order_(std::move(blocks)), size_(std::min(size, static_cast<Index>(order_.size()))) {}

    Index size() const { return size_; }
    Index last_size() const { return static_cast<Index>(order_.size()) - (per_pass() - 1) * size_; }
    Index per_pass() const { return (static_cast<Index>(order_.size()) + size_ - 1) / size_; }

    // The blocks of the next batch; the last of a pass may be smaller.
    std::span<const Index> next(Random& random) {
        const Index n = static_cast<Index>(order_.size()), first = next_, last = std::min(n, first + size_);
        for (Index k = first; k < last; ++k) std::swap(order_[k], order_[k + random.below(n - k)]);
        next_ = last == n ? 0 : last;
        return {order_.data() + first, static_cast<std::size_t>(last - first)};
    }

    void archive(Archive& archive) {
        archive.permutation("order", order_);
        archive.index("next_in_order", next_, static_cast<Index>(order_.size()) - 1);
    }

   private:
    std::vector<Index> order_;
    Index size_;
    Index next_ = 0;
};

}  // namespace dualfield
