// Fields on graphs. Arrays are viewed, not copied; the Python object keeps them alive.
#include <nanobind/stl/string.h>

#include <algorithm>
#include <string>
#include <type_traits>

#include "bindings/field_arrays.hpp"
#include "bindings/field_checks.hpp"
#include "bindings/options.hpp"
#include "fields/graph.hpp"
#include "fields/loopy_graph.hpp"
#include "fields/prediction.hpp"
#include "fields/pseudo_likelihood.hpp"
#include "fields/relaxed_bound.hpp"

namespace dualfield {
namespace {

using namespace nb::literals;

constexpr Index kMostCliqueWeights = Index{1} << 32;

// The arguments that all graph fields share.
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

    void each(auto&& argument) {
        argument("offsets", offsets);
        argument("indptr", indptr);
        argument("indices", indices);
        argument("values", values);
        argument("attributes", attributes);
        argument("labels", labels);
        argument("edge_offsets", edge_offsets);
        argument("ends", ends);
        argument("edge_features", edge_features);
        argument("n_edge_features", n_edge_features);
        argument("pattern", pattern);
        argument("pattern_values", pattern_values);
        argument("parameters", parameters);
        argument("edge_scale", edge_scale);
        argument("bias", bias);
        argument("y", y);
        argument("sample_weight", sample_weight);
        argument("l2", l2);
        argument("clique_offsets", clique_offsets);
        argument("clique_starts", clique_starts);
        argument("clique_nodes", clique_nodes);
        argument("clique_sizes", clique_sizes);
    }
};

// Those of a field beside them.
struct ExactArguments {
    Index table_budget;
    void each(auto&& argument) { argument("table_budget", table_budget); }
};
struct LoopyArguments {
    std::string inference;
    double damping;
    Index max_sweeps;
    double tolerance, node_count, edge_count;
    Values edge_probabilities;
    void each(auto&& argument) {
        argument("inference", inference);
        argument("damping", damping);
        argument("max_sweeps", max_sweeps);
        argument("tolerance", tolerance);
        argument("node_count", node_count);
        argument("edge_count", edge_count);
        argument("edge_probabilities", edge_probabilities);
    }
};
struct NoArguments {
    void each(auto&&) {}
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

// A constructor with the shared arguments and a field's own: make(where, data, own).
template <class F, class Own, class Make>
void def_constructor(nb::class_<F, GeneralField>& bound, Make make) {
    static std::string signature;
    Signature written("def __init__(self, *");
    GraphArguments().each(written);
    Own().each(written);
    signature = written.returning("None");
    bound.def(
        "__init__",
        [make](F* self, const nb::kwargs& given) {
            GraphArguments shared;
            Own own;
            Keywords keywords(given);
            shared.each(keywords);
            own.each(keywords);
            keywords.require_no_other();
            make(self, graph_data_of(shared), own);
        },
        "arguments"_a, nb::keep_alive<1, 2>(), nb::sig(signature.c_str()));
}

}  // namespace

void bind_graphs(nb::module_& m) {
    nb::class_<Graph, GeneralField> graph(m, "Graph", "Graphs with exact inference on junction trees.");
    def_constructor<Graph, ExactArguments>(graph, [](Graph* self, const GraphData& data, const ExactArguments& own) {
        require(own.table_budget >= 1, "table_budget must be at least 1");
        nb::gil_scoped_release release;
        new (self) Graph(data, own.table_budget);
    });
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
    def_constructor<LoopyGraph, LoopyArguments>(loopy, [](LoopyGraph* self, const GraphData& data,
                                                          const LoopyArguments& own) {
        const auto& [inference, damping, max_sweeps, tolerance, node_count, edge_count, edge_probabilities] = own;
        require(data.cliques.sizes.empty(), "approximate inference knows no larger cliques");
        require(0.0 <= damping && damping < 1.0, "damping must be in [0, 1)");
        require(max_sweeps >= 1 && tolerance > 0.0, "max_sweeps and tolerance must be positive");
        require(node_count > 0.0 && edge_count > 0.0, "entropies must have positive counts");
        const Index edges = data.edges.offsets[data.attributes.blocks];
        if (edge_probabilities) {
            require(static_cast<Index>(edge_probabilities->shape(0)) == edges, "there must be one probability an edge");
            for (Index e = 0; e < edges; ++e)
                require(0.0 < edge_probabilities->data()[e] && edge_probabilities->data()[e] <= 1.0,
                        "an edge's probability must be in (0, 1]");
        }
        const Inference kind = inference_of(inference);
        nb::gil_scoped_release release;
        new (self) LoopyGraph(data, kind, {damping, max_sweeps, tolerance, Schedule::kSequential},
                              {node_count, edge_count, data_or_null(edge_probabilities)});
    });
    loopy.def(
        "infer",
        [](const LoopyGraph& field, Vector<double> w, Index first, Index last, Index threads) {
            check_weights(field, w);
            check_range(field, first, last);
            const auto count = static_cast<std::size_t>(last - first);
            auto marginals =
                new_array<double, 2>({positions_between(field, first, last), static_cast<std::size_t>(field.labels())});
            auto sweeps = new_array<Index, 1>({count});
            auto converged = new_array<bool, 1>({count});
            nb::gil_scoped_release release;
            over_blocks(field, first, last, threads, [&](Index a, Index b) {
                GeneralField::Workspace workspace;
                std::vector<double> m;
                double* out = marginals.data() + positions_between(field, first, a) * extent(field.labels());
                for_each_scored(field, w.data(), a, b, [&](Index i, const double* theta) {
                    const Approximation found =
                        field.infer_and_report(i, theta, room(m, field.compact_size(i)), workspace);
                    const auto size = static_cast<Index>(positions_between(field, i, i + 1)) * field.labels();
                    out = std::copy(m.data(), m.data() + size, out);
                    sweeps.data()[i - first] = found.sweeps;
                    converged.data()[i - first] = found.converged;
                });
            });
            return std::make_tuple(marginals, sweeps, converged);
        },
        "weights"_a.noconvert(), "first"_a, "last"_a, "threads"_a = 1,
        "(node marginals, sweeps, whether they converged) for blocks first .. last - 1.");
    loopy.def(
        "relaxed_bound",
        [](const LoopyGraph& field, Vector<double> w) {
            check_weights(field, w);
            check_trainable(field);
            require(field.has_sides(), "this inference has no bound from below");
            nb::gil_scoped_release release;
            const Certificate found = bound_relaxed(field, w.data());
            return std::make_tuple(found.primal, found.dual, found.gap);
        },
        "weights"_a.noconvert(), "(primal, dual, gap) as far as they are proven at these weights, converged or not.");

    nb::class_<PseudoLikelihood, GeneralField> pseudo(m, "PseudoLikelihood",
                                                      "Every node given the labels of its neighbours.");
    def_constructor<PseudoLikelihood, NoArguments>(
        pseudo, [](PseudoLikelihood* self, const GraphData& data, NoArguments) {
            require(data.labels != nullptr, "a pseudo-likelihood needs labels");
            require(data.cliques.sizes.empty(), "the pseudo-likelihood knows no larger cliques");
            new (self) PseudoLikelihood(data);
        });
}

}  // namespace dualfield
