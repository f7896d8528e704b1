// A field as an extension has it: logistic regression of two labels on dense points.
//
// Block i is a point x with a label y of 0 or 1. Compact: the one number s = <x, w>, and p(1 | x) as its marginal. Table:
// [ p(0), p(1) ].
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "duality/entropy.hpp"
#include "fields/general_field.hpp"

namespace dualfield {

class Coins final : public GeneralField {
   public:
    Coins(std::vector<double> points, std::vector<std::int32_t> labels, double l2)
        : points_(std::move(points)), labels_(std::move(labels)), l2_(l2) {}

    bool one_node() const override { return true; }
    bool labelled() const override { return true; }
    Index blocks() const override { return static_cast<Index>(labels_.size()); }
    Index dimension() const override { return static_cast<Index>(points_.size() / labels_.size()); }
    Index labels() const override { return 2; }
    Index compact_size(Index) const override { return 1; }
    double l2() const override { return l2_; }
    double sample_weight(Index) const override { return 1.0; }
    Index positions_before(Index i) const override { return i; }

    void score(Index i, const double* w, double* theta) const override { *theta = dot(dimension(), point(i), w); }
    void center(Index, double*) const override {}
    double magnitude(Index, const double* theta) const override { return std::abs(*theta); }
    double log_partition(Index, const double* theta, Workspace&) const override {
        return std::max(*theta, 0.0) + std::log1p(std::exp(-std::abs(*theta)));
    }
    double infer(Index i, const double* theta, double* m, Workspace& workspace) const override {
        *m = 1.0 / (1.0 + std::exp(-*theta));
        return log_partition(i, theta, workspace);
    }
    void subtract_truth(Index i, double* m) const override { *m -= labels_[i]; }
    double true_score(Index i, const double* theta) const override { return labels_[i] * *theta; }

    double pull(Index i, const double* m, Direction& direction) const override {
        direction.block = i;
        direction.dense.assign(point(i), point(i) + dimension());
        scale(dimension(), *m, direction.dense.data());
        return squared_norm(dimension(), direction.dense.data());
    }
    void apply(double* w, double a, const Direction& direction, const Part& part) const override {
        if (part.index == 0) axpy(dimension(), a, direction.dense.data(), w);
    }
    double product(const double* w, const Direction& direction, const Part& part) const override {
        return part.index == 0 ? dot(dimension(), direction.dense.data(), w) : 0.0;
    }
    void project(Direction& direction, double* theta) const override {
        score(direction.block, direction.dense.data(), theta);
    }
    void for_each_range_of(Index, RangeBody body, const Part& part) const override {
        if (part.index == 0) body(0, dimension());
    }
    void for_each_range(RangeBody body) const override { body(0, dimension()); }

    void decode_labels(Index, const double* theta, std::int32_t* labels, Workspace&) const override {
        *labels = *theta > 0.0;
    }
    void decode(Index, const double* theta, double* m, Decoder&) const override { *m = *theta > 0.0; }

    Index table_size(Index) const override { return 2; }
    double infer_table(Index i, const double* theta, double* table, double* m, Workspace& workspace) const override {
        const double log_z = infer(i, theta, m, workspace);
        table[0] = 1.0 - *m;
        table[1] = *m;
        return log_z;
    }
    void differentiate(Index, const double* table, const double* dtheta, double* dm,
                       std::vector<double>&) const override {
        *dm = table[0] * table[1] * *dtheta;
    }

    void contrast(Index i, double* m) const override { *m = 1.0 - 2.0 * labels_[i]; }
    double radius_bound(Index i) const override { return squared_norm(dimension(), point(i)); }
    Segments segments(Index) const override { return {{{{0, 2, 1.0}, {0, 0, 0.0}}}, 1}; }
    void compact(Index, const double* table, double* m) const override { *m = table[1]; }
    void repair_table(Index, double* table) const override { scale(2, 1.0 / (table[0] + table[1]), table); }
    double infer_untied(Index i, const double* theta, double* table, Workspace& workspace) const override {
        const double difference = theta[1] - theta[0];
        double m;
        return theta[0] + infer_table(i, &difference, table, &m, workspace);
    }
    void uniform(Index, double* m) const override { *m = 0.5; }
    void initial_table(Index i, double epsilon, double* table) const override {
        table[0] = table[1] = 0.5 * epsilon;
        table[labels_[i]] += 1.0 - epsilon;
    }
    double initial_entropy(Index, double epsilon) const override { return mixture_entropy(2, epsilon); }
    void product_table(Index i, double epsilon, double* table) const override { initial_table(i, epsilon, table); }
    double product_entropy(Index i, double epsilon) const override { return initial_entropy(i, epsilon); }
    void initial_potentials(Index i, double epsilon, double* theta) const override {
        *theta = strength_of(2, epsilon) * (2.0 * labels_[i] - 1.0);
    }

   private:
    const double* point(Index i) const { return points_.data() + i * dimension(); }

    std::vector<double> points_;  // blocks x dimension
    std::vector<std::int32_t> labels_;
    double l2_;
};

}  // namespace dualfield
