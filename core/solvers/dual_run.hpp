// What the block-coordinate methods on the dual share: which block comes next, the weights that go with the marginals,
// the recorded gaps, the certificate, and working in slices.
//
// A method M derives from DualRun<F, M> and says how its marginals are kept:
//     prepare(i)      a first visit to each block, before the start is chosen
//     choose_start()
//     initialise(i)   writes the start of block i
//     update(i)       one step; ends with record_step()
//     stored(i, m)    the compact marginals of block i, those of a distribution to the last digit
//     stored_entropy(i)   their entropy; called right after stored(i, m)
//     repair(i)       makes what is kept agree with what stored() gave
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "fields/field.hpp"
#include "sampling/block_sampler.hpp"
#include "solvers/confirmation.hpp"

namespace dualfield {

template <DualField F, class Method>
class DualRun {
   public:
    // The start, in slices like run(); true when it is complete.
    bool start(double seconds) {
        const Deadline deadline(seconds);
        const Index active = draws_per_pass();
        while (start_cursor_ < active) {
            const Index i = sampler_.order()[start_cursor_++];
            if (sampler_.needs_smoothness())
                sampler_.set_smoothness(i, field_.sample_weight(i), field_.l2() + field_.sample_weight(i) * radius(i));
            method().prepare(i);
            if (start_cursor_ == active) method().choose_start();
            if (deadline.passed()) return false;
        }
        while (start_cursor_ < 2 * active) {
            method().initialise(sampler_.order()[start_cursor_++ - active]);
            if (deadline.passed() && start_cursor_ < 2 * active) return false;
        }
        dual_ = -0.5 * field_.l2() * squared_norm(field_.dimension(), weights_.data());
        for (Index i : sampler_.order()) dual_ += field_.sample_weight(i) * entropy_[i];
        return true;
    }

    // Runs updates until there were `max_updates` or the time is over; returns how many there were.
    Index run(Index max_updates, double seconds) {
        const Deadline deadline(seconds);
        confirmation_.discard();
        Index done = 0;
        while (done < max_updates && !diverged_) {
            method().update(sampler_.draw(random_));
            ++done;
            if (deadline.passed()) break;
        }
        updates_ += done;
        return done;
    }

    // The certificate, by a full pass that changes nothing in the run. In slices; true when it is complete.
    bool confirm(double seconds) {
        return confirmation_.run(
            sampler_.order(), Deadline(seconds), [&](Index i, double* m) { method().stored(i, m); },
            [&](Index i) { return method().stored_entropy(i); });
    }

    // Goes on from what the last complete confirm() found: weights without drift, every recorded gap exact.
    void adopt_confirmed() {
        weights_.swap(confirmation_.weights());
        entropy_.swap(confirmation_.entropies());
        for (Index i : sampler_.order()) {
            method().repair(i);
            sampler_.record(i, confirmation_.gaps()[i]);
        }
        dual_ = confirmation_.certificate().dual;
        adopted_at_ = updates_;
        confirmation_.discard();
    }

    bool started() const { return start_cursor_ == 2 * draws_per_pass(); }
    bool confirmed() const { return confirmation_.complete(); }
    bool stalled() const { return idle_ >= 2 * draws_per_pass(); }  // no block moves any more
    bool diverged() const { return diverged_; }                     // the numbers have left floating point

    // The weights that the certificate speaks of, after a complete confirm(); the run's own otherwise.
    const std::vector<double>& confirmed_weights() const { return confirmed() ? confirmation_.weights() : weights_; }
    const std::vector<double>& weights() const { return weights_; }
    const Certificate& certificate() const { return confirmation_.certificate(); }
    double dual() const { return dual_; }
    double gap_estimate() const { return sampler_.recorded_total(); }
    double chi() const { return sampler_.non_uniformity_of_gaps(); }
    double epsilon() const { return epsilon_; }
    Index draws_per_pass() const { return sampler_.draws_per_pass(); }
    Index updates() const { return updates_; }
    Index adopted_at() const { return adopted_at_; }  // after how many updates adopt_confirmed() was last called
    Index oracle_calls() const { return oracle_calls_ + confirmation_.oracle_calls(); }
    Index evaluations() const { return evaluations_; }
    double step_total() const { return step_total_; }

    // A saved run: its vectors, the generator, and the numbers below. Method::kept() adds what the method keeps.
    static constexpr Index kCounters = 5, kNumbers = 3;
    std::vector<double>& mutable_weights() { return weights_; }
    std::vector<double>& entropies() { return entropy_; }
    Random& random() { return random_; }
    BlockSampler& sampler() { return sampler_; }
    std::vector<Index> counters() const {
        return {sampler_.draws(), updates_, oracle_calls(), evaluations_, adopted_at_};
    }
    std::vector<double> numbers() const { return {step_total_, dual_, epsilon_}; }
    void restore_numbers(const Index* counters, const double* numbers) {
        updates_ = counters[1];
        oracle_calls_ = counters[2];
        evaluations_ = counters[3];
        adopted_at_ = counters[4];
        step_total_ = numbers[0];
        dual_ = numbers[1];
        epsilon_ = numbers[2];
        start_cursor_ = 2 * draws_per_pass();
        confirmation_.reset();
    }

   protected:
    DualRun(const F& field, const SamplingOptions& options)
        : field_(field),
          random_(options.seed),
          sampler_(options, active_blocks(field), field.blocks()),
          weights_(field.dimension(), 0.0),
          entropy_(field.blocks(), 0.0),
          confirmation_(field) {}

    // Where block i begins in an array that keeps size_of(i) numbers for each block of positive weight.
    template <class SizeOf>
    static std::vector<Index> offsets_by(const F& field, SizeOf&& size_of) {
        std::vector<Index> offsets{0};
        for (Index i = 0; i < field.blocks(); ++i)
            offsets.push_back(offsets.back() + (field.sample_weight(i) > 0.0 ? size_of(i) : 0));
        return offsets;
    }

    // weights += -a c_i / l2 (E_m F - F_i), the part of block i in w(mu); overwrites m.
    void add_weights(Index i, double* m, double a, std::vector<double>& weights) {
        field_.subtract_truth(i, m);
        field_.pull(i, m, direction_);
        field_.apply(weights.data(), -a * field_.sample_weight(i) / field_.l2(), direction_);
    }

    struct Step {
        double gap;      // of the block before the step
        double entropy;  // of the block after it
        double ascent;   // of the dual, per unit of sample weight
        double size;     // gamma, eta: zero where the block did not move
    };

    void record_step(Index i, const Step& step) {
        const double c = field_.sample_weight(i);
        entropy_[i] = step.entropy;
        dual_ += c * step.ascent;
        sampler_.record(i, c * step.gap);
        step_total_ += step.size;
        idle_ = step.size > 0.0 ? 0 : idle_ + 1;
        diverged_ = !std::isfinite(step.gap);
    }

    const F& field_;
    Random random_;
    BlockSampler sampler_;
    std::vector<double> weights_;  // w(mu)
    std::vector<double> entropy_;  // H(mu_i)
    double dual_ = 0.0, epsilon_ = 0.0;
    Index oracle_calls_ = 0, evaluations_ = 0;
    typename F::Workspace oracle_;
    typename F::Direction direction_;
    std::vector<double> potentials_, marginals_, candidate_;  // scratch

   private:
    Method& method() { return static_cast<Method&>(*this); }

    static std::vector<Index> active_blocks(const F& field) {
        std::vector<Index> active;
        for (Index i = 0; i < field.blocks(); ++i)
            if (field.sample_weight(i) > 0.0) active.push_back(i);
        return active;
    }

    // R_i as far as the labelling rarest in y_i shows it.
    double radius(Index i) {
        double* m = room(marginals_, field_.compact_size(i));
        field_.contrast(i, m);
        return field_.pull(i, m, direction_);
    }

    double step_total_ = 0.0;
    Index updates_ = 0, adopted_at_ = 0;
    Index start_cursor_ = 0;
    Index idle_ = 0;  // updates since a block last moved
    bool diverged_ = false;
    Confirmation<F> confirmation_;
};

}  // namespace dualfield
