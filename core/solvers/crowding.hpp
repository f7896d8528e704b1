// How much steps that do not know of each other are in each other's way.
//
// The steps of one window are found at the same weights. Where their directions have a common part, the quadratic term of
// the dual is larger than the sum of theirs, so each step reckons with it `crowding` times:
//     crowding = |sum of directions|^2 / sum |direction|^2, both as means over the windows before; from 1 to the number of
// steps. The means are taken first, since rounding hides what tiny steps have in common.
// To measure it takes the product of each direction with the weights, so once it is low only some windows are measured.
// What one window tells is known when the weights have taken its steps, while those of the next are found already: it
// counts from the window after that one on, whether or not a run is cut in two between them.
#pragma once

#include <algorithm>

#include "math/elementary.hpp"
#include "solvers/archive.hpp"

namespace dualfield {

class Crowding {
   public:
    // At first as if all steps of a window were alike.
    explicit Crowding(Index window) : most_(static_cast<double>(window)), factor_(most_), next_(most_) {}

    double factor() const { return factor_; }

    // Whether the next window, of so many steps, is to be measured.
    bool due(Index steps) {
        constexpr double kLow = 1.5;
        constexpr Index kEvery = 16;
        return steps > 1 && (factor_ > kLow || ++windows_ % kEvery == 0);
    }

    // products: the sum over pairs of different directions of their products; squares: that of |direction|^2.
    void measured(double products, double squares) {
        constexpr double kForget = 0.1;
        products_ += kForget * (products - products_);
        squares_ += kForget * (squares - squares_);
        if (squares_ > 0.0) next_ = std::clamp(1.0 + 2.0 * products_ / squares_, 1.0, most_);
    }
    void end_window() { factor_ = next_; }

    void begin_again() { windows_ = 0; }

    void archive(Archive& archive) {
        archive.scalars("crowding", {&factor_, &next_, &products_, &squares_});
        archive.scalars("windows", {&windows_});
    }

   private:
    double most_, factor_, next_;
    double products_ = 0.0, squares_ = 0.0;  // of the windows before
    Index windows_ = 0;                      // since the factor is low
};

}  // namespace dualfield
