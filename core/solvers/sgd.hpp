// Stochastic gradient descent on mini-batches, in sum units: for a batch of b of the n blocks
//     g   = sum over the batch of c_i (E_w F - F_i) + r w,     r = l2 b / n,
//     w  <- w - eta_t g,
// with eta_t constant, eta / t, or Pegasos' eta n / (l2 t b). With l1 the weights then move towards zero by at most
// eta_t l1 b / n, the proximal step. The average of the iterates can stand for the run.
#pragma once

#include <vector>

#include "sampling/batches.hpp"
#include "solvers/primal/primal_run.hpp"
#include "solvers/primal/thresholded_weights.hpp"

namespace dualfield {

enum class StepSchedule { constant, annealed, pegasos };

inline RuleNames<StepSchedule> names_of(StepSchedule) {
    return {
        {"constant", StepSchedule::constant}, {"annealed", StepSchedule::annealed}, {"pegasos", StepSchedule::pegasos}};
}

struct SGDOptions {
    static constexpr bool kWithoutPenalty = true;  // l2 may be zero, but for Pegasos
    double l1;
    StepSchedule schedule;
    double eta;
    Index batch;
    Index average_after;  // the average begins after this many passes; negative: no average
    std::uint64_t seed;

    void each(auto&& option) {
        option("l1", l1);
        option("schedule", schedule);
        option("eta", eta);
        option("batch", batch);
        option("average_after", average_after);
        option("seed", seed);
    }
    void check(const auto& field) const {
        check_penalty(field, l1);
        check_option(schedule != StepSchedule::pegasos || field.l2() > 0.0, "Pegasos divides its steps by l2");
        check_option(batch >= 1, "a batch has at least one block");
    }
};

template <Field F>
class SGD : public PrimalRun<F, SGD<F>> {
    using Base = PrimalRun<F, SGD<F>>;
    friend Base;

   public:
    using Options = SGDOptions;

    SGD(const F& field, const Options& options)
        : Base(field, options.seed, 1, options.l1),
          schedule_(options.schedule),
          eta_(options.eta),
          average_after_(options.average_after),
          weights_(make_moving_weights(field, average_after_ < 0 ? Lazy::shrinking : Lazy::averaging, options.l1)),
          batches_(Base::active_, options.batch) {}

    auto numbers() const { return Base::numbers_with({{"eta", eta_}}); }

   private:
    Index per_pass() const { return batches_.per_pass(); }
    void read(double* w) const { average_after_ < 0 ? weights_->read(w) : weights_->read_average(w); }
    void set(const double* w) {
        weights_->set(w);
        reach_ = std::sqrt(squared_norm(Base::field_.dimension(), w));
    }

    void update() {
        const auto batch = batches_.next(Base::random_);
        if (directions_.size() < batch.size()) directions_.resize(batch.size());
        double slope = 0.0;  // an upper bound on the norm of the losses' gradient
        for (std::size_t k = 0; k < batch.size(); ++k) {
            const Index i = batch[k], size = Base::field_.compact_size(i);
            const double c = Base::field_.sample_weight(i);
            double* theta = room(theta_, size);
            double* m = room(m_, size);
            weights_->prepare(i);
            weights_->score(i, theta, scratch_);
            Base::infer(i, theta, m);
            Base::field_.subtract_truth(i, m);
            slope += c * std::sqrt(Base::field_.pull(i, m, directions_[k]));
        }
        if (Base::diverged_) return;
        ++steps_;
        const double penalty = Base::field_.l2();
        const double share = static_cast<double>(batch.size()) / static_cast<double>(Base::active_count());
        const double eta = step(share);
        // Pegasos' shrinkage is eta / t as it stands, so that with eta = 1 the first step forgets everything.
        const double decay =
            1.0 - (schedule_ == StepSchedule::pegasos ? eta_ / static_cast<double>(steps_) : eta * penalty * share);
        reach_ = std::abs(decay) * reach_ + eta * slope;
        if (!Base::sane(reach_)) {
            Base::diverged_ = true;
            return;
        }
        changes_.clear();
        for (std::size_t k = 0; k < batch.size(); ++k)
            changes_.push_back({batch[k], -eta * Base::field_.sample_weight(batch[k]), &directions_[k]});
        weights_->move(decay, eta * share, changes_);
        if (average_after_ >= 0 && steps_ > average_after_ * per_pass()) weights_->count();
    }

    double step(double share) const {
        switch (schedule_) {
            case StepSchedule::constant:
                return eta_;
            case StepSchedule::annealed:
                return eta_ / static_cast<double>(steps_);
            case StepSchedule::pegasos:
                return eta_ / (Base::field_.l2() * share * static_cast<double>(steps_));
        }
        return eta_;
    }

    void archive_method(Archive& archive) {
        weights_->archive(archive);
        batches_.archive(archive);
        archive.counters("steps", {&steps_});
        archive.scalars("numbers", {&eta_, &reach_});
    }

    StepSchedule schedule_;
    double eta_;
    Index average_after_;
    std::unique_ptr<MovingWeights<F>> weights_;
    Batches batches_;
    Index steps_ = 0;
    double reach_ = 0.0;                             // an upper bound on |w|
    std::vector<typename F::Direction> directions_;  // of the blocks of a batch
    std::vector<BlockChange<typename F::Direction>> changes_;
    std::vector<double> theta_, m_, scratch_;
};

}  // namespace dualfield
