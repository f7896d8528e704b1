// Chains whose transitions depend on what is observed. They view a chain, which the Python object keeps alive.
#include "bindings/bound_fields.hpp"
#include "bindings/constrained_methods.hpp"
#include "fields/conditioned_chain.hpp"

namespace dualfield {
namespace {

using namespace nb::literals;

template <class Rows>
void bind_rows(nb::module_& m, const std::string& name) {
    using Conditioned = ConditionedChain<Rows>;
    nb::class_<Conditioned, GeneralField> conditioned(m, name.c_str(), "A chain with attributes of pairs of labels.");
    conditioned.def(
        "__init__",
        [](Conditioned* self, const Chain<Rows>& chain, Vector<Index> indptr, Vector<std::int32_t> indices,
           Values values, const PairRows& rows) {
            const Attributes& nodes = chain.attributes();
            const Index positions = nodes.positions();
            require(rows.labels() == chain.labels(), "the rows of pairs are of other labels");
            check_entries(positions, indptr, indices, values, rows.attributes());
            for (Index i = 0; i < nodes.blocks; ++i)
                require(indptr.data()[nodes.offsets[i]] == indptr.data()[nodes.offsets[i] + 1],
                        "the first position of a block has no pair, so it can have no attributes of one");
            new (self) Conditioned(
                chain,
                {nodes.blocks, nodes.offsets, indptr.data(), indices.data(), data_or_null(values), rows.attributes()},
                rows);
        },
        "chain"_a, "indptr"_a.noconvert(), "indices"_a.noconvert(), "values"_a.noconvert().none(), "rows"_a,
        nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>(), nb::keep_alive<1, 5>(),
        nb::keep_alive<1, 6>());
    bind_span_methods(conditioned);
    bind_chain(conditioned);
    bind_constraints<Conditioned>(m, name);
}

}  // namespace

void bind_conditioned(nb::module_& m) {
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
    bind_rows<AllPairs>(m, "ConditionedChainAll");
    bind_rows<ObservedPairs>(m, "ConditionedChainObserved");
}

}  // namespace dualfield
