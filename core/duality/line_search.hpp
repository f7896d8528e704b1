// The exact step along a segment of marginals: the gamma in [0, 1] that maximises
//     f(gamma) = H(mu + gamma delta) + gamma * residual - gamma^2 / 2 * quadratic.
// Its derivative
//     phi(gamma) = residual - sum count <delta, log(mu + gamma delta)> - gamma * quadratic
// decreases, so the step is its root. For SDCA, delta = nu - mu and residual = <theta, delta>, where theta
// are the potentials of nu: then phi(0) = KL(mu||nu) + KL(nu||mu) >= 0 and phi(1) = -quadratic <= 0.
#pragma once

#include "duality/entropy.hpp"

namespace dualfield {

struct Segmentwise {
    double cross = 0.0;      // sum count <delta, log mu_gamma>
    double entropy = 0.0;    // H(mu_gamma)
    double curvature = 0.0;  // sum count sum delta^2 / mu_gamma
};

// All that Newton's method needs at gamma, and the entropy there, in one pass over the table.
template <class SegmentRange>
Segmentwise evaluate_segments(const SegmentRange& segments, const double* mu, const double* delta, double gamma) {
    Segmentwise total;
    for (const Segment& s : segments) {
        const double* m = mu + s.offset;
        const double* d = delta + s.offset;
        double cross = 0.0, negative_entropy = 0.0, curvature = 0.0;
#pragma omp simd reduction(+ : cross, negative_entropy, curvature)
        for (Index k = 0; k < s.length; ++k) {
            const double x = m[k] + gamma * d[k];
            const double positive = x > kTiny ? x : kTiny;
            const LogAndReciprocal at = fast_log_and_reciprocal(positive);
            cross += d[k] * at.log;
            negative_entropy += x * at.log;
            curvature += d[k] * d[k] * at.reciprocal;
        }
        total.cross += s.count * cross;
        total.entropy -= s.count * negative_entropy;
        total.curvature += s.count * curvature;
    }
    return total;
}

struct LineSearchResult {
    double step;      // gamma
    double entropy;   // H(mu + gamma delta)
    double ascent;    // f(gamma) - f(0)
    int evaluations;  // passes over the table
};

// Newton's method on phi, kept inside a shrinking bracket. It stops at an evaluated point, so the entropy
// there is known, once the next step would be shorter than `subprecision` * gamma; a point where f has not
// risen is never returned (f(gamma) - f(0) is at hand), only 0.
//
// `gap` = KL(mu||nu) gives the start. Near the optimum phi is linear with phi(0) = 2 gap, so its root is
// 2 gap / (2 gap + quadratic); far from it this is still inside the bracket.
template <class SegmentRange>
LineSearchResult newton_line_search(const SegmentRange& segments, const double* mu, const double* delta, double gap,
                                    double residual, double quadratic, double entropy_at_mu, double subprecision) {
    constexpr int kMaxEvaluations = 40;
    constexpr double kRounding = 1e-13;
    LineSearchResult best{0.0, entropy_at_mu, 0.0, 0};
    if (!(gap > 0.0)) return best;
    double left = 0.0, right = 1.0;
    double gamma = 2.0 * gap / (2.0 * gap + quadratic);
    for (int evaluation = 1; evaluation <= kMaxEvaluations; ++evaluation) {
        const Segmentwise at = evaluate_segments(segments, mu, delta, gamma);
        const double phi = residual - at.cross - gamma * quadratic;
        const double slope = -at.curvature - quadratic;
        const double ascent = at.entropy - entropy_at_mu + gamma * residual - 0.5 * gamma * gamma * quadratic;
        best.evaluations = evaluation;
        if (ascent >= best.ascent - kRounding * (1.0 + std::abs(at.entropy))) {
            best.step = gamma;
            best.entropy = at.entropy;
            best.ascent = ascent;
        }
        (phi >= 0.0 ? left : right) = gamma;
        const double newton = slope < 0.0 ? -phi / slope : 0.0;
        const bool accepted = best.step == gamma;
        if (accepted && std::abs(newton) <= subprecision * gamma) break;
        double next = gamma + newton;
        if (!(next > left && next < right)) next = 0.5 * (left + right);
        if (right - left <= subprecision * left || next == gamma) break;
        gamma = next;
    }
    return best;
}

}  // namespace dualfield
