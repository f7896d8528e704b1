// Acceleration of a dual method: Shalev-Shwartz and Zhang (2016), Lin, Mairal and Harchaoui (2015).
//
// In place of P it minimises, for a pass or some, the better conditioned
//     P(w) + kappa/2 |w - z|^2,
// whose weights w(mu) penalised_weights.hpp gives, and then moves the centre z beyond the point reached by Nesterov's
// extrapolation,
//     z <- w + beta (w - w_before).
// Where that turns against the way the weights move, the momentum starts anew (O'Donoghue and Candes 2015).
//
// A proximal problem has been solved well enough when its gap is small beside kappa/2 |w - z|^2. How many passes that
// takes tells of kappa: more than a few, and it is too small; a single one again and again, and it is too large.
//
// For the original problem the gap of mu at w is, with s = w - a and v = v(mu),
//     sum_i c_i KL(mu_i || p_i(w)) + R(s) + R*(v) - <s, v>;
// without l1 the rest beside the divergences is kappa^2 / (2 l2) |s - z|^2. With l1, mu is moved towards the truth as
// far as that helps: see ScaledDual.
//
// z is kept relative to a. Any z will do, so z is a vector of floats; w follows it exactly.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/archive.hpp"
#include "base/zeros.hpp"
#include "simd/vector.hpp"
#include "solvers/dual/penalised_weights.hpp"
#include "threads/chunks.hpp"

namespace dualfield {

class Acceleration {
   public:
    Acceleration(bool active, double l2, Index dimension)
        : active_(active), l2_(l2), centre_(active ? dimension : 0), before_(active ? dimension : 0) {}

    bool active() const { return active_; }
    double kappa() const { return kappa_; }

    // Chooses the first kappa, by the mean of c_i R_i over the blocks. Steps that are damped need one so many times as
    // large.
    void begin(double mean_radius, Team& team, double times = 1.0) {
        constexpr double kShareOfRadius = 3e-4, kLeast = 0.5;
        kappa_ = times * std::max(kShareOfRadius * mean_radius - l2_, kLeast * l2_);
        write_zeros(team, centre_);
        write_zeros(team, before_);
    }

    // The same marginals under another penalty. The weights stay about as they were, as the first centre.
    void begin_again(const ElasticNet& old, PenalisedWeights& weights, Team& team) {
        Zeros<double>& u = weights.raw();
        if (!active_) {
            scale(weights.size(), old.l2 / l2_, u.data());
        } else {
            const double threshold = old.l1 > 0.0 ? old.l1 / (old.l2 + kappa_) : 0.0;
            for (Index k = 0; k < weights.size(); ++k) {
                const double residual = (old.l2 + kappa_) * u[k] - kappa_ * centre_[k];  // v
                centre_[k] = before_[k] = static_cast<float>(soft_threshold(u[k], threshold));
                u[k] = (residual + kappa_ * centre_[k]) / (l2_ + kappa_);
            }
            alpha_ = 1.0;
            passes_ = quick_ = 0;
        }
        weights.set_kappa(kappa_, team);
    }

    struct Look {
        double excess = 0.0;  // what the gap of the original problem has beyond the sum of divergences
        double dual = 0.0;    // the value of the original problem's dual
        double near = 0.0;    // kappa/2 |s - z|^2
        double turn =
            0.0;  // <z - s, s - s_before>, positive where the momentum points against the way the weights move
    };

    // entropies: sum_i c_i H(mu_i).
    Look look(const PenalisedWeights& weights, double entropies, Team& team) const {
        if (!weights.plain()) return look_penalised(weights, entropies, team);
        const Zeros<double>& w = weights.raw();
        const double share = kappa_ / l2_;
        const auto [distance, norm, turn] = sum_over_chunks<3>(team, weights.size(), [&](Index first, Index end) {
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
        return {0.5 * kappa_ * kappa_ / l2_ * distance, entropies - 0.5 * l2_ * norm, 0.5 * kappa_ * distance, turn};
    }

    // From v / unit, as a confirmation finds it, to the raw weights of the proximal problem.
    void shift(double unit, PenalisedWeights& weights, Team& team) const {
        Zeros<double>& w = weights.raw();
        if (active_)
            team.over_ranges(weights.size(), [&](Index first, Index end) {
                for (Index k = first; k < end; ++k) w[k] = (unit * w[k] + kappa_ * centre_[k]) / (l2_ + kappa_);
            });
        weights.set_kappa(kappa_, team);
    }

    // Between two passes, `gap` being that of the proximal problem and `found` what look() found: goes on to the next
    // problem where that is due, and says whether that has moved the weights.
    bool end_pass(double gap, const Look& found, PenalisedWeights& w, Team& team) {
        constexpr double kUp = 2.0, kDown = 0.7;
        constexpr Index kManyPasses = 3, kQuickOnes = 2;
        ++passes_;
        if (gap <= accuracy() * found.near) {
            move(found.turn, w, team);
            quick_ = passes_ == 1 ? quick_ + 1 : 0;
            passes_ = 0;
            if (quick_ == kQuickOnes) {
                quick_ = 0;
                change_kappa(kDown * kappa_, w, team);
            }
            return true;
        }
        if (passes_ % kManyPasses != 0) return false;
        change_kappa(kUp * kappa_, w, team);
        return true;
    }

    void archive(Archive& archive) {
        archive.span("centre", centre_.data(), std::ssize(centre_));
        archive.span("before", before_.data(), std::ssize(before_));
        archive.scalars("momentum", {&alpha_, &kappa_});
        archive.counters("proximal_passes", {&passes_, &quick_});
    }

   private:
    // How accurately a proximal problem is to be solved. Where l2 is small beside kappa the momentum is large, and adds
    // up what the problems before lacked.
    double accuracy() const {
        constexpr double kLeast = 1.0, kMost = 4.0, kShare = 20.0;
        return std::clamp(kMost * kShare * std::sqrt(l2_ / (l2_ + kappa_)), kLeast, kMost);
    }

    Look look_penalised(const PenalisedWeights& weights, double entropies, Team& team) const {
        const ElasticNet& net = weights.penalty().net;
        const std::vector<double>& about = weights.penalty().centre;
        ScaledDual scaled(net, weights.size());
        const auto sums = sum_over_chunks<5>(team, weights.size(), [&](Index first, Index end) {
            std::array<double, 5> sum{};
            for (Index k = first; k < end; ++k) {
                const double s = weights.change(k), z = active_ ? centre_[k] : 0.0;
                const double v = (l2_ + kappa_) * weights.raw()[k] - kappa_ * z;
                sum[0] += net.value(s);
                sum[1] += s * v;
                sum[2] += about.empty() ? 0.0 : about[k] * v;
                sum[3] += (s - z) * (s - z);
                sum[4] -= active_ ? (s - z) * (s - before_[k]) : 0.0;
                scaled.add(first / kChunk, v);
            }
            return sum;
        });
        const double rise = entropies - sums[2];
        const double dual = scaled.best(rise, std::numeric_limits<double>::quiet_NaN(), 0.0, team);
        return {rise - sums[1] + sums[0] - dual, dual, 0.5 * kappa_ * sums[3], sums[4]};
    }

    // Moves the centre, and the weights with it.
    void move(double turn, PenalisedWeights& weights, Team& team) {
        const double q = l2_ / (l2_ + kappa_);
        if (turn > 0.0) alpha_ = 1.0;
        const double square = alpha_ * alpha_;  // next^2 = (1 - next) square + q next
        const double next = 0.5 * (q - square + std::sqrt((q - square) * (q - square) + 4.0 * square));
        const double beta = turn > 0.0 ? 0.0 : alpha_ * (1.0 - alpha_) / (square + next);
        alpha_ = next;
        const double share = kappa_ / (l2_ + kappa_);
        team.over_ranges(weights.size(), [&](Index first, Index end) {
            double* w = weights.raw().data();
            for (Index k = first; k < end; ++k) {
                const double reached = weights.change(k);
                const auto centre = static_cast<float>(reached + beta * (reached - before_[k]));
                w[k] += share * (static_cast<double>(centre) - centre_[k]);
                centre_[k] = centre;
                before_[k] = static_cast<float>(reached);
            }
        });
        weights.settle(team);
    }

    // Another kappa with the same centre and marginals.
    void change_kappa(double kappa, PenalisedWeights& weights, Team& team) {
        Zeros<double>& w = weights.raw();
        team.over_ranges(weights.size(), [&](Index first, Index end) {
            for (Index k = first; k < end; ++k)
                w[k] = ((l2_ + kappa_) * w[k] + (kappa - kappa_) * centre_[k]) / (l2_ + kappa);
        });
        kappa_ = kappa;
        weights.set_kappa(kappa, team);
    }

    bool active_;
    double l2_;
    double kappa_ = 0.0;
    Zeros<float> centre_, before_;  // z, and the weights at the end of the last proximal problem
    double alpha_ = 1.0;            // of Nesterov's sequence
    Index passes_ = 0, quick_ = 0;  // on this proximal problem; problems in a row that took a single one
};

}  // namespace dualfield
