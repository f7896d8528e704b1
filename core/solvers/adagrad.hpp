// AdaGrad with the exact proximal step for the penalty: Duchi, Hazan and Singer (2011). For a batch of b of the n
// blocks, with g the gradient of its losses and r = l2 b / n,
//     G_j  += g_j^2,     eta_j = eta / (delta + sqrt(G_j)),
//     w_j  <- soft(w_j - eta_j g_j, eta_j l1 b / n) / (1 + eta_j r),    soft(x, t) = x moved towards zero by at most t.
// A coordinate that the batch does not touch keeps its eta_j and only shrinks; all such steps are made up for at the
// next visit, exactly: ElasticNet::shrunk.
#pragma once

#include <vector>

#include "sampling/batches.hpp"
#include "solvers/primal/primal_run.hpp"

namespace dualfield {

struct AdaGradOptions {
    static constexpr bool kWithoutPenalty = true;  // l2 may be zero
    double l1;
    double eta, delta;
    Index batch;
    std::uint64_t seed;

    void each(auto&& option) {
        option("l1", l1);
        option("eta", eta);
        option("delta", delta);
        option("batch", batch);
        option("seed", seed);
    }
    void check(const auto& field) const {
        check_penalty(field, l1);
        check_option(batch >= 1, "a batch has at least one block");
    }
};

template <Field F>
class AdaGrad : public PrimalRun<F, AdaGrad<F>> {
    using Base = PrimalRun<F, AdaGrad<F>>;
    friend Base;

   public:
    using Options = AdaGradOptions;

    AdaGrad(const F& field, const Options& options)
        : Base(field, options.seed, 1, options.l1),
          eta_(options.eta),
          delta_(options.delta),
          weights_(field.dimension(), 0.0),
          squares_(field.dimension(), 0.0),
          gradient_(field.dimension(), 0.0),
          steps_of_(field.dimension(), 0),
          batches_(Base::active_, options.batch),
          l2_of_a_block_(field.l2() / static_cast<double>(Base::active_count())) {}

    auto numbers() const { return Base::numbers_with({{"eta", eta_}}); }

   private:
    Index per_pass() const { return batches_.per_pass(); }

    void read(double* w) const {
        std::copy(weights_.begin(), weights_.end(), w);
        Base::field_.for_each_range([&](Index start, Index length) { catch_up(start, length, w); });
    }

    void set(const double* w) { std::copy(w, w + weights_.size(), weights_.begin()); }

    void update() {
        const auto batch = batches_.next(Base::random_);
        const auto for_each_range = [&](auto&& body) {
            for (Index i : batch) Base::field_.for_each_range_of(i, body);
        };
        for_each_range([&](Index start, Index length) {
            catch_up(start, length, weights_.data());
            steps_of_[start] = steps_;
        });
        for (Index i : batch) {
            const Index size = Base::field_.compact_size(i);
            const double c = Base::field_.sample_weight(i);
            double* theta = room(theta_, size);
            double* m = room(m_, size);
            Base::field_.score(i, weights_.data(), theta);
            Base::infer(i, theta, m);
            Base::field_.subtract_truth(i, m);
            const double slope = c * std::sqrt(Base::field_.pull(i, m, direction_));
            Base::diverged_ = Base::diverged_ || !Base::sane(slope) || !Base::sane(eta_ / delta_) ||
                              !Base::sane(eta_ / delta_ * Base::field_.l2());
            if (Base::diverged_) return;
            Base::field_.apply(gradient_.data(), c, direction_);
        }
        ++steps_;
        const double r = l2_of_a_block_ * static_cast<double>(batch.size());
        const auto move = [&](auto&& towards_zero) {
            for_each_range([&](Index start, Index length) {
                if (steps_of_[start] == steps_) return;  // another block of the batch has updated this range
                steps_of_[start] = steps_;
                for (Index j = start; j < start + length; ++j) {
                    const double g = std::exchange(gradient_[j], 0.0);
                    squares_[j] += g * g;
                    const double eta = step(j);
                    weights_[j] = towards_zero(weights_[j] - eta * g, eta) / (1.0 + eta * r);
                }
            });
        };
        const double l1 = Base::penalty_.l1 * share(static_cast<double>(batch.size()));
        if (Base::penalty_.plain()) return move([](double w, double) { return w; });
        move([l1](double w, double eta) { return soft_threshold(w, eta * l1); });
    }

    double share(double blocks) const { return blocks / static_cast<double>(Base::active_count()); }
    double step(Index j) const { return eta_ / (delta_ + std::sqrt(squares_[j])); }

    // Makes up for the steps that a range of coordinates has missed. The last batch of a pass may be smaller than the
    // others, so its steps are counted apart.
    void catch_up(Index start, Index length, double* w) const {
        const Index missed = steps_ - steps_of_[start];
        if (missed == 0) return;
        const Index last = steps_ / per_pass() - steps_of_[start] / per_pass();
        const double full = l2_of_a_block_ * static_cast<double>(batches_.size());
        const double rest = l2_of_a_block_ * static_cast<double>(batches_.last_size());
        const double total =
            share(static_cast<double>((missed - last) * batches_.size() + last * batches_.last_size()));
        for (Index j = start; j < start + length; ++j) {
            const double eta = step(j);
            const double log_growth = static_cast<double>(missed - last) * std::log1p(eta * full) +
                                      static_cast<double>(last) * std::log1p(eta * rest);
            w[j] = Base::penalty_.shrunk(w[j], log_growth, eta * total);
        }
    }

    void archive_method(Archive& archive) {
        batches_.archive(archive);
        archive.array("weights", weights_);
        archive.array("squares", squares_);
        archive.counters("steps_of", steps_of_);
        archive.counters("steps", {&steps_});
        archive.scalars("numbers", {&eta_});
    }

    double eta_, delta_;
    std::vector<double> weights_, squares_;  // w and G, as of the step below
    std::vector<double> gradient_;           // of a batch; zero between batches
    std::vector<Index> steps_of_;            // the last step applied to a range, kept at the range's first coordinate
    Batches batches_;
    double l2_of_a_block_;
    Index steps_ = 0;
    typename F::Direction direction_;
    std::vector<double> theta_, m_;  // scratch
};

}  // namespace dualfield
