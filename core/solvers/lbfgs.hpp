// L-BFGS: limited-memory quasi-Newton steps (curvature.hpp) with a strong Wolfe search, on the primal in sum units,
//     P(w) = l2/2 |w|^2 + sum_i c_i (log Z_i(w) - <theta_i, truth_i>),
//     gradient = l2 w + sum_i c_i (E_w F - F_i).
//
// Each evaluation also bounds the optimum from below: with mu = p(w), the dual value is P(w) - |gradient|^2 / (2 l2).
// The best such value seen makes the certificate.
//
// Hybrid (Friedlander and Schmidt 2012) is the same on a sample of the blocks that grows after each step, its losses
// scaled up to the weight of all. Samples are nested, so growing one costs the new blocks alone; a correction compares
// two gradients of one sample.
#pragma once

#include <algorithm>
#include <vector>

#include "base/numbers.hpp"
#include "base/rule_names.hpp"
#include "base/zeros.hpp"
#include "fields/objective.hpp"
#include "solvers/primal/curvature.hpp"
#include "solvers/primal/gradient_certificate.hpp"
#include "solvers/primal/wolfe_search.hpp"

namespace dualfield {

struct LBFGSOptions {
    Index corrections;
    Index first_sample;  // blocks of the first sample; all of them, or more: L-BFGS
    double growth;       // of the sample, by each step
    Index threads;
    std::uint64_t seed;

    void each(auto&& option) {
        option("corrections", corrections);
        option("first_sample", first_sample);
        option("growth", growth);
        option("threads", threads);
        option("seed", seed);
    }
    void check(const auto&) const {
        check_option(corrections >= 1, "corrections must be at least 1");
        check_option(first_sample >= 1, "first_sample must be at least 1");
        check_option(growth >= 1.0, "growth must be at least 1");
        check_option(threads >= 1, "there must be a thread");
    }
};

template <Field F>
class LBFGS {
   public:
    using Options = LBFGSOptions;

    LBFGS(const F& field, const Options& options)
        : field_(field),
          threads_(worthwhile_threads(field, options.threads)),
          growth_(options.growth),
          weights_(field.dimension()),
          gradient_(field.dimension()),
          step_direction_(field.dimension()),
          trial_(field.dimension()),
          trial_gradient_(field.dimension()),
          curvature_(field.dimension(), options.corrections),
          objective_(make_objective(field)),
          order_(active_blocks(field)),
          sample_(std::min(options.first_sample, total())),
          confirmation_(field) {
        Random random(options.seed);
        if (sample_ < total())
            for (Index k = 0; k < total(); ++k) std::swap(order_[k], order_[k + random.below(total() - k)]);
        weigh_sample();
        Team team(threads_);
        for (auto* vector : {&weights_, &gradient_, &step_direction_, &trial_, &trial_gradient_})
            write_zeros(team, *vector);
    }

    // Starts from given weights; before the first run() only.
    void set_weights(const double* w) { std::copy(w, w + trial_.size(), trial_.begin()); }

    // Visits blocks until `max_visits` are done, the time is over or no step helps. Returns the number of visits. A
    // gradient that the clock interrupts is continued by the next call. A pass is total() visits, one for each block.
    Index run(Index max_visits, double seconds) {
        const Deadline deadline(seconds);
        Team team(threads_);
        confirmation_.discard();
        const Index before = visits_, last = visits_ + max_visits;
        while (visits_ < last && !stalled_) {
            if (extending_ ? !extend(deadline, last, team) : !evaluate(deadline, last, team)) break;
            if (deadline.passed()) break;
        }
        return visits_ - before;
    }

    // Computes the certificate of the current weights. A complete sample has it already, else it takes a full pass.
    bool confirm(double seconds) {
        if (certified_ || !started_) return started_ || stalled_;
        Team team(threads_);
        if (!confirmation_.run(Deadline(seconds), team,
                               [&](double* w) { std::copy(weights_.begin(), weights_.end(), w); }))
            return false;
        certificate_ = confirmation_.certificate();
        return true;
    }

    bool started() const { return started_; }
    bool diverged() const { return diverged_; }
    Index updates_per_pass() const { return total(); }  // in visits
    Index left_in_pass() const { return total() - visits_ % total(); }
    Index total() const { return static_cast<Index>(order_.size()); }
    const Certificate& certificate() const { return certificate_; }
    bool stalled() const { return stalled_; }
    Numbers numbers() const {
        return {{"gradient_norm", gradient_norm_},
                {"sample", static_cast<double>(sample_)},
                {"complete", sample_ == total()},  // the sample
                {"evaluations", static_cast<double>(evaluations_)}};
    }
    Index updates() const { return iterations_; }
    Index oracle_calls() const {
        return oracle_calls_before_ + objective_->oracle_calls() + confirmation_.oracle_calls();
    }
    const Zeros<double>& weights() const { return weights_; }
    Index dimension() const { return field_.dimension(); }
    void write_weights(double* w) const {
        Team(threads_).over_ranges(field_.dimension(), [&](Index first, Index end) {
            std::copy(weights_.begin() + first, weights_.begin() + end, w + first);
        });
    }

    void archive(Archive& archive) {
        Index calls = oracle_calls();
        archive.counters("counters", {&calls, &iterations_, &evaluations_, &visits_});
        if (archive.loading()) confirmation_.discard();
        oracle_calls_before_ = calls - objective_->oracle_calls() - confirmation_.oracle_calls();
        archive.flag("started", started_);
        archive.flag("stalled", stalled_);
        archive.flag("diverged", diverged_);
        archive.flag("extending", extending_);
        archive.flag("certified", certified_);
        archive.index("cursor", cursor_, total());
        archive.index("sample", sample_, total());
        archive.index("next_sample", next_sample_, total());
        sample_ = std::max(sample_, Index{1});  // an empty sample would never be complete
        archive.permutation("order", order_);
        archive.span("weights", weights_.data(), field_.dimension());
        archive.span("trial", trial_.data(), field_.dimension());
        archive.span("trial_gradient", trial_gradient_.data(), field_.dimension());
        archive.span("gradient", gradient_.data(), field_.dimension());
        archive.span("step_direction", step_direction_.data(), field_.dimension());
        archive.scalars("numbers", {&value_, &gradient_norm_, &allowance_, &best_dual_, &certificate_.primal,
                                    &certificate_.dual, &certificate_.gap, &sample_weight_, &total_weight_});
        search_.archive(archive);
        objective_->archive(archive);
        confirmation_.archive(archive);
        curvature_.archive(archive);
    }

   private:
    // Computes value and gradient at trial_, as far as the time allows, then takes the step that follows from them.
    // Returns true when the gradient is complete.
    bool evaluate(const Deadline& deadline, Index last_visit, Team& team) {
        if (cursor_ == 0) {
            const double l2 = field_.l2();
            const double share = sample_weight_ / total_weight_;  // the sum is scaled up at the end
            team.over_ranges(field_.dimension(), [&](Index first, Index end) {
                for (Index k = first; k < end; ++k) trial_gradient_[k] = share * l2 * trial_[k];
            });
            objective_->reset();
        }
        if (!visit(deadline, last_visit, trial_, sample_, team)) return false;
        cursor_ = 0;
        const double up = total_weight_ / sample_weight_;
        const auto [length, square, slope] = sum_over_chunks<3>(team, field_.dimension(), [&](Index first, Index end) {
            const Index n = end - first;
            const double* w = trial_.data() + first;
            double* g = trial_gradient_.data() + first;
            if (up != 1.0) scale(n, up, g);
            return std::array{squared_norm(n, w), squared_norm(n, g), dot(n, g, step_direction_.data() + first)};
        });
        const double penalty = 0.5 * field_.l2() * length;
        trial_value_ = up * objective_->losses() + penalty;
        trial_norm_ = std::sqrt(square);
        trial_slope_ = slope;
        trial_allowance_ = rounding_allowance(objective_->magnitude() + penalty);
        if (std::isfinite(trial_value_) && sample_ == total())
            best_dual_ = std::max(best_dual_, trial_value_ - 0.5 * square / field_.l2() - trial_allowance_);
        ++evaluations_;
        consider(team);
        return true;
    }

    // Adds the losses of the blocks from the cursor to `end`, at w, in slices.
    bool visit(const Deadline& deadline, Index last_visit, const Zeros<double>& w, Index end, Team& team) {
        while (cursor_ < end) {
            const Index count = std::min(end - cursor_, last_visit - visits_);
            const Index added =
                objective_->add(order_.data() + cursor_, count, w.data(), trial_gradient_.data(), team, deadline);
            cursor_ += added;
            visits_ += added;
            if ((deadline.passed() || visits_ == last_visit) && cursor_ < end) return false;
        }
        return true;
    }

    // Enlarges the sample after a step: adds the losses of the new blocks at weights_, as far as the time allows.
    bool extend(const Deadline& deadline, Index last_visit, Team& team) {
        if (cursor_ == 0) {
            const double grown = growth_ * static_cast<double>(sample_);
            next_sample_ = grown < static_cast<double>(total()) ? static_cast<Index>(grown) + 1 : total();
            cursor_ = sample_;
            team.over_ranges(field_.dimension(), [&](Index first, Index end) {
                std::fill(trial_gradient_.begin() + first, trial_gradient_.begin() + end, 0.0);
            });
            objective_->reset();
        }
        if (!visit(deadline, last_visit, weights_, next_sample_, team)) return false;
        cursor_ = 0;
        extending_ = false;
        const double l2 = field_.l2(), old_up = total_weight_ / sample_weight_;
        sample_ = next_sample_;
        weigh_sample();
        const double up = total_weight_ / sample_weight_;
        const auto [length, square] = sum_over_chunks<2>(team, field_.dimension(), [&](Index first, Index end) {
            for (Index k = first; k < end; ++k) {
                const double losses = (gradient_[k] - l2 * weights_[k]) / old_up + trial_gradient_[k];
                gradient_[k] = l2 * weights_[k] + up * losses;
            }
            return std::array{squared_norm(end - first, weights_.data() + first),
                              squared_norm(end - first, gradient_.data() + first)};
        });
        const double penalty = 0.5 * l2 * length;
        value_ = up * ((value_ - penalty) / old_up + objective_->losses()) + penalty;
        allowance_ += rounding_allowance(objective_->magnitude() + penalty);
        gradient_norm_ = std::sqrt(square);
        choose_direction(team);
        return true;
    }

    void weigh_sample() {
        sample_weight_ = total_weight_ = 0.0;
        for (Index k = 0; k < total(); ++k) {
            total_weight_ += field_.sample_weight(order_[k]);
            if (k < sample_) sample_weight_ += field_.sample_weight(order_[k]);
        }
        if (sample_ == total()) sample_weight_ = total_weight_;
    }

    // No step lowers the objective any more. An incomplete sample is then enlarged; on a complete one the run is over.
    void give_up() {
        if (sample_ < total()) {
            extending_ = true;
        } else {
            stalled_ = true;
        }
    }

    // Accepts or rejects the evaluated point, and chooses the next one.
    void consider(Team& team) {
        if (!started_) {
            if (!std::isfinite(trial_value_)) {
                stalled_ = diverged_ = true;
                return;
            }
            started_ = true;
            accept();
            choose_direction(team);
            return;
        }
        switch (search_.tell(trial_value_, trial_slope_)) {
            case WolfeSearch::Verdict::accepted:
                curvature_.remember(weights_.data(), trial_.data(), gradient_.data(), trial_gradient_.data(), team);
                accept();
                ++iterations_;
                if (stalled_) break;
                if (sample_ < total()) {
                    extending_ = true;
                } else {
                    choose_direction(team);
                }
                break;
            case WolfeSearch::Verdict::again:
                update_certificate();  // the trial may have raised the best dual value
                propose(team);
                break;
            case WolfeSearch::Verdict::failed:
                update_certificate();
                if (curvature_.empty()) {
                    give_up();
                } else {  // forget the curvature, try plain descent once more
                    curvature_.clear();
                    choose_direction(team);
                }
                break;
        }
    }

    void accept() {
        weights_.swap(trial_);
        gradient_.swap(trial_gradient_);
        value_ = trial_value_;
        gradient_norm_ = trial_norm_;
        allowance_ = trial_allowance_;
        update_certificate();
        if (certificate_.gap <= 3.0 * allowance_) stalled_ = true;  // what is left of the gap is rounding
    }

    void update_certificate() {
        certified_ = sample_ == total();
        certificate_ = Certificate();
        if (!certified_) return;
        certificate_.primal = value_;
        certificate_.dual = best_dual_;
        certificate_.gap = std::max(0.0, value_ - best_dual_) + allowance_;
    }

    // step_direction_ = -H gradient, and the first trial along it.
    void choose_direction(Team& team) {
        const double first_step = curvature_.empty() && gradient_norm_ > 1.0 ? 1.0 / gradient_norm_ : 1.0;
        const double slope =
            curvature_.apply(gradient_.data(), step_direction_.data(), team, [&](Index first, Index end) {
                double total = 0.0;
#pragma omp simd reduction(+ : total)
                for (Index k = first; k < end; ++k) {
                    step_direction_[k] = -step_direction_[k];
                    trial_[k] = weights_[k] + first_step * step_direction_[k];
                    total += gradient_[k] * step_direction_[k];
                }
                return total;
            });
        if (!(slope < 0.0)) return give_up();  // at the optimum, or lost in rounding
        search_.begin(value_, slope, first_step);
    }

    void propose(Team& team) {
        const double step = search_.step();
        team.over_ranges(field_.dimension(), [&](Index first, Index end) {
            for (Index k = first; k < end; ++k) trial_[k] = weights_[k] + step * step_direction_[k];
        });
    }

    const F& field_;
    Index threads_;
    double growth_;
    Zeros<double> weights_, gradient_, step_direction_, trial_, trial_gradient_;
    Curvature curvature_;
    WolfeSearch search_;
    Certificate certificate_;
    double value_ = 0.0, gradient_norm_ = 0.0, allowance_ = 0.0;
    double trial_value_ = 0.0, trial_norm_ = 0.0, trial_slope_ = 0.0, trial_allowance_ = 0.0;
    double best_dual_ = -std::numeric_limits<double>::infinity();
    bool started_ = false, stalled_ = false, diverged_ = false;
    Index iterations_ = 0, evaluations_ = 0, visits_ = 0, oracle_calls_before_ = 0;

    std::unique_ptr<Objective> objective_;
    Index cursor_ = 0;          // position in order_: the next block of an unfinished gradient
    std::vector<Index> order_;  // the blocks of positive weight; a sample is the beginning of this list
    Index sample_, next_sample_ = 0;
    double sample_weight_ = 0.0, total_weight_ = 0.0;
    bool extending_ = false;  // the sample is growing
    bool certified_ = false;  // the certificate is that of weights_
    GradientCertificate<F> confirmation_;
};

}  // namespace dualfield
