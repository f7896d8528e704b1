// Sampling proportional to weights that change: a complete binary tree of partial sums, O(log n) to set and
// to draw.
#pragma once

#include <algorithm>
#include <vector>

#include "math/elementary.hpp"

namespace dualfield {

class WeightedTree {
   public:
    explicit WeightedTree(Index n) : n_(n), leaves_(1) {
        while (leaves_ < n) leaves_ *= 2;
        sums_.assign(2 * leaves_, 0.0);
    }

    double total() const { return sums_[1]; }
    double weight(Index i) const { return sums_[leaves_ + i]; }

    // set(i) comes soon. What is higher in the tree is in the cache.
    [[gnu::always_inline]] void prefetch(Index i) const {
        constexpr int kLevels = 8;
        Index node = leaves_ + i;
        for (int level = 0; level < kLevels; ++level, node /= 2) __builtin_prefetch(&sums_[node], 1);
    }

    // Sums are recomputed from the children, so rounding errors do not build up.
    void set(Index i, double weight) {
        Index node = leaves_ + i;
        sums_[node] = weight;
        for (node /= 2; node >= 1; node /= 2) sums_[node] = sums_[2 * node] + sums_[2 * node + 1];
    }

    // The leaf in which u * total falls, for u in [0, 1). Never a leaf of weight zero while the total is
    // positive.
    Index find(double u) const {
        Index leaf;
        find(1, &u, &leaf);
        return leaf;
    }

    // The same for several u, which end as what is left of them. All go down together, so that none waits for memory alone.
    void find(Index count, double* u, Index* leaves) const {
        for (Index k = 0; k < count; ++k) u[k] *= total();
        std::fill(leaves, leaves + count, Index{1});
        for (Index level = 1; level < leaves_; level *= 2)
            for (Index k = 0; k < count; ++k) {
                const Index children = 2 * leaves[k];
                const double left = sums_[children];
                const bool right = (u[k] >= left && sums_[children + 1] > 0.0) || !(left > 0.0);
                if (right) u[k] -= left;
                leaves[k] = children + (right ? 1 : 0);
                if (level < leaves_ / 2) __builtin_prefetch(&sums_[2 * leaves[k]]);
            }
        // Beyond n only if the weights are not numbers.
        for (Index k = 0; k < count; ++k) leaves[k] = std::min(leaves[k] - leaves_, n_ - 1);
    }

   private:
    Index n_, leaves_;
    std::vector<double> sums_;
};

}  // namespace dualfield
