// By how much workers damp their steps, because they do not see what the others do at the same time.
//
// Between two exchanges worker w changes the weights of a class by Delta_w, and the weights move by the sum of all
// Delta_w. Each worker scores with u + s Delta_w, as if the others did s - 1 times what it does, and counts the
// quadratic term of the dual s times there. That is safe where s is the number of workers that touch a weight, since
// R* is convex; mostly far less will do. So s is measured, class by class:
//     s = |sum of Delta_w|^2 / sum |Delta_w|^2,
// with means over earlier periods as numerator and denominator. It begins at the mean number t of workers that touch a
// weight of the class, and is kept between 1 + kLeast (t - 1) and t: in short rounds what the workers have in common is
// a small part of Delta_w, though it adds up from round to round.
//
// A step has one quadratic term for all classes: its norm times the mean of s, weighted by the part of the squared
// norm that steps have in each class.
#pragma once

#include <algorithm>
#include <vector>

#include "base/index.hpp"

namespace dualfield {

class Damping {
   public:
    // touching: how many workers touch a weight of a class; class 0 is of private weights.
    explicit Damping(std::vector<double> touching)
        : most_(std::move(touching)), classes_(most_.size()), factors_(most_), parts_(most_.size(), 1.0) {
        mix();
    }

    // The factors s by class.
    const std::vector<double>& factors() const { return factors_; }
    // Of the quadratic term of a step.
    double factor() const { return factor_; }

    // After a period: what exchanges of a class showed, |sum of Delta_w|^2 and sum |Delta_w|^2.
    void exchanged(std::size_t c, double of_sum, double sum_of) {
        Class& seen = classes_[c];
        seen.of_sum += kForget * (of_sum - seen.of_sum);
        seen.sum_of += kForget * (sum_of - seen.sum_of);
        if (!(seen.sum_of > 0.0)) return;
        factors_[c] = within(c, seen.of_sum / seen.sum_of);
    }
    // The squared norms of some steps, by class.
    void stepped(const std::vector<double>& squares) {
        double total = 0.0;
        for (const double square : squares) total += square;
        if (!(total > 0.0)) return;
        for (std::size_t c = 0; c < parts_.size(); ++c) parts_[c] += kForget * (squares[c] / total - parts_[c]);
    }
    void end_period() { mix(); }

    // What is saved, one number after the other; of another number of classes nothing is taken over.
    void append_to(std::vector<double>& numbers) const {
        for (std::size_t c = 0; c < classes_.size(); ++c)
            numbers.insert(numbers.end(), {classes_[c].of_sum, classes_[c].sum_of, factors_[c], parts_[c]});
    }
    static constexpr Index kNumbers = 4;  // a class
    void take(const double* numbers) {
        for (std::size_t c = 0; c < classes_.size(); ++c, numbers += kNumbers) {
            classes_[c] = {numbers[0], numbers[1]};
            factors_[c] = within(c, numbers[2]);
            parts_[c] = numbers[3];
        }
        mix();
    }

   private:
    static constexpr double kForget = 0.3, kLeast = 0.35;

    struct Class {
        double of_sum = 0.0, sum_of = 0.0;
    };

    double within(std::size_t c, double factor) const {
        return std::clamp(factor, 1.0 + kLeast * (most_[c] - 1.0), most_[c]);
    }

    void mix() {
        double weighted = 0.0, total = 0.0;
        for (std::size_t c = 0; c < parts_.size(); ++c) {
            weighted += parts_[c] * factors_[c];
            total += parts_[c];
        }
        factor_ = total > 0.0 ? std::max(weighted / total, 1.0) : 1.0;
    }

    std::vector<double> most_;
    std::vector<Class> classes_;
    std::vector<double> factors_, parts_;
    double factor_ = 1.0;
};

}  // namespace dualfield
