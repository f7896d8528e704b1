// Rules of spans, and spans, given as arrays.
#pragma once

#include "bindings/arrays.hpp"
#include "oracles/chain_spans.hpp"

namespace dualfield {

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

// A row of (begin, end, kind).
inline void check_span(const SpanRules& rules, Index length, const Index* span) {
    require(0 <= span[0] && span[0] < span[1] && span[1] <= length, "a span reaches outside its block");
    require(0 <= span[2] && span[2] < rules.kinds(), "the kind of a span is out of range");
}

}  // namespace dualfield
