// What quasi-Newton methods remember of the curvature: the last steps s and what they changed in the gradient, y.
//
// The two-loop recursion (Nocedal 1980) multiplies by the inverse Hessian that they describe,
//     H <- (I - s y^T / <s, y>) H (I - y s^T / <s, y>) + s s^T / <s, y>,      first H = <s, y> / |y|^2 of the last pair.
#pragma once

#include <utility>
#include <vector>

#include "math/vector.hpp"
#include "solvers/archive.hpp"

namespace dualfield {

class Curvature {
   public:
    Curvature(Index dimension, Index most) : dimension_(dimension), most_(most) {}

    bool empty() const { return pairs_.empty(); }
    void clear() { pairs_.clear(); }

    // Takes the step from one point to another, unless the gradient did not grow along it.
    void remember(const double* from, const double* to, const double* gradient_from, const double* gradient_to) {
        Pair pair;
        if (static_cast<Index>(pairs_.size()) == most_) {  // reuse the oldest vectors
            pair = std::move(pairs_.front());
            pairs_.erase(pairs_.begin());
        }
        pair.s.resize(dimension_);
        pair.y.resize(dimension_);
        for (Index k = 0; k < dimension_; ++k) {
            pair.s[k] = to[k] - from[k];
            pair.y[k] = gradient_to[k] - gradient_from[k];
        }
        const double product = dot(dimension_, pair.s.data(), pair.y.data());
        if (!(product > 0.0)) return;
        pair.inverse_product = 1.0 / product;
        pairs_.push_back(std::move(pair));
    }

    // q <- H q; without any pair q stays.
    void apply(double* q) const {
        if (pairs_.empty()) return;
        std::vector<double> projections(pairs_.size());
        for (Index h = static_cast<Index>(pairs_.size()) - 1; h >= 0; --h) {
            projections[h] = pairs_[h].inverse_product * dot(dimension_, pairs_[h].s.data(), q);
            axpy(dimension_, -projections[h], pairs_[h].y.data(), q);
        }
        const Pair& last = pairs_.back();
        scale(dimension_, 1.0 / (last.inverse_product * squared_norm(dimension_, last.y.data())), q);
        for (std::size_t h = 0; h < pairs_.size(); ++h) {
            const double along = pairs_[h].inverse_product * dot(dimension_, pairs_[h].y.data(), q);
            axpy(dimension_, projections[h] - along, pairs_[h].s.data(), q);
        }
    }

    void archive(Archive& archive) {
        const Index d = dimension_;
        std::vector<double> flat;
        for (const Pair& pair : pairs_) {
            flat.insert(flat.end(), pair.s.begin(), pair.s.end());
            flat.insert(flat.end(), pair.y.begin(), pair.y.end());
        }
        archive.flexible("corrections", flat, 2 * d, most_);
        if (!archive.loading()) return;
        pairs_.clear();
        for (auto at = flat.begin(); at < flat.end(); at += 2 * d) {
            pairs_.push_back({{at, at + d}, {at + d, at + 2 * d}, 0.0});
            pairs_.back().inverse_product = 1.0 / dot(d, pairs_.back().s.data(), pairs_.back().y.data());
        }
    }

   private:
    struct Pair {
        std::vector<double> s, y;  // differences of the weights and of the gradients
        double inverse_product;    // 1 / <s, y>
    };

    Index dimension_, most_;
    std::vector<Pair> pairs_;
};

}  // namespace dualfield
