// L-BFGS: the two-loop recursion (Nocedal 1980) with a strong Wolfe search, on the primal in sum units,
//     P(w) = l2/2 |w|^2 + sum_i c_i (log Z_i(w) - <theta_i, truth_i>),
//     gradient = l2 w + sum_i c_i (E_w F - F_i).
//
// Each evaluation also bounds the optimum from below: with mu = p(w), the dual value is P(w) - |gradient|^2 / (2 l2).
// The best such value seen makes the certificate.
#pragma once

#include <algorithm>
#include <vector>

#include "solvers/deadline.hpp"
#include "solvers/objective.hpp"
#include "solvers/wolfe_search.hpp"

namespace dualfield {

template <Field F>
class LBFGS {
   public:
    LBFGS(const F& field, Index corrections)
        : field_(field),
          corrections_(corrections),
          weights_(field.dimension(), 0.0),
          trial_(field.dimension(), 0.0),
          trial_gradient_(field.dimension(), 0.0),
          objective_(field) {}

    // Evaluates until there were `max_evaluations` full gradients, the time is over or no step helps; returns
    // how many gradients were completed. A gradient cut short by the clock goes on with the next call.
    Index run(Index max_evaluations, double seconds) {
        const Deadline deadline(seconds);
        Index done = 0;
        while (done < max_evaluations && !stalled_) {
            if (!evaluate(deadline)) break;
            ++done;
            ++evaluations_;
            consider();
        }
        return done;
    }

    const Certificate& certificate() const { return certificate_; }
    bool stalled() const { return stalled_; }
    double gradient_norm() const { return gradient_norm_; }
    Index iterations() const { return iterations_; }
    Index evaluations() const { return evaluations_; }
    Index oracle_calls() const { return objective_.oracle_calls(); }
    const std::vector<double>& weights() const { return weights_; }

   private:
    struct Correction {
        std::vector<double> s, y;  // differences of the weights and of the gradients
        double inverse_product;    // 1 / <s, y>
    };

    // value and gradient at trial_, in slices; true when complete.
    bool evaluate(const Deadline& deadline) {
        if (cursor_ == 0) {
            const double l2 = field_.l2();
            for (Index k = 0; k < field_.dimension(); ++k) trial_gradient_[k] = l2 * trial_[k];
            objective_.reset();
        }
        while (cursor_ < field_.blocks()) {
            objective_.add(cursor_++, trial_.data(), trial_gradient_.data());
            if (deadline.passed() && cursor_ < field_.blocks()) return false;
        }
        cursor_ = 0;
        const double penalty = objective_.penalty(trial_.data());
        trial_value_ = objective_.losses() + penalty;
        const double square = squared_norm(field_.dimension(), trial_gradient_.data());
        trial_norm_ = std::sqrt(square);
        trial_allowance_ = rounding_allowance(objective_.magnitude() + penalty);
        if (std::isfinite(trial_value_))
            best_dual_ = std::max(best_dual_, trial_value_ - 0.5 * square / field_.l2() - trial_allowance_);
        return true;
    }

    // Decides what the evaluated point means, and where to evaluate next.
    void consider() {
        if (!started_) {
            started_ = true;
            accept();
            choose_direction();
            return;
        }
        const double slope = dot(field_.dimension(), trial_gradient_.data(), step_direction_.data());
        switch (search_.tell(trial_value_, slope)) {
            case WolfeSearch::Verdict::accepted:
                remember();
                accept();
                ++iterations_;
                if (!stalled_) choose_direction();
                break;
            case WolfeSearch::Verdict::again:
                update_certificate();  // the trial may have raised the best dual value
                propose();
                break;
            case WolfeSearch::Verdict::failed:
                update_certificate();
                if (history_.empty()) {
                    stalled_ = true;
                } else {  // forget the curvature, try plain descent once more
                    history_.clear();
                    choose_direction();
                }
                break;
        }
    }

    void accept() {
        weights_ = trial_;
        gradient_ = trial_gradient_;
        value_ = trial_value_;
        gradient_norm_ = trial_norm_;
        allowance_ = trial_allowance_;
        update_certificate();
        if (certificate_.gap <= 3.0 * allowance_) stalled_ = true;  // what is left of the gap is rounding
    }

    void update_certificate() {
        certificate_.primal = value_;
        certificate_.dual = best_dual_;
        certificate_.gap = std::max(0.0, value_ - best_dual_) + allowance_;
    }

    void remember() {
        const Index d = field_.dimension();
        Correction correction;
        if (static_cast<Index>(history_.size()) == corrections_) {  // reuse the oldest vectors
            correction = std::move(history_.front());
            history_.erase(history_.begin());
        }
        correction.s.resize(d);
        correction.y.resize(d);
        for (Index k = 0; k < d; ++k) {
            correction.s[k] = trial_[k] - weights_[k];
            correction.y[k] = trial_gradient_[k] - gradient_[k];
        }
        const double product = dot(d, correction.s.data(), correction.y.data());
        if (!(product > 0.0)) return;
        correction.inverse_product = 1.0 / product;
        history_.push_back(std::move(correction));
    }

    // The two-loop recursion: step_direction_ = -H gradient.
    void choose_direction() {
        const Index d = field_.dimension();
        step_direction_ = gradient_;
        double* q = step_direction_.data();
        std::vector<double> projections(history_.size());
        for (Index h = static_cast<Index>(history_.size()) - 1; h >= 0; --h) {
            projections[h] = history_[h].inverse_product * dot(d, history_[h].s.data(), q);
            axpy(d, -projections[h], history_[h].y.data(), q);
        }
        double first_step = 1.0;
        if (history_.empty()) {
            first_step = gradient_norm_ > 1.0 ? 1.0 / gradient_norm_ : 1.0;
        } else {
            const Correction& last = history_.back();
            scale(d, 1.0 / (last.inverse_product * squared_norm(d, last.y.data())), q);
        }
        for (std::size_t h = 0; h < history_.size(); ++h) {
            const double along = history_[h].inverse_product * dot(d, history_[h].y.data(), q);
            axpy(d, projections[h] - along, history_[h].s.data(), q);
        }
        scale(d, -1.0, q);
        const double slope = dot(d, gradient_.data(), q);
        if (!(slope < 0.0)) {  // at the optimum, or lost in rounding
            stalled_ = true;
            return;
        }
        search_.begin(value_, slope, first_step);
        propose();
    }

    void propose() {
        for (Index k = 0; k < field_.dimension(); ++k) trial_[k] = weights_[k] + search_.step() * step_direction_[k];
    }

    const F& field_;
    Index corrections_;
    std::vector<double> weights_, gradient_, step_direction_, trial_, trial_gradient_;
    std::vector<Correction> history_;
    WolfeSearch search_;
    Certificate certificate_;
    double value_ = 0.0, gradient_norm_ = 0.0, allowance_ = 0.0;
    double trial_value_ = 0.0, trial_norm_ = 0.0, trial_allowance_ = 0.0;
    double best_dual_ = -std::numeric_limits<double>::infinity();
    bool started_ = false, stalled_ = false;
    Index iterations_ = 0, evaluations_ = 0;

    Objective<F> objective_;
    Index cursor_ = 0;  // the next block of a gradient in the making
};

}  // namespace dualfield
