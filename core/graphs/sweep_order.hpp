// The order in which messages travel over a graph.
//
// Nodes stand in breadth-first order. A sweep first goes back over it, each node sending to its earlier neighbours,
// then forth, each sending to its later ones; so it sends every message once, and on a forest the first sweep collects
// at the roots and distributes from there, after which messages are exact. Nodes that do not wait for one another, such
// as the diagonals of a grid, form a batch: their messages can be computed side by side, and the numbers do not change.
//
// Messages are numbered by their place in the sweep. Message d = 2 e + i into the end i of edge e has the place
// place_of[d].
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "graphs/pairwise.hpp"

namespace dualfield {

class SweepOrder {
   public:
    // False where the graph is the one already laid out.
    bool build(const PairwiseGraph& graph) {
        const Index V = graph.nodes, M = 2 * graph.edges;
        if (V == static_cast<Index>(rank.size()) && M == static_cast<Index>(ends_.size()) &&
            std::equal(ends_.begin(), ends_.end(), graph.ends))
            return false;
        ends_.assign(graph.ends, graph.ends + M);
        list_neighbours(V);
        sort_nodes(V);
        lay_out_messages(V);
        return true;
    }

    Index messages() const { return static_cast<Index>(source.size()); }

    std::vector<std::int32_t> nodes;  // breadth first, each component from its node of lowest number
    std::vector<std::int32_t> rank;   // the place of a node in `nodes`

    // The messages d into node v: incoming[starts[v]] .. incoming[starts[v + 1] - 1].
    std::vector<Index> starts;
    std::vector<std::int32_t> incoming;

    // By place in the sweep: the two nodes, the place of the message the other way, and the number d = 2 e + i.
    std::vector<std::int32_t> source, target, opposite, number;
    std::vector<std::int32_t> place_of;
    std::vector<Index> batches;  // where each batch starts, and the end

   private:
    void list_neighbours(Index V) {
        starts.assign(V + 1, 0);
        for (const std::int32_t v : ends_) ++starts[v + 1];
        std::partial_sum(starts.begin(), starts.end(), starts.begin());
        incoming.resize(ends_.size());
        next_.assign(starts.begin(), starts.end() - 1);
        for (std::size_t d = 0; d < ends_.size(); ++d) incoming[next_[ends_[d]]++] = static_cast<std::int32_t>(d);
    }

    void sort_nodes(Index V) {
        nodes.clear();
        rank.assign(V, -1);
        const auto reach = [&](std::int32_t v) {
            rank[v] = static_cast<std::int32_t>(nodes.size());
            nodes.push_back(v);
        };
        std::size_t done = 0;
        for (Index root = 0; root < V; ++root) {
            if (rank[root] >= 0) continue;
            reach(static_cast<std::int32_t>(root));
            for (; done < nodes.size(); ++done) {
                const std::int32_t v = nodes[done];
                for (Index k = starts[v]; k < starts[v + 1]; ++k) {
                    const std::int32_t neighbour = ends_[incoming[k] ^ 1];
                    if (rank[neighbour] < 0) reach(neighbour);
                }
            }
        }
    }

    void lay_out_messages(Index V) {
        const std::size_t M = ends_.size();
        for (auto* list : {&source, &target, &opposite, &number}) list->clear();
        place_of.resize(M);
        batches.assign(1, 0);
        for (const bool forth : {false, true}) {
            // A node's level: one above the highest of those it waits for.
            levels_.assign(V, 0);
            std::int32_t highest = 0;
            for (Index k = 0; k < V; ++k) {
                const std::int32_t v = nodes[forth ? k : V - 1 - k];
                for (Index j = starts[v]; j < starts[v + 1]; ++j) {
                    const std::int32_t neighbour = ends_[incoming[j] ^ 1];
                    if ((rank[neighbour] < rank[v]) == forth) levels_[v] = std::max(levels_[v], levels_[neighbour] + 1);
                }
                highest = std::max(highest, levels_[v]);
            }
            next_.assign(highest + 2, 0);
            for (Index v = 0; v < V; ++v) ++next_[levels_[v] + 1];
            std::partial_sum(next_.begin(), next_.end(), next_.begin());
            by_level_.resize(V);
            for (const std::int32_t v : nodes) by_level_[next_[levels_[v]]++] = v;
            for (Index k = 0; k < V; ++k) {
                const std::int32_t v = by_level_[k];
                for (Index j = starts[v]; j < starts[v + 1]; ++j) {
                    const std::int32_t out = incoming[j] ^ 1, neighbour = ends_[out];
                    if ((rank[neighbour] > rank[v]) == forth) send(v, neighbour, out);
                }
                const bool last = k + 1 == V || levels_[by_level_[k + 1]] > levels_[v];
                if (last && messages() > batches.back()) batches.push_back(messages());
            }
        }
        for (std::size_t p = 0; p < M; ++p) opposite.push_back(place_of[number[p] ^ 1]);
    }

    void send(std::int32_t from, std::int32_t to, std::int32_t d) {
        place_of[d] = static_cast<std::int32_t>(source.size());
        source.push_back(from);
        target.push_back(to);
        number.push_back(d);
    }

    std::vector<std::int32_t> ends_, levels_, by_level_;
    std::vector<Index> next_;
};

}  // namespace dualfield
