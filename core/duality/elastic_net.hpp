// The penalty R(u) = l1 |u|_1 + l2/2 |u|^2 of a change u of the weights: its part in the gradient and in the dual.
//
// Everything is said with v = sum_i c_i (F_i - E_w F), minus the gradient of the losses.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "math/vector.hpp"

namespace dualfield {

struct ElasticNet {
    double l1, l2;

    double penalty(Index n, const double* u) const { return l1 * absolute_sum(n, u) + 0.5 * l2 * squared_norm(n, u); }

    // The subgradient of least norm: g + l1 sign(u), and where u = 0, g moved towards zero by at most l1. g is the
    // gradient of all but the l1 part.
    void pseudo_gradient(Index n, const double* u, const double* g, double* out) const {
        for (Index k = 0; k < n; ++k) out[k] = u[k] != 0.0 ? g[k] + std::copysign(l1, u[k]) : soft(g[k]);
    }

    double soft(double x) const { return std::copysign(std::max(0.0, std::abs(x) - l1), x); }

    // A lower bound on the optimum from one point: P(u) = losses + R(u) and its gradient g without the l1 part, so
    // v = l2 u - g; `error` is how far rounding may have moved an entry of v.
    //
    // For any t in [0, 1] the mixture mu = t p(w) + (1 - t) truth is a point of the dual. Its v is t v, and entropy is
    // concave, so with R*(x) = |soft(x, l1)|^2 / (2 l2)
    //     D(mu) >= t (losses + <u, v>) - R*(t v).
    // t = 1 gives P less a sum of squares; where t v leaves R* too steep (l2 small), a smaller t gives more; without
    // l2, R* is zero up to |t v|_max = l1 and infinite beyond.
    double lower_bound(Index n, const double* u, const double* g, double losses, double error) const {
        double product = 0.0, largest = 0.0;  // <u, v>, |v|_max
        for (Index k = 0; k < n; ++k) {
            const double v = l2 * u[k] - g[k];
            product += u[k] * v;
            largest = std::max(largest, std::abs(v));
        }
        const double rise = losses + product;
        if (!(rise > 0.0)) return rise <= 0.0 ? 0.0 : rise;  // t = 0: no loss is negative
        if (!(l2 > 0.0)) return rise * std::min(1.0, l1 / (largest * (1.0 + 1e-12) + error));
        const double at_one = losses + penalty(n, u) - gap(n, u, g);
        double t = 1.0, bound = at_one;
        for (int step = 0; step < 8; ++step) {  // Newton's method: the slope of D is concave and falls, so t does too
            double slope = rise, curvature = 0.0, conjugate = 0.0;
            for (Index k = 0; k < n; ++k) {
                const double v = l2 * u[k] - g[k], s = std::abs(soft(t * v));
                slope -= std::abs(v) * s / l2;
                curvature += s > 0.0 ? v * v / l2 : 0.0;
                conjugate += s * s;
            }
            if (step > 0) bound = std::max(bound, t * rise - 0.5 * conjugate / l2);
            if (!(slope < 0.0)) break;
            t = std::max(0.0, t + slope / curvature);
        }
        return std::max(0.0, bound);
    }

   private:
    // P - D at t = 1, as a sum of terms that are never negative. Where u and v - l1 sign(u) have the same sign, or u is
    // zero, a term is (pseudo-gradient)^2 / (2 l2); elsewhere it is less.
    double gap(Index n, const double* u, const double* g) const {
        double total = 0.0;
        for (Index k = 0; k < n; ++k) {
            const double v = l2 * u[k] - g[k];
            double square;  // 2 l2 times the term
            if (u[k] == 0.0) {
                square = soft(g[k]) * soft(g[k]);
            } else if (std::copysign(v, u[k]) == v && std::abs(v) > l1) {
                const double pseudo = g[k] + std::copysign(l1, u[k]);
                square = pseudo * pseudo;
            } else {
                const double away = l1 - (u[k] > 0.0 ? v : -v);
                square = l2 * std::abs(u[k]) * (l2 * std::abs(u[k]) + 2.0 * away) + soft(v) * soft(v);
            }
            total += square;
        }
        return 0.5 * total / l2;
    }
};

}  // namespace dualfield
