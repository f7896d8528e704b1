// Junction trees: a graph's nodes in overlapping cliques, arranged in a forest in which the cliques that share a node
// are connected. Exact inference costs what the cliques' tables cost, K^size each.
//
// The cliques come from eliminating the nodes one by one: see elimination.hpp.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "graphs/clique_tables.hpp"
#include "graphs/elimination.hpp"
#include "graphs/pairwise.hpp"

namespace dualfield {

struct Clique {
    Index first, size;      // its nodes, in JunctionTree::nodes(), those that were eliminated last first
    Index shared;           // how many nodes it shares with its parent, its first ones; 0 for a root
    Index parent;           // an earlier clique; -1 for a root
    Index in_parent;        // where the positions of the shared nodes in the parent are, in JunctionTree::positions()
    Index table, length;    // its part of the table
    Index separator, rows;  // the separator's part, rows = K^shared; both 0 for a root
};

// A node or an edge, and the clique that has it.
struct Placement {
    Index clique;
    std::int32_t positions[2];  // in the clique, increasing; the first only, for a node
    bool turned;                // the edge's second node stands first
    Index separator;            // a part of the table that is the node's own, if there is one; otherwise -1
};

// A larger clique, and the clique of the tree that has it.
struct CliquePlacement {
    Index clique;
    std::vector<std::int32_t> positions;  // in that clique, increasing
    std::vector<std::int32_t> axes;       // which of the given nodes stands there
};

class JunctionTree {
   public:
    // Stops as soon as the tables would take more than `budget` numbers; then complete() is false.
    JunctionTree(PairwiseGraph graph, Index labels, Index budget, LargerCliques larger = {})
        : labels_(labels), budget_(budget) {
        Elimination elimination = best_elimination(graph, larger, labels, budget);
        treewidth_ = elimination.treewidth;
        complete_ = elimination.complete;
        eliminated_ = static_cast<Index>(elimination.order.size());
        if (!complete_) return;
        build_cliques(elimination);
        place(graph, larger);
    }

    bool complete() const { return complete_; }
    Index treewidth() const { return treewidth_; }  // of this elimination, as far as it went
    // The reason, if it is not complete.
    std::string refusal() const {
        return "is too dense for exact inference: the best order of elimination that was found makes a clique of " +
               std::to_string(treewidth_ + 1) + " nodes or more, and its table of " + std::to_string(labels_) + "^" +
               std::to_string(treewidth_ + 1) + " numbers, or all tables together, pass the budget of " +
               std::to_string(budget_);
    }
    Index eliminated() const { return eliminated_; }

    Index labels() const { return labels_; }
    const std::vector<Clique>& cliques() const { return cliques_; }  // parents before children
    const std::int32_t* nodes(const Clique& c) const { return nodes_.data() + c.first; }
    const std::int32_t* shared_in_parent(const Clique& c) const { return positions_.data() + c.in_parent; }
    const std::vector<Placement>& of_nodes() const { return of_nodes_; }
    const std::vector<Placement>& of_edges() const { return of_edges_; }
    const std::vector<CliquePlacement>& of_larger() const { return of_larger_; }

    // A table holds all cliques and then all separators.
    Index cliques_length() const { return cliques_length_; }
    Index separators_length() const { return separators_length_; }
    Index table_size() const { return cliques_length_ + separators_length_; }

   private:
    // In reverse order of elimination, so that parents come first. The clique of v, {v} and the neighbours it left,
    // hangs on the clique of the neighbour that left next; where it has all of that clique's nodes it replaces it.
    void build_cliques(Elimination& elimination) {
        const Index n = eliminated();
        std::vector<Index> when(n), clique_of(n);
        for (Index k = 0; k < n; ++k) when[elimination.order[k]] = k;
        std::vector<std::vector<std::int32_t>> members;
        for (Index k = n - 1; k >= 0; --k) {
            const std::int32_t v = elimination.order[k];
            auto& around = elimination.neighbours[v];
            std::sort(around.begin(), around.end(), [&](std::int32_t a, std::int32_t b) { return when[a] > when[b]; });
            const Index parent = around.empty() ? -1 : clique_of[around.back()];
            if (parent >= 0 && members[parent].size() == around.size()) {
                members[parent].push_back(v);
                clique_of[v] = parent;
                continue;
            }
            clique_of[v] = static_cast<Index>(cliques_.size());
            cliques_.push_back({0, 0, static_cast<Index>(around.size()), parent, 0, 0, 0, 0, 0});
            around.push_back(v);
            members.push_back(around);
        }
        for (std::size_t c = 0; c < cliques_.size(); ++c) {
            Clique& clique = cliques_[c];
            clique.first = static_cast<Index>(nodes_.size());
            clique.size = static_cast<Index>(members[c].size());
            nodes_.insert(nodes_.end(), members[c].begin(), members[c].end());
            clique.table = cliques_length_;
            clique.length = table_length(labels_, clique.size);
            cliques_length_ += clique.length;
            clique.separator = separators_length_;
            clique.rows = clique.parent < 0 ? 0 : table_length(labels_, clique.shared);
            separators_length_ += clique.rows;
            if (cliques_length_ + separators_length_ > budget_) {
                complete_ = false;
                return;
            }
            clique.in_parent = static_cast<Index>(positions_.size());
            for (Index s = 0; s < clique.shared; ++s)
                positions_.push_back(position_of(cliques_[clique.parent], members[c][s]));
        }
        for (Clique& clique : cliques_) clique.separator += cliques_length_;
        clique_of_ = std::move(clique_of);
        when_ = std::move(when);
    }

    void place(PairwiseGraph graph, LargerCliques larger) {
        if (!complete_) return;
        for (Index v = 0; v < graph.nodes; ++v) {
            const Index c = clique_of_[v];
            of_nodes_.push_back({c, {position_of(cliques_[c], static_cast<std::int32_t>(v)), 0}, false, -1});
        }
        for (const Clique& c : cliques_)
            if (c.rows > 0 && c.shared == 1) of_nodes_[nodes(c)[0]].separator = c.separator;
        for (Index e = 0; e < graph.edges; ++e) {
            const std::int32_t a = graph.first(e), b = graph.second(e);
            const Index c = clique_of_[when_[a] < when_[b] ? a : b];  // the other was its neighbour when it left
            const std::int32_t at_a = position_of(cliques_[c], a), at_b = position_of(cliques_[c], b);
            of_edges_.push_back({c, {std::min(at_a, at_b), std::max(at_a, at_b)}, at_b < at_a, -1});
        }
        for (Index q = 0; q < larger.count; ++q) place_larger(larger.first(q), larger.size(q));
        clique_of_ = when_ = {};
    }

    void place_larger(const std::int32_t* members, Index size) {
        const auto leaves_earlier = [&](std::int32_t a, std::int32_t b) { return when_[a] < when_[b]; };
        CliquePlacement place{clique_of_[*std::min_element(members, members + size, leaves_earlier)], {}, {}};
        std::vector<std::pair<std::int32_t, std::int32_t>> order;
        for (Index a = 0; a < size; ++a)
            order.push_back({position_of(cliques_[place.clique], members[a]), static_cast<std::int32_t>(a)});
        std::sort(order.begin(), order.end());
        for (const auto& [position, axis] : order) {
            place.positions.push_back(position);
            place.axes.push_back(axis);
        }
        of_larger_.push_back(std::move(place));
    }

    std::int32_t position_of(const Clique& clique, std::int32_t node) const {
        const std::int32_t* first = nodes(clique);
        return static_cast<std::int32_t>(std::find(first, first + clique.size, node) - first);
    }

    Index labels_, budget_;
    Index treewidth_ = 0, eliminated_ = 0;
    bool complete_ = false;
    std::vector<Index> clique_of_, when_;

    std::vector<Clique> cliques_;
    std::vector<std::int32_t> nodes_, positions_;
    std::vector<Placement> of_nodes_, of_edges_;
    std::vector<CliquePlacement> of_larger_;
    Index cliques_length_ = 0, separators_length_ = 0;
};

}  // namespace dualfield
