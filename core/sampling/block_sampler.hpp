// Which block to update next.
//
// Updates come in passes of n. The first pass, and then every `permutation_every`-th, visits each block once in a
// random order, so that every recorded gap is fresh. In the other passes a draw follows the rule with probability
// `non_uniformity`, and otherwise it is uniform. The rules use the last recorded gap c_i g_i of a block, its smoothness
// L_i = l2 + c_i R_i and the length d_i = |nu_i - mu_i|_1 of its last direction:
//     uniform          every draw is uniform
//     importance       p_i ~ L_i
//     gap              p_i ~ c_i g_i
//     gap*importance   p_i ~ c_i g_i L_i
//     residual         p_i ~ d_i sqrt(c_i L_i)
//     safemax          the block of largest c_i g_i
//     max              the same, and no draw is uniform
// The reason for these rules: a step gamma_i ascends by at least (equation (22) of Le Priol et al. 2018, in sum units)
//     c_i gamma_i g_i + c_i gamma_i (1 - gamma_i L_i / l2) d_i^2 / 2.
// With gamma_i = gamma / p_i the first terms have the mean gamma * sum c_i g_i, whatever p; all second terms stay
// positive for the largest gamma if p_i ~ L_i (importance), and their mean is largest if p_i ~ d_i sqrt(c_i L_i)
// (residual). With one step for all, the first terms gain most from large gaps.
// Blocks of sample weight zero are never drawn.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/archive.hpp"
#include "base/compiler.hpp"
#include "base/random.hpp"
#include "base/rule_names.hpp"
#include "sampling/max_tree.hpp"
#include "sampling/weighted_tree.hpp"

namespace dualfield {

enum class SamplingRule { kUniform, kImportance, kGap, kGapImportance, kResidual, kSafeMax, kMax };

inline RuleNames<SamplingRule> names_of(SamplingRule) {
    return {{"uniform", SamplingRule::kUniform},
            {"importance", SamplingRule::kImportance},
            {"gap", SamplingRule::kGap},
            {"gap*importance", SamplingRule::kGapImportance},
            {"residual", SamplingRule::kResidual},
            {"safemax", SamplingRule::kSafeMax},
            {"max", SamplingRule::kMax}};
}

struct SamplingOptions {
    SamplingRule rule;
    double non_uniformity;    // share of the draws that follow the rule
    Index permutation_every;  // one pass in so many visits every block once; 0: only the first does
    std::uint64_t seed;

    void each(auto&& option) {
        option("sampling", rule);
        option("non_uniformity", non_uniformity);
        option("permutation_every", permutation_every);
        option("seed", seed);
    }
};

class BlockSampler {
   public:
    BlockSampler(const SamplingOptions& options, std::vector<Index> active, Index blocks)
        : rule_(options.rule),
          share_(rule_ == SamplingRule::kUniform ? 0.0 : (rule_ == SamplingRule::kMax ? 1.0 : options.non_uniformity)),
          permutation_every_(options.permutation_every),
          order_(std::move(active)),
          recorded_count_(static_cast<std::size_t>(blocks)),
          recorded_(blocks),
          weights_(has_weights() ? blocks : 0),
          factors_(has_weights() ? blocks : 0, 0.0),
          largest_(by_maximum() ? blocks : 0) {}

    Index draws_per_pass() const { return static_cast<Index>(order_.size()); }

    Index draw(Random& random) {
        Index block = 0;
        draw(random, 1, &block);
        return block;
    }

    // Draws `count` blocks, at most kAtOnce, or as many as the pass still has. Returns the number drawn. The draws are
    // independent of each other, so that their look-ups in memory overlap.
    static constexpr Index kAtOnce = 8;
    Index draw(Random& random, Index count, Index* blocks) {
        const Index pass = draws_ / draws_per_pass(), position = draws_ % draws_per_pass();
        count = std::min(count, draws_per_pass() - position);
        draws_ += count;
        if (permutes(pass)) {
            shuffle(random, position, count, blocks);
        } else {
            choose(random, count, blocks);
        }
        return count;
    }

    // Whether a draw may come before the last few gaps are recorded. With the rules of a maximum it may not: the same
    // block would be drawn again and again.
    bool may_draw_ahead() const { return !by_maximum(); }

    // Fetches into the cache what recording the gap of block i will need.
    DUALFIELD_INLINE void prefetch(Index i) const { recorded_.prefetch(i); }

    // Whether the rule needs set_smoothness() for each block before the first draw, and record_length() at each visit.
    bool needs_smoothness() const { return has_weights(); }
    bool needs_length() const { return rule_ == SamplingRule::kResidual; }

    void set_smoothness(Index i, double sample_weight, double smoothness) {
        factors_[i] = needs_length() ? std::sqrt(sample_weight * smoothness) : smoothness;
        if (rule_ == SamplingRule::kImportance) weights_.set(i, smoothness);
    }

    void record(Index i, double gap) {
        recorded_.set(i, gap);
        if (rule_ == SamplingRule::kGapImportance) weights_.set(i, gap * factors_[i]);
        if (by_maximum()) largest_.set(i, gap);
    }
    void record_length(Index i, double length) { weights_.set(i, length * factors_[i]); }

    double recorded(Index i) const { return recorded_.weight(i); }
    double recorded_total() const { return recorded_.total(); }

    // The sum of the squares of all recorded gaps.
    double recorded_squares() const {
        double squares = 0.0;
        for (std::size_t i = 0; i < recorded_count_; ++i) {
            const double gap = recorded(static_cast<Index>(i));
            squares += gap * gap;
        }
        return squares;
    }

    const std::vector<Index>& order() const { return order_; }

    // After a whole pass: whether its blocks were drawn by their gaps. Then only some recorded gaps are fresh: those
    // that were largest.
    bool followed_gaps() const { return share_ > 0.0 && !permutes(draws_ / draws_per_pass() - 1); }

    // Whether the current pass visits every block once.
    bool permutes() const { return permutes(draws_ / draws_per_pass()); }

    void begin_again() { draws_ = 0; }  // with a pass in random order

    Index draws() const { return draws_; }

    // Saves and loads the state. All arrays but the order are indexed by block.
    struct State {
        Index draws;
        std::vector<Index> order;
        std::vector<double> factors, recorded, drawing;

        void archive(Archive& archive) {
            archive.index("draws", draws, std::numeric_limits<Index>::max());
            archive.permutation("order", order);
            archive.array("factors", factors);
            archive.array("recorded", recorded);
            archive.array("drawing", drawing);
        }
    };
    State state() const {
        return {draws_, order_, factors_, all_of(recorded_, recorded_count_), all_of(weights_, factors_.size())};
    }
    void restore(const State& state) {
        draws_ = state.draws;
        order_ = state.order;
        factors_ = state.factors;
        for (Index i : order_) {
            record(i, state.recorded[i]);
            if (has_weights()) weights_.set(i, state.drawing[i]);
        }
    }
    void archive(Archive& archive) {
        State state = this->state();
        state.archive(archive);
        if (archive.loading()) restore(state);
    }

   private:
    bool permutes(Index pass) const { return pass == 0 || (permutation_every_ > 0 && pass % permutation_every_ == 0); }

    static std::vector<double> all_of(const WeightedTree& tree, std::size_t count) {
        std::vector<double> weights(count);
        for (std::size_t i = 0; i < count; ++i) weights[i] = tree.weight(static_cast<Index>(i));
        return weights;
    }

    // The next blocks of a random order.
    void shuffle(Random& random, Index position, Index count, Index* blocks) {
        for (Index k = 0; k < count; ++k) {
            blocks[k] = position + k + random.below(draws_per_pass() - position - k);
            prefetch_line_to_write(&order_[blocks[k]]);
        }
        for (Index k = 0; k < count; ++k) {
            std::swap(order_[position + k], order_[blocks[k]]);
            blocks[k] = order_[position + k];
        }
    }

    // Each draw follows the rule or is uniform.
    void choose(Random& random, Index count, Index* blocks) {
        const WeightedTree& weights = has_weights() ? weights_ : recorded_;
        const bool ruled = by_maximum() ? largest_.top() > 0.0 : weights.total() > 0.0;
        std::array<double, kAtOnce> at;
        Index by_weight = 0, others = count;  // the former from the front, the latter from the back
        for (Index k = 0; k < count; ++k) {
            if (random.uniform() >= share_ || !ruled) {
                blocks[--others] = order_[random.below(draws_per_pass())];
            } else if (by_maximum()) {
                blocks[--others] = largest_.find();
            } else {
                at[by_weight++] = random.uniform();
            }
        }
        weights.find(by_weight, at.data(), blocks);
    }

    bool by_maximum() const { return rule_ >= SamplingRule::kSafeMax; }
    bool has_weights() const {
        return rule_ == SamplingRule::kImportance || rule_ == SamplingRule::kGapImportance || needs_length();
    }

    SamplingRule rule_;
    double share_;
    Index permutation_every_;
    std::vector<Index> order_;  // the blocks of positive weight; shuffled in place during a permutation pass
    std::size_t recorded_count_;
    WeightedTree recorded_;  // c_i g_i
    WeightedTree weights_;   // what draws are proportional to, where that is not the gaps themselves
    std::vector<double> factors_;
    MaxTree largest_;
    Index draws_ = 0;
};

}  // namespace dualfield
