// The search for a Lipschitz constant that the stochastic average gradient methods use in place of a step size:
// double L while a step along the block's own gradient gains less than a function of that smoothness would,
//     f(w - g/L) > f(w) - |g|^2 / (2L).
// All of it happens in the potentials of the block: those of w - g/L are theta - theta_g / L.
#pragma once

#include <vector>

#include "fields/field.hpp"
#include "simd/vector.hpp"

namespace dualfield {

template <Field F>
class SmoothnessSearch {
   public:
    explicit SmoothnessSearch(const F& field) : field_(field) {}

    // f is c times the loss of block i, whose value at potentials theta is `loss`, with marginals m. Returns L, at
    // least the given one.
    double search(Index i, const double* theta, double loss, const double* m, double L) {
        constexpr double kFlat = 1e-8;  // below this |g|^2 the comparison is lost in rounding
        constexpr int kMaxDoublings = 100;
        const Index size = field_.compact_size(i);
        const double c = field_.sample_weight(i);
        double* slope = room(slope_, size);
        std::copy(m, m + size, slope);
        field_.subtract_truth(i, slope);
        const double norm = c * c * field_.pull(i, slope, direction_);
        if (!(norm > kFlat)) return L;
        field_.project(direction_, slope);  // theta_g / c
        double* trial = room(trial_, size);
        for (int doubling = 0; doubling < kMaxDoublings; ++doubling) {
#pragma omp simd
            for (Index k = 0; k < size; ++k) trial[k] = theta[k] - c / L * slope[k];
            const double there = field_.log_partition(i, trial, oracle_) - field_.true_score(i, trial);
            ++oracle_calls_;
            if (!(c * (loss - there) < 0.5 * norm / L)) break;
            L *= 2.0;
        }
        return L;
    }

    Index take_oracle_calls() { return std::exchange(oracle_calls_, 0); }

   private:
    const F& field_;
    Index oracle_calls_ = 0;
    typename F::Workspace oracle_;
    typename F::Direction direction_;
    std::vector<double> slope_, trial_;
};

}  // namespace dualfield
