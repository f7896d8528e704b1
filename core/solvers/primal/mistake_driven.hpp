// The common part of the perceptron, passive aggressive learning and adaptive regularisation of weights. These methods
// change the weights when the best labelling of a block is not the true one. Each pass has a random order of blocks.
//
// A method is a class derived from this one, with a function visit(i): it scores block i into room_for_potentials(i),
// asks differs(i), and where the labellings differ changes its weights by difference(), the compact indicators of the
// best labelling less those of the true one.
#pragma once

#include <cmath>
#include <vector>

#include "base/deadline.hpp"
#include "base/numbers.hpp"
#include "base/rule_names.hpp"
#include "sampling/batches.hpp"
#include "simd/vector.hpp"

namespace dualfield {

template <DecodingField F, class Method>
class MistakeDriven {
   public:
    Index run(Index max_updates, double seconds) {
        const Deadline deadline(seconds);
        Index done = 0;
        while (done < max_updates && !diverged_) {
            if (updates_ % batches_.per_pass() == 0) {
                mistakes_of_pass_ = 0;
                loss_of_pass_ = 0.0;
            }
            const Index i = batches_.next(random_).front();
            if (static_cast<Method*>(this)->visit(i)) {
                ++mistakes_;
                ++mistakes_of_pass_;
                correct_in_a_row_ = 0;
            } else {
                ++correct_in_a_row_;
            }
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
    // Counts of the current pass, or of the one that has just ended.
    Numbers numbers() const {
        return {{"mistakes_of_pass", static_cast<double>(mistakes_of_pass_)}, {"loss_of_pass", loss_of_pass_}};
    }
    bool diverged() const { return diverged_; }  // a step would leave floating point; it is not taken
    bool stalled() const { return correct_in_a_row_ >= batches_.per_pass(); }  // a pass without a mistake

   protected:
    MistakeDriven(const F& field, std::uint64_t seed)
        : field_(field), random_(seed), batches_(active_blocks(field), 1) {}

    double* room_for_potentials(Index i) { return room(theta_, field_.compact_size(i)); }

    // Whether the best labelling under the potentials is another than the true one.
    bool differs(Index i) {
        const Index size = field_.compact_size(i);
        double* m = room(m_, size);
        field_.decode(i, theta_.data(), m, decoder_);
        // Both counts are summed first and then subtracted: equal labellings give equal sums, so exactly zero.
        // Subtracting term by term would leave rounding errors.
        truth_.assign(size, 0.0);
        field_.subtract_truth(i, truth_.data());
        axpy(size, 1.0, truth_.data(), m);
        return squared_norm(size, m) > 0.0;
    }
    const double* difference() const { return m_.data(); }

    // By how much the best labelling outscores the true one.
    double excess(Index i) const { return dot(field_.compact_size(i), theta_.data(), m_.data()); }

    // The number of nodes at which the two labellings differ. There the wrong label has the indicator 1. Compact
    // vectors begin with the nodes.
    Index wrong_labels(Index i) const {
        Index wrong = 0;
        for (Index k = 0; k < nodes(i) * field_.labels(); ++k) wrong += m_[k] > 0.5;
        return wrong;
    }
    Index nodes(Index i) const { return field_.positions_before(i + 1) - field_.positions_before(i); }

    // Whether a step of this squared length stays within floating point; if not, marks the run as diverged.
    bool bounded(double squared_length) {
        constexpr double kLongest = 1e200;
        diverged_ = !(squared_length < kLongest);
        return !diverged_;
    }
    void add_loss(double loss) { loss_of_pass_ += loss; }

    void archive_progress(Archive& archive) {
        archive.generator("random", random_);
        batches_.archive(archive);
        archive.counters("counters", {&updates_, &mistakes_, &mistakes_of_pass_, &correct_in_a_row_});
        archive.scalars("loss", {&loss_of_pass_});
        archive.flag("diverged", diverged_);
    }

    const F& field_;
    typename F::Direction direction_;

   private:
    Random random_;
    Batches batches_;
    bool diverged_ = false;
    double loss_of_pass_ = 0.0;
    Index updates_ = 0, mistakes_ = 0, mistakes_of_pass_ = 0, correct_in_a_row_ = 0;
    typename F::Decoder decoder_;
    std::vector<double> theta_, m_, truth_;  // scratch
};

}  // namespace dualfield
