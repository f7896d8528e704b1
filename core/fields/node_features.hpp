// The part of a field that its nodes have: weights for (attribute, label) pairs, the potentials they give to the nodes of a
// block, and the counts that marginals give to them.
//
// A block's rows of K potentials or marginals lie next to each other. Vectors are added over whole pieces of eight where
// there are eight labels or more, so a row may be read, and written before it is filled, a few numbers past its end: after
// the last node there must be room for K * K numbers.
#pragma once

#include <vector>

#include "fields/field.hpp"
#include "fields/weight_rows.hpp"

namespace dualfield {

template <class Rows>
class NodeFeatures {
   public:
    // Where `counting` is false there are potentials, but no counts.
    NodeFeatures(Attributes data, Rows rows, Index labels, bool counting)
        : data_(data),
          rows_(rows),
          labels_(labels),
          stride_(labels >= 8 ? padded(labels) : labels),
          distinct_(counting ? data : Attributes{0, data.offsets, data.indptr, nullptr, nullptr, 0}) {}

    const Attributes& data() const { return data_; }
    const Rows& rows() const { return rows_; }
    Index labels() const { return labels_; }
    Index size() const { return rows_.size(); }  // how many weights there are
    Index length(Index i) const { return data_.length(i); }
    Index offset(Index i) const { return data_.offsets[i]; }

    // Potentials of the block's nodes: a bias, where it is not null, and the weights of their attributes.
    void score(Index i, const double* w, const double* bias, double* theta) const {
        constexpr Index kAhead = 6;
        const Index last_entry = data_.indptr[offset(i) + length(i)];
        assemble(i, bias, theta, [&](Index e, double* node) {
            if (e + kAhead < last_entry) rows_.prefetch(w, data_.indices[e + kAhead]);
            rows_.score(w, data_.indices[e], data_.value(e), stride_, node);
        });
    }

    // The same under counts in place of weights; clears those counts that have no weight.
    void project(Index i, std::vector<double>& counts, const double* bias, double* theta) const {
        rows_.mask(distinct_.count(i), distinct_.attributes(i), stride_, counts.data());
        assemble(i, bias, theta, [&](Index e, double* node) {
            add_row(data_.value(e), counts.data() + distinct_.local(e) * stride_, node);
        });
    }

    // The counts of a block's rows m, a row for each distinct attribute; returns their squared norm.
    double pull(Index i, const double* m, std::vector<double>& counts) const {
        const Index distinct = distinct_.count(i), first = offset(i);
        double* rows = room(counts, distinct * stride_);
        std::fill(rows, rows + distinct * stride_, 0.0);
        for (Index t = 0; t < length(i); ++t)
            for (Index e = data_.indptr[first + t]; e < data_.indptr[first + t + 1]; ++e)
                add_row(data_.value(e), m + t * labels_, rows + distinct_.local(e) * stride_);
        return rows_.squared_norm_of(distinct, distinct_.attributes(i), stride_, rows);
    }

    // w += a * counts
    void apply(Index i, double* w, double a, const std::vector<double>& counts) const {
        constexpr Index kAhead = 6;
        const Index distinct = distinct_.count(i);
        const std::int32_t* attributes = distinct_.attributes(i);
        for (Index u = 0; u < distinct; ++u) {
            if (u + kAhead < distinct) rows_.prefetch(w, attributes[u + kAhead]);
            rows_.apply(w, attributes[u], a, counts.data() + u * stride_);
        }
    }

    template <class Body>
    void for_each_range_of(Index i, Body&& body) const {
        const std::int32_t* attributes = distinct_.attributes(i);
        for (Index u = 0; u < distinct_.count(i); ++u)
            if (rows_.length(attributes[u]) > 0) body(rows_.start(attributes[u]), rows_.length(attributes[u]));
    }

    template <class Body>
    void for_each_range(Body&& body) const {
        for (std::int32_t a = 0; a < rows_.attributes(); ++a)
            if (rows_.length(a) > 0) body(rows_.start(a), rows_.length(a));
    }

    // The square of the largest norm that the counts of one labelling can have: an attribute a has, over the nodes of any
    // label, at most the count sum_t |x_ta|, and the squares of parts add up to at most the square of the whole.
    double largest_squared_norm(Index i) const {
        std::vector<double> counts(distinct_.count(i), 0.0);
        for (Index e = data_.indptr[offset(i)]; e < data_.indptr[offset(i) + length(i)]; ++e)
            counts[distinct_.local(e)] += std::abs(data_.value(e));
        return squared_norm(distinct_.count(i), counts.data());
    }

   private:
    // row += value * x, over the padding too: there x goes on into the next row of its matrix, and what that adds to
    // the padding of a count row, or to a row of potentials that is yet to be written, does not matter.
    void add_row(double value, const double* x, double* row) const {
        if (stride_ == labels_) {
            axpy(stride_, value, x, row);
        } else {
            padded_axpy(stride_, value, x, row);
        }
    }

    // add_attribute(e, node) adds what entry e contributes to the potentials of its node.
    template <class AddAttribute>
    void assemble(Index i, const double* bias, double* theta, AddAttribute&& add_attribute) const {
        for (Index t = 0; t < length(i); ++t) {
            double* node = theta + t * labels_;
            if (bias) {
                std::copy(bias, bias + labels_, node);
            } else {
                std::fill(node, node + labels_, 0.0);
            }
            const Index p = offset(i) + t;
            for (Index e = data_.indptr[p]; e < data_.indptr[p + 1]; ++e) add_attribute(e, node);
        }
    }

    Attributes data_;
    Rows rows_;
    Index labels_;
    Index stride_;  // of count rows
    DistinctAttributes distinct_;
};

}  // namespace dualfield
