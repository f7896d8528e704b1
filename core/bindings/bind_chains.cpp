// Fields on sequences. Arrays are viewed, not copied; the Python object keeps them alive. Chains with attributes of
// pairs, with constraints, with costs or with labels known in part view a chain, and keep it alive.
#include "bindings/chain_queries.hpp"
#include "bindings/dense_arrays.hpp"
#include "bindings/exclusive.hpp"
#include "bindings/field_arrays.hpp"
#include "fields/bigram_chain.hpp"
#include "fields/costly_chain.hpp"
#include "fields/expected_chain.hpp"
#include "fields/prediction.hpp"
#include "fields/sparse_chain.hpp"

namespace dualfield {

template class Chain<AllPairs>;
template class Chain<ObservedPairs>;
template class ErasedField<Chain<AllPairs>, PlainChain>;
template class ErasedField<Chain<ObservedPairs>, PlainChain>;
template class ErasedChain<AllPairs>;
template class ErasedChain<ObservedPairs>;

namespace {

using namespace nb::literals;
using ChainAll = ErasedChain<AllPairs>;
using ChainObserved = ErasedChain<ObservedPairs>;

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

void bind_dense_columns(nb::module_& m) {
    nb::class_<DenseColumns>(m, "DenseColumns", "Arrays with one row a position, one a block, read where they lie.")
        .def(
            "__init__",
            [](DenseColumns* self, nb::tuple arrays, Index width, Values shift, Values factor) {
                new (self) DenseColumns(dense_of(arrays, width, standard_of(shift, factor, width)));
            },
            "arrays"_a, "width"_a, "shift"_a.noconvert().none() = nb::none(),
            "factor"_a.noconvert().none() = nb::none(), nb::keep_alive<1, 2>())
        .def_prop_ro("first_not_finite", &DenseColumns::first_not_finite,
                     "Block, row and column of the first number that is not finite.");
}

void bind_free_chains(nb::module_& m) {
    nb::class_<FreeChain, ChainField>(m, "FreeChain", "A chain of which every labelling is possible.");
    nb::class_<PlainChain, FreeChain>(m, "PlainChain", "A chain of attributes of single positions.");
    nb::class_<ChainAll, PlainChain>(m, "ChainAll", "A chain with a weight for every (attribute, label) pair.")
        .def(
            "__init__",
            [](ChainAll* self, Vector<Index> offsets, Vector<Index> indptr, Vector<std::int32_t> indices, Values values,
               Index attributes, Index labels, Vector<std::int32_t> transitions, bool bias, bool begin, bool end,
               Labels y, Values sample_weight, double l2, const DenseColumns* columns) {
                const Attributes data = attributes_of(offsets, indptr, indices, values, attributes);
                check_targets(data, labels, y, sample_weight, l2);
                new (self) ChainAll(data, AllPairs(attributes, labels), shape_of(labels, transitions, bias, begin, end),
                                    data_or_null(y), data_or_null(sample_weight), l2, columns_of(columns, data));
            },
            "offsets"_a.noconvert(), "indptr"_a.noconvert(), "indices"_a.noconvert(), "values"_a.noconvert().none(),
            "attributes"_a, "labels"_a, "transitions"_a.noconvert(), "bias"_a, "begin"_a, "end"_a,
            "y"_a.noconvert().none(), "sample_weight"_a.noconvert().none(), "l2"_a, "columns"_a.none() = nb::none(),
            nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>(), nb::keep_alive<1, 5>(),
            nb::keep_alive<1, 12>(), nb::keep_alive<1, 13>(), nb::keep_alive<1, 15>());

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

    nb::class_<ChainObserved, PlainChain>(m, "ChainObserved", "A chain with weights for observed pairs only.")
        .def(
            "__init__",
            [](ChainObserved* self, Vector<Index> offsets, Vector<Index> indptr, Vector<std::int32_t> indices,
               Values values, Index attributes, Index labels, Vector<std::int32_t> transitions, bool bias, bool begin,
               bool end, Labels y, Values sample_weight, double l2, const ObservedPairs& pairs,
               const DenseColumns* columns) {
                const Attributes data = attributes_of(offsets, indptr, indices, values, attributes);
                check_targets(data, labels, y, sample_weight, l2);
                require(pairs.attributes() == attributes && pairs.label_count() == labels,
                        "the observed pairs are of other attributes or labels");
                new (self) ChainObserved(data, pairs, shape_of(labels, transitions, bias, begin, end), data_or_null(y),
                                         data_or_null(sample_weight), l2, columns_of(columns, data));
            },
            "offsets"_a.noconvert(), "indptr"_a.noconvert(), "indices"_a.noconvert(), "values"_a.noconvert().none(),
            "attributes"_a, "labels"_a, "transitions"_a.noconvert(), "bias"_a, "begin"_a, "end"_a,
            "y"_a.noconvert().none(), "sample_weight"_a.noconvert().none(), "l2"_a, "pairs"_a,
            "columns"_a.none() = nb::none(), nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>(),
            nb::keep_alive<1, 5>(), nb::keep_alive<1, 12>(), nb::keep_alive<1, 13>(), nb::keep_alive<1, 15>(),
            nb::keep_alive<1, 16>());
}

void bind_bigrams(nb::module_& m) {
    nb::class_<PairRows>(m, "PairRows", "Which pairs of labels have a weight with each attribute; checked once.")
        .def(
            "__init__",
            [](PairRows* self, Index attributes, Index labels, std::optional<Vector<Index>> starts,
               Vector<std::int32_t> pairs) {
                const Index count = pairs.shape(0);
                require(attributes >= 0 && labels >= 1, "there must be labels, and not fewer than no attributes");
                require(all_below(labels * labels, pairs), "a pair is out of range");
                const auto increase = [&](Index first, Index last) {
                    for (Index k = first + 1; k < last; ++k)
                        require(pairs.data()[k - 1] < pairs.data()[k], "the pairs of a row must increase");
                };
                if (starts) {
                    require(static_cast<Index>(starts->shape(0)) == attributes + 1 && starts->data()[0] == 0 &&
                                starts->data()[attributes] == count,
                            "starts must have one entry more than there are attributes, and run from 0 to all pairs");
                    for (Index a = 0; a < attributes; ++a)
                        require(starts->data()[a] <= starts->data()[a + 1], "starts must not decrease");
                    for (Index a = 0; a < attributes; ++a) increase(starts->data()[a], starts->data()[a + 1]);
                } else {
                    increase(0, count);
                }
                new (self) PairRows(attributes, labels, data_or_null(starts), pairs.data(), count);
            },
            "attributes"_a, "labels"_a, "starts"_a.noconvert().none(), "pairs"_a.noconvert());

    nb::class_<BigramChain, FreeChain>(m, "BigramChain", "A chain with attributes of pairs of labels.")
        .def(
            "__init__",
            [](BigramChain* self, const FreeChain& chain, Vector<Index> indptr, Vector<std::int32_t> indices,
               Values values, const PairRows& rows) {
                require(dynamic_cast<const BigramChain*>(&chain) == nullptr, "the chain has attributes of pairs");
                const Attributes& nodes = chain.attributes();
                const Index positions = nodes.positions();
                require(rows.labels() == chain.labels(), "the rows of pairs are of other labels");
                check_entries(positions, indptr, indices, values, rows.attributes());
                for (Index i = 0; i < nodes.blocks; ++i)
                    require(indptr.data()[nodes.offsets[i]] == indptr.data()[nodes.offsets[i] + 1],
                            "the first position of a block has no pair, so it can have no attributes of one");
                new (self) BigramChain(chain,
                                       {nodes.blocks, nodes.offsets, indptr.data(), indices.data(),
                                        data_or_null(values), rows.attributes()},
                                       rows);
            },
            "chain"_a, "indptr"_a.noconvert(), "indices"_a.noconvert(), "values"_a.noconvert().none(), "rows"_a,
            nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>(), nb::keep_alive<1, 5>(),
            nb::keep_alive<1, 6>());
}

using Mask = Input<bool, 2>;

void check_positions(const FreeChain& chain, const Mask& mask) {
    require(static_cast<Index>(mask.shape(0)) == chain.positions_before(chain.blocks()) &&
                static_cast<Index>(mask.shape(1)) == chain.labels(),
            "a mask of positions must have one row a position, one column a label");
}

AllowedLabels allowed_of(const FreeChain& chain, const Mask& transitions, const Vector<bool>& begin,
                         const Vector<bool>& end, const std::optional<Mask>& allowed) {
    const auto K = static_cast<std::size_t>(chain.labels());
    require(transitions.shape(0) == K && transitions.shape(1) == K && begin.shape(0) == K && end.shape(0) == K,
            "the masks of transitions, begin and end must be K x K, K and K");
    if (allowed) check_positions(chain, *allowed);
    return {transitions.data(), begin.data(), end.data(), allowed ? allowed->data() : nullptr};
}

// The allowed labels of blocks first .. last - 1 with the fewest wrong ones to expect.
template <class F>
auto decode_posterior(const F& field, Vector<double> w, Index first, Index last, Index threads) {
    check_weights(field, w);
    check_range(field, first, last);
    auto path = new_array<std::int32_t, 1>({positions_between(field, first, last)});
    nb::gil_scoped_release release;
    over_blocks(field, first, last, threads, [&](Index a, Index b) {
        decode_posteriors(field, w.data(), a, b, path.data() + positions_between(field, first, a));
    });
    return path;
}

void bind_sparse(nb::module_& m) {
    nb::class_<SparseChain, ChainField>(m, "SparseChain", "A chain with many labels and weights for few transitions.")
        .def(nb::init<const PlainChain&>(), "chain"_a, nb::keep_alive<1, 2>())
        .def(
            "__init__",
            [](SparseChain* self, const PlainChain& chain, Mask transitions, Vector<bool> begin, Vector<bool> end,
               std::optional<Mask> allowed) {
                new (self) SparseChain(chain, allowed_of(chain, transitions, begin, end, allowed));
            },
            "chain"_a, "transitions"_a.noconvert(), "begin"_a.noconvert(), "end"_a.noconvert(),
            "allowed"_a.noconvert().none(), nb::keep_alive<1, 2>())
        .def("decode_posterior", decode_posterior<SparseChain>, "weights"_a.noconvert(), "first"_a, "last"_a,
             "threads"_a = 1, "The allowed labels of blocks first .. last - 1 with the fewest wrong ones to expect.")
        .def_prop_ro("constrained", &SparseChain::masked, "Whether some labellings are forbidden.")
        .def_prop_ro("chain", &SparseChain::chain, nb::rv_policy::reference_internal, "The chain it is made of.");
}

void bind_constrained(nb::module_& m) {
    nb::class_<ConstrainedChain, ChainField>(m, "ConstrainedChain",
                                             "A chain of which only some labellings are allowed.")
        .def(
            "__init__",
            [](ConstrainedChain* self, const FreeChain& chain, Mask transitions, Vector<bool> begin, Vector<bool> end,
               std::optional<Mask> allowed) {
                new (self) ConstrainedChain(chain, allowed_of(chain, transitions, begin, end, allowed));
            },
            "chain"_a, "transitions"_a.noconvert(), "begin"_a.noconvert(), "end"_a.noconvert(),
            "allowed"_a.noconvert().none(), nb::keep_alive<1, 2>())
        .def("decode_posterior", decode_posterior<ConstrainedChain>, "weights"_a.noconvert(), "first"_a, "last"_a,
             "threads"_a = 1, "The allowed labels of blocks first .. last - 1 with the fewest wrong ones to expect.");

    nb::class_<CostlyChain, ConstrainedChain>(m, "CostlyChain",
                                              "A chain whose wrong labels cost something in training.")
        .def(
            "__init__",
            [](CostlyChain* self, const FreeChain& chain, Mask transitions, Vector<bool> begin, Vector<bool> end,
               std::optional<Mask> allowed, Input<double, 2> costs) {
                const Index K = chain.labels();
                require(chain.labelled(), "the chain has no labels");
                require(static_cast<Index>(costs.shape(0)) == K && static_cast<Index>(costs.shape(1)) == K,
                        "the costs must be K x K");
                for (Index k = 0; k < K * K; ++k) require(std::isfinite(costs.data()[k]), "a cost is not finite");
                for (Index k = 0; k < K; ++k) require(costs.data()[k * K + k] == 0.0, "a true label has a cost");
                new (self) CostlyChain(chain, allowed_of(chain, transitions, begin, end, allowed), costs.data());
            },
            "chain"_a, "transitions"_a.noconvert(), "begin"_a.noconvert(), "end"_a.noconvert(),
            "allowed"_a.noconvert().none(), "costs"_a.noconvert(), nb::keep_alive<1, 2>());

    nb::class_<PartialChain, ConstrainedChain>(m, "PartialChain", "A chain whose labels are known in part.")
        .def(
            "__init__",
            [](PartialChain* self, const FreeChain& chain, Mask transitions, Vector<bool> begin, Vector<bool> end,
               std::optional<Mask> allowed, Mask candidates) {
                require(chain.labelled(), "the chain has no labels");
                check_positions(chain, candidates);
                new (self) PartialChain(chain, allowed_of(chain, transitions, begin, end, allowed), candidates.data());
            },
            "chain"_a, "transitions"_a.noconvert(), "begin"_a.noconvert(), "end"_a.noconvert(),
            "allowed"_a.noconvert().none(), "candidates"_a.noconvert(), nb::keep_alive<1, 2>());

    nb::class_<ExpectedChain, ConstrainedChain>(m, "ExpectedChain",
                                                "The convex problem that meets that of partial labels at some weights.")
        .def(nb::init<const PartialChain&>(), "partial"_a, nb::keep_alive<1, 2>())
        .def(
            "expect",
            [](ExpectedChain& field, Vector<double> weights) {
                const Exclusive only(&field);
                check_weights(field, weights);
                nb::gil_scoped_release release;
                return field.expect(weights.data());
            },
            "weights"_a.noconvert(), "Expects the labels left open; returns the loss of partial labels there.")
        .def("meet", alone<ExpectedChain>(&ExpectedChain::meet), "What was expected last becomes the truth.")
        .def("follow", alone<ExpectedChain>(&ExpectedChain::follow), "follows"_a,
             "Whether the truth follows the potentials that a method on the dual keeps.")
        .def(
            "truth",
            [](ExpectedChain& field) {
                const Exclusive only(&field);
                return std::make_pair(to_array(field.expected()), to_array(field.entropies()));
            },
            "The expected features of all blocks with open labels, and the entropies of all blocks.")
        .def(
            "set_truth",
            [](ExpectedChain& field, Vector<double> expected, Vector<double> entropies) {
                const Exclusive only(&field);
                require(field.fits(static_cast<Index>(expected.shape(0)), static_cast<Index>(entropies.shape(0))),
                        "the numbers do not fit the field");
                field.restore(expected.data(), entropies.data());
            },
            "expected"_a.noconvert(), "entropies"_a.noconvert())
        .def_prop_ro("entropy", alone<ExpectedChain>(&ExpectedChain::entropy),
                     "Of the labels left open, under these weights.");
}

}  // namespace

void bind_chains(nb::module_& m) {
    bind_chain_queries(m);
    bind_dense_columns(m);
    bind_free_chains(m);
    bind_bigrams(m);
    bind_sparse(m);
    bind_constrained(m);
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
