// A line search for the strong Wolfe conditions (Nocedal and Wright, Algorithms 3.5 and 3.6), as a state
// machine: the caller evaluates f and its slope at step(), reports them to tell(), and asks again until it is
// done.
#pragma once

#include <algorithm>
#include <cmath>

#include "base/archive.hpp"

namespace dualfield {

class WolfeSearch {
   public:
    enum class Verdict { again, accepted, failed };

    void begin(double value, double slope, double first_step) {
        start_ = low_ = {0.0, value, slope};
        bracketed_ = false;
        trials_ = 0;
        step_ = first_step;
    }

    double step() const { return step_; }

    Verdict tell(double value, double slope) {
        constexpr double kSufficientDecrease = 1e-4, kCurvature = 0.9;
        constexpr int kMaxTrials = 30;
        const Point trial{step_, value, slope};
        if (std::isfinite(value) && std::abs(slope) <= -kCurvature * start_.slope) {
            if (value <= start_.value + kSufficientDecrease * step_ * start_.slope) return Verdict::accepted;
            // Near the optimum the decrease is lost in the rounding of f, but not in that of the slope: the approximate
            // condition of Hager and Zhang.
            if (value <= start_.value + 1e-14 * std::abs(start_.value) &&
                slope <= (2.0 * kSufficientDecrease - 1.0) * start_.slope)
                return Verdict::accepted;
        }
        if (++trials_ == kMaxTrials) return Verdict::failed;
        if (!std::isfinite(value)) {
            high_ = trial;
            bracketed_ = true;
            step_ = low_.step + 0.1 * (high_.step - low_.step);
            return Verdict::again;
        }
        if (value > start_.value + kSufficientDecrease * step_ * start_.slope || value >= low_.value) {
            high_ = trial;
            bracketed_ = true;
        } else {
            if (bracketed_ ? slope * (high_.step - low_.step) >= 0.0 : slope >= 0.0) {
                high_ = low_;
                bracketed_ = true;
            }
            low_ = trial;
        }
        step_ = bracketed_ ? interpolate() : 2.0 * step_;
        return Verdict::again;
    }

    void archive(Archive& archive) {
        Index bracketed = bracketed_, trials = trials_;
        archive.counters("wolfe_counters", {&bracketed, &trials});
        archive.scalars("wolfe_points", {&start_.step, &start_.value, &start_.slope, &low_.step, &low_.value,
                                         &low_.slope, &high_.step, &high_.value, &high_.slope, &step_});
        bracketed_ = bracketed != 0;
        trials_ = static_cast<int>(trials);
    }

   private:
    struct Point {
        double step, value, slope;
    };

    // The minimum of the cubic through both ends, at least a tenth of the bracket away from each.
    double interpolate() const {
        const double width = high_.step - low_.step;
        const double d = low_.slope + high_.slope - 3.0 * (low_.value - high_.value) / (low_.step - high_.step);
        const double discriminant = d * d - low_.slope * high_.slope;
        double at = 0.5;
        if (discriminant >= 0.0 && std::isfinite(discriminant)) {
            const double root = std::copysign(std::sqrt(discriminant), width);
            const double cubic = 1.0 - (high_.slope + root - d) / (high_.slope - low_.slope + 2.0 * root);
            if (std::isfinite(cubic)) at = cubic;
        }
        return low_.step + std::clamp(at, 0.1, 0.9) * width;
    }

    Point start_{}, low_{}, high_{};
    bool bracketed_ = false;
    int trials_ = 0;
    double step_ = 0.0;
};

}  // namespace dualfield
