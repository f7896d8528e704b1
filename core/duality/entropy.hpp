// Entropy and Kullback-Leibler divergence of the distribution that a table of clique marginals describes.
#pragma once

#include "duality/segments.hpp"
#include "simd/vector.hpp"

namespace dualfield {

// sum_k x_k log x_k, with 0 log 0 = 0
inline double negative_entropy(Index n, const double* x) {
    double total = 0.0;
#pragma omp simd reduction(+ : total)
    for (Index k = 0; k < n; ++k) total += x[k] * fast_log(x[k] > kTiny ? x[k] : kTiny);
    return total;
}

// H(mu) = -sum over segments of count * sum mu log mu
template <class SegmentRange>
double entropy(const SegmentRange& segments, const double* mu) {
    double total = 0.0;
    for (const Segment& s : segments) total -= s.count * negative_entropy(s.length, mu + s.offset);
    return total;
}

// KL(mu || nu) = sum over segments of count * sum mu log(mu / nu); infinite where nu = 0 < mu.
template <class SegmentRange>
double divergence(const SegmentRange& segments, const double* mu, const double* nu) {
    double total = 0.0;
    for (const Segment& s : segments) {
        double part = 0.0;
        for (Index k = s.offset; k < s.offset + s.length; ++k) {
            if (mu[k] <= 0.0) continue;
            if (nu[k] <= 0.0) return std::numeric_limits<double>::infinity();
            part += mu[k] * std::log(mu[k] / nu[k]);
        }
        total += s.count * part;
    }
    return total;
}

// Entropy of epsilon * uniform + (1 - epsilon) * one point, over n points.
inline double mixture_entropy(Index n, double epsilon) {
    const double rest = epsilon / static_cast<double>(n), top = 1.0 - epsilon + rest;
    const auto term = [](double p) { return p > 0.0 ? -p * std::log(p) : 0.0; };
    return term(top) + static_cast<double>(n - 1) * term(rest);
}

// One of n labels is right with probability 1 - epsilon, the others share the rest: the potential of the right one.
inline double strength_of(Index n, double epsilon) {
    return n > 1 ? std::log(static_cast<double>(n - 1) * (1.0 - epsilon) / epsilon) : 0.0;
}

}  // namespace dualfield
