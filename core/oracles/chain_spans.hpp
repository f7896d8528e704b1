// Spans of labels on a chain, such as named entities, and the exact probability that one of them is there.
//
// Which labels make a span is said by a table of steps: step(i, j) tells whether label j after label i is outside of
// all spans, starts one, or continues the one that i is in; row K stands for the beginning of the chain. kind[j] is
// the type of the spans that label j can be in, -1 outside; a step that continues keeps the kind.
//
// The span of positions s .. e - 1 with a kind is there where the step into s starts it, the steps within continue,
// and the step out of e - 1 does not. The posterior of a chain is a Markov chain, so with its edge marginals mu_t
// (from t to t + 1) and node marginals nu_t, sums running over labels of the kind,
//     v_s[j] = sum_i mu_{s-1}[i][j] [i, j starts]            (all i),
//     v_t[j] = sum_i v_{t-1}[i] mu_{t-1}[i][j] / nu_{t-1}[i] [i, j continues],
//     p      = sum_i v_{e-1}[i] sum_j mu_{e-1}[i][j] / nu_{e-1}[i] [i, j does not continue]   (all j).
// Every term is positive, so small probabilities keep their relative precision; one forward-backward pass serves all
// spans of a chain.
#pragma once

#include <vector>

#include "oracles/chain_forward_backward.hpp"

namespace dualfield {

enum class Step : std::int8_t { outside = 0, starts = 1, continues = 2 };

struct Span {
    Index begin, end, kind;  // positions begin .. end - 1
};

class SpanRules {
   public:
    // `steps` is (K + 1) x K. Kinds are numbered from 0.
    SpanRules(Index labels, const std::int32_t* kinds, const std::int8_t* steps)
        : labels_(labels), kinds_(kinds, kinds + labels), steps_(steps, steps + (labels + 1) * labels) {
        for (Index k = 0; k < labels; ++k) {
            if (kinds_[k] < 0) continue;
            if (kinds_[k] >= this->kinds()) members_.resize(kinds_[k] + 1);
            members_[kinds_[k]].push_back(k);
        }
    }

    Index labels() const { return labels_; }
    Index kinds() const { return static_cast<Index>(members_.size()); }
    Index kind(Index label) const { return kinds_[label]; }
    Step step(Index from, Index to) const { return static_cast<Step>(steps_[from * labels_ + to]); }
    Step first(Index label) const { return step(labels_, label); }
    // The labels of a kind.
    const std::vector<Index>& members(Index kind) const { return members_[kind]; }

    // Whether a continuing step always stays within a span, and a starting one enters one.
    bool sound() const {
        for (Index i = 0; i <= labels_; ++i)
            for (Index j = 0; j < labels_; ++j) {
                const std::int8_t value = steps_[i * labels_ + j];
                if (value < 0 || value > 2 || (kinds_[j] < 0) != (value == 0)) return false;
                if (value == 2 && (i == labels_ || kinds_[i] != kinds_[j])) return false;
            }
        return true;
    }

   private:
    Index labels_;
    std::vector<std::int32_t> kinds_;
    std::vector<std::int8_t> steps_;
    std::vector<std::vector<Index>> members_;
};

// Calls body(span) for the spans of one labelling, from left to right.
template <class Body>
void for_each_span(const SpanRules& rules, Index length, const std::int32_t* labels, Body&& body) {
    Index begin = -1;
    for (Index t = 0; t < length; ++t) {
        const Step step = t == 0 ? rules.first(labels[0]) : rules.step(labels[t - 1], labels[t]);
        if (step == Step::continues) continue;
        if (begin >= 0) body(Span{begin, t, rules.kind(labels[t - 1])});
        begin = step == Step::starts ? t : -1;
    }
    if (begin >= 0) body(Span{begin, length, rules.kind(labels[length - 1])});
}

class SpanOracle {
   public:
    // Runs forward-backward, by the oracle given; the chain need not outlive the call.
    template <class Marginals>
    void prepare(const ChainPotentials& chain, Marginals& oracle) {
        length_ = chain.length;
        labels_ = chain.labels;
        nodes_.resize(length_ * labels_);
        edges_.resize((length_ - 1) * labels_ * labels_);
        oracle.marginals(chain, nodes_.data(), edges_.data(), nullptr);
    }

    double probability(const SpanRules& rules, const Span& span) {
        const std::vector<Index>& inside = rules.members(span.kind);
        const std::size_t M = inside.size();
        mass_.assign(M, 0.0);
        for (std::size_t m = 0; m < M; ++m) {
            const Index j = inside[m];
            if (span.begin == 0) {
                if (rules.first(j) == Step::starts) mass_[m] = nodes_[j];
            } else {
                for (Index i = 0; i < labels_; ++i)
                    if (rules.step(i, j) == Step::starts) mass_[m] += edge(span.begin - 1, i, j);
            }
        }
        for (Index t = span.begin; t < span.end - 1; ++t) {
            next_.assign(M, 0.0);
            for (std::size_t from = 0; from < M; ++from) {
                const double share = conditional_scale(t, inside[from], mass_[from]);
                for (std::size_t to = 0; to < M; ++to)
                    if (rules.step(inside[from], inside[to]) == Step::continues)
                        next_[to] += share * edge(t, inside[from], inside[to]);
            }
            mass_.swap(next_);
        }
        double total = 0.0;
        for (std::size_t m = 0; m < M; ++m) {
            if (span.end == length_) {
                total += mass_[m];
                continue;
            }
            const double share = conditional_scale(span.end - 1, inside[m], mass_[m]);
            for (Index j = 0; j < labels_; ++j)
                if (rules.step(inside[m], j) != Step::continues) total += share * edge(span.end - 1, inside[m], j);
        }
        return std::min(total, 1.0);
    }

   private:
    double edge(Index t, Index i, Index j) const { return edges_[(t * labels_ + i) * labels_ + j]; }

    // mass / nu_t[i]; a label without probability has no mass to pass on.
    double conditional_scale(Index t, Index i, double mass) const {
        const double node = nodes_[t * labels_ + i];
        return node > kTiny ? mass / node : 0.0;
    }

    Index length_ = 0, labels_ = 0;
    std::vector<double> nodes_, edges_, mass_, next_;
};

}  // namespace dualfield
