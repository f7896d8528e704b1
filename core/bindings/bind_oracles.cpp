// Inference on potentials given as arrays, and the duality functions on tables of marginals.
#include <nanobind/stl/string.h>

#include "bindings/chain_arrays.hpp"
#include "duality/line_search.hpp"
#include "oracles/chain_kbest.hpp"
#include "oracles/chain_sampling.hpp"
#include "oracles/chain_viterbi.hpp"

namespace dualfield {
namespace {

double log_partition(Input<double, 2> node, Input<double, 3> edge) {
    const LiveChain chain(node, edge);
    nb::gil_scoped_release release;
    return chain.constrained() ? ConstrainedForwardBackward().log_partition(*chain)
                               : ForwardBackward().log_partition(*chain);
}

auto marginals(Input<double, 2> node, Input<double, 3> edge, bool logarithms) {
    const LiveChain chain(node, edge);
    const std::size_t T = extent(chain->length), K = extent(chain->labels);
    auto nodes = new_array<double, 2>({T, K});
    auto edges = new_array<double, 3>({T - 1, K, K});
    double log_z = 0.0;
    {
        nb::gil_scoped_release release;
        ForwardBackward oracle;
        if (logarithms) {
            log_z = oracle.log_marginals(*chain, nodes.data(), edges.data());
        } else if (chain.constrained()) {
            log_z = ConstrainedForwardBackward().marginals(*chain, nodes.data(), edges.data(), nullptr);
        } else {
            log_z = oracle.marginals(*chain, nodes.data(), edges.data(), nullptr);
        }
    }
    return std::make_tuple(log_z, nodes, edges);
}

auto viterbi(Input<double, 2> node, Input<double, 3> edge) {
    const LiveChain chain(node, edge);
    auto path = new_array<std::int32_t, 1>({extent(chain->length)});
    double score = 0.0;
    {
        nb::gil_scoped_release release;
        score = Viterbi().decode(*chain, path.data());
    }
    return std::make_pair(path, score);
}

auto kbest(Input<double, 2> node, Input<double, 3> edge, Index k) {
    const LiveChain chain(node, edge);
    require(k >= 1, "k must be at least 1");
    k = std::min(k, labellings(chain->length, chain->labels));
    const std::size_t T = extent(chain->length);
    std::vector<std::int32_t> paths(checked_size({extent(k), T}, sizeof(std::int32_t)));
    std::vector<double> scores(extent(k));
    Index found = 0;
    {
        nb::gil_scoped_release release;
        found = KBest().decode(*chain, k, paths.data(), scores.data());
    }
    auto out = new_array<std::int32_t, 2>({extent(found), T});
    std::copy(paths.begin(), paths.begin() + found * chain->length, out.data());
    scores.resize(extent(found));
    return std::make_pair(out, to_array(scores));
}

auto sample(Input<double, 2> node, Input<double, 3> edge, Index count, std::uint64_t seed) {
    const LiveChain chain(node, edge);
    require(count >= 0, "the number of samples must not be negative");
    auto samples = new_array<std::int32_t, 2>({extent(count), extent(chain->length)});
    {
        nb::gil_scoped_release release;
        ForwardBackward oracle;
        Random random(seed);
        sample_posterior(*chain, count, random, oracle, samples.data());
    }
    return samples;
}

using SegmentList = std::vector<std::tuple<Index, Index, double>>;

std::vector<Segment> segments_of(const SegmentList& list, Index size) {
    std::vector<Segment> segments;
    for (const auto& [offset, length, count] : list) {
        require(offset >= 0 && length >= 0 && offset <= size && length <= size - offset,
                "a segment reaches outside the table");
        segments.push_back({offset, length, count});
    }
    return segments;
}

double table_entropy(const SegmentList& segments, Vector<double> table) {
    return entropy(segments_of(segments, table.shape(0)), table.data());
}

double table_divergence(const SegmentList& segments, Vector<double> mu, Vector<double> nu) {
    require(mu.shape(0) == nu.shape(0), "both tables must have the same size");
    return divergence(segments_of(segments, mu.shape(0)), mu.data(), nu.data());
}

auto line_search(const SegmentList& segments, Vector<double> mu, Vector<double> delta, double gap, double residual,
                 double quadratic, double entropy_at_mu, const std::string& rule, double subprecision, double size) {
    require(mu.shape(0) == delta.shape(0), "mu and delta must have the same size");
    const LineSearchResult found = find_step({rule_named<StepRule>(rule), subprecision, size},
                                             DualAlong{segments_of(segments, mu.shape(0)), mu.data(), delta.data(), gap,
                                                       residual, quadratic, entropy_at_mu});
    return std::make_tuple(found.step, found.entropy, found.ascent, found.evaluations);
}

template <double (*function)(double)>
auto elementwise(Vector<double> x) {
    auto out = new_array<double, 1>({x.shape(0)});
#pragma omp simd
    for (std::size_t k = 0; k < x.shape(0); ++k) out.data()[k] = function(x.data()[k]);
    return out;
}

double exp_of(double x) { return fast_exp(x); }
double log_of(double x) { return fast_log(x); }

}  // namespace

void bind_oracles(nb::module_& m) {
    using namespace nb::literals;
    m.def("chain_log_partition", &log_partition, "node"_a.noconvert(), "edge"_a.noconvert());
    m.def("chain_marginals", &marginals, "node"_a.noconvert(), "edge"_a.noconvert(), "logarithms"_a,
          "(log Z, node marginals, edge marginals)");
    m.def("chain_viterbi", &viterbi, "node"_a.noconvert(), "edge"_a.noconvert(), "(labels, score)");
    m.def("chain_kbest", &kbest, "node"_a.noconvert(), "edge"_a.noconvert(), "k"_a, "(labels, scores), best first");
    m.def("chain_sample", &sample, "node"_a.noconvert(), "edge"_a.noconvert(), "count"_a, "seed"_a);
    m.def("table_entropy", &table_entropy, "segments"_a, "table"_a.noconvert());
    m.def("table_divergence", &table_divergence, "segments"_a, "mu"_a.noconvert(), "nu"_a.noconvert());
    m.def("line_search", &line_search, "segments"_a, "mu"_a.noconvert(), "delta"_a.noconvert(), "gap"_a, "residual"_a,
          "quadratic"_a, "entropy_at_mu"_a, "rule"_a, "subprecision"_a, "size"_a,
          "(step, entropy, ascent, evaluations)");
    m.def("fast_exp", &elementwise<exp_of>, "x"_a.noconvert());
    m.def("fast_log", &elementwise<log_of>, "x"_a.noconvert());
}

}  // namespace dualfield
