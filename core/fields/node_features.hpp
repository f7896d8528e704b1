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
          block_rows_(counting ? data : Attributes{0, data.offsets, data.indptr, nullptr, nullptr, 0}) {}

    const Attributes& data() const { return data_; }
    const Rows& rows() const { return rows_; }
    Index labels() const { return labels_; }
    Index size() const { return rows_.size(); }  // how many weights there are
    Index length(Index i) const { return data_.length(i); }
    Index offset(Index i) const { return data_.offsets[i]; }

    // Potentials of the block's nodes: a bias, where it is not null, and the weights of their attributes.
    void score(Index i, const double* w, const double* bias, double* theta) const {
        if (labels_ < 8) return score_few(i, w, bias, theta);
        const Index last = data_.indptr[offset(i) + length(i)];
        for (Index t = 0; t < length(i); ++t) {
            const Index p = offset(i) + t;
            double* node = theta + t * labels_;
            for_each_group(stride_ / 8, [&]<Index B>(Index first) {
                Piece sums[B];
                clear(sums);
                for (Index e = data_.indptr[p]; e < data_.indptr[p + 1]; ++e) {
                    if (first == 0) prefetch(w, e, last);
                    rows_.template gather<B>(w, data_.indices[e], data_.value(e), first, sums);
                }
                for (Index piece = 0; piece < B; ++piece) store(sums[piece], node + 8 * (first + piece));
            });
            if (bias) axpy(labels_, 1.0, bias, node);
        }
    }

    // The same under counts in place of weights; clears those counts that have no weight.
    void project(Index i, std::vector<double>& counts, const double* bias, double* theta) const {
        const Index T = length(i);
        double* shared = counts.data() + T * stride_;
        for (Index t = 0; t < T; ++t) start_node(bias, theta + t * labels_);
        for (const auto [attribute, row] : block_rows_.targets(i)) {
            if (row < T) {
                rows_.add_masked(attribute, 1.0, labels_, counts.data() + row * stride_, theta + row * labels_);
            } else {
                rows_.mask(attribute, stride_, counts.data() + row * stride_);
            }
        }
        for (Index t = 0; t < T; ++t)
            block_rows_.for_each_shared(offset(i) + t, [&](std::int32_t row, double x) {
                axpy(labels_, x, shared + row * stride_, theta + t * labels_);
            });
    }

    // The counts of a block's rows m, in the rows of BlockRows. Returns the squared norm of those that have a weight.
    double pull(Index i, const double* m, std::vector<double>& counts) const {
        const Index T = length(i), some = block_rows_.shared(i);
        double* nodes = room(counts, (T + some) * stride_);
        double* shared = nodes + T * stride_;
        std::fill(shared, shared + some * stride_, 0.0);
        [[maybe_unused]] double norm = 0.0;
        for (Index t = 0; t < T; ++t) {
            const Index p = offset(i) + t;
            double* node = nodes + t * stride_;
            std::copy(m + t * labels_, m + (t + 1) * labels_, node);
            std::fill(node + labels_, node + stride_, 0.0);
            block_rows_.for_each_shared(p,
                                        [&](std::int32_t row, double x) { add_row(x, node, shared + row * stride_); });
            if constexpr (Rows::kAllPairs) {
                const Index once = data_.indptr[p + 1] - data_.indptr[p] - block_rows_.shared_entries(p);
                norm += static_cast<double>(once) * squared_norm(stride_, node);
            }
        }
        if constexpr (Rows::kAllPairs) {
            return norm + squared_norm(some * stride_, shared);
        } else {
            Piece squares = {};
            const auto targets = block_rows_.targets(i);
            for (std::size_t u = 0; u < targets.size(); ++u) {
                if (u + 2 * kAhead < targets.size()) rows_.prefetch_record(targets[u + 2 * kAhead].attribute);
                rows_.add_squares(targets[u].attribute, stride_, counts.data() + targets[u].row * stride_, squares);
            }
            return total(squares);
        }
    }

    // w += a * counts, where the weights belong to the part.
    void apply(Index i, double* w, double a, const std::vector<double>& counts, const Part& part) const {
        const auto targets = block_rows_.targets(i, part);
        for (std::size_t u = 0; u < targets.size(); ++u) {
            if (u + 2 * kAhead < targets.size()) rows_.prefetch_record(targets[u + 2 * kAhead].attribute);
            if (u + kAhead < targets.size()) rows_.prefetch(w, targets[u + kAhead].attribute);
            rows_.apply(w, targets[u].attribute, a, counts.data() + targets[u].row * stride_);
        }
    }

    // <w, counts> over the weights of the part.
    double product(Index i, const double* w, const std::vector<double>& counts, const Part& part) const {
        double total = 0.0;
        for (const auto [attribute, row] : block_rows_.targets(i, part))
            total += rows_.product(w, attribute, counts.data() + row * stride_);
        return total;
    }

    template <class Body>
    void for_each_range_of(Index i, Body&& body) const {
        for (const auto [a, _] : block_rows_.targets(i))
            if (rows_.length(a) > 0) body(rows_.start(a), rows_.length(a));
    }

    template <class Body>
    void for_each_range(Body&& body) const {
        for (std::int32_t a = 0; a < rows_.attributes(); ++a)
            if (rows_.length(a) > 0) body(rows_.start(a), rows_.length(a));
    }

    // The square of the largest norm that the counts of one labelling can have: an attribute a has, over the nodes of any
    // label, at most the count sum_t |x_ta|, and the squares of parts add up to at most the square of the whole.
    double largest_squared_norm(Index i) const {
        std::vector<double> counts(block_rows_.shared(i), 0.0);
        Index once = 0;
        for (Index p = offset(i); p < offset(i) + length(i); ++p) {
            once += data_.indptr[p + 1] - data_.indptr[p] - block_rows_.shared_entries(p);
            block_rows_.for_each_shared(p, [&](std::int32_t row, double x) { counts[row] += std::abs(x); });
        }
        return static_cast<double>(once) + squared_norm(block_rows_.shared(i), counts.data());
    }

   private:
    static constexpr std::size_t kAhead = 6;  // how many entries ahead of its use a row is fetched

    // What the entries after e need, up to the last one.
    void prefetch(const double* w, Index e, Index last) const {
        constexpr Index ahead = kAhead;
        if (e + 2 * ahead < last) rows_.prefetch_record(data_.indices[e + 2 * ahead]);
        if (e + ahead < last) rows_.prefetch(w, data_.indices[e + ahead]);
    }

    // row += value * x, both padded
    void add_row(double value, const double* x, double* row) const {
        if (stride_ == labels_) {
            axpy(stride_, value, x, row);
        } else {
            padded_axpy(stride_, value, x, row);
        }
    }

    template <class Body>
    void for_each_entry(Index i, Index t, Body&& body) const {
        const Index p = offset(i) + t;
        for (Index e = data_.indptr[p]; e < data_.indptr[p + 1]; ++e) body(e);
    }

    void start_node(const double* bias, double* node) const {
        if (bias) {
            std::copy(bias, bias + labels_, node);
        } else {
            std::fill(node, node + labels_, 0.0);
        }
    }

    // With fewer than eight labels.
    void score_few(Index i, const double* w, const double* bias, double* theta) const {
        const Index last = data_.indptr[offset(i) + length(i)];
        for (Index t = 0; t < length(i); ++t) {
            double* node = theta + t * labels_;
            start_node(bias, node);
            for_each_entry(i, t, [&](Index e) {
                prefetch(w, e, last);
                rows_.score(w, data_.indices[e], data_.value(e), stride_, node);
            });
        }
    }

    Attributes data_;
    Rows rows_;
    Index labels_;
    Index stride_;  // of count rows
    BlockRows block_rows_;
};

}  // namespace dualfield
