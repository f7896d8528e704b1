// Fields: training problems and what they say under given weights. Arrays are viewed, not copied; the Python
// object keeps them alive.
#include "bindings/bound_fields.hpp"
#include "bindings/chain_methods.hpp"
#include "bindings/field_arrays.hpp"
#include "bindings/span_methods.hpp"

namespace dualfield {
namespace {

ChainShape shape_of(Index K, const Vector<std::int32_t>& transitions, bool bias, bool begin, bool end) {
    ChainShape shape{K, {}, bias, begin, end};
    shape.transitions.assign(transitions.data(), transitions.data() + transitions.shape(0));
    for (std::size_t s = 0; s < shape.transitions.size(); ++s) {
        require(shape.transitions[s] >= 0 && shape.transitions[s] < K * K, "a transition is out of range");
        require(s == 0 || shape.transitions[s - 1] < shape.transitions[s], "transitions must increase");
    }
    return shape;
}

// Rows are short and many, so whole arrays are checked: a label that does not exceed the one before must begin a row.
void check_rows(const Vector<Index>& given_starts, const Vector<std::int32_t>& given_labels, Index labels) {
    const std::span starts(given_starts.data(), given_starts.shape(0));
    const std::span row_labels(given_labels.data(), given_labels.shape(0));
    require(!starts.empty() && starts[0] == 0, "row_starts must start with 0");
    require(never_decreases(given_starts), "row_starts must not decrease");
    require(starts.back() == static_cast<Index>(row_labels.size()), "row_labels must have row_starts[-1] entries");
    require(all_below(labels, given_labels), "a row label is out of range");
    Index drops = 0, between_rows = 0;
    for (std::size_t s = 1; s < row_labels.size(); ++s) drops += row_labels[s - 1] >= row_labels[s];
    for (std::size_t a = 1; a < starts.size(); ++a) {
        const auto s = static_cast<std::size_t>(starts[a]);
        if (starts[a - 1] < starts[a] && s < row_labels.size()) between_rows += row_labels[s - 1] >= row_labels[s];
    }
    require(drops == between_rows, "the labels of a row must increase");
}

}  // namespace

void bind_fields(nb::module_& m) {
    using namespace nb::literals;

    nb::class_<ChainAll> chain_all(m, "ChainAll", "A chain with a weight for every (attribute, label) pair.");
    chain_all.def(
        "__init__",
        [](ChainAll* self, Vector<Index> offsets, Vector<Index> indptr, Vector<std::int32_t> indices, Values values,
           Index attributes, Index labels, Vector<std::int32_t> transitions, bool bias, bool begin, bool end, Labels y,
           Values sample_weight, double l2) {
            const Attributes data = attributes_of(offsets, indptr, indices, values, attributes);
            check_targets(data, labels, y, sample_weight, l2);
            new (self) ChainAll(data, AllPairs(attributes, labels), shape_of(labels, transitions, bias, begin, end),
                                data_or_null(y), data_or_null(sample_weight), l2);
        },
        "offsets"_a.noconvert(), "indptr"_a.noconvert(), "indices"_a.noconvert(), "values"_a.noconvert().none(),
        "attributes"_a, "labels"_a, "transitions"_a.noconvert(), "bias"_a, "begin"_a, "end"_a, "y"_a.noconvert().none(),
        "sample_weight"_a.noconvert().none(), "l2"_a, nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(),
        nb::keep_alive<1, 4>(), nb::keep_alive<1, 5>(), nb::keep_alive<1, 12>(), nb::keep_alive<1, 13>());
    bind_common(chain_all);
    bind_span_methods(chain_all);
    bind_chain(chain_all);

    nb::class_<ObservedPairs>(m, "ObservedPairs", "Which (attribute, label) pairs have a weight; checked once.")
        .def(
            "__init__",
            [](ObservedPairs* self, Vector<Index> starts, Vector<std::int32_t> row_labels, Index labels) {
                check_rows(starts, row_labels, labels);
                require(static_cast<Index>(row_labels.shape(0)) <= ObservedPairs::kMaxWeights,
                        "there are too many pairs");
                new (self)
                    ObservedPairs(static_cast<Index>(starts.shape(0)) - 1, labels, starts.data(), row_labels.data());
            },
            "row_starts"_a.noconvert(), "row_labels"_a.noconvert(), "labels"_a);

    nb::class_<ChainObserved> chain_observed(m, "ChainObserved", "A chain with weights for observed pairs only.");
    chain_observed.def(
        "__init__",
        [](ChainObserved* self, Vector<Index> offsets, Vector<Index> indptr, Vector<std::int32_t> indices,
           Values values, Index attributes, Index labels, Vector<std::int32_t> transitions, bool bias, bool begin,
           bool end, Labels y, Values sample_weight, double l2, const ObservedPairs& pairs) {
            const Attributes data = attributes_of(offsets, indptr, indices, values, attributes);
            check_targets(data, labels, y, sample_weight, l2);
            require(pairs.attributes() == attributes && pairs.label_count() == labels,
                    "the observed pairs are of other attributes or labels");
            new (self) ChainObserved(data, pairs, shape_of(labels, transitions, bias, begin, end), data_or_null(y),
                                     data_or_null(sample_weight), l2);
        },
        "offsets"_a.noconvert(), "indptr"_a.noconvert(), "indices"_a.noconvert(), "values"_a.noconvert().none(),
        "attributes"_a, "labels"_a, "transitions"_a.noconvert(), "bias"_a, "begin"_a, "end"_a, "y"_a.noconvert().none(),
        "sample_weight"_a.noconvert().none(), "l2"_a, "pairs"_a, nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(),
        nb::keep_alive<1, 4>(), nb::keep_alive<1, 5>(), nb::keep_alive<1, 12>(), nb::keep_alive<1, 13>(),
        nb::keep_alive<1, 15>());
    bind_common(chain_observed);
    bind_span_methods(chain_observed);
    bind_chain(chain_observed);

    nb::class_<Multiclass> multiclass(m, "Multiclass", "Multinomial logistic regression, the one-node field.");
    multiclass.def(
        "__init__",
        [](Multiclass* self, Vector<Index> offsets, Vector<Index> indptr, Vector<std::int32_t> indices, Values values,
           Index attributes, Index labels, bool bias, Labels y, Values sample_weight, double l2) {
            const Attributes data = attributes_of(offsets, indptr, indices, values, attributes);
            require(data.positions() == data.blocks, "a multiclass block has exactly one position");
            for (Index p = 0; p < data.positions(); ++p)
                for (Index e = indptr.data()[p] + 1; e < indptr.data()[p + 1]; ++e)
                    require(indices.data()[e - 1] < indices.data()[e], "attributes must increase within a point");
            check_targets(data, labels, y, sample_weight, l2);
            new (self) Multiclass(data, labels, bias, data_or_null(y), data_or_null(sample_weight), l2);
        },
        "offsets"_a.noconvert(), "indptr"_a.noconvert(), "indices"_a.noconvert(), "values"_a.noconvert().none(),
        "attributes"_a, "labels"_a, "bias"_a, "y"_a.noconvert().none(), "sample_weight"_a.noconvert().none(), "l2"_a,
        nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>(), nb::keep_alive<1, 5>(),
        nb::keep_alive<1, 9>(), nb::keep_alive<1, 10>());
    bind_common(multiclass);

    m.def(
        "observed_pairs",
        [](Vector<Index> offsets, Vector<Index> indptr, Vector<std::int32_t> indices, Index attributes, Index labels,
           Vector<std::int32_t> y) {
            const Attributes data = attributes_of(offsets, indptr, indices, std::nullopt, attributes);
            check_targets(data, labels, y, std::nullopt, 1.0);
            std::vector<Index> starts;
            std::vector<std::int32_t> row_labels;
            observed_pairs(data, y.data(), labels, starts, row_labels);
            return std::make_pair(to_array(starts), to_array(row_labels));
        },
        "offsets"_a.noconvert(), "indptr"_a.noconvert(), "indices"_a.noconvert(), "attributes"_a, "labels"_a,
        "y"_a.noconvert(), "(row_starts, row_labels) of the (attribute, label) pairs that occur.");
}

}  // namespace dualfield
