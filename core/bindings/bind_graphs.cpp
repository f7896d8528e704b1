// Fields on graphs. Arrays are viewed, not copied; the Python object keeps them alive.
#include <nanobind/stl/string.h>

#include <algorithm>
#include <string>
#include <type_traits>

#include "bindings/field_arrays.hpp"
#include "bindings/field_methods.hpp"
#include "bindings/trainable.hpp"
#include "fields/graph.hpp"
#include "fields/loopy_graph.hpp"
#include "fields/pseudo_likelihood.hpp"
#include "fields/relaxed_bound.hpp"

namespace dualfield {
namespace {

using namespace nb::literals;

constexpr Index kMostCliqueWeights = Index{1} << 32;

// The arguments that all graph fields share, in the order of their constructors.
struct GraphArguments {
    Vector<Index> offsets, indptr;
    Vector<std::int32_t> indices;
    Values values;
    Index attributes, labels;
    Vector<Index> edge_offsets;
    Vector<std::int32_t> ends;
    Values edge_features;
    Index n_edge_features;
    Vector<std::int32_t> pattern;
    Vector<double> pattern_values;
    Index parameters;
    double edge_scale;
    bool bias;
    Labels y;
    Values sample_weight;
    double l2;
    std::optional<Vector<Index>> clique_offsets, clique_starts;
    Labels clique_nodes;
    std::optional<Vector<Index>> clique_sizes;
};

Edges edges_of(const GraphArguments& given, const Attributes& data) {
    const auto* offsets = given.edge_offsets.data();
    require(static_cast<Index>(given.edge_offsets.shape(0)) == data.blocks + 1 && offsets[0] == 0,
            "edge_offsets must have one entry more than there are graphs, and start with 0");
    for (Index i = 0; i < data.blocks; ++i) require(offsets[i] <= offsets[i + 1], "edge_offsets must not decrease");
    const Index edges = offsets[data.blocks];
    require(static_cast<Index>(given.ends.shape(0)) == 2 * edges, "ends must have two entries an edge");
    for (Index i = 0; i < data.blocks; ++i)
        for (Index e = 2 * offsets[i]; e < 2 * offsets[i + 1]; e += 2) {
            const std::int32_t a = given.ends.data()[e], b = given.ends.data()[e + 1];
            require(a >= 0 && b >= 0 && a < data.length(i) && b < data.length(i), "an edge's end is out of range");
            require(a != b, "an edge joins a node to itself");
        }
    require(given.n_edge_features >= 1, "there must be at least one edge feature");
    require(given.edge_features ? static_cast<Index>(given.edge_features->shape(0)) == edges * given.n_edge_features
                                : given.n_edge_features == 1,
            "edge_features must have n_edge_features entries an edge");
    return {offsets, given.ends.data(), data_or_null(given.edge_features)};
}

EdgeShape edge_shape_of(const GraphArguments& given) {
    const std::size_t pairs = static_cast<std::size_t>(given.labels * given.labels);
    require(given.pattern.shape(0) == pairs && given.pattern_values.shape(0) == pairs,
            "pattern and pattern_values must have one entry for each pair of labels");
    require(given.parameters >= 0, "the number of parameters must not be negative");
    for (std::size_t p = 0; p < pairs; ++p) {
        require(given.pattern.data()[p] >= -1 && given.pattern.data()[p] < given.parameters,
                "a pair's parameter is out of range");
        require(std::isfinite(given.pattern_values.data()[p]), "pattern_values must be finite");
    }
    require(std::isfinite(given.edge_scale) && given.edge_scale > 0.0, "edge_scale must be positive and finite");
    return {given.labels,
            given.n_edge_features,
            given.parameters,
            {given.pattern.data(), given.pattern.data() + pairs},
            {given.pattern_values.data(), given.pattern_values.data() + pairs},
            given.edge_scale};
}

CliqueLists cliques_of(const GraphArguments& given, const Attributes& data) {
    CliqueLists lists;
    if (!given.clique_sizes) return lists;
    require(given.clique_offsets && given.clique_starts && given.clique_nodes, "the arrays of cliques go together");
    const auto copy = [](const auto& array) {
        return std::vector<std::remove_cvref_t<decltype(*array->data())>>(array->data(),
                                                                          array->data() + array->shape(0));
    };
    lists = {copy(given.clique_offsets), copy(given.clique_starts), copy(given.clique_nodes), copy(given.clique_sizes)};
    for (std::size_t k = 0; k < lists.sizes.size(); ++k)
        require(lists.sizes[k] >= 3 && lists.sizes[k] <= kMostVariables &&
                    (k == 0 || lists.sizes[k - 1] < lists.sizes[k]) &&
                    table_length(given.labels, lists.sizes[k]) <= kMostCliqueWeights,
                "clique sizes must increase from 3 on, and their weights be few enough to hold");
    require(static_cast<Index>(lists.offsets.size()) == data.blocks + 1 && lists.offsets[0] == 0 &&
                lists.offsets.back() + 1 == static_cast<Index>(lists.starts.size()) && lists.starts[0] == 0 &&
                lists.starts.back() == static_cast<Index>(lists.nodes.size()),
            "the arrays of cliques do not fit together");
    for (Index i = 0; i < data.blocks; ++i) {
        require(lists.offsets[i] <= lists.offsets[i + 1], "clique_offsets must not decrease");
        for (Index q = lists.offsets[i]; q < lists.offsets[i + 1]; ++q) {
            require(std::binary_search(lists.sizes.begin(), lists.sizes.end(), lists.starts[q + 1] - lists.starts[q]),
                    "a clique is of a size that has no weights");
            std::vector<std::int32_t> members(lists.nodes.begin() + lists.starts[q],
                                              lists.nodes.begin() + lists.starts[q + 1]);
            std::sort(members.begin(), members.end());
            require(members.front() >= 0 && members.back() < data.length(i) &&
                        std::adjacent_find(members.begin(), members.end()) == members.end(),
                    "a clique's node is out of range, or stands twice");
        }
    }
    return lists;
}

GraphData graph_data_of(const GraphArguments& given) {
    const Attributes data = attributes_of(given.offsets, given.indptr, given.indices, given.values, given.attributes);
    check_targets(data, given.labels, given.y, given.sample_weight, given.l2);
    return {data,       edges_of(given, data),  edge_shape_of(given),
            given.bias, data_or_null(given.y),  data_or_null(given.sample_weight),
            given.l2,   cliques_of(given, data)};
}

Inference inference_of(const std::string& name) {
    if (name == "bp") return Inference::kBeliefPropagation;
    if (name == "trw") return Inference::kTreeReweighted;
    if (name == "shannon") return Inference::kShannon;
    if (name == "gini") return Inference::kGini;
    require(name == "mean_field", "there is no such inference");
    return Inference::kMeanField;
}

// A constructor with the shared arguments and others after them; make(where, data, others...).
template <class F, class... Others, class Make, class... Annotations>
void def_constructor(nb::class_<F, GeneralField>& bound, Make make, const Annotations&... annotations) {
    bound.def(
        "__init__",
        [make](F* self, Vector<Index> offsets, Vector<Index> indptr, Vector<std::int32_t> indices, Values values,
               Index attributes, Index labels, Vector<Index> edge_offsets, Vector<std::int32_t> ends,
               Values edge_features, Index n_edge_features, Vector<std::int32_t> pattern, Vector<double> pattern_values,
               Index parameters, double edge_scale, bool bias, Labels y, Values sample_weight, double l2,
               std::optional<Vector<Index>> clique_offsets, std::optional<Vector<Index>> clique_starts,
               Labels clique_nodes, std::optional<Vector<Index>> clique_sizes, Others... others) {
            make(self, graph_data_of({offsets,        indptr,
                                      indices,        values,
                                      attributes,     labels,
                                      edge_offsets,   ends,
                                      edge_features,  n_edge_features,
                                      pattern,        pattern_values,
                                      parameters,     edge_scale,
                                      bias,           y,
                                      sample_weight,  l2,
                                      clique_offsets, clique_starts,
                                      clique_nodes,   clique_sizes}),
                 others...);
        },
        "offsets"_a.noconvert(), "indptr"_a.noconvert(), "indices"_a.noconvert(), "values"_a.noconvert().none(),
        "attributes"_a, "labels"_a, "edge_offsets"_a.noconvert(), "ends"_a.noconvert(),
        "edge_features"_a.noconvert().none(), "n_edge_features"_a, "pattern"_a.noconvert(),
        "pattern_values"_a.noconvert(), "parameters"_a, "edge_scale"_a, "bias"_a, "y"_a.noconvert().none(),
        "sample_weight"_a.noconvert().none(), "l2"_a, "clique_offsets"_a.noconvert().none(),
        "clique_starts"_a.noconvert().none(), "clique_nodes"_a.noconvert().none(), "clique_sizes"_a.noconvert().none(),
        annotations..., nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>(), nb::keep_alive<1, 5>(),
        nb::keep_alive<1, 8>(), nb::keep_alive<1, 9>(), nb::keep_alive<1, 10>(), nb::keep_alive<1, 17>(),
        nb::keep_alive<1, 18>());
}

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

}  // namespace

void bind_graphs(nb::module_& m) {
    bind_junction_tree(m);
    nb::class_<GeneralField> general(m, "GeneralField", "A field on graphs, of any kind.");
    bind_common(general);

    nb::class_<Graph, GeneralField> graph(m, "Graph", "Graphs with exact inference on junction trees.");
    def_constructor<Graph, Index>(
        graph,
        [](Graph* self, const GraphData& data, Index table_budget) {
            require(table_budget >= 1, "table_budget must be at least 1");
            nb::gil_scoped_release release;
            new (self) Graph(data, table_budget);
        },
        "table_budget"_a);
    graph.def_prop_ro("forests", &Graph::forests)
        .def(
            "treewidth",
            [](const Graph& field, Index i) {
                check_block(field, i);
                return field.treewidth(i);
            },
            "block"_a)
        .def(
            "sample",
            [](const Graph& field, Vector<double> w, Index i, Index count, std::uint64_t seed) {
                check_weights(field, w);
                check_block(field, i);
                require(count >= 0, "the number of samples must not be negative");
                auto out =
                    new_array<std::int32_t, 2>({static_cast<std::size_t>(count), positions_between(field, i, i + 1)});
                nb::gil_scoped_release release;
                Random random(seed);
                std::vector<double> theta(static_cast<std::size_t>(field.compact_size(i)));
                score_block(field, w.data(), i, theta.data());
                field.sample(i, theta.data(), count, random, out.data());
                return out;
            },
            "weights"_a.noconvert(), "block"_a, "count"_a, "seed"_a, "Exact samples of the labels of one graph.");

    nb::class_<LoopyGraph, GeneralField> loopy(m, "LoopyGraph", "Graphs with approximate inference.");
    def_constructor<LoopyGraph, std::string, double, Index, double, double, double, Values>(
        loopy,
        [](LoopyGraph* self, const GraphData& data, const std::string& inference, double damping, Index max_sweeps,
           double tolerance, double node_count, double edge_count, Values edge_probabilities) {
            require(data.cliques.sizes.empty(), "approximate inference knows no larger cliques");
            require(0.0 <= damping && damping < 1.0, "damping must be in [0, 1)");
            require(max_sweeps >= 1 && tolerance > 0.0, "max_sweeps and tolerance must be positive");
            require(node_count > 0.0 && edge_count > 0.0, "entropies must have positive counts");
            const Index edges = data.edges.offsets[data.attributes.blocks];
            if (edge_probabilities) {
                require(static_cast<Index>(edge_probabilities->shape(0)) == edges,
                        "there must be one probability an edge");
                for (Index e = 0; e < edges; ++e)
                    require(0.0 < edge_probabilities->data()[e] && edge_probabilities->data()[e] <= 1.0,
                            "an edge's probability must be in (0, 1]");
            }
            const Inference kind = inference_of(inference);
            nb::gil_scoped_release release;
            new (self) LoopyGraph(data, kind, {damping, max_sweeps, tolerance, Schedule::kSequential},
                                  {node_count, edge_count, data_or_null(edge_probabilities)});
        },
        "inference"_a, "damping"_a, "max_sweeps"_a, "tolerance"_a, "node_count"_a, "edge_count"_a,
        "edge_probabilities"_a.noconvert().none());
    loopy.def(
        "infer",
        [](const LoopyGraph& field, Vector<double> w, Index first, Index last) {
            check_weights(field, w);
            check_range(field, first, last);
            const auto count = static_cast<std::size_t>(last - first);
            auto marginals =
                new_array<double, 2>({positions_between(field, first, last), static_cast<std::size_t>(field.labels())});
            auto sweeps = new_array<Index, 1>({count});
            auto converged = new_array<bool, 1>({count});
            nb::gil_scoped_release release;
            GeneralField::Workspace workspace;
            std::vector<double> m;
            double* out = marginals.data();
            for_each_scored(field, w.data(), first, last, [&](Index i, const double* theta) {
                const Approximation found = field.infer_and_report(i, theta, room(m, field.compact_size(i)), workspace);
                const auto size = static_cast<Index>(positions_between(field, i, i + 1)) * field.labels();
                out = std::copy(m.data(), m.data() + size, out);
                sweeps.data()[i - first] = found.sweeps;
                converged.data()[i - first] = found.converged;
            });
            return std::make_tuple(marginals, sweeps, converged);
        },
        "weights"_a.noconvert(), "first"_a, "last"_a,
        "(node marginals, sweeps, whether they converged) for blocks first .. last - 1.");
    loopy.def(
        "relaxed_bound",
        [](const LoopyGraph& field, Vector<double> w) {
            check_weights(field, w);
            check_trainable(field);
            require(field.has_sides(), "this inference has no bound from below");
            nb::gil_scoped_release release;
            return certificate_tuple(bound_relaxed(field, w.data()));
        },
        "weights"_a.noconvert(), "(primal, dual, gap) as far as they are proven at these weights, converged or not.");

    nb::class_<PseudoLikelihood, GeneralField> pseudo(m, "PseudoLikelihood",
                                                      "Every node given the labels of its neighbours.");
    def_constructor<PseudoLikelihood>(pseudo, [](PseudoLikelihood* self, const GraphData& data) {
        require(data.labels != nullptr, "a pseudo-likelihood needs labels");
        require(data.cliques.sizes.empty(), "the pseudo-likelihood knows no larger cliques");
        new (self) PseudoLikelihood(data);
    });
}

}  // namespace dualfield
