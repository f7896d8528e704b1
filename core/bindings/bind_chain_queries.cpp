// What chains say of labellings and of spans under given weights; and spans of labellings and of chains given as
// arrays.
#include "bindings/chain_arrays.hpp"
#include "bindings/chain_queries.hpp"
#include "bindings/span_arrays.hpp"
#include "fields/prediction.hpp"

namespace dualfield {
namespace {

using namespace nb::literals;

// Rows of (block, begin, end, kind), or without the block.
using SpanRows = Input<Index, 2>;

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

// Log-probabilities of the best labellings of blocks first .. last - 1.
void confidences(const ChainField& field, const double* w, Index first, Index last, double* out) {
    Viterbi viterbi;
    std::vector<std::int32_t> path;
    std::vector<double> masked;
    with_oracle(field, [&](auto oracle) {
        for_each_scored(field, w, first, last, [&](Index i, const double* theta) {
            const ChainPotentials chain = field.potentials(i, theta, masked);
            path.resize(chain.length);
            const double score = viterbi.decode(chain, path.data());
            // Rounding must not make a probability larger than one.
            out[i - first] = std::min(score - oracle.log_partition(chain), 0.0);
        });
    });
}

// The labels of each sequence as a list: one for each pair of neighbours in offsets, which start anywhere.
nb::list label_lists(Vector<std::int32_t> codes, Vector<Index> offsets, nb::list labels) {
    const Index sequences = static_cast<Index>(offsets.shape(0)) - 1, K = static_cast<Index>(labels.size());
    require(sequences >= 0, "offsets must not be empty");
    require(never_decreases(offsets), "offsets must not decrease");
    const Index start = offsets.data()[0];
    require(offsets.data()[sequences] - start == static_cast<Index>(codes.shape(0)), "offsets must end at the labels");
    require(all_below(K, codes), "a label is out of range");
    std::vector<PyObject*> known;
    for (Index k = 0; k < K; ++k) known.push_back(labels[extent(k)].ptr());
    const auto made = [](Index size) {
        PyObject* list = PyList_New(static_cast<Py_ssize_t>(size));
        if (!list) throw nb::python_error();
        return nb::steal<nb::list>(list);
    };
    nb::list all = made(sequences);
    const std::int32_t* code = codes.data();
    for (Index i = 0; i < sequences; ++i) {
        const Index length = offsets.data()[i + 1] - offsets.data()[i];
        nb::list one = made(length);
        for (Index t = 0; t < length; ++t) {
            PyObject* label = known[extent(*code++)];
            Py_INCREF(label);
            PyList_SET_ITEM(one.ptr(), static_cast<Py_ssize_t>(t), label);
        }
        PyList_SET_ITEM(all.ptr(), static_cast<Py_ssize_t>(i), one.release().ptr());
    }
    return all;
}

}  // namespace

void bind_chain_queries(nb::module_& m) {
    nb::class_<ChainField, GeneralField>(m, "ChainField", "A field on sequences.")
        .def(
            "chain_potentials",
            [](const ChainField& field, Vector<double> w, Index i) {
                check_weights(field, w);
                check_block(field, i);
                std::vector<double> theta(field.compact_size(i)), masked;
                score_block(field, w.data(), i, theta.data());
                const ChainPotentials chain = field.potentials(i, theta.data(), masked);
                const std::size_t T = static_cast<std::size_t>(chain.length),
                                  K = static_cast<std::size_t>(chain.labels),
                                  matrices = static_cast<std::size_t>(chain.edge_matrices());
                auto node = new_array<double, 2>({T, K});
                auto edge = new_array<double, 3>({matrices, K, K});
                std::copy(chain.node, chain.node + T * K, node.data());
                std::copy(chain.edge, chain.edge + matrices * K * K, edge.data());
                return std::make_pair(node, edge);
            },
            "weights"_a.noconvert(), "block"_a,
            "(node, edge) potentials of one block, as oracles take them; -inf for what is impossible.")
        .def(
            "kbest",
            [](const ChainField& field, Vector<double> w, Index i, Index k) {
                check_weights(field, w);
                check_block(field, i);
                require(k >= 1, "k must be at least 1");
                k = std::min(k, labellings(field.length(i), field.labels()));
                const std::size_t T = static_cast<std::size_t>(field.length(i));
                std::vector<std::int32_t> paths(checked_size({static_cast<std::size_t>(k), T}, sizeof(std::int32_t)));
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
            [](const ChainField& field, Vector<double> w, Index i, Index count, std::uint64_t seed) {
                check_weights(field, w);
                check_block(field, i);
                require(count >= 0, "the number of samples must not be negative");
                auto out = new_array<std::int32_t, 2>(
                    {static_cast<std::size_t>(count), static_cast<std::size_t>(field.length(i))});
                nb::gil_scoped_release release;
                Random random(seed);
                sample_block(field, w.data(), i, count, random, out.data());
                return out;
            },
            "weights"_a.noconvert(), "block"_a, "count"_a, "seed"_a, "Exact samples of the labels of one block.")
        .def(
            "confidences",
            [](const ChainField& field, Vector<double> w, Index first, Index last, Index threads) {
                check_weights(field, w);
                check_range(field, first, last);
                auto out = new_array<double, 1>({static_cast<std::size_t>(last - first)});
                nb::gil_scoped_release release;
                over_blocks(field, first, last, threads,
                            [&](Index a, Index b) { confidences(field, w.data(), a, b, out.data() + (a - first)); });
                return out;
            },
            "weights"_a.noconvert(), "first"_a, "last"_a, "threads"_a = 1,
            "Log-probabilities of the best labellings of blocks first .. last - 1.")
        .def(
            "span_probabilities",
            [](const ChainField& field, Vector<double> w, Vector<std::int32_t> kinds, Input<std::int8_t, 2> steps,
               SpanRows spans, Index threads) {
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
                if (count == 0) return out;
                nb::gil_scoped_release release;
                const Index* rows = spans.data();
                const auto place_of = [=](Index block) {  // of the first span of a block or a later one
                    Index first = 0, last = count;
                    while (first < last) {
                        const Index middle = first + (last - first) / 2;
                        rows[4 * middle] < block ? first = middle + 1 : last = middle;
                    }
                    return first;
                };
                over_blocks(field, rows[0], rows[4 * (count - 1)] + 1, threads, [&](Index a, Index b) {
                    SpanOracle oracle;
                    std::vector<double> masked;
                    const Index end = place_of(b);
                    for (Index s = place_of(a); s < end;) {
                        const Index block = rows[4 * s];
                        for_each_scored(field, w.data(), block, block + 1, [&](Index, const double* theta) {
                            const ChainPotentials chain = field.potentials(block, theta, masked);
                            with_oracle(field, [&](auto marginals) { oracle.prepare(chain, marginals); });
                        });
                        for (; s < end && rows[4 * s] == block; ++s) {
                            const Index* row = rows + 4 * s;
                            out.data()[s] = oracle.probability(rules, {row[1], row[2], row[3]});
                        }
                    }
                });
                return out;
            },
            "weights"_a.noconvert(), "kinds"_a.noconvert(), "steps"_a.noconvert(), "spans"_a.noconvert(),
            "threads"_a = 1, "Probabilities of spans, rows of (block, begin, end, kind) ordered by block.");

    m.def("label_lists", &label_lists, "codes"_a.noconvert(), "offsets"_a.noconvert(), "labels"_a,
          "The labels of each sequence as a list of lists.");
    m.def("read_spans", &read_spans, "codes"_a.noconvert(), "offsets"_a.noconvert(), "kinds"_a.noconvert(),
          "steps"_a.noconvert(), "The spans of labellings, rows of (block, begin, end, kind).");
    m.def("chain_span_probabilities", &span_probabilities, "node"_a.noconvert(), "edge"_a.noconvert(),
          "kinds"_a.noconvert(), "steps"_a.noconvert(), "spans"_a.noconvert(),
          "Probabilities of spans, rows of (begin, end, kind).");
}

}  // namespace dualfield
