// The largest of numbers that change: a complete binary tree of maxima, O(log n) to set and to find.
#pragma once

#include <vector>

#include "base/index.hpp"

namespace dualfield {

class MaxTree {
   public:
    explicit MaxTree(Index n) : leaves_(1) {
        while (leaves_ < n) leaves_ *= 2;
        maxima_.assign(2 * leaves_, 0.0);
    }

    double top() const { return maxima_[1]; }

    void set(Index i, double value) {
        Index node = leaves_ + i;
        maxima_[node] = value;
        for (node /= 2; node >= 1; node /= 2) maxima_[node] = maxima_[larger_child(node)];
    }

    // The first place of the largest number. It is a place that was set, as long as that number is positive.
    Index find() const {
        Index node = 1;
        while (node < leaves_) node = larger_child(node);
        return node - leaves_;
    }

   private:
    Index larger_child(Index node) const { return 2 * node + (maxima_[2 * node] >= maxima_[2 * node + 1] ? 0 : 1); }

    Index leaves_;
    std::vector<double> maxima_;
};

}  // namespace dualfield
