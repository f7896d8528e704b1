// The weights of larger cliques, given explicitly: for each size n that occurs one tensor over the labels of n nodes,
// K^n weights, which all cliques of that size share.
//
// A block's potentials of cliques are these weights themselves, and its marginals the sums over its cliques of each
// size.
#pragma once

#include <algorithm>
#include <vector>

#include "graphs/clique_tables.hpp"
#include "graphs/pairwise.hpp"

namespace dualfield {

// The cliques of all blocks. Block i has cliques offsets[i] .. offsets[i + 1]; clique q has the nodes starts[q] ..
// starts[q + 1], counted within their block. Empty: there are none.
struct CliqueLists {
    std::vector<Index> offsets, starts;
    std::vector<std::int32_t> nodes;
    std::vector<Index> sizes;  // that have weights, increasing: those of the cliques, and maybe more
};

class CliqueWeights {
   public:
    CliqueWeights(Index labels, CliqueLists lists) : labels_(labels), lists_(std::move(lists)) {
        for (Index size : lists_.sizes) {
            tensors_.push_back(size_);
            size_ += table_length(labels_, size);
        }
    }

    Index size() const { return size_; }  // how many weights there are
    Index count(Index i) const { return lists_.offsets.empty() ? 0 : lists_.offsets[i + 1] - lists_.offsets[i]; }
    LargerCliques of(Index i) const {
        if (count(i) == 0) return {};
        return {count(i), lists_.starts.data() + lists_.offsets[i], lists_.nodes.data()};
    }

    // body(start, length) for the tensor of each size.
    template <class Body>
    void for_each_tensor(Body&& body) const {
        for (std::size_t k = 0; k < tensors_.size(); ++k) body(tensors_[k], table_length(labels_, lists_.sizes[k]));
    }

    // Where the tensor of a clique starts.
    Index tensor_of(Index size) const {
        const auto at = std::lower_bound(lists_.sizes.begin(), lists_.sizes.end(), size);
        return tensors_[static_cast<std::size_t>(at - lists_.sizes.begin())];
    }

    // body(where the entry for the clique's labels stands)
    template <class Body>
    void for_each_entry(Index i, const std::int32_t* y, Body&& body) const {
        const LargerCliques cliques = of(i);
        for (Index q = 0; q < cliques.count; ++q) {
            const std::int32_t* nodes = cliques.first(q);
            body(tensor_of(cliques.size(q)) +
                 entry_of(labels_, cliques.size(q), [&](Index v) { return static_cast<Index>(y[nodes[v]]); }));
        }
    }

    // How many cliques of block i have the tensor that starts there.
    Index occurrences(Index i, Index tensor) const {
        const LargerCliques cliques = of(i);
        Index total = 0;
        for (Index q = 0; q < cliques.count; ++q) total += tensor_of(cliques.size(q)) == tensor;
        return total;
    }

    // The tensors of the block's cliques, one after the other, within theta.
    const double* const* tensors(Index i, const double* theta, std::vector<const double*>& buffer) const {
        const LargerCliques cliques = of(i);
        buffer.clear();
        for (Index q = 0; q < cliques.count; ++q) buffer.push_back(theta + tensor_of(cliques.size(q)));
        return buffer.data();
    }

   private:
    Index labels_;
    CliqueLists lists_;
    std::vector<Index> tensors_;
    Index size_ = 0;
};

}  // namespace dualfield
