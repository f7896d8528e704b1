// Fields on graphs. Arrays are viewed, not copied; the Python object keeps them alive.
#include "bindings/field_arrays.hpp"
#include "bindings/field_methods.hpp"
#include "fields/graph.hpp"
#include "fields/pseudo_likelihood.hpp"

namespace dualfield {
namespace {

using namespace nb::literals;

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

GraphData graph_data_of(const GraphArguments& given) {
    const Attributes data = attributes_of(given.offsets, given.indptr, given.indices, given.values, given.attributes);
    check_targets(data, given.labels, given.y, given.sample_weight, given.l2);
    return {data,       edges_of(given, data), edge_shape_of(given),
            given.bias, data_or_null(given.y), data_or_null(given.sample_weight),
            given.l2};
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
               Others... others) {
            make(self,
                 graph_data_of({offsets, indptr, indices, values, attributes, labels, edge_offsets, ends, edge_features,
                                n_edge_features, pattern, pattern_values, parameters, edge_scale, bias, y,
                                sample_weight, l2}),
                 others...);
        },
        "offsets"_a.noconvert(), "indptr"_a.noconvert(), "indices"_a.noconvert(), "values"_a.noconvert().none(),
        "attributes"_a, "labels"_a, "edge_offsets"_a.noconvert(), "ends"_a.noconvert(),
        "edge_features"_a.noconvert().none(), "n_edge_features"_a, "pattern"_a.noconvert(),
        "pattern_values"_a.noconvert(), "parameters"_a, "edge_scale"_a, "bias"_a, "y"_a.noconvert().none(),
        "sample_weight"_a.noconvert().none(), "l2"_a, annotations..., nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(),
        nb::keep_alive<1, 4>(), nb::keep_alive<1, 5>(), nb::keep_alive<1, 8>(), nb::keep_alive<1, 9>(),
        nb::keep_alive<1, 10>(), nb::keep_alive<1, 17>(), nb::keep_alive<1, 18>());
}

}  // namespace

void bind_graphs(nb::module_& m) {
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
    graph
        .def(
            "treewidth",
            [](const Graph& field, Index i) {
                check_range(field, i, i + 1);
                return field.treewidth(i);
            },
            "block"_a)
        .def(
            "sample",
            [](const Graph& field, Vector<double> w, Index i, Index count, std::uint64_t seed) {
                check_weights(field, w);
                check_range(field, i, i + 1);
                require(count >= 0, "the number of samples must not be negative");
                auto out =
                    new_array<std::int32_t, 2>({static_cast<std::size_t>(count), positions_between(field, i, i + 1)});
                nb::gil_scoped_release release;
                Random random(seed);
                std::vector<double> theta(static_cast<std::size_t>(field.compact_size(i)));
                field.score(i, w.data(), theta.data());
                field.sample(i, theta.data(), count, random, out.data());
                return out;
            },
            "weights"_a.noconvert(), "block"_a, "count"_a, "seed"_a, "Exact samples of the labels of one graph.");

    nb::class_<PseudoLikelihood, GeneralField> pseudo(m, "PseudoLikelihood",
                                                      "Every node given the labels of its neighbours.");
    def_constructor<PseudoLikelihood>(pseudo, [](PseudoLikelihood* self, const GraphData& data) {
        require(data.labels != nullptr, "a pseudo-likelihood needs labels");
        new (self) PseudoLikelihood(data);
    });
}

}  // namespace dualfield
