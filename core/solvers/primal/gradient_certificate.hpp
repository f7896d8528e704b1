// The full pass behind the certificate of a primal solver.
//
// At given weights it computes P(w) and its gradient. With mu = p(w) the dual value is P(w) - |gradient|^2 / (2 l2),
// with l1 that of duality/elastic_net.hpp; the best such value of all passes so far bounds the optimum from below. It
// works in slices and changes nothing in the run.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "base/deadline.hpp"
#include "duality/elastic_net.hpp"
#include "fields/objective.hpp"

namespace dualfield {

template <Field F>
class GradientCertificate {
   public:
    explicit GradientCertificate(const F& field, double l1 = 0.0)
        : field_(field), penalty_{l1, field.l2()}, objective_(make_objective(field)), order_(active_blocks(field)) {}

    // read(w) writes the weights to certify, once, when a pass begins. True when the pass is complete.
    template <class Read>
    bool run(const Deadline& deadline, Team& team, Read&& read) {
        if (gradient_.empty()) {
            weights_.resize(field_.dimension());
            read(weights_.data());
            gradient_.resize(field_.dimension());
            for (Index k = 0; k < field_.dimension(); ++k) gradient_[k] = field_.l2() * weights_[k];
            objective_->reset();
            cursor_ = 0;
        }
        const Index blocks = static_cast<Index>(order_.size());
        while (cursor_ < blocks) {
            cursor_ += objective_->add(order_.data() + cursor_, blocks - cursor_, weights_.data(), gradient_.data(),
                                       team, deadline);
            if (deadline.passed() && cursor_ < blocks) return false;
        }
        end(team);
        return true;
    }

    // Forgets a pass: the weights have moved. The best dual value stays.
    void discard() {
        complete_ = false;
        weights_ = gradient_ = {};
    }

    bool complete() const { return complete_; }
    const Certificate& certificate() const { return certificate_; }
    const std::vector<double>& weights() const { return weights_; }
    double best_dual() const { return best_dual_; }
    Index oracle_calls() const { return objective_->oracle_calls(); }

    void archive(Archive& archive) {
        archive.scalars("certificate", {&certificate_.primal, &certificate_.dual, &certificate_.gap, &best_dual_});
    }

   private:
    void end(Team& team) {
        const auto [penalty, lower_bound] = look(team);
        const double primal = objective_->losses() + penalty;
        const double allowance = rounding_allowance(objective_->magnitude() + penalty);
        certificate_ = Certificate();
        gradient_ = {};
        complete_ = true;
        if (!std::isfinite(primal) || !std::isfinite(lower_bound)) return;  // then nothing is certified
        best_dual_ = std::max(best_dual_, lower_bound - allowance);
        certificate_ = {primal, best_dual_, std::max(0.0, primal - best_dual_) + allowance};
    }

    ElasticNet::Look look(Team& team) const {
        const Index n = field_.dimension();
        const double losses = objective_->losses();
        if (penalty_.plain()) {
            const double penalty = dualfield::penalty(field_, weights_.data());
            return {penalty, losses + penalty - 0.5 * squared_norm(n, gradient_.data()) / field_.l2()};
        }
        return penalty_.look(n, weights_.data(), gradient_.data(), losses, team,
                             [&](double penalty) { return rounding_allowance(objective_->magnitude() + penalty); });
    }

    const F& field_;
    ElasticNet penalty_;
    std::unique_ptr<Objective> objective_;
    std::vector<Index> order_;
    Certificate certificate_;
    double best_dual_ = -std::numeric_limits<double>::infinity();
    std::vector<double> weights_, gradient_;
    Index cursor_ = 0;
    bool complete_ = false;
};

}  // namespace dualfield
