// SVRG, the stochastic variance-reduced gradient: Johnson and Zhang (2013). It keeps no gradients of blocks: now and
// then it takes the full gradient d at a snapshot w~ of the weights, and then steps
//     w <- w - alpha [ g_i(w) - g_i(w~) + d/n + lambda w ],
// two calls of the oracle each. In mean units, as SAG; the step is 1 / (3 (L + lambda)), L by the same search. With l1
// the weights then move towards zero by at most alpha l1 / n, the proximal step (Xiao and Zhang 2014).
#pragma once

#include <vector>

#include "solvers/primal/gap_estimate.hpp"
#include "solvers/primal/primal_run.hpp"
#include "solvers/primal/smoothness.hpp"
#include "solvers/primal/thresholded_weights.hpp"

namespace dualfield {

struct SVRGOptions {
    static constexpr bool kWithoutPenalty = true;  // l2 may be zero
    double l1;
    Index inner_passes;
    std::uint64_t seed;

    void each(auto&& option) {
        option("l1", l1);
        option("inner_passes", inner_passes);
        option("seed", seed);
    }
    void check(const auto& field) const {
        check_penalty(field, l1);
        check_option(inner_passes >= 1, "inner_passes must be at least 1");
    }
};

template <Field F>
class SVRG : public PrimalRun<F, SVRG<F>> {
    using Base = PrimalRun<F, SVRG<F>>;
    friend Base;

   public:
    using Options = SVRGOptions;

    SVRG(const F& field, const Options& options)
        : Base(field, options.seed, 1, options.l1),
          weights_(make_moving_weights(field, Lazy::drifting, options.l1)),
          snapshot_(field.dimension(), 0.0),
          search_(field),
          inner_(options.inner_passes * Base::active_count()) {}

    auto numbers() const { return Base::numbers_with({{"smoothness", constant_}}); }

    // (gap, primal) at the last snapshot, whose gradient was complete.
    std::pair<double, double> estimate() const { return {snapshot_gap_, snapshot_primal_}; }

   private:
    Index per_pass() const { return Base::active_count(); }
    void read(double* w) const { weights_->read(w); }
    void set(const double* w) { weights_->set(w); }

    // Adds one block to the full gradient, or takes one step.
    void update() {
        if (cursor_ < Base::active_count()) {
            add_to_gradient(Base::active_[cursor_]);
            if (++cursor_ == Base::active_count()) end_gradient();
        } else {
            step(Base::active_[Base::random_.below(Base::active_count())]);
            if (++cursor_ == Base::active_count() + inner_) cursor_ = 0;
        }
    }

    void add_to_gradient(Index i) {
        if (cursor_ == 0) {
            weights_->settle();
            weights_->read(snapshot_.data());
            std::fill(weights_->drift().begin(), weights_->drift().end(), 0.0);
            losses_ = 0.0;
        }
        const Index size = Base::field_.compact_size(i);
        const double c = Base::field_.sample_weight(i);
        double* theta = room(theta_, size);
        double* m = room(m_, size);
        Base::field_.score(i, snapshot_.data(), theta);
        losses_ += c * Base::infer(i, theta, m);
        Base::field_.subtract_truth(i, m);
        pull(i, m);
        if (Base::diverged_) return;
        Base::field_.apply(weights_->drift().data(), c, direction_);
    }

    void end_gradient() {
        Team alone(1);
        std::tie(snapshot_gap_, snapshot_primal_) =
            estimate_gap(Base::penalty_, snapshot_, weights_->drift(), losses_, alone);
    }

    void step(Index i) {
        const Index size = Base::field_.compact_size(i);
        double* theta = room(theta_, size);
        double* m = room(m_, size);
        double* old = room(old_, size);
        weights_->prepare(i);
        weights_->score(i, theta, scratch_);
        const double loss = Base::infer(i, theta, m);
        if (Base::diverged_) return;
        constant_ = search_.search(i, theta, loss, m, constant_);
        Base::oracle_calls_ += search_.take_oracle_calls();
        constant_ *= std::exp2(-1.0 / static_cast<double>(Base::active_count()));
        Base::field_.score(i, snapshot_.data(), theta);
        Base::infer(i, theta, old);
        axpy(size, -1.0, old, m);
        pull(i, m);
        if (Base::diverged_) return;
        const double alpha = 1.0 / (3.0 * (constant_ + Base::lambda()));
        const BlockChange<typename F::Direction> change{i, -alpha * Base::field_.sample_weight(i), &direction_};
        weights_->move(1.0 - alpha * Base::lambda(), alpha / static_cast<double>(Base::active_count()), {&change, 1});
    }

    void pull(Index i, const double* m) {
        const double slope = Base::field_.sample_weight(i) * std::sqrt(Base::field_.pull(i, m, direction_));
        Base::diverged_ = Base::diverged_ || !Base::sane(slope);
    }

    void archive_method(Archive& archive) {
        weights_->archive(archive);
        archive.array("snapshot", snapshot_);
        archive.scalars("smoothness", {&constant_, &losses_, &snapshot_gap_, &snapshot_primal_});
        archive.index("cursor", cursor_, Base::active_count() + inner_ - 1);
    }

    std::unique_ptr<MovingWeights<F>> weights_;  // drifting along the full gradient
    std::vector<double> snapshot_;               // w~
    SmoothnessSearch<F> search_;
    Index inner_;            // steps between two full gradients
    double constant_ = 1.0;  // L
    double losses_ = 0.0;
    double snapshot_gap_ = std::numeric_limits<double>::infinity(), snapshot_primal_ = 1.0;
    Index cursor_ = 0;  // below n: the next block of the full gradient; from n on: n + steps taken
    typename F::Direction direction_;
    std::vector<double> theta_, m_, old_, scratch_;
};

}  // namespace dualfield
