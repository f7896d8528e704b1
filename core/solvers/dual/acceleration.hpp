// Acceleration of a dual method: Shalev-Shwartz and Zhang (2016), Lin, Mairal and Harchaoui (2015).
//
// In place of P it minimises, for a pass or some, the better conditioned
//     P(w) + kappa/2 |w - z|^2,
// whose weights are w(mu) = (kappa z + sum_i c_i (F_i - E_mu F)) / (l2 + kappa), and then moves the centre z beyond the
// point reached by Nesterov's extrapolation,
//     z <- w + beta (w - w_before).
// Where that turns against the way the weights move, the momentum starts anew (O'Donoghue and Candes 2015).
//
// A proximal problem has been solved well enough when its gap is small beside kappa/2 |w - z|^2. How many passes that
// takes tells of kappa: more than a few, and it is too small; a single one again and again, and it is too large.
//
// For the original problem mu has w^(mu) = w + kappa / l2 (w - z), and its gap at w is
//     sum_i c_i KL(mu_i || p_i(w)) + kappa^2 / (2 l2) |w - z|^2.
//
// Any z will do, so z is a vector of floats; w follows it exactly.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/archive.hpp"
#include "base/zeros.hpp"
#include "simd/vector.hpp"
#include "threads/chunks.hpp"

namespace dualfield {

class Acceleration {
   public:
    Acceleration(bool active, double l2, Index dimension)
        : active_(active), l2_(l2), centre_(active ? dimension : 0), before_(active ? dimension : 0) {}

    bool active() const { return active_; }
    double kappa() const { return kappa_; }

    // Chooses the first kappa, by the mean of c_i R_i over the blocks.
    void begin(double mean_radius, Team& team) {
        constexpr double kShareOfRadius = 3e-4, kLeast = 0.5;
        kappa_ = std::max(kShareOfRadius * mean_radius - l2_, kLeast * l2_);
        write_zeros(team, centre_);
        write_zeros(team, before_);
    }

    // The same marginals under another penalty. The weights stay about as they were, as the first centre.
    void begin_again(double old_l2, Zeros<double>& w) {
        if (!active_) return scale(static_cast<Index>(w.size()), old_l2 / l2_, w.data());
        for (std::size_t k = 0; k < w.size(); ++k) {
            const double residual = (old_l2 + kappa_) * w[k] - kappa_ * centre_[k];  // sum_i c_i (F_i - E_mu F)
            centre_[k] = before_[k] = static_cast<float>(w[k]);
            w[k] = (residual + kappa_ * centre_[k]) / (l2_ + kappa_);
        }
        alpha_ = 1.0;
        passes_ = quick_ = 0;
    }

    // What the gap of the original problem has beyond that of the proximal one; |w^(mu)|^2 for the original problem; and
    // <z - w, w - w_before>, positive where the momentum points against the way the weights move.
    struct Look {
        double excess = 0.0, conjugate_norm = 0.0, turn = 0.0;
    };
    Look look(const Zeros<double>& w, Team& team) const {
        const double share = kappa_ / l2_;
        const auto [distance, norm, turn] =
            sum_over_chunks<3>(team, static_cast<Index>(w.size()), [&](Index first, Index end) {
                double distance = 0.0, norm = 0.0, turn = 0.0;
                if (!active_) return std::array{0.0, squared_norm(end - first, w.data() + first), 0.0};
#pragma omp simd reduction(+ : distance, norm, turn)
                for (Index k = first; k < end; ++k) {
                    const double off = w[k] - centre_[k], conjugate = w[k] + share * off;
                    distance += off * off;
                    norm += conjugate * conjugate;
                    turn -= off * (w[k] - before_[k]);
                }
                return std::array{distance, norm, turn};
            });
        return {0.5 * kappa_ * kappa_ / l2_ * distance, norm, turn};
    }

    // From w^(mu) of the original problem to w(mu) of the proximal one.
    void shift(Zeros<double>& w, Team& team) const {
        if (!active_) return;
        team.over_ranges(static_cast<Index>(w.size()), [&](Index first, Index end) {
            for (Index k = first; k < end; ++k) w[k] = (l2_ * w[k] + kappa_ * centre_[k]) / (l2_ + kappa_);
        });
    }

    // Between two passes, `gap` being that of the proximal problem and `found` what look() found: goes on to the next
    // problem where that is due.
    void end_pass(double gap, const Look& found, Zeros<double>& w, Team& team) {
        constexpr double kAccuracy = 4.0, kUp = 2.0, kDown = 0.7;
        constexpr Index kManyPasses = 3, kQuickOnes = 2;
        ++passes_;
        if (gap <= kAccuracy * found.excess * l2_ / kappa_) {  // kAccuracy * kappa / 2 |w - z|^2
            move(found.turn, w, team);
            quick_ = passes_ == 1 ? quick_ + 1 : 0;
            passes_ = 0;
            if (quick_ == kQuickOnes) {
                quick_ = 0;
                change_kappa(kDown * kappa_, w, team);
            }
        } else if (passes_ % kManyPasses == 0) {
            change_kappa(kUp * kappa_, w, team);
        }
    }

    void archive(Archive& archive) {
        archive.span("centre", centre_.data(), std::ssize(centre_));
        archive.span("before", before_.data(), std::ssize(before_));
        archive.scalars("momentum", {&alpha_, &kappa_});
        archive.counters("proximal_passes", {&passes_, &quick_});
    }

   private:
    // Moves the centre, and the weights with it.
    void move(double turn, Zeros<double>& w, Team& team) {
        const double q = l2_ / (l2_ + kappa_);
        if (turn > 0.0) alpha_ = 1.0;
        const double square = alpha_ * alpha_;  // next^2 = (1 - next) square + q next
        const double next = 0.5 * (q - square + std::sqrt((q - square) * (q - square) + 4.0 * square));
        const double beta = turn > 0.0 ? 0.0 : alpha_ * (1.0 - alpha_) / (square + next);
        alpha_ = next;
        const double share = kappa_ / (l2_ + kappa_);
        team.over_ranges(static_cast<Index>(w.size()), [&](Index first, Index end) {
#pragma omp simd
            for (Index k = first; k < end; ++k) {
                const double reached = w[k];
                const auto centre = static_cast<float>(reached + beta * (reached - before_[k]));
                w[k] += share * (static_cast<double>(centre) - centre_[k]);
                centre_[k] = centre;
                before_[k] = static_cast<float>(reached);
            }
        });
    }

    // Another kappa with the same centre and marginals.
    void change_kappa(double kappa, Zeros<double>& w, Team& team) {
        team.over_ranges(static_cast<Index>(w.size()), [&](Index first, Index end) {
            for (Index k = first; k < end; ++k)
                w[k] = ((l2_ + kappa_) * w[k] + (kappa - kappa_) * centre_[k]) / (l2_ + kappa);
        });
        kappa_ = kappa;
    }

    bool active_;
    double l2_;
    double kappa_ = 0.0;
    Zeros<float> centre_, before_;  // z, and the weights at the end of the last proximal problem
    double alpha_ = 1.0;            // of Nesterov's sequence
    Index passes_ = 0, quick_ = 0;  // on this proximal problem; problems in a row that took a single one
};

}  // namespace dualfield
