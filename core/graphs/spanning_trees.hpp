// Edge appearance probabilities for tree-reweighted inference (Wainwright, Jaakkola and Willsky, 2005).
//
// The bound holds for probabilities rho_e that a mixture of spanning forests gives its edges, and is finite for every
// potential only if all are positive. Here the mixture is uniform over forests found one after another, each by
// Kruskal's method with the edges used least so far first. That evens out the counts as far as the graph allows: a
// bridge is in every forest (rho = 1), an edge of the complete graph in about 2 / V of them.
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/random.hpp"
#include "graphs/pairwise.hpp"

namespace dualfield {

class SpanningForests {
   public:
    // Writes rho_e for every edge, in (0, 1], and returns how many forests were mixed: one where the graph is a forest.
    Index probabilities(const PairwiseGraph& graph, double* rho) {
        return probabilities(graph, rho, [](const std::vector<std::int32_t>&) {});
    }

    // The same. Also calls each(edges) for every forest.
    template <class Each>
    Index probabilities(const PairwiseGraph& graph, double* rho, Each&& each) {
        const Index E = graph.edges;
        counts_.assign(E, 0);
        shuffle_edges(E);
        Index forests = 0, uncovered = E, enough = 0;
        while (true) {
            uncovered -= add_forest(graph);
            each(forest_);
            ++forests;
            if (uncovered == 0) {
                if (forests == 1) break;  // all edges in one forest: there is no other
                if (enough == 0) enough = kRounds * forests;
                if (forests >= enough || even()) break;
            }
            sort_by_count();
        }
        for (Index e = 0; e < E; ++e) rho[e] = static_cast<double>(counts_[e]) / static_cast<double>(forests);
        return forests;
    }

   private:
    // The number of forests is this multiple of those needed to cover all edges. Counts of equivalent edges then differ
    // by at most one part in this number.
    static constexpr Index kRounds = 4;

    // Among edges used equally often the order is fixed but without pattern, or the forests of a grid would be combs.
    void shuffle_edges(Index E) {
        order_.resize(E);
        std::iota(order_.begin(), order_.end(), 0);
        Random random(0);
        for (Index k = E - 1; k > 0; --k) std::swap(order_[k], order_[random.below(k + 1)]);
    }

    // Kruskal's method on order_; the number of edges used for the first time.
    Index add_forest(const PairwiseGraph& graph) {
        parents_.resize(graph.nodes);
        std::iota(parents_.begin(), parents_.end(), 0);
        forest_.clear();
        Index first_uses = 0;
        for (const std::int32_t e : order_) {
            const std::int32_t a = root(graph.first(e)), b = root(graph.second(e));
            if (a == b) continue;
            parents_[a] = b;
            forest_.push_back(e);
            if (counts_[e]++ == 0) ++first_uses;
        }
        return first_uses;
    }

    std::int32_t root(std::int32_t v) {
        while (parents_[v] != v) {
            parents_[v] = parents_[parents_[v]];
            v = parents_[v];
        }
        return v;
    }

    // A stable counting sort.
    void sort_by_count() {
        const std::int32_t most = *std::max_element(counts_.begin(), counts_.end());
        starts_.assign(most + 2, 0);
        for (const std::int32_t count : counts_) ++starts_[count + 1];
        std::partial_sum(starts_.begin(), starts_.end(), starts_.begin());
        sorted_.resize(order_.size());
        for (const std::int32_t e : order_) sorted_[starts_[counts_[e]]++] = e;
        order_.swap(sorted_);
    }

    bool even() const {
        const auto [least, most] = std::minmax_element(counts_.begin(), counts_.end());
        return *least == *most;
    }

    std::vector<std::int32_t> order_, sorted_, counts_, parents_, forest_;
    std::vector<Index> starts_;
};

}  // namespace dualfield
