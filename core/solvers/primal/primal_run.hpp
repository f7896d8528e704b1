// The common part of the stochastic methods on the primal: counting, stopping in time, the certificate.
//
// A method M derives from PrimalRun<F, M> and has
//     update()          one step; or advance(team), one or more of them, which says how many
//     per_pass()        how many of them make a pass
//     read(w), set(w)   writes the weights that the run stands for; starts from given ones
//     archive_method(a) saves and loads its own state
#pragma once

#include <vector>

#include "base/numbers.hpp"
#include "base/rule_names.hpp"
#include "solvers/primal/gradient_certificate.hpp"

namespace dualfield {

// Checks the penalties of methods with l1: either may be zero, but not both.
inline void check_penalty(const auto& field, double l1) {
    check_option(std::isfinite(l1) && l1 >= 0.0, "l1 must be finite and not negative");
    check_option(l1 > 0.0 || field.l2() > 0.0, "one of l1 and l2 must be positive");
}

template <Field F, class Method>
class PrimalRun {
   public:
    // Runs updates until `max_updates` are done or the time is over. It stops between two calls of advance(). Returns
    // the number of updates.
    Index run(Index max_updates, double seconds) {
        const Deadline deadline(seconds);
        Team team(threads_);
        certificate_.discard();
        const Index before = updates_;
        while (updates_ - before < max_updates && !diverged_) {
            updates_ += method().advance(team);
            if (deadline.passed()) break;
        }
        return updates_ - before;
    }

    bool confirm(double seconds) {
        Team team(threads_);
        return certificate_.run(Deadline(seconds), team, [&](double* w) { method().read(w); });
    }

    void set_weights(const double* w) { method().set(w); }  // before the first run()

    bool confirmed() const { return certificate_.complete(); }
    bool diverged() const { return diverged_; }
    bool stalled() const { return false; }  // a random step may always help
    Index updates() const { return updates_; }
    Index updates_per_pass() const { return static_cast<const Method&>(*this).per_pass(); }
    Index left_in_pass() const { return updates_per_pass() - updates_ % updates_per_pass(); }
    Index oracle_calls() const { return oracle_calls_ + certificate_.oracle_calls(); }
    const Certificate& certificate() const { return certificate_.certificate(); }
    const std::vector<double>& confirmed_weights() const { return certificate_.weights(); }
    std::vector<double> weights() {
        std::vector<double> w(field_.dimension());
        method().read(w.data());
        return w;
    }

    void archive(Archive& archive) {
        Index calls = oracle_calls();
        archive.generator("random", random_);
        archive.counters("counters", {&updates_, &calls});
        archive.flag("diverged", diverged_);
        oracle_calls_ = calls - certificate_.oracle_calls();
        if (archive.loading()) certificate_.discard();
        certificate_.archive(archive);
        method().archive_method(archive);
    }

   protected:
    // The numbers of a method, and those that all methods report.
    Numbers numbers_with(Numbers own) const {
        own.emplace_back("best_dual", certificate_.best_dual());
        return own;
    }

    PrimalRun(const F& field, std::uint64_t seed, Index threads = 1, double l1 = 0.0)
        : field_(field),
          penalty_{l1, field.l2()},
          random_(seed),
          active_(active_blocks(field)),
          threads_(threads),
          certificate_(field, l1) {}

    Index advance(Team&) {
        method().update();
        return diverged_ ? 0 : 1;
    }

    // Returns the loss of block i at potentials theta and writes its marginals. Centres theta.
    double infer(Index i, double* theta, double* m) {
        field_.center(i, theta);
        const double log_z = field_.infer(i, theta, m, oracle_);
        const double loss = log_z - field_.true_score(i, theta);
        ++oracle_calls_;
        diverged_ = diverged_ || !std::isfinite(loss);
        return loss;
    }

    // Whether a step of this length may be taken. Longer ones would soon take the weights out of floating point.
    static bool sane(double length) { return std::abs(length) < 1e100; }

    Index active_count() const { return static_cast<Index>(active_.size()); }
    double lambda() const { return field_.l2() / static_cast<double>(active_.size()); }

    const F& field_;
    ElasticNet penalty_;
    Random random_;
    std::vector<Index> active_;  // the blocks of positive weight
    Index threads_;
    Index updates_ = 0, oracle_calls_ = 0;
    bool diverged_ = false;  // the numbers have left floating point; the weights are the last finite ones
    typename F::Workspace oracle_;

   private:
    Method& method() { return static_cast<Method&>(*this); }

    GradientCertificate<F> certificate_;
};

}  // namespace dualfield
