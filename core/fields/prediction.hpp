// What a field says of blocks under given weights: labels, marginals, k-best lists, samples.
#pragma once

#include <cmath>
#include <concepts>
#include <stdexcept>
#include <string>

#include "fields/chain.hpp"
#include "fields/conditioned_chain.hpp"
#include "fields/constrained_chain.hpp"
#include "fields/general_field.hpp"
#include "fields/multiclass.hpp"
#include "oracles/chain_kbest.hpp"
#include "oracles/chain_sampling.hpp"
#include "oracles/chain_viterbi.hpp"

namespace dualfield {

// Larger potentials may add up to what is no number, and an oracle would then answer at random.
inline constexpr double kLargestPotential = 1e150;

// The potentials of block i, or a refusal. Those of a graph's edges are sums over features, which magnitude() bounds.
template <class F>
void score_block(const F& field, const double* w, Index i, double* theta) {
    field.score(i, w, theta);
    int outside = 0;
    for (Index k = 0; k < field.compact_size(i); ++k) outside |= !(std::abs(theta[k]) <= kLargestPotential);
    if constexpr (std::derived_from<F, GeneralField>) outside |= !(field.magnitude(i, theta) <= kLargestPotential);
    if (outside)
        throw std::domain_error("member " + std::to_string(i) +
                                " of X has scores that are not finite, or larger than 1e150; scale its features down, "
                                "or train with a larger l2.");
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

// The best labels of blocks first .. last - 1, position after position.
template <class Rows>
void decode_blocks(const Chain<Rows>& field, const double* w, Index first, Index last, std::int32_t* path) {
    Viterbi viterbi;
    for_each_scored(field, w, first, last, [&](Index i, const double* theta) {
        viterbi.decode(field.potentials(i, theta), path + field.offset(i) - field.offset(first));
    });
}

inline void decode_blocks(const Multiclass& field, const double* w, Index first, Index last, std::int32_t* path) {
    for_each_scored(field, w, first, last, [&](Index i, const double* theta) {
        path[i - first] = static_cast<std::int32_t>(argmax(field.labels(), theta));
    });
}

inline void decode_blocks(const GeneralField& field, const double* w, Index first, Index last, std::int32_t* path) {
    GeneralField::Workspace workspace;
    const Index before = field.positions_before(first);
    for_each_scored(field, w, first, last, [&](Index i, const double* theta) {
        field.decode_labels(i, theta, path + field.positions_before(i) - before, workspace);
    });
}

// Node marginals, positions x labels.
template <class Rows>
void infer_blocks(const Chain<Rows>& field, const double* w, Index first, Index last, double* marginals) {
    ForwardBackward oracle;
    for_each_scored(field, w, first, last, [&](Index i, const double* theta) {
        oracle.marginals(field.potentials(i, theta),
                         marginals + (field.offset(i) - field.offset(first)) * field.labels(), nullptr, nullptr);
    });
}

inline void infer_blocks(const Multiclass& field, const double* w, Index first, Index last, double* marginals) {
    Multiclass::Workspace workspace;
    for_each_scored(field, w, first, last, [&](Index i, const double* theta) {
        field.infer(i, theta, marginals + (i - first) * field.labels(), workspace);
    });
}

inline void infer_blocks(const GeneralField& field, const double* w, Index first, Index last, double* marginals) {
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
template <class Base>
void decode_posteriors(const ConstrainedChain<Base>& field, const double* w, Index first, Index last,
                       std::int32_t* path) {
    GeneralField::Workspace workspace;
    std::vector<double> m;
    const Index before = field.positions_before(first);
    for_each_scored(field, w, first, last, [&](Index i, const double* theta) {
        field.posterior(i, theta, room(m, field.compact_size(i)), workspace);
        std::fill(m.begin() + field.length(i) * field.labels(), m.begin() + field.compact_size(i), 0.0);
        field.decode_labels(i, m.data(), path + field.positions_before(i) - before, workspace);
    });
}

// The potentials of block i for an oracle, and the oracle for them; `masked` is a buffer.
template <class Rows>
ChainPotentials chain_of_block(const Chain<Rows>& field, Index i, const double* theta, std::vector<double>&) {
    return field.potentials(i, theta);
}
template <class Rows>
ChainPotentials chain_of_block(const ConditionedChain<Rows>& field, Index i, const double* theta,
                               std::vector<double>& edges) {
    return field.potentials(i, theta, edges);
}
template <class Base>
ChainPotentials chain_of_block(const ConstrainedChain<Base>& field, Index i, const double* theta,
                               std::vector<double>& masked) {
    return field.potentials(i, theta, masked);
}

template <class Rows>
ForwardBackward oracle_for(const Chain<Rows>&) {
    return {};
}
template <class Rows>
ForwardBackward oracle_for(const ConditionedChain<Rows>&) {
    return {};
}
template <class Base>
ConstrainedForwardBackward oracle_for(const ConstrainedChain<Base>&) {
    return {};
}

// The k best labellings of block i with the logarithms of their probabilities; returns how many there are.
template <class F>
Index kbest_of_block(const F& field, const double* w, Index i, Index k, std::int32_t* paths, double* log_p) {
    std::vector<double> theta(field.compact_size(i)), masked;
    score_block(field, w, i, theta.data());
    const ChainPotentials chain = chain_of_block(field, i, theta.data(), masked);
    auto oracle = oracle_for(field);
    KBest search;
    const Index found = search.decode(chain, k, paths, log_p);
    const double log_z = oracle.log_partition(chain);
    for (Index p = 0; p < found; ++p) log_p[p] -= log_z;
    return found;
}

// `count` exact samples of the labels of block i, count x T.
template <class F>
void sample_block(const F& field, const double* w, Index i, Index count, Random& random, std::int32_t* samples) {
    std::vector<double> theta(field.compact_size(i)), masked;
    score_block(field, w, i, theta.data());
    ForwardBackward oracle;  // samples are drawn on logarithms, where impossible labels disturb nothing
    sample_posterior(chain_of_block(field, i, theta.data(), masked), count, random, oracle, samples);
}

}  // namespace dualfield
