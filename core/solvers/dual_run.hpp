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
#include "solvers/acceleration.hpp"
#include "solvers/confirmation.hpp"

namespace dualfield {

template <DualField F, class Method>
class DualRun {
   public:
    // The start, in slices like run(); true when it is complete.
    bool start(double seconds) {
        const Deadline deadline(seconds);
        const Index active = draws_per_pass();
        if (acceleration_.active() && start_cursor_ == 0) acceleration_.begin(mean_radius());
        while (start_cursor_ < active) {
            const Index i = sampler_.order()[start_cursor_++];
            if (sampler_.needs_smoothness())
                sampler_.set_smoothness(i, field_.sample_weight(i), l2() + field_.sample_weight(i) * radius(i));
            method().prepare(i);
            if (start_cursor_ == active) method().choose_start();
            if (deadline.passed()) return false;
        }
        while (start_cursor_ < 2 * active) {
            method().initialise(sampler_.order()[start_cursor_++ - active]);
            if (deadline.passed() && start_cursor_ < 2 * active) return false;
        }
        restore_dual();
        return true;
    }

    // Runs updates until there were `max_updates` or the time is over; returns how many there were.
    Index run(Index max_updates, double seconds) {
        const Deadline deadline(seconds);
        confirmation_.discard();
        Index done = 0;
        while (done < max_updates && !diverged_) {
            if (acceleration_.active() && updates_ % draws_per_pass() == 0 && updates_ > 0)
                acceleration_.end_pass(sampler_.recorded_total(), weights_);
            method().update(sampler_.draw(random_));
            ++done;
            ++updates_;
            if (deadline.passed()) break;
        }
        up_to_date_ = false;
        return done;
    }

    // The certificate, by a full pass that changes nothing in the run. In slices; true when it is complete.
    bool confirm(double seconds) {
        return confirmation_.run(
            sampler_.order(), Deadline(seconds), [&](Index i, double* m) { method().stored(i, m); },
            [&](Index i) { return method().stored_entropy(i); },
            [&](std::vector<double>& w) { acceleration_.shift(w); });
    }

    // Goes on from what the last complete confirm() found: weights without drift, every recorded gap exact.
    void adopt_confirmed() {
        weights_.swap(confirmation_.weights());
        entropy_.swap(confirmation_.entropies());
        for (Index i : sampler_.order()) {
            method().repair(i);
            sampler_.record(i, confirmation_.gaps()[i]);
            remaining_[i] = confirmation_.gaps()[i];
        }
        restore_dual();
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
    // Of the problem asked for. With acceleration they take a look at all weights, once after each run().
    double dual() {
        if (!up_to_date_) restore_dual(!acceleration_.active());
        return dual_;
    }
    double gap_estimate() {
        if (!up_to_date_) restore_dual(!acceleration_.active());
        return remaining_total_ + excess_;
    }
    double chi() const { return sampler_.non_uniformity_of_gaps(); }
    double epsilon() const { return epsilon_; }
    double kappa() const { return acceleration_.kappa(); }  // 0 without acceleration
    Index draws_per_pass() const { return sampler_.draws_per_pass(); }
    Index updates() const { return updates_; }
    Index adopted_at() const { return adopted_at_; }  // after how many updates adopt_confirmed() was last called
    Index oracle_calls() const { return oracle_calls_ + confirmation_.oracle_calls(); }
    Index evaluations() const { return evaluations_; }
    double step_total() const { return step_total_; }

    // After the state of a run that differs in l2 alone has been loaded: a new run, from its marginals.
    void begin_again(double old_l2) {
        acceleration_.begin_again(old_l2, weights_);
        method().change_l2(old_l2);
        sampler_.begin_again();
        updates_ = adopted_at_ = idle_ = oracle_calls_ = evaluations_ = 0;
        step_total_ = 0.0;
        restore_dual();
    }

    // Only after start().
    void archive(Archive& archive) {
        method().archive_duals(archive);
        archive.array("entropies", entropy_);
        archive.array("weights", weights_);
        archive.array("remaining", remaining_);
        sampler_.archive(archive);
        acceleration_.archive(archive);
        archive.generator("random", random_);
        Index calls = oracle_calls();
        archive.scalars("counters", {&updates_, &calls, &evaluations_, &adopted_at_, &idle_});
        dual();
        archive.scalars("numbers", {&step_total_, &dual_, &epsilon_, &excess_, &remaining_total_});
        if (!archive.loading()) return;
        up_to_date_ = true;
        start_cursor_ = 2 * draws_per_pass();
        confirmation_.reset();
        oracle_calls_ = calls;
    }

   protected:
    DualRun(const F& field, const SamplingOptions& sampling, bool accelerate)
        : field_(field),
          acceleration_(accelerate, field.l2(), field.dimension()),
          random_(sampling.seed),
          sampler_(sampling, active_blocks(field), field.blocks()),
          weights_(field.dimension(), 0.0),
          entropy_(field.blocks(), 0.0),
          remaining_(field.blocks(), 0.0),
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
        field_.apply(weights.data(), -a * field_.sample_weight(i) / l2(), direction_);
    }

    // Of the problem that the updates work on.
    double l2() const { return field_.l2() + acceleration_.kappa(); }

    struct Step {
        double gap;      // of the block before the step
        double entropy;  // of the block after it
        double ascent;   // of the dual, per unit of sample weight
        double size;     // gamma, eta: zero where the block did not move
    };

    void record_step(Index i, const Step& step) {
        const double c = field_.sample_weight(i);
        entropy_[i] = step.entropy;
        dual_ += c * step.ascent;  // of the proximal problem, where there is one
        sampler_.record(i, c * step.gap);
        remaining_[i] = c * non_negative(step.gap - step.ascent);
        step_total_ += step.size;
        idle_ = step.size > 0.0 ? 0 : idle_ + 1;
        diverged_ = !std::isfinite(step.gap);
    }

    const F& field_;
    Acceleration acceleration_;
    Random random_;
    BlockSampler sampler_;
    std::vector<double> weights_;    // w(mu)
    std::vector<double> entropy_;    // H(mu_i)
    std::vector<double> remaining_;  // what the last step of each block left of its gap, times c_i
    double dual_ = 0.0, epsilon_ = 0.0;
    Index oracle_calls_ = 0, evaluations_ = 0;
    typename F::Workspace oracle_;
    typename F::Direction direction_;
    std::vector<double> potentials_, marginals_, candidate_;  // scratch

   private:
    Method& method() { return static_cast<Method&>(*this); }

    // The dual value of the problem asked for, from the weights and the entropies; without acceleration it is otherwise
    // kept up to date by ascents.
    void restore_dual(bool keep_dual = false) {
        up_to_date_ = true;
        remaining_total_ = 0.0;
        for (Index i : sampler_.order()) remaining_total_ += remaining_[i];
        excess_ = acceleration_.excess(weights_);
        if (keep_dual) return;
        dual_ = -0.5 * field_.l2() * acceleration_.conjugate_norm(weights_);
        for (Index i : sampler_.order()) dual_ += field_.sample_weight(i) * entropy_[i];
    }

    // R_i as far as the labelling rarest in y_i shows it.
    double radius(Index i) {
        double* m = room(marginals_, field_.compact_size(i));
        field_.contrast(i, m);
        return field_.pull(i, m, direction_);
    }

    // The mean of c_i R_i over some blocks.
    double mean_radius() {
        constexpr Index kEnough = 1000;
        const Index every = (draws_per_pass() + kEnough - 1) / kEnough;
        double total = 0.0, count = 0.0;
        for (Index k = 0; k < draws_per_pass(); k += every) {
            const Index i = sampler_.order()[k];
            total += field_.sample_weight(i) * radius(i);
            count += 1.0;
        }
        return total / count;
    }

    double step_total_ = 0.0;
    double excess_ = 0.0;  // of the gap over that of the proximal problem
    double remaining_total_ = 0.0;
    bool up_to_date_ = true;  // dual_ and excess_
    Index updates_ = 0, adopted_at_ = 0;
    Index start_cursor_ = 0;
    Index idle_ = 0;  // updates since a block last moved
    bool diverged_ = false;
    Confirmation<F> confirmation_;
};

}  // namespace dualfield
