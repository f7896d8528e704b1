// Orders in which a graph's nodes are eliminated: a node leaves with its neighbours, who then become neighbours of each
// other. The cost of exact inference is the sum of K^(1 + neighbours at leaving).
//
// The best order is not known; two kinds are tried. *Min-fill*: the next node is the one whose leaving adds fewest
// edges; nodes with one neighbour or none, all there is in a forest, leave first and add none. *Sweeps*: nodes leave in
// the order of their numbers, or of the columns of a lattice that is numbered row by row. On a lattice a sweep along
// its longer side leaves cliques of its shorter side, where min-fill's are larger by a third and more.
#pragma once

#include <algorithm>
#include <queue>
#include <vector>

#include "graphs/clique_tables.hpp"
#include "graphs/pairwise.hpp"

namespace dualfield {

struct Elimination {
    bool complete = false;
    Index treewidth = 0;  // as far as it went
    double cost = 0.0;    // the numbers in all tables; of cliques within others too
    std::vector<std::int32_t> order;
    std::vector<std::vector<std::int32_t>> neighbours;  // of each node when it left
};

// Goes through one order. It stops, incomplete, at a table beyond the budget or a treewidth beyond the limit.
class Eliminator {
   public:
    Eliminator(PairwiseGraph graph, LargerCliques larger, Index labels, Index budget, Index most_treewidth)
        : labels_(labels), budget_(budget), most_treewidth_(most_treewidth) {
        const Index n = graph.nodes;
        neighbours_.assign(n, {});
        for (Index e = 0; e < graph.edges; ++e) {
            neighbours_[graph.first(e)].push_back(graph.second(e));
            neighbours_[graph.second(e)].push_back(graph.first(e));
        }
        join(larger);
        found_.neighbours.assign(n, {});
        found_.order.reserve(n);
        gone_.assign(n, false);
        stamp_.assign(n, -1);
    }

    Elimination by_min_fill() {
        const Index n = static_cast<Index>(neighbours_.size());
        for (Index v = 0; v < n; ++v)
            if (neighbours_[v].size() <= 1) peel_.push_back(static_cast<std::int32_t>(v));
        peel();
        using Entry = std::pair<Index, std::int32_t>;
        std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
        std::vector<Index> fill(n, -1);
        const auto update = [&](std::int32_t v) {
            const Index now = fill_of(v);
            if (now == fill[v]) return;
            fill[v] = now;
            queue.push({now, v});
        };
        for (Index v = 0; v < n && within_; ++v)
            if (!gone_[v]) update(static_cast<std::int32_t>(v));
        std::vector<std::int32_t> affected;
        while (within_ && !queue.empty()) {
            const auto [value, v] = queue.top();
            queue.pop();
            if (gone_[v] || fill[v] != value) continue;
            affected = neighbours_[v];
            for (std::int32_t u : neighbours_[v])
                if (value > 0) affected.insert(affected.end(), neighbours_[u].begin(), neighbours_[u].end());
            remove(v);
            peel(&affected);
            std::sort(affected.begin(), affected.end());
            affected.erase(std::unique(affected.begin(), affected.end()), affected.end());
            for (std::int32_t u : affected)
                if (!gone_[u]) update(u);
        }
        return finish();
    }

    // Row by row where `width` is 1; otherwise the nodes v with v % width = 0 leave first, then those with 1, ...
    Elimination by_sweep(Index width) {
        const Index n = static_cast<Index>(neighbours_.size());
        for (Index column = 0; column < width && within_; ++column)
            for (Index v = column; v < n && within_; v += width) remove(static_cast<std::int32_t>(v));
        return finish();
    }

   private:
    // The nodes of a larger clique are neighbours of each other.
    void join(LargerCliques larger) {
        for (Index q = 0; q < larger.count; ++q)
            for (Index a = 0; a < larger.size(q); ++a)
                for (Index b = 0; b < larger.size(q); ++b)
                    if (a != b) neighbours_[larger.first(q)[a]].push_back(larger.first(q)[b]);
        if (larger.count == 0) return;
        for (auto& around : neighbours_) {
            std::sort(around.begin(), around.end());
            around.erase(std::unique(around.begin(), around.end()), around.end());
        }
    }

    // Nodes with one neighbour or none, and those that become so; their neighbours are added to `affected`.
    void peel(std::vector<std::int32_t>* affected = nullptr) {
        while (!peel_.empty() && within_) {
            const std::int32_t v = peel_.back();
            peel_.pop_back();
            if (gone_[v]) continue;
            if (affected) affected->insert(affected->end(), neighbours_[v].begin(), neighbours_[v].end());
            remove(v);
        }
    }

    void remove(std::int32_t v) {
        const auto& around = neighbours_[v];
        const Index size = static_cast<Index>(around.size()) + 1;
        found_.treewidth = std::max(found_.treewidth, size - 1);
        const Index length = size <= kMostVariables ? table_length(labels_, size) : budget_;
        within_ = size <= kMostVariables && length <= budget_ && size - 1 <= most_treewidth_;
        if (!within_) return;
        found_.cost += static_cast<double>(length);
        for (std::int32_t u : around) {
            auto& of_u = neighbours_[u];
            of_u.erase(std::find(of_u.begin(), of_u.end(), v));
            mark(u);
            for (std::int32_t x : around)
                if (x != u && stamp_[x] != u) of_u.push_back(x);
            unmark(u);
            if (of_u.size() <= 1) peel_.push_back(u);
        }
        gone_[v] = true;
        found_.order.push_back(v);
        found_.neighbours[v] = std::move(neighbours_[v]);
        neighbours_[v] = {};
    }

    // stamp_[x] == u for the neighbours x of u.
    void mark(std::int32_t u) {
        for (std::int32_t x : neighbours_[u]) stamp_[x] = u;
    }
    void unmark(std::int32_t u) {
        for (std::int32_t x : neighbours_[u]) stamp_[x] = -1;
    }

    // How many pairs of v's neighbours are not neighbours of each other.
    Index fill_of(std::int32_t v) {
        const auto& around = neighbours_[v];
        const Index d = static_cast<Index>(around.size());
        mark(v);
        Index joined = 0;
        for (std::int32_t u : around)
            for (std::int32_t x : neighbours_[u]) joined += stamp_[x] == v;
        unmark(v);
        return (d * (d - 1) - joined) / 2;
    }

    Elimination finish() {
        found_.complete = within_;
        return std::move(found_);
    }

    Index labels_, budget_, most_treewidth_;
    bool within_ = true;
    std::vector<std::vector<std::int32_t>> neighbours_;
    std::vector<bool> gone_;
    std::vector<std::int32_t> stamp_, peel_;
    Elimination found_;
};

// How many nodes a row of a lattice has, as far as that can be seen from the first one: node v and v + 1 are neighbours
// but for the last of a row. 1 where there is no second row.
inline Index lattice_width(PairwiseGraph graph) {
    std::vector<bool> followed(graph.nodes, false);
    for (Index e = 0; e < graph.edges; ++e) {
        const std::int32_t low = std::min(graph.first(e), graph.second(e));
        if (std::max(graph.first(e), graph.second(e)) == low + 1) followed[low] = true;
    }
    Index width = 1;
    while (width < graph.nodes && followed[width - 1]) ++width;
    return width < graph.nodes ? width : 1;
}

// The order with the smallest tables among those that are tried.
inline Elimination best_elimination(PairwiseGraph graph, LargerCliques larger, Index labels, Index budget) {
    constexpr Index kSmallTreewidth = 3;  // up to which min-fill is good enough, as on trees and rings
    Elimination best = Eliminator(graph, larger, labels, budget, graph.nodes).by_min_fill();
    if (best.complete && best.treewidth <= kSmallTreewidth) return best;
    const Index width = lattice_width(graph);
    for (Index step : {Index{1}, width}) {
        const Index most = best.complete ? best.treewidth - 1 : graph.nodes;
        Elimination sweep = Eliminator(graph, larger, labels, budget, most).by_sweep(step);
        if (sweep.complete && (!best.complete || sweep.cost < best.cost)) best = std::move(sweep);
        if (width == 1) break;
    }
    return best;
}

}  // namespace dualfield
