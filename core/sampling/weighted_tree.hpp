// Sampling proportional to weights that change: a complete binary tree of partial sums, O(log n) to set and
// to draw.
#pragma once

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
        double rest = u * total();
        Index node = 1;
        while (node < leaves_) {
            const double left = sums_[2 * node];
            const bool right = (rest >= left && sums_[2 * node + 1] > 0.0) || !(left > 0.0);
            if (right) rest -= left;
            node = 2 * node + (right ? 1 : 0);
        }
        return node - leaves_ < n_ ? node - leaves_ : n_ - 1;  // beyond n only if the weights are not numbers
    }

   private:
    Index n_, leaves_;
    std::vector<double> sums_;
};

}  // namespace dualfield
