// Which pairs of labels a chain with many labels has to look at where some are forbidden: those with a weight, and the
// exceptions. A label that fewer than half of the labels may precede is closed, and its exceptions are the pairs that
// are allowed; those of any other label are the pairs that are forbidden. So a rule for many labels, such as that I-x
// follows B-x or I-x only, costs no more than its few exceptions.
#pragma once

#include "fields/constrained_chain.hpp"
#include "oracles/chain_sparse.hpp"

namespace dualfield {

class SparseRules {
   public:
    // Weights for the pairs `weighted`, increasing; every pair is allowed.
    SparseRules(Index labels, const std::vector<std::int32_t>& weighted)
        : pairs_(labels, weighted), exceptions_(labels, {}) {}

    // transitions: K x K, true where allowed.
    SparseRules(Index labels, const std::vector<std::int32_t>& weighted, const bool* transitions)
        : SparseRules(labels, weighted, transitions, closed_labels(labels, transitions)) {}

    const LabelPairs& pairs() const { return pairs_; }
    Index weighted() const { return masked_ ? std::ssize(place_of_) : pairs_.count(); }
    // The number of the weight of a pair, -1 where it has none; the pair of a weight.
    Index weight_of(Index pair) const { return masked_ ? weight_of_[pair] : pair; }
    Index place_of(Index weight) const { return masked_ ? place_of_[weight] : weight; }

    // The potentials of pairs, from those of pairs with a weight.
    const double* potentials(const double* weighted, std::vector<double>& buffer) const {
        if (!masked_) return weighted;
        buffer = fixed_;
        for (std::size_t s = 0; s < place_of_.size(); ++s) buffer[place_of_[s]] += weighted[s];
        return buffer.data();
    }

    // From labels that the rules for single positions leave, T x K, those that some allowed labelling has. Returns the
    // first position that none reaches, T where there is such a labelling.
    Index keep_live(Index T, char* live) const {
        const Index K = pairs_.labels();
        const LabelPairs& x = exceptions_;
        for (Index t = 0; t < T; ++t) {
            const char* before = live + (t - 1) * K;
            char* now = live + t * K;
            if (t > 0) {
                const Index all = std::count(before, before + K, 1);
                for (Index j = 0; j < K; ++j) {
                    Index found = 0;
                    for (Index k = x.column_start(j); k < x.column_start(j + 1); ++k) found += before[x.from()[k]];
                    if (found == (x.is_open(j) ? all : 0)) now[j] = 0;
                }
            }
            if (std::find(now, now + K, 1) == now + K) return t;
        }
        for (Index t = T - 1; t > 0; --t) {
            const char* now = live + t * K;
            Index all = 0;
            for (Index j = 0; j < K; ++j) all += x.is_open(j) && now[j];
            for (Index i = 0; i < K; ++i) {
                Index closed = 0, open = all;
                for (Index s = x.row_start(i); s < x.row_start(i + 1); ++s)
                    (x.is_open(x.to()[s]) ? open : closed) += (x.is_open(x.to()[s]) ? -1 : 1) * now[x.to()[s]];
                if (open + closed == 0) live[(t - 1) * K + i] = 0;
            }
        }
        return T;
    }

   private:
    SparseRules(Index labels, const std::vector<std::int32_t>& weighted, const bool* transitions,
                const std::vector<char>& closed)
        : masked_(true),
          pairs_(labels, merged(weighted, exceptions_of(labels, transitions, closed)), closed),
          exceptions_(labels, exceptions_of(labels, transitions, closed), closed),
          weight_of_(pairs_.count(), -1),
          fixed_(pairs_.count(), 0.0) {
        for (Index i = 0; i < labels; ++i)
            for (Index s = pairs_.row_start(i); s < pairs_.row_start(i + 1); ++s)
                if (!transitions[i * labels + pairs_.to()[s]]) fixed_[s] = kImpossible;
        for (std::int32_t pair : weighted) {
            const Index place = pairs_.find(pair / labels, pair % labels);
            weight_of_[place] = static_cast<std::int32_t>(place_of_.size());
            place_of_.push_back(static_cast<std::int32_t>(place));
        }
    }

    static std::vector<char> closed_labels(Index K, const bool* transitions) {
        std::vector<Index> allowed(K, 0);
        for (Index pair = 0; pair < K * K; ++pair) allowed[pair % K] += transitions[pair];
        std::vector<char> closed(K);
        for (Index j = 0; j < K; ++j) closed[j] = 2 * allowed[j] < K;
        return closed;
    }
    static std::vector<std::int32_t> exceptions_of(Index K, const bool* transitions, const std::vector<char>& closed) {
        std::vector<std::int32_t> pairs;
        for (Index pair = 0; pair < K * K; ++pair)
            if (transitions[pair] == static_cast<bool>(closed[pair % K]))
                pairs.push_back(static_cast<std::int32_t>(pair));
        return pairs;
    }
    static std::vector<std::int32_t> merged(const std::vector<std::int32_t>& x, const std::vector<std::int32_t>& y) {
        std::vector<std::int32_t> all;
        std::set_union(x.begin(), x.end(), y.begin(), y.end(), std::back_inserter(all));
        return all;
    }

    bool masked_ = false;
    LabelPairs pairs_, exceptions_;
    std::vector<std::int32_t> weight_of_, place_of_;
    std::vector<double> fixed_;  // of pairs: 0, or -inf for what is forbidden
};

}  // namespace dualfield
