// Spans of labellings and of chains given as arrays.
#include "bindings/chain_arrays.hpp"
#include "bindings/span_methods.hpp"

namespace dualfield {
namespace {

auto read_spans(Vector<std::int32_t> codes, Vector<Index> offsets, Vector<std::int32_t> kinds,
                Input<std::int8_t, 2> steps) {
    const SpanRules rules = rules_of(kinds, steps);
    const Index blocks = static_cast<Index>(offsets.shape(0)) - 1, positions = codes.shape(0);
    require(blocks >= 0 && offsets.data()[0] == 0 && offsets.data()[blocks] == positions,
            "offsets must run from 0 to the number of labels");
    require(never_decreases(offsets), "offsets must not decrease");
    require(all_below(rules.labels(), codes), "a label is out of range");
    std::vector<Index> rows;
    for (Index i = 0; i < blocks; ++i) {
        const Index first = offsets.data()[i], length = offsets.data()[i + 1] - first;
        if (length == 0) continue;
        for_each_span(rules, length, codes.data() + first,
                      [&](const Span& span) { rows.insert(rows.end(), {i, span.begin, span.end, span.kind}); });
    }
    auto out = new_array<Index, 2>({rows.size() / 4, 4});
    std::copy(rows.begin(), rows.end(), out.data());
    return out;
}

auto span_probabilities(Input<double, 2> node, Input<double, 3> edge, Vector<std::int32_t> kinds,
                        Input<std::int8_t, 2> steps, SpanRows spans) {
    const SpanRules rules = rules_of(kinds, steps);
    const LiveChain chain(node, edge);
    require(chain->labels == rules.labels(), "node must be T x K with a kind for each of the K labels");
    require(spans.shape(1) == 3, "a span is (begin, end, kind)");
    for (std::size_t s = 0; s < spans.shape(0); ++s) check_span(rules, chain->length, spans.data() + 3 * s);
    auto out = new_array<double, 1>({spans.shape(0)});
    nb::gil_scoped_release release;
    SpanOracle oracle;
    ForwardBackward plain;
    ConstrainedForwardBackward constrained;
    chain.constrained() ? oracle.prepare(*chain, constrained) : oracle.prepare(*chain, plain);
    for (std::size_t s = 0; s < spans.shape(0); ++s) {
        const Index* row = spans.data() + 3 * s;
        out.data()[s] = oracle.probability(rules, {row[0], row[1], row[2]});
    }
    return out;
}

}  // namespace

void bind_spans(nb::module_& m) {
    using namespace nb::literals;
    m.def("read_spans", &read_spans, "codes"_a.noconvert(), "offsets"_a.noconvert(), "kinds"_a.noconvert(),
          "steps"_a.noconvert(), "The spans of labellings, rows of (block, begin, end, kind).");
    m.def("chain_span_probabilities", &span_probabilities, "node"_a.noconvert(), "edge"_a.noconvert(),
          "kinds"_a.noconvert(), "steps"_a.noconvert(), "spans"_a.noconvert(),
          "Probabilities of spans, rows of (begin, end, kind).");
}

}  // namespace dualfield
