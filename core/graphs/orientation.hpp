// The tree-reweighted entropy as a sum of concave terms, one for each clique.
//
// With rho_e the probability of edge e in a mixture of spanning forests, the tree-reweighted entropy is
// sum_v H(Y_v) - sum_e rho_e I(Y_i; Y_j). A forest whose trees have roots writes the same as the entropies of its roots
// and those of its nodes given their parents. Mixing over the forests, and in each over all roots of its trees alike,
//     H = sum_v tau_v H(Y_v) + sum_{e = (i, j)} a_e H(Y_j | Y_i) + b_e H(Y_i | Y_j),    a_e + b_e = rho_e,
// where tau_v is the probability that v is a root. All terms are concave in the marginals of their own clique, even
// where neighbouring cliques disagree; where they agree, the sum is the tree-reweighted entropy. All tau_v are
// positive: they are one over the size of the component of v.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "graphs/spanning_trees.hpp"
#include "simd/vector.hpp"

namespace dualfield {

// Entropies of cliques: H = sum_v node_v H(mu_v) + sum_e edge_e H(mu_e) - first_e H(mu_e's first) - second_e H(its
// second).
// Concave where no number is negative and edge_e >= first_e + second_e.
struct CliqueCounts {
    std::vector<double> node, edge, first, second;
};

class OrientedForests {
   public:
    CliqueCounts counts(const PairwiseGraph& graph) {
        CliqueCounts found;
        found.node.assign(graph.nodes, 0.0);
        found.edge.resize(graph.edges);
        found.first.assign(graph.edges, 0.0);
        found.second.assign(graph.edges, 0.0);
        const Index forests = SpanningForests().probabilities(
            graph, found.edge.data(), [&](const std::vector<std::int32_t>& edges) { add(graph, edges, found); });
        const double share = 1.0 / static_cast<double>(forests);
        for (auto* counts : {&found.node, &found.first, &found.second})
            scale(static_cast<Index>(counts->size()), share, counts->data());
        return found;
    }

   private:
    void add(const PairwiseGraph& graph, const std::vector<std::int32_t>& edges, CliqueCounts& total) {
        list_neighbours(graph, edges);
        seen_.assign(graph.nodes, 0);
        below_.assign(graph.nodes, 0.0);
        for (std::int32_t root = 0; root < graph.nodes; ++root) {
            if (seen_[root]) continue;
            visit(root, graph);
            const double size = static_cast<double>(order_.size());
            for (auto v = order_.rbegin(); v != order_.rend(); ++v) {
                below_[*v] += 1.0;
                total.node[*v] += 1.0 / size;
                const std::int32_t e = edge_up_[*v];
                if (e < 0) continue;
                const bool is_first = graph.first(e) == *v;
                const double from_below = below_[*v] / size;  // the root is below: the edge leads from v to its parent
                total.first[e] += is_first ? from_below : 1.0 - from_below;
                total.second[e] += is_first ? 1.0 - from_below : from_below;
                below_[is_first ? graph.second(e) : graph.first(e)] += below_[*v];
            }
        }
    }

    void list_neighbours(const PairwiseGraph& graph, const std::vector<std::int32_t>& edges) {
        starts_.assign(graph.nodes + 1, 0);
        for (const std::int32_t e : edges) ++starts_[graph.first(e) + 1], ++starts_[graph.second(e) + 1];
        std::partial_sum(starts_.begin(), starts_.end(), starts_.begin());
        next_.assign(starts_.begin(), starts_.end() - 1);
        incident_.resize(2 * edges.size());
        for (const std::int32_t e : edges)
            incident_[next_[graph.first(e)]++] = e, incident_[next_[graph.second(e)]++] = e;
    }

    // order_: the nodes of the tree, parents first.
    void visit(std::int32_t root, const PairwiseGraph& graph) {
        edge_up_.resize(graph.nodes);
        order_.assign(1, root);
        edge_up_[root] = -1;
        seen_[root] = 1;
        for (std::size_t k = 0; k < order_.size(); ++k) {
            const std::int32_t v = order_[k];
            for (Index n = starts_[v]; n < starts_[v + 1]; ++n) {
                const std::int32_t e = incident_[n], other = graph.first(e) == v ? graph.second(e) : graph.first(e);
                if (seen_[other]) continue;
                seen_[other] = 1;
                edge_up_[other] = e;
                order_.push_back(other);
            }
        }
    }

    std::vector<Index> starts_, next_;
    std::vector<std::int32_t> incident_, order_, edge_up_;
    std::vector<char> seen_;
    std::vector<double> below_;
};

// The same for given probabilities of the edges: a_e and b_e such that the tau_v are as even as can be. They are found
// edge by edge, each time dividing rho_e so that the sums at its ends come as close as possible, which descends the sum
// of squares of those sums. A tau_v that is not positive after that means that the probabilities are too large.
inline CliqueCounts balanced_orientation(const PairwiseGraph& graph, const double* rho) {
    constexpr int kMostSweeps = 10000;
    constexpr double kStill = 1e-12;
    CliqueCounts found;
    found.edge.assign(rho, rho + graph.edges);
    for (auto* half : {&found.first, &found.second}) {
        *half = found.edge;
        scale(graph.edges, 0.5, half->data());
    }
    std::vector<double> into(graph.nodes, 0.0);  // the probability that a node has a parent
    for (Index e = 0; e < graph.edges; ++e) {
        into[graph.first(e)] += found.second[e];
        into[graph.second(e)] += found.first[e];
    }
    double moved = 1.0;
    for (int sweep = 0; sweep < kMostSweeps && moved > kStill; ++sweep) {
        moved = 0.0;
        for (Index e = 0; e < graph.edges; ++e) {
            double& to_first = into[graph.first(e)];
            double& to_second = into[graph.second(e)];
            const double shift = std::clamp(0.5 * (to_first - to_second), -found.first[e], found.second[e]);
            found.first[e] += shift, found.second[e] -= shift;
            to_second += shift, to_first -= shift;
            moved = std::max(moved, std::abs(shift));
        }
    }
    found.node.resize(graph.nodes);
    for (Index v = 0; v < graph.nodes; ++v) found.node[v] = 1.0 - into[v];
    return found;
}

// Counts that are the same for all nodes, and the same for all edges.
inline CliqueCounts constant_counts(const PairwiseGraph& graph, double node, double edge) {
    const auto nodes = static_cast<std::size_t>(graph.nodes), edges = static_cast<std::size_t>(graph.edges);
    return {std::vector<double>(nodes, node), std::vector<double>(edges, edge), std::vector<double>(edges, 0.0),
            std::vector<double>(edges, 0.0)};
}

using SharedCounts = std::vector<std::shared_ptr<const CliqueCounts>>;

// Calls make(graph) for `blocks` graphs, once for those with the same structure.
template <class GraphOf, class Make>
SharedCounts counts_by_structure(Index blocks, GraphOf&& graph_of, Make&& make) {
    std::map<std::vector<std::int32_t>, std::shared_ptr<const CliqueCounts>> known;
    SharedCounts all;
    for (Index i = 0; i < blocks; ++i) {
        const PairwiseGraph graph = graph_of(i);
        std::vector<std::int32_t> key(graph.ends, graph.ends + 2 * graph.edges);
        key.push_back(static_cast<std::int32_t>(graph.nodes));
        auto& counts = known[std::move(key)];
        if (!counts) counts = std::make_shared<const CliqueCounts>(make(graph));
        all.push_back(counts);
    }
    return all;
}

}  // namespace dualfield
