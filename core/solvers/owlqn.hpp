// OWL-QN (Andrew and Gao 2007): L-BFGS for the primal with an elastic net about a centre a, in sum units,
//     P(w) = l1 |w - a|_1 + l2/2 |w - a|^2 + sum_i c_i (log Z_i(w) - <theta_i, truth_i>).
//
// Within an orthant of u = w - a the objective is smooth. Each step stays in one: the orthant of u, and where u_k = 0
// the side that minus the pseudo-gradient (the subgradient of least norm) points to. Trials lose what leaves the
// orthant, so weights of no use are exactly a. The step shrinks until the objective itself has fallen enough. Without
// l1 there are no orthants and this is L-BFGS.
//
// Two things differ from the paper, and each makes the steps at the end those of L-BFGS on the nonzero weights, many
// times fewer. The curvature is cut to the weights that may move. And of the direction -H pseudo-gradient only entries
// with u_k = 0 are dropped where they point uphill, not all: what is dropped only ever makes the slope steeper.
//
// Each evaluation also bounds the optimum from below (duality/elastic_net.hpp); the best bound seen makes the
// certificate.
#pragma once

#include <algorithm>
#include <vector>

#include "base/deadline.hpp"
#include "base/numbers.hpp"
#include "base/rule_names.hpp"
#include "base/zeros.hpp"
#include "duality/elastic_net.hpp"
#include "fields/objective.hpp"
#include "solvers/primal/curvature.hpp"

namespace dualfield {

struct OWLQNOptions {
    static constexpr bool kWithoutPenalty = true;  // l2 may be zero
    Index corrections;
    double l1;
    std::vector<double> centre;  // the weights a; empty: zero
    Index threads;

    void each(auto&& option) {
        option("corrections", corrections);
        option("l1", l1);
        option("centre", centre);
        option("threads", threads);
    }
    void check(const auto& field) const {
        check_option(corrections >= 1, "corrections must be at least 1");
        check_option(std::isfinite(l1) && l1 >= 0.0, "l1 must be finite and not negative");
        check_option(l1 > 0.0 || field.l2() > 0.0, "one of l1 and l2 must be positive");
        check_option(centre.empty() || static_cast<Index>(centre.size()) == field.dimension(),
                     "the centre must have as many numbers as there are weights");
        check_option(threads >= 1, "there must be a thread");
    }
};

template <Field F>
class OWLQN {
   public:
    using Options = OWLQNOptions;

    OWLQN(const F& field, const Options& options)
        : field_(field),
          threads_(worthwhile_threads(field, options.threads)),
          penalty_{options.l1, field.l2()},
          change_(field.dimension()),
          gradient_(field.dimension()),
          pseudo_(field.dimension()),
          direction_(field.dimension()),
          trial_(field.dimension()),
          trial_gradient_(field.dimension()),
          curvature_(field.dimension(), options.corrections),
          objective_(make_objective(field)),
          order_(active_blocks(field)) {
        Team team(threads_);
        for (auto* vector : {&change_, &gradient_, &pseudo_, &direction_, &trial_, &trial_gradient_})
            write_zeros(team, *vector);
        centre_ = options.centre;
        point_ = centre_;
    }

    // Starts from given weights; before the first run() only.
    void set_weights(const double* w) {
        for (std::size_t k = 0; k < trial_.size(); ++k) trial_[k] = centre_.empty() ? w[k] : w[k] - centre_[k];
        place();
    }

    // Visits blocks until `max_visits` are done, the time is over or no step helps. Returns the number of visits. A
    // gradient that the clock interrupts is continued by the next call.
    Index run(Index max_visits, double seconds) {
        const Deadline deadline(seconds);
        Team team(threads_);
        const Index before = visits_, last = visits_ + max_visits;
        while (visits_ < last && !stalled_ && evaluate(deadline, last, team)) {
        }
        return visits_ - before;
    }

    bool confirm(double) { return started_ || stalled_; }  // each evaluation is a certificate

    bool stalled() const { return stalled_; }
    bool diverged() const { return diverged_; }
    Index total() const { return static_cast<Index>(order_.size()); }
    Index updates_per_pass() const { return total(); }  // in visits
    Index left_in_pass() const { return total() - visits_ % total(); }
    Index updates() const { return iterations_; }
    Index oracle_calls() const { return oracle_calls_before_ + objective_->oracle_calls(); }
    Numbers numbers() const {
        return {{"gradient_norm", gradient_norm_},  // of the pseudo-gradient
                {"sample", static_cast<double>(total())},
                {"complete", 1.0},
                {"evaluations", static_cast<double>(evaluations_)}};
    }
    const Certificate& certificate() const { return certificate_; }

    std::vector<double> weights() const {
        std::vector<double> w(dimension());
        write_weights(w.data());
        return w;
    }
    Index dimension() const { return field_.dimension(); }
    void write_weights(double* w) const {
        Team(threads_).over_ranges(field_.dimension(), [&](Index first, Index end) {
            for (Index k = first; k < end; ++k) w[k] = change_[k] + (centre_.empty() ? 0.0 : centre_[k]);
        });
    }

    void archive(Archive& archive) {
        Index calls = oracle_calls();
        archive.counters("counters", {&calls, &iterations_, &evaluations_, &visits_, &trials_});
        oracle_calls_before_ = calls - objective_->oracle_calls();
        archive.flag("started", started_);
        archive.flag("stalled", stalled_);
        archive.flag("diverged", diverged_);
        archive.index("cursor", cursor_, total());
        archive.span("change", change_.data(), field_.dimension());
        archive.span("trial", trial_.data(), field_.dimension());
        archive.span("trial_gradient", trial_gradient_.data(), field_.dimension());
        archive.span("gradient", gradient_.data(), field_.dimension());
        archive.span("pseudo_gradient", pseudo_.data(), field_.dimension());
        archive.span("direction", direction_.data(), field_.dimension());
        archive.scalars("numbers", {&value_, &gradient_norm_, &allowance_, &best_dual_, &step_, &certificate_.primal,
                                    &certificate_.dual, &certificate_.gap});
        objective_->archive(archive);
        curvature_.archive(archive);
        if (archive.loading()) place();
    }

   private:
    // Computes value and gradient at trial_, as far as the time allows, then takes the step that follows from them.
    // Returns true when the gradient is complete.
    bool evaluate(const Deadline& deadline, Index last_visit, Team& team) {
        if (cursor_ == 0) {
            team.over_ranges(field_.dimension(), [&](Index first, Index end) {
                for (Index k = first; k < end; ++k) trial_gradient_[k] = penalty_.l2 * trial_[k];
            });
            objective_->reset();
        }
        const double* w = centre_.empty() ? trial_.data() : point_.data();
        while (cursor_ < total()) {
            const Index count = std::min(total() - cursor_, last_visit - visits_);
            const Index added =
                objective_->add(order_.data() + cursor_, count, w, trial_gradient_.data(), team, deadline);
            cursor_ += added;
            visits_ += added;
            if ((deadline.passed() || visits_ == last_visit) && cursor_ < total()) return false;
        }
        cursor_ = 0;
        ++evaluations_;
        const double losses = objective_->losses();
        const auto allowance = [&](double penalty) { return rounding_allowance(objective_->magnitude() + penalty); };
        const ElasticNet::Look found =
            penalty_.look(field_.dimension(), trial_.data(), trial_gradient_.data(), losses, team, allowance);
        trial_value_ = losses + found.penalty;
        trial_allowance_ = allowance(found.penalty);
        if (std::isfinite(trial_value_) && std::isfinite(found.lower_bound))
            best_dual_ = std::max(best_dual_, found.lower_bound - trial_allowance_);
        consider(team);
        return true;
    }

    // Accepts or rejects the evaluated point, and chooses the next one.
    void consider(Team& team) {
        if (!started_) {
            if (!std::isfinite(trial_value_)) {
                stalled_ = diverged_ = true;
                return;
            }
            started_ = true;
            accept(team);
            choose_direction(team);
            return;
        }
        // The slopes of the objective along the step, at both ends.
        const auto [slope, end_slope] = sum_over_chunks<2>(team, field_.dimension(), [&](Index first, Index end) {
            std::array<double, 2> sums{};
            for (Index k = first; k < end; ++k) {
                const double move = trial_[k] - change_[k];
                sums[0] += pseudo_[k] * move;
                sums[1] += (trial_gradient_[k] + penalty_.l1 * orthant(k)) * move;
            }
            return sums;
        });
        if (enough(slope, end_slope)) {
            curvature_.remember(change_.data(), trial_.data(), gradient_.data(), trial_gradient_.data(), team);
            accept(team);
            ++iterations_;
            if (!stalled_) choose_direction(team);
            return;
        }
        update_certificate();  // the trial may have raised the best dual value
        constexpr int kMaxTrials = 30;
        if (++trials_ < kMaxTrials) {
            // the minimum of the parabola through both values, as a share of the step
            const double share = -0.5 * slope / (trial_value_ - value_ - slope);
            step_ *= slope >= 0.0 ? 0.5 : (share >= 0.1 ? std::min(share, 0.5) : 0.1);
            propose(team);
        } else if (curvature_.empty()) {
            stalled_ = true;
        } else {  // forget the curvature, try plain descent once more
            curvature_.clear();
            choose_direction(team);
        }
    }

    bool enough(double slope, double end_slope) const {
        constexpr double kSufficientDecrease = 1e-4;
        if (!std::isfinite(trial_value_) || !(slope < 0.0)) return false;
        if (trial_value_ <= value_ + kSufficientDecrease * slope) return true;
        // Near the optimum the decrease is lost in the rounding of the value, but not in that of the slope: the
        // approximate condition of Hager and Zhang.
        return trial_value_ <= value_ + 1e-14 * std::abs(value_) &&
               end_slope <= (2.0 * kSufficientDecrease - 1.0) * slope;
    }

    void accept(Team& team) {
        change_.swap(trial_);
        gradient_.swap(trial_gradient_);
        value_ = trial_value_;
        allowance_ = trial_allowance_;
        const auto [square] = sum_over_chunks<1>(team, field_.dimension(), [&](Index first, Index end) {
            for (Index k = first; k < end; ++k) pseudo_[k] = penalty_.pseudo_gradient(change_[k], gradient_[k]);
            return std::array{squared_norm(end - first, pseudo_.data() + first)};
        });
        gradient_norm_ = std::sqrt(square);
        update_certificate();
        if (certificate_.gap <= 3.0 * allowance_) stalled_ = true;  // what is left of the gap is rounding
    }

    void update_certificate() { certificate_ = {value_, best_dual_, std::max(0.0, value_ - best_dual_) + allowance_}; }

    // direction = -H pseudo-gradient, without what would lead a zero uphill; and the first trial along it.
    void choose_direction(Team& team) {
        const double first_step = curvature_.empty() && gradient_norm_ > 1.0 ? 1.0 / gradient_norm_ : 1.0;
        const auto turn = [&](Index first, Index end) {
            double slope = 0.0;
            for (Index k = first; k < end; ++k) {
                const double product = direction_[k] * pseudo_[k];
                direction_[k] = penalty_.l1 > 0.0 && change_[k] == 0.0 && !(product > 0.0) ? 0.0 : -direction_[k];
                slope += direction_[k] * pseudo_[k];
            }
            step_to(first, end, first_step);
            return slope;
        };
        const double slope =
            penalty_.l1 > 0.0 ? curvature_.apply_within([&](Index k) { return change_[k] != 0.0 || pseudo_[k] != 0.0; },
                                                        pseudo_.data(), direction_.data(), team, turn)
                              : curvature_.apply(pseudo_.data(), direction_.data(), team, turn);
        if (!(slope < 0.0)) {  // at the optimum, or lost in rounding
            stalled_ = true;
            return;
        }
        trials_ = 0;
        step_ = first_step;
    }

    // The sign of weight k in the orthant of the step; zero where it may not move.
    double orthant(Index k) const {
        const double side = change_[k] != 0.0 ? change_[k] : -pseudo_[k];
        return side > 0.0 ? 1.0 : (side < 0.0 ? -1.0 : 0.0);
    }

    void propose(Team& team) {
        team.over_ranges(field_.dimension(), [&](Index first, Index end) { step_to(first, end, step_); });
    }

    // Writes trial_ and the point it stands for, for the weights first .. end - 1.
    void step_to(Index first, Index end, double step) {
        for (Index k = first; k < end; ++k) {
            const double there = change_[k] + step * direction_[k];
            trial_[k] = penalty_.l1 > 0.0 && !(there * orthant(k) > 0.0) ? 0.0 : there;
        }
        place(first, end);
    }

    void place() { place(0, static_cast<Index>(trial_.size())); }
    void place(Index first, Index end) {
        if (centre_.empty()) return;
        for (Index k = first; k < end; ++k) point_[k] = centre_[k] + trial_[k];
    }

    const F& field_;
    Index threads_;
    ElasticNet penalty_;
    Zeros<double> change_, gradient_, pseudo_, direction_, trial_, trial_gradient_;
    std::vector<double> centre_, point_;  // a, and a + trial; empty where a = 0
    Curvature curvature_;
    Certificate certificate_;
    double value_ = 0.0, gradient_norm_ = 0.0, allowance_ = 0.0, step_ = 0.0;
    double trial_value_ = 0.0, trial_allowance_ = 0.0;
    double best_dual_ = -std::numeric_limits<double>::infinity();
    bool started_ = false, stalled_ = false, diverged_ = false;
    Index iterations_ = 0, evaluations_ = 0, visits_ = 0, oracle_calls_before_ = 0, trials_ = 0;

    std::unique_ptr<Objective> objective_;
    Index cursor_ = 0;          // position in order_: the next block of an unfinished gradient
    std::vector<Index> order_;  // the blocks of positive weight
};

}  // namespace dualfield
