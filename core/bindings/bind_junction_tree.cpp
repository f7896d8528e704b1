// Exact inference on one graph, by its junction tree.
#include <string>

#include "bindings/arrays.hpp"
#include "graphs/junction_tree.hpp"
#include "oracles/tree_inference.hpp"

namespace dualfield {
namespace {

using namespace nb::literals;

// Potentials of one graph: node (V, K); edge (K, K) shared, or (E, K, K).
using Tensor = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;

class BoundTree {
   public:
    BoundTree(Index nodes, Vector<std::int32_t> ends, Index labels, Index budget)
        : ends_(ends.data(), ends.data() + ends.shape(0)),
          graph_{nodes, static_cast<Index>(ends_.size() / 2), ends_.data()},
          tree_(checked(nodes, ends_, labels, graph_), labels, budget) {
        if (!tree_.complete()) throw std::invalid_argument("the graph " + tree_.refusal());
    }
    BoundTree(const BoundTree&) = delete;

    const JunctionTree& tree() const { return tree_; }
    Index nodes() const { return graph_.nodes; }
    Index edges() const { return graph_.edges; }

    PairwisePotentials potentials(const Tensor& node, const Tensor& edge) const {
        const auto K = static_cast<std::size_t>(tree_.labels());
        require(node.ndim() == 2 && node.shape(0) == static_cast<std::size_t>(graph_.nodes) && node.shape(1) == K,
                "node potentials must have shape (nodes, labels)");
        const bool shared = edge.ndim() == 2;
        require((shared || (edge.ndim() == 3 && edge.shape(0) == static_cast<std::size_t>(graph_.edges))) &&
                    edge.shape(edge.ndim() - 2) == K && edge.shape(edge.ndim() - 1) == K,
                "edge potentials must have shape (labels, labels) or (edges, labels, labels)");
        return {graph_, tree_.labels(), node.data(), edge.data(), shared ? 0 : tree_.labels() * tree_.labels()};
    }

   private:
    static const PairwiseGraph& checked(Index nodes, const std::vector<std::int32_t>& ends, Index labels,
                                        const PairwiseGraph& graph) {
        require(nodes >= 0 && labels >= 1 && ends.size() % 2 == 0, "the graph's size is wrong");
        for (std::size_t e = 0; e < ends.size(); e += 2)
            require(
                ends[e] >= 0 && ends[e] < nodes && ends[e + 1] >= 0 && ends[e + 1] < nodes && ends[e] != ends[e + 1],
                "an edge's end is out of range, or it joins a node to itself");
        return graph;
    }

    std::vector<std::int32_t> ends_;
    PairwiseGraph graph_;
    JunctionTree tree_;
};

auto infer_on_tree(const BoundTree& bound, Tensor node, Tensor edge) {
    const JunctionTree& tree = bound.tree();
    const PairwisePotentials potentials = bound.potentials(node, edge);
    const auto K = static_cast<std::size_t>(tree.labels());
    auto table = new_array<double, 1>({static_cast<std::size_t>(tree.table_size())});
    auto nodes = new_array<double, 2>({static_cast<std::size_t>(bound.nodes()), K});
    auto edges = new_array<double, 3>({static_cast<std::size_t>(bound.edges()), K, K});
    double log_z = 0.0;
    {
        nb::gil_scoped_release release;
        JunctionTreeOracle oracle;
        log_z = oracle.marginals(tree, potentials, table.data());
        oracle.read(
            tree, table.data(), nodes.data(),
            [&](Index e, const double* mu) {
                std::copy(mu, mu + K * K, edges.data() + static_cast<std::size_t>(e) * K * K);
            },
            [](Index, const double*) {});
    }
    return std::make_tuple(log_z, nodes, edges, table);
}

}  // namespace

void bind_junction_tree(nb::module_& m) {
    nb::class_<BoundTree>(m, "JunctionTree", "The cliques of a graph, and exact inference on them.")
        .def(nb::init<Index, Vector<std::int32_t>, Index, Index>(), "nodes"_a, "ends"_a.noconvert(), "labels"_a,
             "budget"_a, nb::call_guard<nb::gil_scoped_release>())
        .def_prop_ro("treewidth", [](const BoundTree& bound) { return bound.tree().treewidth(); })
        .def(
            "cliques",
            [](const BoundTree& bound) {
                nb::list all;
                for (const Clique& c : bound.tree().cliques()) {
                    const std::int32_t* nodes = bound.tree().nodes(c);
                    all.append(nb::make_tuple(to_array(std::vector<std::int32_t>(nodes, nodes + c.size)), c.shared,
                                              c.parent, c.table, c.separator));
                }
                return all;
            },
            "For each clique: its nodes, how many of them, the first, it shares with its parent, the parent or -1, "
            "where "
            "its table starts and where that of its separator does.")
        .def("infer", &infer_on_tree, "node"_a.noconvert(), "edge"_a.noconvert(),
             "(log-partition, node marginals, edge marginals, table of cliques and separators)")
        .def(
            "decode",
            [](const BoundTree& bound, Tensor node, Tensor edge) {
                const PairwisePotentials potentials = bound.potentials(node, edge);
                auto labels = new_array<std::int32_t, 1>({static_cast<std::size_t>(bound.nodes())});
                double score = 0.0;
                {
                    nb::gil_scoped_release release;
                    score = JunctionTreeOracle().decode(bound.tree(), potentials, labels.data());
                }
                return std::make_pair(labels, score);
            },
            "node"_a.noconvert(), "edge"_a.noconvert(), "(a most probable labelling, its score)")
        .def(
            "sample",
            [](const BoundTree& bound, Tensor node, Tensor edge, Index count, std::uint64_t seed) {
                require(count >= 0, "the number of samples must not be negative");
                const PairwisePotentials potentials = bound.potentials(node, edge);
                auto samples = new_array<std::int32_t, 2>(
                    {static_cast<std::size_t>(count), static_cast<std::size_t>(bound.nodes())});
                nb::gil_scoped_release release;
                Random random(seed);
                JunctionTreeOracle().sample(bound.tree(), potentials, count, random, samples.data());
                return samples;
            },
            "node"_a.noconvert(), "edge"_a.noconvert(), "count"_a, "seed"_a, "Exact samples, (count, nodes).");
}

}  // namespace dualfield
