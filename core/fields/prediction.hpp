// What a field says of blocks under given weights: labels, marginals, k-best lists, samples.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <numeric>
#include <stdexcept>
#include <string>

#include "fields/constrained_chain.hpp"
#include "fields/sparse_chain.hpp"
#include "oracles/chain_kbest.hpp"
#include "oracles/chain_sampling.hpp"
#include "oracles/chain_viterbi.hpp"
#include "oracles/chain_viterbi_together.hpp"
#include "threads/team.hpp"

namespace dualfield {

// Sums of larger potentials may overflow to infinity or NaN, and the answers of an oracle would mean nothing.
inline constexpr double kLargestPotential = 1e150;

inline bool has_outside(Index size, const double* theta) {
    int outside = 0;
    for (Index k = 0; k < size; ++k) outside |= !(std::abs(theta[k]) <= kLargestPotential);
    return outside != 0;
}
[[noreturn]] inline void refuse_scores(Index i) {
    throw std::domain_error("member " + std::to_string(i) +
                            " of X has scores that are not finite, or larger than 1e150; scale its features down, "
                            "or train with a larger l2.");
}

// Computes the potentials of block i, and throws if one is too large. magnitude() bounds those that are sums, such as
// the potentials of a graph's edges.
template <class F>
void score_block(const F& field, const double* w, Index i, double* theta) {
    const Index size = field.compact_size(i);
    field.score(i, w, theta);
    bool outside = has_outside(size, theta);
    if constexpr (std::derived_from<F, GeneralField>)
        if (!field.scores_potentials()) outside |= !(field.magnitude(i, theta) <= kLargestPotential);
    if (outside) refuse_scores(i);
}

// Calls body(i, theta) for blocks first .. last - 1, theta their potentials.
template <class F, class Body>
void for_each_scored(const F& field, const double* w, Index first, Index last, Body&& body) {
    std::vector<double> theta;
    for (Index i = first; i < last; ++i) {
        score_block(field, w, i, room(theta, field.compact_size(i)));
        body(i, theta.data());
    }
}

// How many potentials a thread must have to be worth its while. To wake a thread takes as long as inference on some
// thousands of potentials of chains or points. Graphs cost far more for each: they have large tables, or many sweeps.
template <class F>
Index numbers_of_a_thread(const F& field) {
    constexpr Index kCheap = 32'768, kCostly = 1024;
    if constexpr (std::derived_from<F, ChainField>)
        return kCheap;
    else if constexpr (std::derived_from<F, GeneralField>)
        return field.one_node() || dynamic_cast<const ChainField*>(&field) ? kCheap : kCostly;
    else
        return kCheap;
}

// body(a, b) for ranges of blocks that make up first .. last - 1, on as many of the threads as pay. Ranges take about
// equally long, and are short enough that no thread waits long for another at the end.
template <class F, class Body>
void over_blocks(const F& field, Index first, Index last, Index threads, Body&& body) {
    constexpr Index kRangesOfAThread = 32;
    if (threads <= 1 || last - first <= 1) return body(first, last);
    Index numbers = 0;
    for (Index i = first; i < last; ++i) numbers += field.compact_size(i);
    Team team(std::clamp<Index>(std::min(numbers / numbers_of_a_thread(field), last - first), 1, threads));
    const Index share = numbers / (kRangesOfAThread * team.size()) + 1;
    std::vector<Index> bounds{first};
    Index gathered = 0;
    for (Index i = first; i < last; ++i) {
        gathered += field.compact_size(i);
        if (gathered < share && i + 1 < last) continue;
        bounds.push_back(i + 1);
        gathered = 0;
    }
    if (team.size() == 1) return body(first, last);
    team.for_each(std::ssize(bounds) - 1, [&](Index k, Index) { body(bounds[k], bounds[k + 1]); });
}

// Calls body(count, chains, blocks) for groups of blocks first .. last - 1 of similar length, with the potentials of
// their nodes; see chains_together.hpp. Chains whose places are free have no nodes.
template <Index kChains, class F, class Body>
void for_each_group_scored(const F& field, const double* w, Index first, Index last, Body&& body) {
    constexpr Index kWindow = 8 * kChains;
    const Index K = field.labels();
    if (last > first && !(field.edge_magnitude(w) <= kLargestPotential)) refuse_scores(first);
    std::vector<Index> blocks(last - first), order;
    std::iota(blocks.begin(), blocks.end(), first);
    group_by_length(field, kWindow, blocks.data(), last - first, order);
    std::vector<double> theta;
    for (Index g = 0; g < last - first; g += kChains) {
        const Index count = std::min(kChains, last - first - g);
        Index numbers = 0;
        for (Index c = 0; c < count; ++c) numbers += field.length(order[g + c]) * K;
        double* out = room(theta, numbers + 8);  // NodeFeatures writes past the last node
        NodePotentials chains[kChains];
        for (Index c = 0; c < count; ++c) {
            const Index i = order[g + c], size = field.length(i) * K;
            field.score_nodes(i, w, out);
            if (has_outside(size, out)) refuse_scores(i);
            field.mask_nodes(i, out);
            chains[c] = {field.length(i), out, field.masked()};
            out += size;
        }
        body(count, chains, &order[g]);
    }
}

template <class F>
void decode_groups(const F& field, const double* w, Index first, Index last, std::int32_t* path) {
    typename F::DecoderTogether decoder;
    constexpr Index kChains = F::DecoderTogether::kChains;
    std::vector<double> buffer;
    field.write_edges(w, decoder, buffer);
    const Index before = field.positions_before(first);
    for_each_group_scored<kChains>(field, w, first, last,
                                   [&](Index count, const NodePotentials* chains, const Index* blocks) {
                                       std::int32_t* paths[kChains] = {};
                                       for (Index c = 0; c < count; ++c)
                                           paths[c] = path + field.positions_before(blocks[c]) - before;
                                       decoder.decode(chains, paths);
                                   });
}

// Node marginals, positions x labels.
template <class F>
void infer_groups(const F& field, const double* w, Index first, Index last, double* marginals) {
    using Oracle = ForwardBackwardTogether<typename F::Edges>;
    typename F::Edges edges;
    Oracle oracle;
    typename F::Workspace alone;
    std::vector<double> theta, m;
    field.write_edges(w, edges);
    const Index K = field.labels(), before = field.positions_before(first);
    const double weights[Oracle::kChains] = {};
    for_each_group_scored<Oracle::kChains>(
        field, w, first, last, [&](Index count, const NodePotentials* chains, const Index* blocks) {
            double* nodes[Oracle::kChains] = {};
            double log_z[Oracle::kChains];
            for (Index c = 0; c < count; ++c) nodes[c] = marginals + (field.positions_before(blocks[c]) - before) * K;
            oracle.marginals(edges, chains, weights, log_z, nodes, nullptr);
            for (Index c = 0; c < count; ++c) {
                if (!std::isnan(log_z[c])) continue;
                const Index i = blocks[c], size = field.compact_size(i);
                field.score(i, w, room(theta, size));
                field.posterior(i, theta.data(), room(m, size), alone);
                std::copy(m.data(), m.data() + field.length(i) * K, nodes[c]);
            }
        });
}

// The best labels of blocks first .. last - 1, position after position.
template <class Rows>
void decode_blocks(const Chain<Rows>& field, const double* w, Index first, Index last, std::int32_t* path) {
    Viterbi viterbi;
    for_each_scored(field, w, first, last, [&](Index i, const double* theta) {
        viterbi.decode(field.potentials(i, theta), path + field.offset(i) - field.offset(first));
    });
}

// Chains that share their edges, some at a time.
inline void decode_together(const FreeChain& field, const double* w, Index first, Index last, std::int32_t* path) {
    constexpr Index kChains = ViterbiTogether::kChains;
    ViterbiTogether viterbi;
    std::array<std::vector<double>, kChains> theta;
    std::array<ChainPotentials, kChains> chains;
    std::array<std::int32_t*, kChains> paths;
    std::vector<double> buffer, edges;
    for (Index i = first; i < last; i += kChains) {
        const Index count = std::min(kChains, last - i);
        for (Index c = 0; c < count; ++c) {
            double* potentials = room(theta[c], field.compact_size(i + c));
            score_block(field, w, i + c, potentials);
            chains[c] = field.potentials(i + c, potentials, buffer);
            paths[c] = path + field.positions_before(i + c) - field.positions_before(first);
        }
        if (i == first) {
            edges.assign(chains[0].edge, chains[0].edge + field.labels() * field.labels());
            viterbi.set_edges(field.labels(), edges.data());
        }
        viterbi.decode(count, chains.data(), paths.data());
    }
}

inline void decode_blocks(const GeneralField& field, const double* w, Index first, Index last, std::int32_t* path) {
    if (field.labels() >= ViterbiTogether::kFewestLabels && last - first > 1)
        if (const auto* chain = dynamic_cast<const FreeChain*>(&field); chain && chain->edge_step() == 0)
            return decode_together(*chain, w, first, last, path);
    if (const auto* sparse = dynamic_cast<const SparseChain*>(&field))
        return decode_groups(*sparse, w, first, last, path);
    GeneralField::Workspace workspace;
    const Index before = field.positions_before(first);
    for_each_scored(field, w, first, last, [&](Index i, const double* theta) {
        field.decode_labels(i, theta, path + field.positions_before(i) - before, workspace);
    });
}

// Node marginals, positions x labels.
inline void infer_blocks(const GeneralField& field, const double* w, Index first, Index last, double* marginals) {
    if (const auto* sparse = dynamic_cast<const SparseChain*>(&field))
        return infer_groups(*sparse, w, first, last, marginals);
    if (const auto* plain = dynamic_cast<const PlainChain*>(&field))
        if (field.labels() >= ManyLabels<PlainChain>::kFewest && last - first > 1)
            return infer_groups(ManyLabels<PlainChain>(*plain), w, first, last, marginals);
    GeneralField::Workspace workspace;
    std::vector<double> m;
    for_each_scored(field, w, first, last, [&](Index i, const double* theta) {
        field.posterior(i, theta, room(m, field.compact_size(i)), workspace);
        const Index size = (field.positions_before(i + 1) - field.positions_before(i)) * field.labels();
        std::copy(m.data(), m.data() + size, marginals);
        marginals += size;
    });
}

// The allowed labelling of each block that has the fewest wrong labels to expect: of largest sum of its marginals.
inline void decode_posteriors(const ChainField& field, const double* w, Index first, Index last, std::int32_t* path) {
    GeneralField::Workspace workspace;
    std::vector<double> m;
    const Index before = field.positions_before(first);
    for_each_scored(field, w, first, last, [&](Index i, const double* theta) {
        field.posterior(i, theta, room(m, field.compact_size(i)), workspace);
        std::fill(m.begin() + field.length(i) * field.labels(), m.begin() + field.compact_size(i), 0.0);
        field.decode_labels(i, m.data(), path + field.positions_before(i) - before, workspace);
    });
}

// The k best labellings of block i with the logarithms of their probabilities; returns how many there are.
inline Index kbest_of_block(const ChainField& field, const double* w, Index i, Index k, std::int32_t* paths,
                            double* log_p) {
    std::vector<double> theta(field.compact_size(i)), masked;
    score_block(field, w, i, theta.data());
    const ChainPotentials chain = field.potentials(i, theta.data(), masked);
    KBest search;
    const Index found = search.decode(chain, k, paths, log_p);
    const double log_z = with_oracle(field, [&](auto oracle) { return oracle.log_partition(chain); });
    for (Index p = 0; p < found; ++p) log_p[p] -= log_z;
    return found;
}

// `count` exact samples of the labels of block i, count x T.
inline void sample_block(const ChainField& field, const double* w, Index i, Index count, Random& random,
                         std::int32_t* samples) {
    std::vector<double> theta(field.compact_size(i)), masked;
    score_block(field, w, i, theta.data());
    ForwardBackward oracle;  // samples are drawn on logarithms, where impossible labels disturb nothing
    sample_posterior(field.potentials(i, theta.data(), masked), count, random, oracle, samples);
}

}  // namespace dualfield
