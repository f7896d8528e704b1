// How far from the truth a dual method should start.
//
// A start with a share epsilon of its mass off the true labels has weights w(epsilon) in one plane at most, and an
// entropy that only depends on epsilon and the size of the block, so its dual value
//     D(epsilon) = -l2/2 |w(epsilon)|^2 + sum_i c_i H_i(epsilon)
// is cheap: the best epsilon is found by a golden-section search over its logarithm. Where w(epsilon) = epsilon w_1, D
// is concave.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "fields/field.hpp"

namespace dualfield {

// Where dual_at(epsilon) is largest, in [1e-12, 1].
template <class DualAt>
double largest_over_epsilon(DualAt&& dual_at) {
    const double golden = 0.5 * (std::sqrt(5.0) - 1.0);
    double left = std::log(1e-12), right = 0.0;
    for (int step = 0; step < 60; ++step) {
        const double a = right - golden * (right - left), b = left + golden * (right - left);
        if (dual_at(std::exp(a)) < dual_at(std::exp(b))) {
            left = a;
        } else {
            right = b;
        }
    }
    return std::exp(0.5 * (left + right));
}

// penalty_at(epsilon) gives l2/2 |w|^2; entropy_at(i, epsilon) gives H_i.
template <Field F, class PenaltyAt, class EntropyAt>
double best_epsilon(const F& field, const std::vector<Index>& blocks, PenaltyAt&& penalty_at, EntropyAt&& entropy_at) {
    // Most blocks are alike: (total sample weight, one of the blocks) for each kind, told by the entropy at one
    // epsilon.
    std::vector<std::pair<double, Index>> by_entropy;
    for (Index i : blocks) by_entropy.push_back({entropy_at(i, 0.5), i});
    std::sort(by_entropy.begin(), by_entropy.end());
    std::vector<std::pair<double, Index>> kinds;
    for (std::size_t k = 0; k < by_entropy.size(); ++k) {
        if (k == 0 || by_entropy[k - 1].first != by_entropy[k].first) kinds.push_back({0.0, by_entropy[k].second});
        kinds.back().first += field.sample_weight(by_entropy[k].second);
    }
    return largest_over_epsilon([&](double epsilon) {
        double value = -penalty_at(epsilon);
        for (const auto& [weight, block] : kinds) value += weight * entropy_at(block, epsilon);
        return value;
    });
}

}  // namespace dualfield
