// Entropies of single cliques, with the two functions that an ascent of the dual needs: a candidate to move to, and the
// best step towards it.
//
// A clique is a node, whose marginals are K numbers, or an edge, whose K x K marginals are followed by their sums over
// either end. With g the slope of everything but the entropy, which curves along delta by `quadratic`, the clique's
// part of the dual along delta = nu - mu is
//     f(gamma) = H(mu + gamma delta) + gamma <g, delta> - gamma^2 / 2 * quadratic.
//
//   Entropic   counts times Shannon entropies: of a node tau H(mu); of an edge kappa H(mu) - a H(first) - b H(second),
//              concave for kappa >= a + b. Candidate: nu ~ mu exp(G / kappa), G = g + grad H(mu). For a node with
//              constant g it is the best point, for an edge a direction of ascent. Step: Newton's method, see
//              line_search.hpp.
//   Gini       kappa/2 (1 - |mu|^2). Candidate: the point of the simplex next to mu + G / (kappa + q), where q bounds
//              the curvature of the rest in every direction. Step: in closed form.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "duality/line_search.hpp"

namespace dualfield {

// The counts of a clique's entropies: the factor of each in the sum. A node has `own` alone.
struct CliqueCount {
    double own, first = 0.0, second = 0.0;
};

// The table of a clique as the entropies see it: `pairs` numbers, then two ends of `labels` numbers each; a node has no
// ends. Tables are padded with zeros to whole vectors, since most are smaller than one vector.
struct CliqueShape {
    Index pairs, labels;
    Index size() const { return pairs + 2 * labels; }
    Index padded_size() const { return padded(size()); }
};

// A clique with its marginals and the slope of the dual there. `active`: the states that may have mass; null: all.
struct CliquePoint {
    CliqueShape shape;
    CliqueCount count;
    const double* mu;
    const double* g;
    double entropy;    // H(mu)
    double curvature;  // q
    const char* active;
};

// Stands for log 0. Unlike -inf it can be multiplied by zero.
inline constexpr double kExcluded = -1e300;

// x_k = max(0, x_k - t), with t such that their sum is 1 (Held, Wolfe and Crowder, 1974). The largest x_k is subtracted
// from all first: the result is the same, and beside large numbers the 1 would be lost. Where an x_k is NaN, x stays as
// it is, since NaN cannot be sorted.
inline void project_to_simplex(Index n, double* x, std::vector<double>& sorted) {
    subtract_maximum(n, x);
    if (!std::all_of(x, x + n, [](double number) { return std::isfinite(number); })) {
        std::fill(x, x + n, std::numeric_limits<double>::quiet_NaN());
        return;
    }
    sorted.assign(x, x + n);
    std::sort(sorted.begin(), sorted.end(), std::greater<>());
    double total = 0.0, threshold = 0.0;
    for (Index k = 0; k < n; ++k) {
        total += sorted[k];
        const double next = (total - 1.0) / static_cast<double>(k + 1);
        if (sorted[k] <= next) break;
        threshold = next;
    }
    for (Index k = 0; k < n; ++k) x[k] = x[k] > threshold ? x[k] - threshold : 0.0;
}

class Entropic {
   public:
    static double entropy(const CliqueShape& shape, const CliqueCount& count, const double* mu) {
        return dualfield::entropy(segments(shape, count), mu);
    }

    // The entropy of epsilon * uniform + (1 - epsilon) * one state.
    static double mixture(const CliqueShape& shape, const CliqueCount& count, double epsilon) {
        double value = count.own * mixture_entropy(shape.pairs, epsilon);
        if (shape.labels > 0) value -= (count.first + count.second) * mixture_entropy(shape.labels, epsilon);
        return value;
    }

    // Returns the maximum over the simplex of <g, x> + H(x), for a clique whose ends do not count, and writes its
    // place.
    double conjugate(Index n, double count, const double* g, double* x) const {
        for (Index k = 0; k < n; ++k) x[k] = g[k] / count;
        const LogSum total = log_sum(n, x);
        for (Index k = 0; k < n; ++k) x[k] = fast_exp((x[k] - total.top) - total.rest);
        return count * total.value();
    }

    // Writes the candidate; returns kappa KL(mu || nu), which is the duality gap of a node.
    double propose(const CliquePoint& at, double* nu) {
        const double ends = write_logarithms(at, nu);
        const LogSum total = log_sum(at.shape.pairs, nu);
        const double gap = at.count.own * (total.value() - dot(at.shape.pairs, nu, at.mu)) - at.entropy - ends;
        for (Index k = 0; k < at.shape.pairs; ++k) nu[k] = fast_exp((nu[k] - total.top) - total.rest);
        return non_negative(gap);
    }

    // G, up to a constant.
    static void slope(const CliquePoint& at, double* out) {
        const CliqueShape& shape = at.shape;
        const double* first = at.mu + shape.pairs;
        const double* second = first + shape.labels;
        for (Index k = 0; k < shape.pairs; ++k) {
            out[k] = at.g[k] - at.count.own * log_of(at.mu[k]);
            if (shape.labels > 0)
                out[k] += at.count.first * log_of(first[k / shape.labels]) +
                          at.count.second * log_of(second[k % shape.labels]);
        }
    }

    // The best step along delta.
    LineSearchResult search(const CliquePoint& at, const double* delta, double residual, double quadratic,
                            double subprecision) {
        const Index pairs = at.shape.pairs, K = at.shape.labels;
        counts_.assign(at.shape.padded_size(), 0.0);
        std::fill(counts_.begin(), counts_.begin() + pairs, at.count.own);
        std::fill(counts_.begin() + pairs, counts_.begin() + pairs + K, -at.count.first);
        std::fill(counts_.begin() + pairs + K, counts_.begin() + pairs + 2 * K, -at.count.second);
        Along along{at.shape.padded_size(), at.mu, delta, counts_.data(), 1.0, residual, quadratic, at.entropy};
        const auto here = along.at(0.0);
        if (!(here.phi > 0.0)) return along.stay(1);
        const double start = here.phi / -here.slope;
        LineSearchResult found =
            newton_line_search(along, subprecision, start < kMostStart ? std::max(start, kLeastStart) : kMostStart);
        ++found.evaluations;
        return found;
    }

   private:
    // A state without mass has infinite slope and infinite curvature. Close to a candidate near a vertex the curvature
    // is so large that the steps of Newton's method become tiny, and it would stop too early.
    static constexpr double kLeastStart = 1e-6, kMostStart = 0.95;

    struct Ranges {
        std::array<Segment, 3> items;
        int size;
        const Segment* begin() const { return items.data(); }
        const Segment* end() const { return items.data() + size; }
    };

    static Ranges segments(const CliqueShape& shape, const CliqueCount& count) {
        const Index second = shape.pairs + shape.labels;
        const bool ends = count.first > 0.0 || count.second > 0.0;
        return {{{{0, shape.pairs, count.own},
                  {shape.pairs, shape.labels, -count.first},
                  {second, shape.labels, -count.second}}},
                ends ? 3 : 1};
    }

    static double log_of(double x) { return fast_log(x > kTiny ? x : kTiny); }

    // nu = log mu + G / kappa = (g + a log first + b log second) / kappa; returns a H(first) + b H(second).
    double write_logarithms(const CliquePoint& at, double* nu) {
        const Index K = at.shape.labels;
        const double inverse = 1.0 / at.count.own;
        double ends = 0.0;
        if (at.count.first > 0.0 || at.count.second > 0.0) {
            const double* first = at.mu + at.shape.pairs;
            const double* second = first + K;
            logs_.resize(K);
            for (Index k = 0; k < K; ++k) {
                logs_[k] = at.count.second * log_of(second[k]);
                ends -= second[k] * logs_[k];
            }
            for (Index s = 0; s < K; ++s) {
                const double log_first = at.count.first * log_of(first[s]);
                ends -= first[s] * log_first;
                for (Index t = 0; t < K; ++t) nu[s * K + t] = inverse * (at.g[s * K + t] + log_first + logs_[t]);
            }
        } else {
            for (Index k = 0; k < at.shape.pairs; ++k) nu[k] = inverse * at.g[k];
        }
        if (at.active)
            for (Index k = 0; k < at.shape.pairs; ++k)
                if (!at.active[k]) nu[k] = kExcluded;
        return ends;
    }

    // The problem for newton_line_search: one loop over the padded table, with a count for each number.
    struct Along {
        Index size;
        const double* mu;
        const double* delta;
        const double* count;
        double gap, residual, quadratic, entropy_at_mu;

        struct Point {
            double entropy, ascent, phi, slope;
        };
        Point at(double gamma) const {
            double cross = 0.0, negative_entropy = 0.0, curvature = 0.0;
            for (Index k = 0; k < size; k += 8) {
#pragma omp simd reduction(+ : cross, negative_entropy, curvature)
                for (Index j = k; j < k + 8; ++j) {
                    const double x = mu[j] + gamma * delta[j];
                    const LogAndReciprocal here = fast_log_and_reciprocal(x > kTiny ? x : kTiny);
                    const double counted = count[j] * delta[j];
                    cross += counted * here.log;
                    negative_entropy += count[j] * x * here.log;
                    curvature += counted * delta[j] * here.reciprocal;
                }
            }
            return {-negative_entropy,
                    -negative_entropy - entropy_at_mu + gamma * residual - 0.5 * gamma * gamma * quadratic,
                    residual - cross - gamma * quadratic, -non_negative(curvature) - quadratic};
        }
        LineSearchResult stay(int evaluations = 0) const { return {0.0, entropy_at_mu, 0.0, evaluations}; }
        LineSearchResult go(double gamma, const Point& there, int evaluations) const {
            return {gamma, there.entropy, there.ascent, evaluations};
        }
    };

    std::vector<double> logs_, counts_;
};

class Gini {
   public:
    static double entropy(const CliqueShape& shape, const CliqueCount& count, const double* mu) {
        return 0.5 * count.own * (1.0 - squared_norm(shape.pairs, mu));
    }

    static double mixture(const CliqueShape& shape, const CliqueCount& count, double epsilon) {
        const double n = static_cast<double>(shape.pairs), rest = epsilon / n, top = 1.0 - epsilon + rest;
        return 0.5 * count.own * (1.0 - top * top - (n - 1.0) * rest * rest);
    }

    double conjugate(Index n, double count, const double* g, double* x) {
        for (Index k = 0; k < n; ++k) x[k] = g[k] / count;
        project_to_simplex(n, x, sorted_);
        return dot(n, g, x) + entropy({n, 0}, {count}, x);
    }

    // Returns the clique's duality gap, which does not depend on the candidate.
    double propose(const CliquePoint& at, double* nu) {
        const double inverse = 1.0 / (at.count.own + at.curvature);
        for (Index k = 0; k < at.shape.pairs; ++k)
            nu[k] = at.active && !at.active[k] ? kExcluded : at.mu[k] + inverse * (at.g[k] - at.count.own * at.mu[k]);
        project_to_simplex(at.shape.pairs, nu, sorted_);
        best_.resize(at.shape.pairs);
        const double gap =
            conjugate(at.shape.pairs, at.count.own, at.g, best_.data()) - dot(at.shape.pairs, at.g, at.mu) - at.entropy;
        return non_negative(gap);
    }

    static void slope(const CliquePoint& at, double* out) {
        for (Index k = 0; k < at.shape.pairs; ++k) out[k] = at.g[k] - at.count.own * at.mu[k];
    }

    LineSearchResult search(const CliquePoint& at, const double* delta, double residual, double quadratic,
                            double) const {
        const double along = residual - at.count.own * dot(at.shape.pairs, at.mu, delta);
        const double curvature = at.count.own * squared_norm(at.shape.pairs, delta) + quadratic;
        if (!(along > 0.0) || !(curvature > 0.0)) return {0.0, at.entropy, 0.0, 1};
        const double step = std::min(1.0, along / curvature);
        const double ascent = step * (along - 0.5 * step * curvature);
        const double entropy = at.entropy + ascent - step * residual + 0.5 * step * step * quadratic;
        return {step, entropy, ascent, 1};
    }

   private:
    std::vector<double> sorted_, best_;
};

}  // namespace dualfield
