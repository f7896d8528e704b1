// What a chain says of its spans, and of its best labelling, under given weights.
#pragma once

#include "bindings/field_methods.hpp"
#include "oracles/chain_spans.hpp"

namespace dualfield {

// Rows of (block, begin, end, kind), or without the block.
using SpanRows = Input<Index, 2>;

inline SpanRules rules_of(const Vector<std::int32_t>& kinds, const Input<std::int8_t, 2>& steps) {
    const Index K = kinds.shape(0);
    require(static_cast<Index>(steps.shape(0)) == K + 1 && static_cast<Index>(steps.shape(1)) == K,
            "steps must be (K + 1) x K, K the number of kinds");
    for (Index k = 0; k < K; ++k)
        require(kinds.data()[k] >= -1 && kinds.data()[k] < K, "kinds must be -1 or below the number of labels");
    SpanRules rules(K, kinds.data(), steps.data());
    require(rules.sound(), "the steps do not go with the kinds");
    return rules;
}

inline void check_span(const SpanRules& rules, Index length, const Index* span) {
    require(0 <= span[0] && span[0] < span[1] && span[1] <= length, "a span reaches outside its block");
    require(0 <= span[2] && span[2] < rules.kinds(), "the kind of a span is out of range");
}

template <class F, class... Base>
void bind_span_methods(nb::class_<F, Base...>& bound) {
    using namespace nb::literals;
    bound
        .def(
            "confidences",
            [](const F& field, Vector<double> w, Index first, Index last) {
                check_weights(field, w);
                check_range(field, first, last);
                auto out = new_array<double, 1>({static_cast<std::size_t>(last - first)});
                nb::gil_scoped_release release;
                Viterbi viterbi;
                auto oracle = oracle_for(field);
                std::vector<std::int32_t> path;
                std::vector<double> masked;
                for_each_scored(field, w.data(), first, last, [&](Index i, const double* theta) {
                    const ChainPotentials chain = chain_of_block(field, i, theta, masked);
                    path.resize(chain.length);
                    const double score = viterbi.decode(chain, path.data());
                    // Rounding must not make a probability larger than one.
                    out.data()[i - first] = std::min(score - oracle.log_partition(chain), 0.0);
                });
                return out;
            },
            "weights"_a.noconvert(), "first"_a, "last"_a,
            "Log-probabilities of the best labellings of blocks first .. last - 1.")
        .def(
            "span_probabilities",
            [](const F& field, Vector<double> w, Vector<std::int32_t> kinds, Input<std::int8_t, 2> steps,
               SpanRows spans) {
                check_weights(field, w);
                const SpanRules rules = rules_of(kinds, steps);
                require(rules.labels() == field.labels(), "there must be a kind for each label of the field");
                require(spans.shape(1) == 4, "a span is (block, begin, end, kind)");
                const Index count = spans.shape(0);
                for (Index s = 0; s < count; ++s) {
                    const Index* row = spans.data() + 4 * s;
                    check_block(field, row[0]);
                    require(s == 0 || row[-4] <= row[0], "spans must be ordered by block");
                    check_span(rules, field.length(row[0]), row + 1);
                }
                auto out = new_array<double, 1>({static_cast<std::size_t>(count)});
                nb::gil_scoped_release release;
                SpanOracle oracle;
                auto marginals = oracle_for(field);
                std::vector<double> masked;
                for (Index s = 0; s < count;) {
                    const Index block = spans.data()[4 * s];
                    for_each_scored(field, w.data(), block, block + 1, [&](Index, const double* theta) {
                        oracle.prepare(chain_of_block(field, block, theta, masked), marginals);
                    });
                    for (; s < count && spans.data()[4 * s] == block; ++s) {
                        const Index* row = spans.data() + 4 * s;
                        out.data()[s] = oracle.probability(rules, {row[1], row[2], row[3]});
                    }
                }
                return out;
            },
            "weights"_a.noconvert(), "kinds"_a.noconvert(), "steps"_a.noconvert(), "spans"_a.noconvert(),
            "Probabilities of spans, rows of (block, begin, end, kind) ordered by block.");
}

}  // namespace dualfield
