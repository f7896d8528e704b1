// Steps in one window are computed from the same weights. This measures how much their directions overlap, and says by
// how much to damp them.
//
// Where directions have a common part, the quadratic term of the dual is larger than the sum of the steps' own terms.
// So each step counts its own term `crowding` times:
//     crowding = |sum of directions|^2 / sum |direction|^2
// Numerator and denominator are means over earlier windows, because rounding hides what tiny steps have in common. The
// factor is at least 1, and at most the number of steps in the longest window.
// A measurement costs the product of each direction with the weights, so once the factor is low only some windows are
// measured. A window is measured when the weights take its steps; the steps of the next window have been found by then.
// So the measurement counts from the window after that one on, also where a run is cut in two between them.
//
// Where blocks have much in common, long windows do not pay: after a stretch of windows with a high mean factor,
// windows are half as long, down to a quarter of the longest; after a stretch with a low factor they are twice as long.
#pragma once

#include <algorithm>

#include "base/archive.hpp"
#include "simd/elementary.hpp"

namespace dualfield {

class Crowding {
   public:
    // At first as if all steps of a window were alike.
    Crowding(Index most, Index steps_of_a_pass)
        : most_(most),
          stretch_(std::clamp(steps_of_a_pass / most, kShortest, kLongest)),
          window_(most),
          factor_(static_cast<double>(most)),
          next_(factor_) {}

    double factor() const { return factor_; }
    Index window() const { return window_; }  // the length of the next window

    // Whether the next window, of so many steps, is to be measured.
    bool due(Index steps) {
        constexpr double kLow = 1.5;
        if (steps <= 1) return false;
        if (factor_ <= kLow) unmeasured_ = (unmeasured_ + 1) % kEvery;
        return factor_ > kLow || unmeasured_ == 0;
    }

    // products: the sum over pairs of different directions of their products; squares: that of |direction|^2.
    void measured(double products, double squares) {
        constexpr double kForget = 0.1;
        products_ += kForget * (products - products_);
        squares_ += kForget * (squares - squares_);
        if (squares_ > 0.0) next_ = std::clamp(1.0 + 2.0 * products_ / squares_, 1.0, static_cast<double>(most_));
    }

    void end_window() {
        constexpr double kMuch = 1.25, kLittle = 1.05;
        factor_ = next_;
        total_ += factor_;
        if (++in_stretch_ < stretch_) return;
        const double mean = total_ / static_cast<double>(stretch_);
        if (mean > kMuch) window_ = std::max(window_ / 2, least());
        if (mean < kLittle) window_ = std::min(window_ * 2, most_);
        total_ = 0.0;
        in_stretch_ = 0;
    }

    void begin_again() { unmeasured_ = 0; }

    // From a run with windows of another length nothing is taken over.
    void archive(Archive& archive) {
        Crowding other = *this;
        archive.scalars("crowding", {&other.factor_, &other.next_, &other.products_, &other.squares_, &other.total_});
        archive.counters("windows", {&other.most_, &other.window_, &other.unmeasured_, &other.in_stretch_});
        if (!archive.loading() || other.most_ != most_) return;
        other.window_ = std::clamp(other.window_, least(), most_);
        other.unmeasured_ = std::clamp(other.unmeasured_, Index{0}, kEvery - 1);
        other.in_stretch_ = std::clamp(other.in_stretch_, Index{0}, stretch_ - 1);
        *this = other;
    }

   private:
    static constexpr Index kEvery = 16;                     // so often a window is measured while the factor is low
    static constexpr Index kShortest = 16, kLongest = 256;  // of the stretches

    Index least() const { return std::max(most_ / 4, Index{1}); }

    Index most_, stretch_, window_;
    double factor_, next_;
    double products_ = 0.0, squares_ = 0.0;  // of the windows before
    Index unmeasured_ = 0;                   // windows with a low factor since the last that was measured
    double total_ = 0.0;                     // of the factors in this stretch
    Index in_stretch_ = 0;
};

}  // namespace dualfield
