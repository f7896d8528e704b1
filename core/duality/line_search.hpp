// The best step gamma in [0, 1] along a segment of marginals. Up to a constant the dual there is
//     f(gamma) = H(mu + gamma delta) + gamma * residual - gamma^2 / 2 * quadratic,
// and its derivative
//     phi(gamma) = residual - sum count <delta, log(mu + gamma delta)> - gamma * quadratic
// decreases, so the best step is its root. For SDCA, delta = nu - mu and residual = <theta, delta>, where theta
// are the potentials of nu: then phi(0) = KL(mu||nu) + KL(nu||mu) >= 0 and phi(1) = -quadratic <= 0.
//
// Every rule ends at a point where the entropy was evaluated, so the dual is known exactly. Newton's method and golden
// sections never lower the dual; one Newton step and a fixed step may.
#pragma once

#include <algorithm>

#include "base/rule_names.hpp"
#include "duality/entropy.hpp"

namespace dualfield {

struct Segmentwise {
    double cross = 0.0;      // sum count <delta, log mu_gamma>
    double entropy = 0.0;    // H(mu_gamma)
    double curvature = 0.0;  // sum count sum delta^2 / mu_gamma, where asked for
};

// All that Newton's method needs at gamma, and the entropy there, in one pass over the table; without the curvature it
// is a quarter cheaper. mu may be kept as float or as double; the arithmetic is in double.
template <bool kCurvature, class SegmentRange, class Number>
Segmentwise evaluate_segments(const SegmentRange& segments, const Number* mu, const double* delta, double gamma) {
    Segmentwise total;
    for (const Segment& s : segments) {
        const Number* m = mu + s.offset;
        const double* d = delta + s.offset;
        double cross = 0.0, negative_entropy = 0.0, curvature = 0.0;
#pragma omp simd reduction(+ : cross, negative_entropy, curvature)
        for (Index k = 0; k < s.length; ++k) {
            const double x = static_cast<double>(m[k]) + gamma * d[k];
            const double positive = x > kTiny ? x : kTiny;
            if constexpr (kCurvature) {
                const LogAndReciprocal at = fast_log_and_reciprocal(positive);
                cross += d[k] * at.log;
                negative_entropy += x * at.log;
                curvature += d[k] * d[k] * at.reciprocal;
            } else {
                const double log = fast_log(positive);
                cross += d[k] * log;
                negative_entropy += x * log;
            }
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

// The problem of a line search. `gap` = KL(mu||nu), `entropy_at_mu` = H(mu).
template <class SegmentRange, class Number>
struct DualAlong {
    SegmentRange segments;
    const Number* mu;
    const double* delta;
    double gap, residual, quadratic, entropy_at_mu;

    struct Point {
        double entropy, ascent, phi, slope;  // slope: of phi
    };
    Point at(double gamma) const { return evaluate<true>(gamma); }
    Point look(double gamma) const { return evaluate<false>(gamma); }  // without the slope

    template <bool kCurvature>
    Point evaluate(double gamma) const {
        const Segmentwise at = evaluate_segments<kCurvature>(segments, mu, delta, gamma);
        return {at.entropy, at.entropy - entropy_at_mu + gamma * residual - 0.5 * gamma * gamma * quadratic,
                residual - at.cross - gamma * quadratic, -at.curvature - quadratic};
    }
    LineSearchResult stay(int evaluations = 0) const { return {0.0, entropy_at_mu, 0.0, evaluations}; }
    LineSearchResult go(double gamma, const Point& there, int evaluations) const {
        return {gamma, there.entropy, there.ascent, evaluations};
    }
};
template <class SegmentRange, class Number>
DualAlong(SegmentRange, const Number*, const double*, double, double, double, double)
    -> DualAlong<SegmentRange, Number>;

// Rounding may make an ascent negative by this times (1 + entropy).
inline constexpr double kAscentRounding = 1e-13;

// Newton's method on phi, kept inside a shrinking bracket. It stops at an evaluated point once the next step would be
// shorter than `subprecision` * gamma; a point where f has not risen is never returned (f(gamma) - f(0) is at hand),
// only 0.
//
// It begins at a given gamma in (0, 1].
template <class Dual>
LineSearchResult newton_line_search(const Dual& dual, double subprecision, double gamma) {
    constexpr int kMaxEvaluations = 40;
    LineSearchResult best = dual.stay();
    if (!(dual.gap > 0.0)) return best;
    double left = 0.0, right = 1.0;
    for (int evaluation = 1; evaluation <= kMaxEvaluations; ++evaluation) {
        const auto here = dual.at(gamma);
        best.evaluations = evaluation;
        if (here.ascent >= best.ascent - kAscentRounding * (1.0 + std::abs(here.entropy)))
            best = dual.go(gamma, here, evaluation);
        (here.phi >= 0.0 ? left : right) = gamma;
        const double newton = here.slope < 0.0 ? -here.phi / here.slope : 0.0;
        const bool accepted = best.step == gamma;
        if (accepted && std::abs(newton) <= subprecision * gamma) break;
        double next = gamma + newton;
        if (!(next > left && next < right)) next = 0.5 * (left + right);
        if (right - left <= subprecision * left || next == gamma) break;
        gamma = next;
    }
    return best;
}

// A first guess of the root of phi, without a pass over the table. Two facts are known: phi(1) = -quadratic, and the
// integral of phi + gamma quadratic is the gap. Two shapes of phi agree with both. Near the optimum phi is linear,
//     phi(gamma) = 2 gap (1 - gamma) - gamma quadratic,
// with the root 2 gap / (2 gap + quadratic). Far from it mu is close to a single labelling, which has e^-gap under nu,
// and
//     phi(gamma) = (1 - e^-gap) log((1 - gamma + gamma e^-gap) / (gamma e^-gap)) - gamma quadratic.
// One step of Newton's method from the first root, on a mean of the two that goes over from one to the other at gaps of
// 2.
inline double expected_step(double gap, double quadratic) {
    const double linear = 2.0 * gap / (2.0 * gap + quadratic);
    const double far = gap / (2.0 + gap), lost = -std::expm1(-gap), kept = 1.0 - linear * lost;
    const double phi = lost * (gap + std::log(kept / linear)) - linear * quadratic;  // the linear shape has 0 there
    const double slope = -far * lost * (lost / kept + 1.0 / linear) - (1.0 - far) * 2.0 * gap - quadratic;
    const double step = linear - far * phi / slope;
    return step > 0.0 && step < 1.0 ? step : linear;
}

// Mostly the expected step will do. The parabola through f(0) and f(gamma) with the slope phi(gamma) there has its top
// at
//     gamma + gamma^2 phi(gamma) / (2 (f(gamma) - f(0) - gamma phi(gamma))),
// which tells without a curvature; only where that is too far away does Newton's method begin, at the top. On a single
// clique the parabola is at most twice as curved as f is at gamma, for KL <= chi^2: the true top is at most about twice
// as far as it says.
template <class SegmentRange, class Number>
LineSearchResult newton_line_search(const DualAlong<SegmentRange, Number>& dual, double subprecision) {
    if (!(dual.gap > 0.0)) return dual.stay();
    const double gamma = expected_step(dual.gap, dual.quadratic);
    const auto here = dual.look(gamma);
    const double top = gamma + 0.5 * gamma * gamma * here.phi / (here.ascent - gamma * here.phi);
    const bool rises = here.ascent >= -kAscentRounding * (1.0 + std::abs(here.entropy));
    if (rises && std::abs(top - gamma) <= subprecision * gamma) return dual.go(gamma, here, 1);
    const double middle = 0.5 * (here.phi >= 0.0 ? gamma + 1.0 : gamma);
    LineSearchResult found = newton_line_search(dual, subprecision, top > 0.0 && top < 1.0 ? top : middle);
    if (rises && here.ascent > found.ascent) found = dual.go(gamma, here, found.evaluations);
    ++found.evaluations;
    return found;
}

// Golden sections of [0, 1] until the bracket is narrower than `subprecision` times the step. Values only, no
// derivatives: f is flat at its top, so of two digits of a step it sees one where Newton's method sees both.
template <class SegmentRange, class Number>
LineSearchResult golden_line_search(const DualAlong<SegmentRange, Number>& dual, double subprecision) {
    constexpr int kMaxEvaluations = 60;
    constexpr double kGolden = 0.6180339887498949;
    if (!(dual.gap > 0.0)) return dual.stay();
    double left = 0.0, right = 1.0, low = 1.0 - kGolden, high = kGolden;
    auto at_low = dual.look(low), at_high = dual.look(high);
    int evaluations = 2;
    for (; evaluations < kMaxEvaluations && right - left > subprecision * high; ++evaluations) {
        if (at_low.ascent < at_high.ascent) {
            left = low, low = high, at_low = at_high;
            high = left + kGolden * (right - left), at_high = dual.look(high);
        } else {
            right = high, high = low, at_high = at_low;
            low = right - kGolden * (right - left), at_low = dual.look(low);
        }
    }
    const bool take_low = at_low.ascent >= at_high.ascent;
    const auto& top = take_low ? at_low : at_high;
    if (!(top.ascent >= -kAscentRounding * (1.0 + std::abs(top.entropy)))) return dual.stay(evaluations);
    return dual.go(take_low ? low : high, top, evaluations);
}

// A step that was fixed in advance. The dual may fall.
template <class SegmentRange, class Number>
LineSearchResult given_step(const DualAlong<SegmentRange, Number>& dual, double gamma) {
    if (!(dual.gap > 0.0)) return dual.stay();
    return dual.go(gamma, dual.look(gamma), 1);
}

// One step of Newton's method on phi from the middle, cut to [0, 1]. The dual may fall.
template <class SegmentRange, class Number>
LineSearchResult one_newton_step(const DualAlong<SegmentRange, Number>& dual) {
    if (!(dual.gap > 0.0)) return dual.stay();
    const auto middle = dual.at(0.5);
    const double gamma = middle.slope < 0.0 ? 0.5 - middle.phi / middle.slope : 0.5;
    LineSearchResult found = given_step(dual, std::clamp(gamma, 0.0, 1.0));
    found.evaluations = 2;
    return found;
}

enum class StepRule { kNewton, kOneNewton, kGolden, kFixed, kGuaranteed };

inline RuleNames<StepRule> names_of(StepRule) {
    return {{"newton", StepRule::kNewton},
            {"newton-1", StepRule::kOneNewton},
            {"golden", StepRule::kGolden},
            {"fixed", StepRule::kFixed},
            {"guaranteed", StepRule::kGuaranteed}};
}

struct StepOptions {
    StepRule rule;
    double subprecision;  // of kNewton and kGolden
    double size;          // of kFixed and kGuaranteed

    void each(auto&& option) {
        option("step", rule);
        option("subprecision", subprecision);
        option("step_size", size);
    }
};

template <class SegmentRange, class Number>
LineSearchResult find_step(const StepOptions& options, const DualAlong<SegmentRange, Number>& dual) {
    switch (options.rule) {
        case StepRule::kOneNewton:
            return one_newton_step(dual);
        case StepRule::kGolden:
            return golden_line_search(dual, options.subprecision);
        case StepRule::kFixed:
        case StepRule::kGuaranteed:
            return given_step(dual, options.size);
        default:
            return newton_line_search(dual, options.subprecision);
    }
}

}  // namespace dualfield
