// Objective values in sum units, and how far rounding can have moved them.
//
//     primal  P(w)  = l2/2 |w|^2 + sum_i c_i (log Z_i(w) - <theta_i, truth_i>)
//     dual    D(mu) = -l2/2 |w(mu)|^2 + sum_i c_i H(mu_i),      w(mu) = 1/l2 sum_i c_i (F_i - E_mu F)
// For any w and consistent mu, P(w) - D(mu) bounds the distance of P(w) from the optimum.
#pragma once

#include <cmath>
#include <limits>

#include "base/archive.hpp"

namespace dualfield {

// Neumaier's sum: its error does not grow with the number of terms.
class CompensatedSum {
   public:
    void add(double x) {
        const double total = total_ + x;
        lost_ += std::abs(total_) >= std::abs(x) ? (total_ - total) + x : (x - total) + total_;
        total_ = total;
    }
    double value() const { return total_ + lost_; }
    void archive(Archive& archive) { archive.scalars("compensated_sum", {&total_, &lost_}); }

   private:
    double total_ = 0.0, lost_ = 0.0;
};

struct Certificate {
    double primal = std::numeric_limits<double>::quiet_NaN();
    double dual = std::numeric_limits<double>::quiet_NaN();  // less the allowance for rounding
    double gap = std::numeric_limits<double>::quiet_NaN();   // primal - dual, plus that of the primal
};

// A term computed from numbers of this total magnitude can be wrong by a few units in its last place; the
// reported gap is enlarged by that much, so that it stays a bound.
inline double rounding_allowance(double magnitude) { return 16.0 * std::numeric_limits<double>::epsilon() * magnitude; }

// Recursions over a long block add up rounding: a message at the end of T positions is wrong by about T/50 units.
inline double rounding_growth(Index compact_size) { return 1.0 + static_cast<double>(compact_size) / 16384.0; }

}  // namespace dualfield
