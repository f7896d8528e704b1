// What quasi-Newton methods remember of the curvature: the last steps s and what they changed in the gradient, y.
//
// The two-loop recursion (Nocedal 1980) multiplies by the inverse Hessian that they describe,
//     H <- (I - s y^T / <s, y>) H (I - y s^T / <s, y>) + s s^T / <s, y>,      first H = <s, y> / |y|^2 of the last pair.
#pragma once

#include <cmath>
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
        apply_between(
            q, [](const Pair& pair) { return pair.inverse_product; },
            [&](const Pair& pair) { return squared_norm(dimension_, pair.y.data()); }, [](double*) {});
    }

    // The same in the subspace of the weights whose `free` is one and not zero: q, s and y are cut to it. What the
    // gradient did along weights that stay says nothing about those that move.
    void apply_within(const std::vector<double>& free, double* q) const {
        const auto cut = [&](double* x) {
#pragma omp simd
            for (Index k = 0; k < dimension_; ++k) x[k] *= free[k];
        };
        const auto product = [&](const double* x, const double* y) {
            double total = 0.0;
#pragma omp simd reduction(+ : total)
            for (Index k = 0; k < dimension_; ++k) total += free[k] * x[k] * y[k];
            return total;
        };
        cut(q);
        apply_between(
            q, [&](const Pair& pair) { return 1.0 / product(pair.s.data(), pair.y.data()); },
            [&](const Pair& pair) { return product(pair.y.data(), pair.y.data()); }, cut);
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

    // Pairs along which the gradient did not grow enough, 1 / <s, y> not positive or too large, are passed over.
    template <class InverseProduct, class SquaredNorm, class Cut>
    void apply_between(double* q, InverseProduct&& inverse_product, SquaredNorm&& squared_norm_of_y, Cut&& cut) const {
        struct Term {
            const Pair* pair;
            double inverse_product, projection;
        };
        std::vector<Term> terms;  // newest first
        double first_scale = 1.0;
        for (auto pair = pairs_.rbegin(); pair != pairs_.rend(); ++pair) {
            const double inverse = inverse_product(*pair);
            if (!(inverse > 0.0 && std::isfinite(inverse))) continue;
            if (terms.empty()) first_scale = 1.0 / (inverse * squared_norm_of_y(*pair));
            terms.push_back({&*pair, inverse, inverse * dot(dimension_, pair->s.data(), q)});
            axpy(dimension_, -terms.back().projection, pair->y.data(), q);
            cut(q);
        }
        scale(dimension_, first_scale, q);
        for (auto term = terms.rbegin(); term != terms.rend(); ++term) {
            const double along = term->inverse_product * dot(dimension_, term->pair->y.data(), q);
            axpy(dimension_, term->projection - along, term->pair->s.data(), q);
            cut(q);
        }
    }

    Index dimension_, most_;
    std::vector<Pair> pairs_;
};

}  // namespace dualfield
