// Repairs pseudo-marginals: after an ascent those of edges agree only roughly with those of their nodes.
#pragma once

#include <vector>

#include "simd/vector.hpp"

namespace dualfield {

// Gives a K x K table the sums `first` over its rows' columns and `second` over its columns' rows, both distributions.
// A few of Sinkhorn's rounds bring it near; then rows and columns that still have too much are scaled down, and what is
// missing is added as a product (Altschuler, Weed and Rigollet, 2017), so that the sums are right to the last digit and
// nothing is negative.
class Transport {
   public:
    void repair(Index K, const double* first, const double* second, double* table) {
        constexpr int kRounds = 3;
        for (int round = 0; round < kRounds; ++round) {
            scale_rows(K, first, table, false);
            scale_columns(K, second, table, false);
        }
        scale_rows(K, first, table, true);
        scale_columns(K, second, table, true);
        missing_.resize(K);
        sum_columns(K, table);
        double total = 0.0;
        for (Index k = 0; k < K; ++k) {
            missing_[k] = std::max(0.0, second[k] - columns_[k]);
            total += missing_[k];
        }
        if (!(total > kNothing)) return;
        for (Index s = 0; s < K; ++s)
            axpy(K, std::max(0.0, first[s] - sum(K, table + s * K)) / total, missing_.data(), table + s * K);
    }

   private:
    static constexpr double kNothing = 1e-200;  // far below rounding; 1 / x may overflow for smaller x

    static double factor(double wanted, double found, bool only_down) {
        const double ratio = found > kNothing ? wanted / found : 1.0;
        return only_down ? std::min(1.0, ratio) : ratio;
    }

    void scale_rows(Index K, const double* first, double* table, bool only_down) {
        for (Index s = 0; s < K; ++s) {
            double* row = table + s * K;
            scale(K, factor(first[s], sum(K, row), only_down), row);
        }
    }

    void scale_columns(Index K, const double* second, double* table, bool only_down) {
        sum_columns(K, table);
        for (Index t = 0; t < K; ++t) columns_[t] = factor(second[t], columns_[t], only_down);
        for (Index s = 0; s < K; ++s)
            for (Index t = 0; t < K; ++t) table[s * K + t] *= columns_[t];
    }

    void sum_columns(Index K, const double* table) {
        columns_.assign(K, 0.0);
        for (Index s = 0; s < K; ++s) axpy(K, 1.0, table + s * K, columns_.data());
    }

    std::vector<double> columns_, missing_;
};

}  // namespace dualfield
