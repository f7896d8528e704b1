// The part of a field that its nodes have: weights for (attribute, label) pairs and for (column, label) pairs, the
// potentials they give to the nodes of a block, and the counts that marginals give to them.
//
// Weights: [ attribute x label | column x label ]. Columns are those of dense arrays, see dense_columns.hpp; a thread's
// part of them is a range. Their counts, one for each weight, follow the rows of the counts of attributes.
//
// A block's rows of K potentials or marginals lie next to each other. Vectors are added over whole pieces of eight
// where there are eight labels or more, so a row may be read, and written before it is filled, a few numbers past its
// end: after the last node there must be room for K * K numbers.
#pragma once

#include <vector>

#include "base/compiler.hpp"
#include "fields/dense_columns.hpp"
#include "fields/field.hpp"
#include "fields/weight_rows.hpp"

namespace dualfield {

template <class Rows>
class NodeFeatures {
   public:
    // Where `counting` is false there are potentials, but no counts.
    NodeFeatures(Attributes data, Rows rows, Index labels, bool counting, DenseColumns columns = {})
        : data_(data),
          rows_(rows),
          columns_(std::move(columns)),
          labels_(labels),
          stride_(labels >= 8 ? padded(labels) : labels),
          block_rows_(counting ? data : Attributes{0, data.offsets, data.indptr, nullptr, nullptr, 0}, rows.size()) {
        if constexpr (!Rows::kAllPairs) {
            if (counting) count_weighted();
        }
    }

    const Attributes& data() const { return data_; }
    const Rows& rows() const { return rows_; }
    const DenseColumns& columns() const { return columns_; }
    Index labels() const { return labels_; }
    Index size() const { return rows_.size() + columns_.width() * labels_; }  // how many weights there are
    Index length(Index i) const { return data_.length(i); }
    Index offset(Index i) const { return data_.offsets[i]; }

    // See FetchedField.
    template <int Step>
    DUALFIELD_INLINE void prefetch(Index i) const {
        if (Step == 0) prefetch_line(data_.offsets + i);
        if (Step == 2) data_.prefetch(offset(i), offset(i) + length(i));
        block_rows_.prefetch<Step>(i, data_);
    }

    // Potentials of the block's nodes: a bias, where it is not null, and the weights of their attributes and columns.
    void score(Index i, const double* w, const double* bias, double* theta) const {
        score_of(data_, rows_, rows_.size(), i, w, theta);
        columns_.add_scores(i, labels_, w + rows_.size(), {}, theta);
        add_bias(i, bias, theta);
    }
    void add_bias(Index i, const double* bias, double* theta) const {
        if (!bias) return;
        for (Index t = 0; t < length(i); ++t) axpy(labels_, 1.0, bias, theta + t * labels_);
    }

    // What the attributes and columns whose weights belong to a part give to the nodes: those of all parts add up to
    // the potentials.
    void score_part(const OwnAttributes& own, Index i, const double* w, double* theta) const {
        score_of(own.view(data_), rows_, rows_.start(own.end), i, w, theta);
        columns_.add_scores(i, labels_, w + rows_.size(), own.part, theta);
    }
    // w += a * the counts of rows m, over those attributes and columns. It works entry by entry, which is faster where
    // the norm of the counts is not needed.
    void add_part(const OwnAttributes& own, Index i, const double* m, double a, double* w) const {
        columns_.add_counts(i, labels_, m, a, own.part, w + rows_.size());
        add_entries_of(own.view(data_), rows_, i, m, w, [a](std::int32_t) { return a; });
    }

    // The same for attributes that a worker has numbered anew, where there are no columns, with its own rows of
    // weights; `a` depends on the class of an attribute: see BlockShares.
    void score_own(const Attributes& data, const Rows& rows, Index i, const double* w, double* theta) const {
        score_of(data, rows, rows.size(), i, w, theta);
    }
    void add_own(const Attributes& data, const Rows& rows, const std::uint8_t* classes, Index i, const double* m,
                 const double* by_class, double* w, std::uint8_t* touched) const {
        add_entries_of(data, rows, i, m, w, [=](std::int32_t attribute) {
            touched[attribute] = 1;
            return by_class[classes[attribute]];
        });
    }
    // squares[class] += the squared norms of what one entry after the other adds for rows m.
    void add_squares_by_class(const Attributes& data, const Rows& rows, const std::uint8_t* classes, Index i,
                              const double* m, double* squares) const {
        for (Index t = 0; t < length(i); ++t)
            for (Index e = data.indptr[offset(i) + t]; e < data.indptr[offset(i) + t + 1]; ++e) {
                const double x = data.value(e);
                squares[classes[data.indices[e]]] +=
                    x * x * rows.squared_norm_in_row(data.indices[e], labels_, m + t * labels_);
            }
    }
    // See PartedField.
    DUALFIELD_INLINE void prefetch_counts(Index i) const { block_rows_.prefetch_counts(i, data_); }
    template <int Step>
    DUALFIELD_INLINE void prefetch_part(const OwnAttributes& own, Index i) const {
        if (Step == 1) prefetch_all(std::min(length(i) + 1, Attributes::kFetched), own.indptr.data() + offset(i));
        if (Step == 2) own.view(data_).prefetch(offset(i), offset(i) + length(i));
    }
    OwnAttributes own(const Part& part) const { return block_rows_.own(data_, part); }

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
        columns_.add_scores(i, labels_, counts.data() + rows_of_counts(i), {}, theta);
    }

    // The counts of a block's rows m, in the rows of BlockRows, and then those of columns. Returns the squared norm of
    // those that have a weight.
    double pull(Index i, const double* m, std::vector<double>& counts) const {
        const Index T = length(i), some = block_rows_.shared(i), of_columns = columns_.width() * labels_;
        double* nodes = room(counts, rows_of_counts(i) + of_columns);
        double* shared = nodes + T * stride_;
        std::fill(shared, shared + some * stride_ + of_columns, 0.0);
        columns_.add_counts(i, labels_, m, 1.0, {}, nodes + rows_of_counts(i));
        double norm = squared_norm(of_columns, nodes + rows_of_counts(i));
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
            } else {
                norm += counted_squares(stride_, weighted_.data() + p * stride_, node);
            }
        }
        if constexpr (Rows::kAllPairs) {
            return norm + squared_norm(some * stride_, shared);
        } else {
            Piece squares = {};
            const std::int32_t* owners = block_rows_.owners(i);
            for (Index r = 0; r < some; ++r) {
                if (r + kAhead < some) rows_.prefetch_record(owners[r + kAhead]);
                rows_.add_squares(owners[r], stride_, shared + r * stride_, squares);
            }
            return norm + total(squares);
        }
    }

    // w += a * counts, where the weights belong to the part.
    void apply(Index i, double* w, double a, const std::vector<double>& counts, const Part& part) const {
        for_columns_of(i, part, counts, [&](Index start, Index size, const double* of_columns) {
            axpy(size, a, of_columns, w + start);
        });
        const auto targets = block_rows_.targets(i, part);
        const Index pieces = (labels_ + 7) / 8;
        if (pieces > kMostPieces) return apply_rows<0>(targets, w, a, counts.data());
        for_each_group(pieces, [&]<Index B>(Index) { apply_rows<B>(targets, w, a, counts.data()); });
    }

    // <w, counts> over the weights of the part.
    double product(Index i, const double* w, const std::vector<double>& counts, const Part& part) const {
        double total = 0.0;
        for (const auto [attribute, row] : block_rows_.targets(i, part))
            total += rows_.product(w, attribute, counts.data() + row * stride_);
        for_columns_of(i, part, counts, [&](Index start, Index size, const double* of_columns) {
            total += dot(size, w + start, of_columns);
        });
        return total;
    }

    template <class Body>
    void for_each_range_of(Index i, Body&& body, const Part& part = {}) const {
        for (const auto [a, _] : block_rows_.targets(i, part))
            if (rows_.length(a) > 0) body(rows_.start(a), rows_.length(a));
        const auto [first, end] = columns_.columns_of(part);
        if (end > first) body(rows_.size() + first * labels_, (end - first) * labels_);
    }

    template <class Body>
    void for_each_range(Body&& body) const {
        for (std::int32_t a = 0; a < rows_.attributes(); ++a)
            if (rows_.length(a) > 0) body(rows_.start(a), rows_.length(a));
        if (columns_.width() > 0) body(rows_.size(), columns_.width() * labels_);
    }

    // The square of the largest norm that the counts of one labelling can have: an attribute or column a has, over the
    // nodes of any label, at most the count sum_t |x_ta|, and the squares of parts add up to at most the square of the
    // whole.
    double largest_squared_norm(Index i) const {
        std::vector<double> counts(block_rows_.shared(i), 0.0);
        Index once = 0;
        for (Index p = offset(i); p < offset(i) + length(i); ++p) {
            once += data_.indptr[p + 1] - data_.indptr[p] - block_rows_.shared_entries(p);
            block_rows_.for_each_shared(p, [&](std::int32_t row, double x) { counts[row] += std::abs(x); });
        }
        return static_cast<double>(once) + squared_norm(block_rows_.shared(i), counts.data()) +
               columns_.largest_squared_norm(i);
    }

   private:
    static constexpr Index kAhead = 10;  // how many entries ahead of its use a row is fetched

    // Where the counts of columns begin in the counts of a block.
    Index rows_of_counts(Index i) const { return (length(i) + block_rows_.shared(i)) * stride_; }

    // body(start, size, counts) of the weights that a part has of columns
    template <class Body>
    void for_columns_of(Index i, const Part& part, const std::vector<double>& counts, Body&& body) const {
        const auto [first, end] = columns_.columns_of(part);
        if (end == first) return;
        body(rows_.size() + first * labels_, (end - first) * labels_,
             counts.data() + rows_of_counts(i) + first * labels_);
    }

    // For each position and label: how many attributes have a weight for the label, among those whose counts are the
    // node's own.
    void count_weighted() {
        weighted_.assign(data_.positions() * stride_, 0);
        for (Index i = 0; i < data_.blocks; ++i)
            for (const auto [attribute, row] : block_rows_.targets(i)) {
                if (row >= length(i)) continue;
                std::uint8_t* counts = weighted_.data() + (offset(i) + row) * stride_;
                rows_.for_each_label(attribute, [&](Index k) { ++counts[k]; });
            }
    }

    // row += value * x, both padded
    void add_row(double value, const double* x, double* row) const {
        if (stride_ == labels_) {
            axpy(stride_, value, x, row);
        } else {
            padded_axpy(stride_, value, x, row);
        }
    }

    void start_node(const double* bias, double* node) const {
        if (bias) {
            std::copy(bias, bias + labels_, node);
        } else {
            std::fill(node, node + labels_, 0.0);
        }
    }

    // w[attribute] += factor(attribute) * value * the marginals of the node, entry by entry
    template <class Factor>
    void add_entries_of(const Attributes& data, const Rows& rows, Index i, const double* m, double* w,
                        Factor&& factor) const {
        const Index pieces = (labels_ + 7) / 8;
        if (pieces > kMostPieces) return add_entries<0>(data, rows, i, m, w, factor);
        for_each_group(pieces, [&]<Index B>(Index) { add_entries<B>(data, rows, i, m, w, factor); });
    }
    template <Index B, class Factor>
    void add_entries(const Attributes& data, const Rows& rows, Index i, const double* m, double* w,
                     Factor&& factor) const {
        const Index K = labels_, T = length(i);
        const Index* indptr = data.indptr + offset(i);
        const std::int32_t* indices = data.indices;
        const double* values = data.values;
        const Index last = indptr[T];
        for (Index t = 0; t < T; ++t)
            for (Index e = indptr[t]; e < indptr[t + 1]; ++e) {
                if (e + 2 * kAhead < last) rows.prefetch_record(indices[e + 2 * kAhead]);
                if (e + kAhead < last) rows.prefetch(w, indices[e + kAhead]);
                const double a = factor(indices[e]);
                rows.template apply<B>(w, indices[e], values ? a * values[e] : a, m + t * K);
            }
    }

    template <Index B>
    void apply_rows(std::span<const BlockRows::Target> targets, double* w, double a, const double* counts) const {
        const Rows& rows = rows_;
        const Index stride = stride_, count = static_cast<Index>(targets.size());
        for (Index u = 0; u < count; ++u) {
            if (u + 2 * kAhead < count) rows.prefetch_record(targets[u + 2 * kAhead].attribute);
            if (u + kAhead < count) rows.prefetch(w, targets[u + kAhead].attribute);
            rows.template apply<B>(w, targets[u].attribute, a, counts + targets[u].row * stride);
        }
    }

    // The weights of attributes, those of `data_` or some of them, whose weights end at `readable`.
    void score_of(const Attributes& data, const Rows& rows, Index readable, Index i, const double* w,
                  double* theta) const {
        if (labels_ < 8) return score_few(data, rows, i, w, theta);
        // If a row takes several groups of pieces, each node is finished before the next begins: its weights are then
        // still in the cache.
        const Index T = length(i), step = stride_ / 8 <= kMostPieces ? T : 1;
        for (Index t = 0; t < T; t += step)
            for_each_group(stride_ / 8, [&]<Index B>(Index first) {
                score_nodes<B>(data, rows, readable, i, t, t + step, first, w, theta);
            });
    }

    // Computes B pieces, from `first` on, of the nodes t to end. The loop reads local variables only. Members would be
    // read again for every entry, since to the compiler the loop may have changed them.
    template <Index B>
    void score_nodes(const Attributes& data, const Rows& rows, Index readable, Index i, Index t, Index end, Index first,
                     const double* w, double* theta) const {
        const Index K = labels_;
        const Index* indptr = data.indptr + offset(i);
        const std::int32_t* indices = data.indices;
        const double* values = data.values;
        const Index last = indptr[length(i)];
        for (; t < end; ++t) {
            Piece sums[B];
            clear(sums);
            for (Index e = indptr[t]; e < indptr[t + 1]; ++e) {
                if (e + 2 * kAhead < last) rows.prefetch_record(indices[e + 2 * kAhead]);
                if (e + kAhead < last) rows.template prefetch_pieces<B>(w, indices[e + kAhead], first);
                rows.template gather<B>(w, indices[e], values ? values[e] : 1.0, first, readable, sums);
            }
            for_each_piece<B>([&](Index p) { store(sums[p], theta + t * K + 8 * (first + p)); });
        }
    }

    // With fewer than eight labels.
    void score_few(const Attributes& data, const Rows& rows, Index i, const double* w, double* theta) const {
        const Index* indptr = data.indptr + offset(i);
        const Index last = indptr[length(i)];
        std::fill(theta, theta + length(i) * labels_, 0.0);
        for (Index t = 0; t < length(i); ++t)
            for (Index e = indptr[t]; e < indptr[t + 1]; ++e) {
                if (e + 2 * kAhead < last) rows.prefetch_record(data.indices[e + 2 * kAhead]);
                if (e + kAhead < last) rows.prefetch(w, data.indices[e + kAhead]);
                rows.score(w, data.indices[e], data.value(e), stride_, theta + t * labels_);
            }
    }

    Attributes data_;
    Rows rows_;
    DenseColumns columns_;
    Index labels_;
    Index stride_;  // of count rows
    BlockRows block_rows_;
    std::vector<std::uint8_t> weighted_;  // positions x stride; none where all pairs have a weight
};

}  // namespace dualfield
