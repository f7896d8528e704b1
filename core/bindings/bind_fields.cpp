// Fields: training problems and what they say under given weights. Arrays are viewed, not copied; the Python
// object keeps them alive.
#include <nanobind/stl/optional.h>

#include <optional>

#include "bindings/arrays.hpp"
#include "bindings/bound_fields.hpp"
#include "fields/prediction.hpp"
#include "solvers/objective.hpp"

namespace dualfield {
namespace {

using Labels = std::optional<Vector<std::int32_t>>;
using Values = std::optional<Vector<double>>;

template <class T>
const T* data_or_null(const std::optional<Vector<T>>& array) {
    return array ? array->data() : nullptr;
}

// The last line of defence against reading out of bounds: the Python layer has already said what is wrong,
// and where.
Attributes attributes_of(const Vector<Index>& offsets, const Vector<Index>& indptr, const Vector<std::int32_t>& indices,
                         const Values& values, Index count) {
    require(offsets.shape(0) >= 1 && offsets.data()[0] == 0, "offsets must start with 0");
    const Index blocks = static_cast<Index>(offsets.shape(0)) - 1;
    for (Index i = 0; i < blocks; ++i)
        require(offsets.data()[i] < offsets.data()[i + 1], "offsets must increase: no block may be empty");
    const Index positions = offsets.data()[blocks];
    require(static_cast<Index>(indptr.shape(0)) == positions + 1 && indptr.data()[0] == 0,
            "indptr must have one entry more than there are positions, and start with 0");
    for (Index p = 0; p < positions; ++p) require(indptr.data()[p] <= indptr.data()[p + 1], "indptr must not decrease");
    const Index entries = indptr.data()[positions];
    require(static_cast<Index>(indices.shape(0)) == entries, "indices must have indptr[-1] entries");
    require(!values || static_cast<Index>(values->shape(0)) == entries, "values must be as many as indices");
    for (Index e = 0; e < entries; ++e)
        require(indices.data()[e] >= 0 && indices.data()[e] < count, "an attribute index is out of range");
    return {blocks, offsets.data(), indptr.data(), indices.data(), data_or_null(values), count};
}

void check_targets(const Attributes& data, Index K, const Labels& labels, const Values& sample_weight, double l2) {
    require(K >= 1, "there must be at least one label");
    require(std::isfinite(l2) && l2 > 0.0, "l2 must be positive and finite");
    if (labels) {
        require(static_cast<Index>(labels->shape(0)) == data.positions(), "labels must be as many as positions");
        for (Index p = 0; p < data.positions(); ++p)
            require(labels->data()[p] >= 0 && labels->data()[p] < K, "a label is out of range");
    }
    require(!sample_weight || static_cast<Index>(sample_weight->shape(0)) == data.blocks,
            "sample_weight must be as many as blocks");
    for (Index i = 0; sample_weight && i < data.blocks; ++i)
        require(std::isfinite(sample_weight->data()[i]) && sample_weight->data()[i] >= 0.0,
                "sample weights must be finite and not negative");
}

ChainShape shape_of(Index K, const Vector<std::int32_t>& transitions, bool bias, bool begin, bool end) {
    ChainShape shape{K, {}, bias, begin, end};
    shape.transitions.assign(transitions.data(), transitions.data() + transitions.shape(0));
    for (std::size_t s = 0; s < shape.transitions.size(); ++s) {
        require(shape.transitions[s] >= 0 && shape.transitions[s] < K * K, "a transition is out of range");
        require(s == 0 || shape.transitions[s - 1] < shape.transitions[s], "transitions must increase");
    }
    return shape;
}

template <class F>
void check_weights(const F& field, const Vector<double>& w) {
    require(static_cast<Index>(w.shape(0)) == field.dimension(), "the number of weights does not fit the field");
}

template <class F>
void check_range(const F& field, Index first, Index last) {
    require(0 <= first && first <= last && last <= field.blocks(), "the range of blocks is out of bounds");
}

std::size_t positions_between(const Multiclass&, Index first, Index last) {
    return static_cast<std::size_t>(last - first);
}

template <class Rows>
std::size_t positions_between(const Chain<Rows>& field, Index first, Index last) {
    return static_cast<std::size_t>(first == last ? 0 : field.offset(last) - field.offset(first));
}

template <class F>
void bind_common(nb::class_<F>& bound) {
    using namespace nb::literals;
    bound.def_prop_ro("blocks", &F::blocks)
        .def_prop_ro("dimension", &F::dimension)
        .def_prop_ro("labels", &F::labels)
        .def_prop_ro("l2", &F::l2)
        .def(
            "primal",
            [](const F& field, Vector<double> w) {
                check_weights(field, w);
                require(field.labelled(), "the field has no labels to compare with");
                nb::gil_scoped_release release;
                return evaluate_primal(field, w.data(), nullptr);
            },
            "weights"_a.noconvert(), "The objective in sum units.")
        .def(
            "sample_primal",
            [](const F& field, Vector<double> w, Vector<Index> blocks) {
                check_weights(field, w);
                require(field.labelled(), "the field has no labels to compare with");
                const Index count = static_cast<Index>(blocks.shape(0));
                for (Index k = 0; k < count; ++k) check_range(field, blocks.data()[k], blocks.data()[k] + 1);
                nb::gil_scoped_release release;
                return evaluate_sample(field, w.data(), blocks.data(), count);
            },
            "weights"_a.noconvert(), "blocks"_a.noconvert(),
            "The losses of some blocks and their share of the penalty.")
        .def(
            "gradient",
            [](const F& field, Vector<double> w) {
                check_weights(field, w);
                require(field.labelled(), "the field has no labels to compare with");
                auto gradient = new_array<double, 1>({w.shape(0)});
                double value = 0.0;
                {
                    nb::gil_scoped_release release;
                    value = evaluate_primal(field, w.data(), gradient.data());
                }
                return std::make_pair(value, gradient);
            },
            "weights"_a.noconvert(), "(objective in sum units, its gradient)")
        .def(
            "hessian_product",
            [](const F& field, Vector<double> w, Vector<double> v) {
                check_weights(field, w);
                check_weights(field, v);
                require(field.labelled(), "the field has no labels to compare with");
                auto product = new_array<double, 1>({w.shape(0)});
                nb::gil_scoped_release release;
                evaluate_hessian_product(field, w.data(), v.data(), product.data());
                return product;
            },
            "weights"_a.noconvert(), "vector"_a.noconvert(), "The Hessian of the objective times a vector.")
        .def(
            "decode",
            [](const F& field, Vector<double> w, Index first, Index last) {
                check_weights(field, w);
                check_range(field, first, last);
                auto path = new_array<std::int32_t, 1>({positions_between(field, first, last)});
                nb::gil_scoped_release release;
                decode_blocks(field, w.data(), first, last, path.data());
                return path;
            },
            "weights"_a.noconvert(), "first"_a, "last"_a, "The best labels of blocks first .. last - 1.")
        .def(
            "marginals",
            [](const F& field, Vector<double> w, Index first, Index last) {
                check_weights(field, w);
                check_range(field, first, last);
                auto out = new_array<double, 2>(
                    {positions_between(field, first, last), static_cast<std::size_t>(field.labels())});
                nb::gil_scoped_release release;
                infer_blocks(field, w.data(), first, last, out.data());
                return out;
            },
            "weights"_a.noconvert(), "first"_a, "last"_a, "Node marginals of blocks first .. last - 1.")
        .def(
            "potentials",
            [](const F& field, Vector<double> w, Index i) {
                check_weights(field, w);
                check_range(field, i, i + 1);
                auto out = new_array<double, 1>({static_cast<std::size_t>(field.compact_size(i))});
                field.score(i, w.data(), out.data());
                return out;
            },
            "weights"_a.noconvert(), "block"_a, "The compact potentials of one block.")
        .def(
            "radius",
            [](const F& field, Index i) {
                require(field.labelled(), "the field has no labels to compare with");
                check_range(field, i, i + 1);
                std::vector<double> m(static_cast<std::size_t>(field.compact_size(i)));
                typename F::Direction direction;
                field.contrast(i, m.data());
                return std::make_pair(field.pull(i, m.data(), direction), field.radius_bound(i));
            },
            "block"_a, "How far the features of a block lie apart, squared: (an estimate, a bound).");
}

template <class Rows>
void bind_chain(nb::class_<Chain<Rows>>& bound) {
    using namespace nb::literals;
    using F = Chain<Rows>;
    bind_common(bound);
    bound
        .def(
            "kbest",
            [](const F& field, Vector<double> w, Index i, Index k) {
                check_weights(field, w);
                check_range(field, i, i + 1);
                require(k >= 1, "k must be at least 1");
                k = std::min(k, labellings(field.length(i), field.labels()));
                const std::size_t T = static_cast<std::size_t>(field.length(i));
                std::vector<std::int32_t> paths(static_cast<std::size_t>(k) * T);
                std::vector<double> log_p(static_cast<std::size_t>(k));
                Index found = 0;
                {
                    nb::gil_scoped_release release;
                    found = kbest_of_block(field, w.data(), i, k, paths.data(), log_p.data());
                }
                auto out = new_array<std::int32_t, 2>({static_cast<std::size_t>(found), T});
                std::copy(paths.begin(), paths.begin() + found * field.length(i), out.data());
                log_p.resize(static_cast<std::size_t>(found));
                return std::make_pair(out, to_array(log_p));
            },
            "weights"_a.noconvert(), "block"_a, "k"_a, "(labels, log-probabilities), best first.")
        .def(
            "sample",
            [](const F& field, Vector<double> w, Index i, Index count, std::uint64_t seed) {
                check_weights(field, w);
                check_range(field, i, i + 1);
                require(count >= 0, "the number of samples must not be negative");
                auto out = new_array<std::int32_t, 2>(
                    {static_cast<std::size_t>(count), static_cast<std::size_t>(field.length(i))});
                nb::gil_scoped_release release;
                Random random(seed);
                sample_block(field, w.data(), i, count, random, out.data());
                return out;
            },
            "weights"_a.noconvert(), "block"_a, "count"_a, "seed"_a, "Exact samples of the labels of one block.");
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
    bind_chain(chain_all);

    nb::class_<ObservedPairs>(m, "ObservedPairs", "Which (attribute, label) pairs have a weight; checked once.")
        .def(
            "__init__",
            [](ObservedPairs* self, Vector<Index> starts, Vector<std::int32_t> row_labels, Index labels) {
                require(starts.shape(0) >= 1 && starts.data()[0] == 0, "row_starts must start with 0");
                const Index attributes = static_cast<Index>(starts.shape(0)) - 1;
                for (Index a = 0; a < attributes; ++a)
                    require(starts.data()[a] <= starts.data()[a + 1], "row_starts must not decrease");
                require(starts.data()[attributes] == static_cast<Index>(row_labels.shape(0)),
                        "row_labels must have row_starts[-1] entries");
                for (std::size_t s = 0; s < row_labels.shape(0); ++s)
                    require(row_labels.data()[s] >= 0 && row_labels.data()[s] < labels, "a row label is out of range");
                for (Index a = 0; a < attributes; ++a)
                    for (Index s = starts.data()[a] + 1; s < starts.data()[a + 1]; ++s)
                        require(row_labels.data()[s - 1] < row_labels.data()[s], "the labels of a row must increase");
                require(static_cast<Index>(row_labels.shape(0)) <= ObservedPairs::kMaxWeights,
                        "there are too many pairs");
                new (self) ObservedPairs(attributes, labels, starts.data(), row_labels.data());
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
