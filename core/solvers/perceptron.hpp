// The structured perceptron: Collins (2002). Blocks in a random order each pass; with y^ the best labelling of block i
// under w,
//     w <- w + c_i (F_i - F(x_i, y^)).
// It minimises no likelihood, so there is nothing to certify. The average over all steps usually tags better.
#pragma once

#include <cmath>
#include <vector>

#include "base/deadline.hpp"
#include "base/numbers.hpp"
#include "base/rule_names.hpp"
#include "sampling/batches.hpp"
#include "solvers/primal/lazy_weights.hpp"

namespace dualfield {

struct PerceptronOptions {
    bool average;
    std::uint64_t seed;

    void each(auto&& option) {
        option("average", average);
        option("seed", seed);
    }
};

template <DecodingField F>
class Perceptron {
   public:
    using Options = PerceptronOptions;

    Perceptron(const F& field, const Options& options)
        : field_(field),
          random_(options.seed),
          average_(options.average),
          weights_(field, average_ ? Lazy::averaging : Lazy::shrinking),
          batches_(active_blocks(field), 1) {}

    Index run(Index max_updates, double seconds) {
        const Deadline deadline(seconds);
        Index done = 0;
        while (done < max_updates && !diverged_) {
            if (updates_ % batches_.per_pass() == 0) mistakes_of_pass_ = 0;
            update(batches_.next(random_).front());
            ++updates_;
            ++done;
            if (deadline.passed()) break;
        }
        return done;
    }

    Index updates_per_pass() const { return batches_.per_pass(); }
    Index left_in_pass() const { return updates_per_pass() - updates_ % updates_per_pass(); }
    Index updates() const { return updates_; }
    Index oracle_calls() const { return updates_; }
    // Of the current pass, or of the one just complete.
    Numbers numbers() const { return {{"mistakes_of_pass", static_cast<double>(mistakes_of_pass_)}}; }
    bool diverged() const { return diverged_; }  // a step would leave floating point; the weights are those before it
    bool stalled() const { return correct_in_a_row_ >= batches_.per_pass(); }  // a pass without a mistake
    std::vector<double> weights() const {
        std::vector<double> w(field_.dimension());
        average_ ? weights_.read_average(w.data()) : weights_.read(w.data());
        return w;
    }

    void set_weights(const double* w) { weights_.set(w); }  // before the first run()

    void archive(Archive& archive) {
        archive.generator("random", random_);
        weights_.archive(archive);
        batches_.archive(archive);
        archive.counters("counters", {&updates_, &mistakes_, &mistakes_of_pass_, &correct_in_a_row_});
        archive.flag("diverged", diverged_);
    }

   private:
    static constexpr double kLongest = 1e100;  // a step

    void update(Index i) {
        const Index size = field_.compact_size(i);
        double* theta = room(theta_, size);
        double* m = room(m_, size);
        weights_.score(i, theta);
        field_.decode(i, theta, m, decoder_);
        // Apart, the counts of the same labelling are the same sums; taken from each other one by one they are not.
        truth_.assign(size, 0.0);
        field_.subtract_truth(i, truth_.data());
        axpy(size, 1.0, truth_.data(), m);
        if (squared_norm(size, m) > 0.0) {
            const double c = field_.sample_weight(i);
            diverged_ = !(c * std::sqrt(field_.pull(i, m, direction_)) < kLongest);
            if (diverged_) return;
            weights_.add(-c, direction_);
            ++mistakes_;
            ++mistakes_of_pass_;
            correct_in_a_row_ = 0;
        } else {
            ++correct_in_a_row_;
        }
        if (average_) weights_.count();
    }

    const F& field_;
    Random random_;
    bool average_;
    LazyWeights<F> weights_;
    Batches batches_;
    bool diverged_ = false;
    Index updates_ = 0, mistakes_ = 0, mistakes_of_pass_ = 0, correct_in_a_row_ = 0;
    typename F::Decoder decoder_;
    typename F::Direction direction_;
    std::vector<double> theta_, m_, truth_;  // scratch
};

}  // namespace dualfield
