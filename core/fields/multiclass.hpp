// The one-node field: multinomial logistic regression.
//
// Block i is one point with attributes, or dense columns, x and one of K labels. Weights:
//     [ attribute x label | column x label | bias ].
// The compact vector and the table are both the K marginals. The feature counts of a vector m are the outer product of
// x and m, so their squared norm is |x|^2 |m|^2, and they need no buffer.
#pragma once

#include "base/compiler.hpp"
#include "duality/entropy.hpp"
#include "fields/dense_columns.hpp"
#include "fields/field.hpp"
#include "fields/weight_rows.hpp"
#include "fields/windowed_objective.hpp"

namespace dualfield {

class Multiclass {
   public:
    static constexpr bool kOneNode = true;

    struct Workspace {};
    struct Decoder {};
    using Direction = BlockCounts;  // `dense` is m

    // One position a block, no attribute twice in it. `labels` and `sample_weight` may be null.
    Multiclass(Attributes data, Index labels, bool bias, const std::int32_t* y, const double* sample_weight, double l2,
               DenseColumns columns = {})
        : data_(data),
          rows_(data.count, labels),
          columns_(std::move(columns)),
          bias_start_(rows_.size() + columns_.width() * labels),
          labels_(labels),
          stride_(labels >= 8 && labels <= kMostPadded ? padded(labels) : labels),
          bias_(bias),
          y_(y),
          sample_weight_(sample_weight),
          l2_(l2) {
        if (!labelled()) return;
        squared_norms_.reserve(data_.blocks);
        for (Index i = 0; i < data_.blocks; ++i) {
            double norm = columns_.squared_norm_of(i) + (bias_ ? 1.0 : 0.0);
            for (Index e = data_.indptr[i]; e < data_.indptr[i + 1]; ++e) norm += data_.value(e) * data_.value(e);
            squared_norms_.push_back(norm);
        }
    }

    bool labelled() const { return y_ != nullptr; }
    Index blocks() const { return data_.blocks; }
    Index labels() const { return labels_; }
    Index dimension() const { return bias_start_ + (bias_ ? labels_ : 0); }
    Index positions_before(Index i) const { return i; }
    Index compact_size(Index) const { return labels_; }
    Index table_size(Index) const { return labels_; }
    double l2() const { return l2_; }
    double sample_weight(Index i) const { return sample_weight_ ? sample_weight_[i] : 1.0; }

    void score(Index i, const double* w, double* theta) const {
        if (stride_ <= kMostPadded) {
            double sums[kMostPadded];  // rows are added with their padding
            add_rows(i, w, sums);
            std::copy(sums, sums + labels_, theta);
        } else {
            add_rows(i, w, theta);
        }
        columns_.add_scores(i, labels_, w + rows_.size(), {}, theta);
    }

    // Sums over points with columns, a window of them at a time.
    std::unique_ptr<Objective> objective() const {
        if (columns_.width() == 0) return nullptr;
        return std::make_unique<WindowedObjective<Multiclass>>(*this);
    }
    // The potentials of some points, and w += the counts of their marginals over the weights of a part. They have no
    // attributes.
    void score(std::span<const Index> points, const double* w, double* theta) const {
        for (std::size_t p = 0; p < points.size(); ++p) start(w, theta + static_cast<Index>(p) * labels_);
        columns_.add_scores(points, labels_, w + rows_.size(), {}, theta);
    }
    void add_counts(std::span<const Index> points, const double* m, const Part& part, double* w) const {
        columns_.add_counts(points, labels_, m, 1.0, part, w + rows_.size());
        if (!bias_ || part.index > 0) return;
        for (std::size_t p = 0; p < points.size(); ++p)
            axpy(labels_, 1.0, m + static_cast<Index>(p) * labels_, w + bias_start_);
    }

    void center(Index, double* theta) const { subtract_maximum(labels_, theta); }
    double magnitude(Index, const double* theta) const { return largest_magnitude(labels_, theta); }

    double log_partition(Index, const double* theta, Workspace&) const { return log_sum_exp(labels_, theta); }

    double infer(Index, const double* theta, double* m, Workspace&) const {
        const double top = maximum(labels_, theta);
        exp_shifted(labels_, theta, top, m);
        const double total = sum(labels_, m);
        scale(labels_, 1.0 / total, m);
        return top + std::log(total);
    }

    double infer_table(Index i, const double* theta, double* table, double* m, Workspace& workspace) const {
        const double log_z = infer(i, theta, m, workspace);
        std::copy(m, m + labels_, table);
        return log_z;
    }

    double infer_untied(Index i, const double* theta, double* table, Workspace& workspace) const {
        return infer(i, theta, table, workspace);
    }

    void compact(Index, const double* table, double* m) const { std::copy(table, table + labels_, m); }
    void subtract_truth(Index i, double* m) const { m[y_[i]] -= 1.0; }
    double true_score(Index i, const double* theta) const { return theta[y_[i]]; }

    double pull(Index i, const double* m, Direction& direction) const {
        direction.block = i;
        direction.dense.assign(m, m + labels_);
        direction.dense.resize(stride_, 0.0);
        return squared_norms_[i] * squared_norm(labels_, m);
    }

    void apply(double* w, double a, const Direction& direction, const Part& part = {}) const {
        const Index i = direction.block;
        for (Index e = data_.indptr[i]; e < data_.indptr[i + 1]; ++e) {
            if (part.count == 1) {
                rows_.add(w, data_.indices[e], a * data_.value(e), stride_, direction.dense.data());
            } else if (data_.indices[e] % part.count == part.index) {
                rows_.apply(w, data_.indices[e], a * data_.value(e), direction.dense.data());
            }
        }
        columns_.add_counts(i, labels_, direction.dense.data(), a, part, w + rows_.size());
        if (bias_ && part.index == 0) axpy(labels_, a, direction.dense.data(), w + bias_start_);
    }

    double product(const double* w, const Direction& direction, const Part& part) const {
        const Index i = direction.block;
        double total = bias_ && part.index == 0 ? dot(labels_, direction.dense.data(), w + bias_start_) : 0.0;
        if (columns_.width() > 0) {
            std::vector<double> scores(labels_, 0.0);
            columns_.add_scores(i, labels_, w + rows_.size(), part, scores.data());
            total += dot(labels_, direction.dense.data(), scores.data());
        }
        for (Index e = data_.indptr[i]; e < data_.indptr[i + 1]; ++e)
            if (data_.indices[e] % part.count == part.index)
                total += data_.value(e) * rows_.product(w, data_.indices[e], direction.dense.data());
        return total;
    }

    void project(const Direction& direction, double* theta) const {
        const double norm = squared_norms_[direction.block];
        for (Index k = 0; k < labels_; ++k) theta[k] = norm * direction.dense[k];
    }

    template <class Body>
    void for_each_range_of(Index i, Body&& body, const Part& part = {}) const {
        for (Index e = data_.indptr[i]; e < data_.indptr[i + 1]; ++e)
            if (data_.indices[e] % part.count == part.index) body(rows_.start(data_.indices[e]), labels_);
        const auto [first, end] = columns_.columns_of(part);
        if (end > first) body(rows_.size() + first * labels_, (end - first) * labels_);
        if (bias_ && part.index == 0) body(bias_start_, labels_);
    }

    template <class Body>
    void for_each_range(Body&& body) const {
        for (Index start = 0; start < rows_.size(); start += labels_) body(start, labels_);
        if (columns_.width() > 0) body(rows_.size(), columns_.width() * labels_);
        if (bias_) body(bias_start_, labels_);
    }

    void differentiate(Index, const double* table, const double* dtheta, double* dm, std::vector<double>&) const {
        const double expected = dot(labels_, table, dtheta);
        for (Index k = 0; k < labels_; ++k) dm[k] = table[k] * (dtheta[k] - expected);
    }

    void decode_labels(Index, const double* theta, std::int32_t* labels, Decoder&) const {
        *labels = static_cast<std::int32_t>(argmax(labels_, theta));
    }
    void decode(Index, const double* theta, double* m, Decoder&) const {
        std::fill(m, m + labels_, 0.0);
        m[argmax(labels_, theta)] = 1.0;
    }

    void contrast(Index i, double* m) const {
        std::fill(m, m + labels_, 0.0);
        m[y_[i] == 0 ? labels_ - 1 : 0] = 1.0;
        subtract_truth(i, m);
    }

    // Exact: the features of two labels have nothing in common.
    double radius_bound(Index i) const { return labels_ > 1 ? 2.0 * squared_norms_[i] : 0.0; }

    Segments segments(Index) const { return {{{{0, labels_, 1.0}, {0, 0, 0.0}}}, 1}; }

    void repair_table(Index, double* table) const { scale(labels_, 1.0 / sum(labels_, table), table); }

    void uniform(Index, double* m) const { std::fill(m, m + labels_, 1.0 / static_cast<double>(labels_)); }

    void initial_table(Index i, double epsilon, double* table) const {
        std::fill(table, table + labels_, epsilon / static_cast<double>(labels_));
        table[y_[i]] += 1.0 - epsilon;
    }

    double initial_entropy(Index, double epsilon) const { return mixture_entropy(labels_, epsilon); }

    void product_table(Index i, double epsilon, double* table) const { initial_table(i, epsilon, table); }
    double product_entropy(Index i, double epsilon) const { return initial_entropy(i, epsilon); }

    void initial_potentials(Index i, double epsilon, double* theta) const {
        std::fill(theta, theta + labels_, 0.0);
        theta[y_[i]] = strength_of(labels_, epsilon);
    }

    Index packed_size(Index) const { return labels_; }
    void pack_potentials(Index, double*) const {}
    void pack_marginals(Index, double*) const {}
    void unpack_potentials(Index, double*) const {}
    void unpack_marginals(Index, double*) const {}

    template <int Step>
    DUALFIELD_INLINE void prefetch(Index i) const {
        if (Step == 0) prefetch_line(data_.indptr + i);
        if (Step == 0) prefetch_line(y_ + i);
        if (Step == 1) data_.prefetch(i, i + 1);
    }

   private:
    static constexpr Index kMostPadded = 64;

    void start(const double* w, double* sums) const {
        if (bias_) {
            std::copy(w + bias_start_, w + bias_start_ + labels_, sums);
        } else {
            std::fill(sums, sums + labels_, 0.0);
        }
    }

    // sums = bias + sum of value * row; may write up to the stride.
    void add_rows(Index i, const double* w, double* sums) const {
        constexpr Index kAhead = 6;
        std::fill(sums, sums + stride_, 0.0);
        if (bias_) start(w, sums);
        const Index end = data_.indptr[i + 1];
        for (Index e = data_.indptr[i]; e < end; ++e) {
            if (e + kAhead < end) rows_.prefetch(w, data_.indices[e + kAhead]);
            rows_.score(w, data_.indices[e], data_.value(e), stride_, sums);
        }
    }

    Attributes data_;
    AllPairs rows_;
    DenseColumns columns_;
    Index bias_start_;
    Index labels_;
    Index stride_;  // of directions: padded with zeros
    bool bias_;
    const std::int32_t* y_;
    const double* sample_weight_;
    double l2_;
    std::vector<double> squared_norms_;  // of the attributes of each point, with the bias; none without labels
};

}  // namespace dualfield
