// A field that is nothing but losses: c_i times a function of the weights with its gradient, given from outside.
//
// The potentials of a block are the weights themselves, its "log-partition" is its loss, and its "marginals" are the
// gradient of that: then every method on the primal minimises l2/2 |w|^2 + sum_i c_i loss_i(w), and the certificate
// holds if the losses are convex.
#pragma once

#include <vector>

#include "fields/general_field.hpp"
#include "simd/vector.hpp"

namespace dualfield {

class LossField : public GeneralField {
   public:
    LossField(Index blocks, Index dimension, double l2, std::vector<double> sample_weight)
        : blocks_(blocks), dimension_(dimension), l2_(l2), sample_weight_(std::move(sample_weight)) {}

    // The loss of block i at w; its gradient where that is not null.
    virtual double loss(Index i, const double* w, double* gradient) const = 0;

    bool labelled() const override { return true; }
    Index blocks() const override { return blocks_; }
    Index dimension() const override { return dimension_; }
    Index labels() const override { return 1; }
    Index compact_size(Index) const override { return dimension_; }
    double l2() const override { return l2_; }
    double sample_weight(Index i) const override { return sample_weight_.empty() ? 1.0 : sample_weight_[i]; }
    Index positions_before(Index i) const override { return i; }

    void score(Index, const double* w, double* theta) const override { std::copy(w, w + dimension_, theta); }
    void center(Index, double*) const override {}
    double magnitude(Index, const double* theta) const override { return largest_magnitude(dimension_, theta); }
    double log_partition(Index i, const double* theta, Workspace&) const override { return loss(i, theta, nullptr); }
    double infer(Index i, const double* theta, double* m, Workspace&) const override { return loss(i, theta, m); }
    void subtract_truth(Index, double*) const override {}
    double true_score(Index, const double*) const override { return 0.0; }

    double pull(Index i, const double* m, Direction& direction) const override {
        direction.block = i;
        direction.dense.assign(m, m + dimension_);
        return squared_norm(dimension_, m);
    }
    void apply(double* w, double a, const Direction& direction, const Part& part) const override {
        const Index first = dimension_ * part.index / part.count, end = dimension_ * (part.index + 1) / part.count;
        axpy(end - first, a, direction.dense.data() + first, w + first);
    }
    double product(const double* w, const Direction& direction, const Part& part) const override {
        const Index first = dimension_ * part.index / part.count, end = dimension_ * (part.index + 1) / part.count;
        return dot(end - first, direction.dense.data() + first, w + first);
    }
    void project(Direction& direction, double* theta) const override {
        std::copy(direction.dense.begin(), direction.dense.end(), theta);
    }
    void for_each_range_of(Index, RangeBody body, const Part& part) const override {
        const Index first = dimension_ * part.index / part.count, end = dimension_ * (part.index + 1) / part.count;
        if (end > first) body(first, end - first);
    }
    void for_each_range(RangeBody body) const override { body(0, dimension_); }

    void decode_labels(Index, const double*, std::int32_t*, Workspace&) const override { refuse_labels(); }
    void decode(Index, const double*, double*, Decoder&) const override { refuse_labels(); }
    Index table_size(Index) const override { return 0; }
    double infer_table(Index, const double*, double*, double*, Workspace&) const override { return refuse_labels(); }
    void differentiate(Index, const double*, const double*, double*, std::vector<double>&) const override {
        refuse_labels();
    }

   private:
    static double refuse_labels() { throw std::logic_error("a field of losses has no labels and no tables"); }

    Index blocks_, dimension_;
    double l2_;
    std::vector<double> sample_weight_;
};

}  // namespace dualfield
