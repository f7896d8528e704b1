// What a step from one vector of potentials towards another did to the marginals, from one reading of all vectors.
#pragma once

#include <algorithm>
#include <cmath>

#include "base/index.hpp"

namespace dualfield {

struct StepProducts {
    double trial_before;  // <trial, before>
    double along_target;  // <target, change>
    double along_origin;  // <origin, change>
    double farthest;      // max |target - origin|
};

// change -= before, then the products with it.
inline StepProducts take_step_products(Index n, const double* target, const double* origin, const double* trial,
                                       const double* before, double* change) {
    double trial_before = 0.0, along_target = 0.0, along_origin = 0.0, farthest = 0.0;
#pragma omp simd reduction(+ : trial_before, along_target, along_origin) reduction(max : farthest)
    for (Index k = 0; k < n; ++k) {
        farthest = std::max(farthest, std::abs(target[k] - origin[k]));
        change[k] -= before[k];
        trial_before += trial[k] * before[k];
        along_target += target[k] * change[k];
        along_origin += origin[k] * change[k];
    }
    return {trial_before, along_target, along_origin, farthest};
}

}  // namespace dualfield
