// The penalty R(u) = l1 |u|_1 + l2/2 |u|^2 of a change u of the weights: its part in the gradient and in the dual.
//
// All formulas use v = sum_i c_i (F_i - E_w F), which is minus the gradient of the losses.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "simd/vector.hpp"
#include "threads/chunks.hpp"

namespace dualfield {

struct ElasticNet {
    double l1, l2;

    // The subgradient of least norm: g + l1 sign(u), and where u = 0, g moved towards zero by at most l1. g is the
    // gradient of all but the l1 part.
    double pseudo_gradient(double u, double g) const { return u != 0.0 ? g + std::copysign(l1, u) : soft(g); }

    double soft(double x) const { return std::copysign(std::max(0.0, std::abs(x) - l1), x); }

    // Whether R is l2/2 |u|^2 alone, so that the gradient of its conjugate is linear.
    bool plain() const { return !(l1 > 0.0); }

    double value(double u) const { return l1 * std::abs(u) + 0.5 * l2 * u * u; }

    // Proximal steps u <- argmin_z |z - u|^2 / 2 + eta R(z) = soft(u, eta l1) / (1 + eta l2), several in a row, of
    // which eta may change: then |u| + l1/l2 falls by the factor 1 / (1 + eta l2) each, until u is zero and stays.
    // `log_growth` is the sum of log(1 + eta l2), `total` that of eta.
    double shrunk(double u, double log_growth, double total) const {
        const double decay = std::exp(-log_growth);
        if (plain()) return u * decay;
        return soft_threshold(u * decay, l1 * (l2 > 0.0 ? -std::expm1(-log_growth) / l2 : total));
    }

    // A lower bound on the optimum from a point u, given the losses there and the gradient g of all but the l1 part.
    struct Look {
        double penalty;      // R(u)
        double lower_bound;  // on the optimum
    };

    // With v = l2 u - g; `allowance(penalty)` is how far rounding may have moved an entry of v.
    template <class Allowance>
    Look look(Index n, const double* u, const double* g, double losses, Team& team, Allowance&& allowance) const;

   private:
    // A weight's part in P - D at t = 1, times 2 l2; never negative. Where u and v - l1 sign(u) have the same sign, or
    // u is zero, it is the square of the pseudo-gradient; elsewhere it is less.
    double twice_gap(double u, double v, double g) const {
        if (u == 0.0) return soft(g) * soft(g);
        if (std::copysign(v, u) == v && std::abs(v) > l1) {
            const double pseudo = g + std::copysign(l1, u);
            return pseudo * pseudo;
        }
        const double away = l1 - (u > 0.0 ? v : -v);
        return l2 * std::abs(u) * (l2 * std::abs(u) + 2.0 * away) + soft(v) * soft(v);
    }
};

// The best of the dual points t mu + (1 - t) truth, t in [0, 1].
//
// The v of such a point is t v, and entropy is concave and zero at the truth, so with R*(x) = |soft(x, l1)|^2 / (2 l2)
//     D(t) >= t rise - R*(t v),      rise = sum_i c_i H(mu_i), less <a, v> where the penalty is about weights a.
// t = 1 is mu itself; where t v leaves R* too steep (l2 small), a smaller t gives more; without l2, R* is zero up to
// |t v|_max = l1 and infinite beyond. Only entries of |v| > l1 play a part in R*.
class ScaledDual {
   public:
    ScaledDual(const ElasticNet& penalty, Index n)
        : penalty_(penalty), large_((n + kChunk - 1) / kChunk), largest_(large_.size(), 0.0) {}

    // An entry of v. Threads may add to different chunks at a time.
    void add(Index chunk, double v) {
        largest_[chunk] = std::max(largest_[chunk], std::abs(v));
        if (std::abs(v) > penalty_.l1) large_[chunk].push_back(std::abs(v));
    }

    // The largest bound. at_one: the value for t = 1 where it is known with more digits, otherwise NaN. `allowance`:
    // how far rounding may have moved an entry of v.
    double best(double rise, double at_one, double allowance, Team& team) const {
        if (!(rise > 0.0)) return rise <= 0.0 ? 0.0 : rise;  // t = 0: no loss is negative
        const double l1 = penalty_.l1, l2 = penalty_.l2;
        if (!(l2 > 0.0)) {
            const double most = largest_.empty() ? 0.0 : *std::max_element(largest_.begin(), largest_.end());
            return rise * std::min(1.0, l1 / (most * (1.0 + 1e-12) + allowance));
        }
        double t = 1.0, bound = at_one;
        for (int step = 0; step < 8; ++step) {  // Newton's method: the slope of D is concave and falls, so t does too
            std::vector<std::array<double, 3>> of_chunks(large_.size());
            team.for_each(static_cast<Index>(large_.size()), [&](Index chunk, Index) {
                std::array<double, 3>& sum = of_chunks[chunk];
                for (const double v : large_[chunk]) {
                    const double s = std::max(0.0, t * v - l1);
                    sum[0] += v * s;
                    sum[1] += s > 0.0 ? v * v : 0.0;
                    sum[2] += s * s;
                }
            });
            double slope = rise, curvature = 0.0, conjugate = 0.0;
            for (const std::array<double, 3>& sum : of_chunks) {
                slope -= sum[0] / l2;
                curvature += sum[1] / l2;
                conjugate += sum[2];
            }
            const double here = t * rise - 0.5 * conjugate / l2;
            if (step > 0 || std::isnan(bound)) bound = std::isnan(bound) ? here : std::max(bound, here);
            if (!(slope < 0.0)) break;
            t = std::max(0.0, t + slope / curvature);
        }
        return std::max(0.0, bound);
    }

   private:
    ElasticNet penalty_;
    std::vector<std::vector<double>> large_;  // the |v| > l1 of each chunk
    std::vector<double> largest_;
};

template <class Allowance>
ElasticNet::Look ElasticNet::look(Index n, const double* u, const double* g, double losses, Team& team,
                                  Allowance&& allowance) const {
    ScaledDual scaled(*this, n);
    const std::vector<double> sums = sums_over_chunks(team, n, 4, [&](Index first, Index end, double* sum, Index) {
        sum[0] = absolute_sum(end - first, u + first);
        sum[1] = squared_norm(end - first, u + first);
        for (Index k = first; k < end; ++k) {
            const double v = l2 * u[k] - g[k];
            sum[2] += u[k] * v;
            sum[3] += twice_gap(u[k], v, g[k]);
            scaled.add(first / kChunk, v);
        }
    });
    const double penalty = l1 * sums[0] + 0.5 * l2 * sums[1];
    const double at_one = l2 > 0.0 ? losses + penalty - 0.5 * sums[3] / l2 : 0.0;
    return {penalty, scaled.best(losses + sums[2], at_one, allowance(penalty), team)};
}

}  // namespace dualfield
