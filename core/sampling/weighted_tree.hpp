// Sampling proportional to weights that change: a tree of partial sums, O(log n) to set and to draw.
//
// Each node has eight children, whose sums fill one line of the cache; eight lines of a level make one of the level
// above.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "base/compiler.hpp"
#include "base/index.hpp"

namespace dualfield {

class WeightedTree {
   public:
    explicit WeightedTree(Index n) : n_(n) {
        Index lines = 0;
        for (Index nodes = n;; nodes = lines_of(nodes)) {
            levels_.push_back(lines);
            lines += std::max(lines_of(nodes), Index{1});
            if (nodes <= kChildren) break;
        }
        lines_.resize(lines);
    }

    double total() const { return total_; }
    double weight(Index i) const { return lines_[i / kChildren].sums[i % kChildren]; }

    // Fetches the leaf that set(i) will change. The higher levels of the tree are in the cache anyway.
    DUALFIELD_INLINE void prefetch(Index i) const {
        constexpr std::size_t kLevels = 3;
        for (std::size_t level = 0; level < std::min(kLevels, levels_.size()); ++level)
            prefetch_line_to_write(&lines_[levels_[level] + (i /= kChildren)]);
    }

    // Sums are recomputed from the children, so rounding errors do not build up.
    void set(Index i, double weight) {
        for (const Index level : levels_) {
            const Index child = i % kChildren;
            Line& line = lines_[level + (i /= kChildren)];
            const double mine = weight;
            weight = 0.0;
            // The number just written is not read back: the processor would have to wait for it.
#pragma omp simd reduction(+ : weight)
            for (Index k = 0; k < kChildren; ++k) weight += k == child ? mine : line.sums[k];
            line.sums[child] = mine;
        }
        total_ = weight;
    }

    // The leaf in which u * total falls, for u in [0, 1). Never a leaf of weight zero while the total is
    // positive.
    Index find(double u) const {
        Index leaf;
        find(1, &u, &leaf);
        return leaf;
    }

    // The same for several u at once. They go down the tree together, so that their waits for memory overlap. Each u is
    // replaced by its remainder in the leaf.
    void find(Index count, double* u, Index* leaves) const {
        for (Index k = 0; k < count; ++k) u[k] *= total_;
        std::fill(leaves, leaves + count, Index{0});
        for (std::size_t level = levels_.size(); level-- > 0;)
            for (Index k = 0; k < count; ++k) {
                leaves[k] = kChildren * leaves[k] + find_child(lines_[levels_[level] + leaves[k]], u[k]);
                if (level > 0) prefetch_line(&lines_[levels_[level - 1] + leaves[k]]);
            }
        // Beyond n only if the weights are not numbers.
        for (Index k = 0; k < count; ++k) leaves[k] = std::min(leaves[k], n_ - 1);
    }

   private:
    static constexpr Index kChildren = 8;
    struct alignas(kChildren * sizeof(double)) Line {
        std::array<double, kChildren> sums{};
    };

    static Index lines_of(Index nodes) { return (nodes + kChildren - 1) / kChildren; }

    // Returns the child in which u falls, and reduces u by the sum of the children before it. It is the last child of
    // positive weight for which u does not become negative.
    static Index find_child(const Line& line, double& u) {
        Index child = 0;
        double rest = u;
        for (Index k = 0; k < kChildren; ++k) {
            const bool reached = rest >= 0.0 && line.sums[k] > 0.0;
            child = reached ? k : child;
            u = reached ? rest : u;
            rest = reached ? rest - line.sums[k] : rest;
        }
        return child;
    }

    Index n_;
    double total_ = 0.0;
    std::vector<Index> levels_;  // where each begins, the leaves first
    std::vector<Line> lines_;
};

}  // namespace dualfield
