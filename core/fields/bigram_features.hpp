// The part of a chain that depends on what is observed at a pair of neighbours: weights for (attribute, pair of
// labels), the potentials they give to the edges of a block, and the counts that marginals give to them.
//
// With B_b the weights of attribute b and x_tb its value at position t, the edge from t - 1 to t has, beside the weight
// of the transition itself, the potentials sum_b x_tb B_b. A block keeps numbers by attribute, one for each weight that
// it touches:
//     m_b[pair] = sum_t x_tb mu_t[pair],    so that    sum_t <sum_b x_tb B_b, mu_t> = sum_b <B_b, m_b>.
// Where few pairs have a weight that is far less than a matrix for every edge.
#pragma once

#include <vector>

#include "fields/attributes.hpp"

namespace dualfield {

// Which pairs of labels, as flat indices from * K + to, have a weight with each attribute, and where: the same pairs
// with all, or a list with each.
class PairRows {
   public:
    struct Row {
        Index start, length;
        const std::int32_t* pairs;  // increasing; null: all K * K
    };

    // starts: attributes + 1 offsets into `pairs`; null: every attribute has all of `pairs`.
    PairRows(Index attributes, Index labels, const Index* starts, const std::int32_t* pairs, Index count)
        : attributes_(attributes), labels_(labels), pairs_(pairs, pairs + count) {
        if (starts) starts_.assign(starts, starts + attributes + 1);
    }

    Index attributes() const { return attributes_; }
    Index labels() const { return labels_; }
    Index size() const { return starts_.empty() ? attributes_ * count() : count(); }  // how many weights there are

    Row row(std::int32_t attribute) const {
        if (starts_.empty())
            return {attribute * count(), count(), count() == labels_ * labels_ ? nullptr : pairs_.data()};
        return {starts_[attribute], starts_[attribute + 1] - starts_[attribute], pairs_.data() + starts_[attribute]};
    }

   private:
    Index count() const { return static_cast<Index>(pairs_.size()); }

    Index attributes_, labels_;
    std::vector<Index> starts_;
    std::vector<std::int32_t> pairs_;
};

class BigramFeatures {
   public:
    // Position t of a block has the attributes of the edge from t - 1; the first has none. Needs `rows` as long as it
    // lives.
    BigramFeatures(Attributes data, const PairRows& rows) : data_(data), rows_(rows) {
        blocks_.reserve(data.blocks + 1);
        blocks_.push_back(0);
        entries_.resize(data.indptr[data.positions()]);
        std::vector<std::int32_t> present;
        for (Index i = 0; i < data.blocks; ++i) find_distinct(i, present);
    }

    Index size() const { return rows_.size(); }  // how many weights there are

    // The length of the block's vector.
    Index size_of(Index i) const {
        if (blocks_[i] == blocks_[i + 1]) return 0;
        const Distinct& last = distinct_[blocks_[i + 1] - 1];
        return last.begin + rows_.row(last.attribute).length;
    }

    // theta = the weights that the block touches
    void score(Index i, const double* w, double* theta) const {
        for_each_distinct(i, [&](const Distinct& d, const PairRows::Row& row) {
            std::copy(w + row.start, w + row.start + row.length, theta + d.begin);
        });
    }

    // w += a * counts
    void apply(Index i, double* w, double a, const double* counts) const {
        for_each_distinct(i, [&](const Distinct& d, const PairRows::Row& row) {
            axpy(row.length, a, counts + d.begin, w + row.start);
        });
    }

    // <w, counts>
    double product(Index i, const double* w, const double* counts) const {
        double total = 0.0;
        for_each_distinct(i, [&](const Distinct& d, const PairRows::Row& row) {
            total += dot(row.length, counts + d.begin, w + row.start);
        });
        return total;
    }

    template <class Body>
    void for_each_range_of(Index i, Body&& body) const {
        for_each_distinct(i, [&](const Distinct&, const PairRows::Row& row) {
            if (row.length > 0) body(row.start, row.length);
        });
    }

    template <class Body>
    void for_each_range(Body&& body) const {
        for (std::int32_t a = 0; a < rows_.attributes(); ++a)
            if (const PairRows::Row row = rows_.row(a); row.length > 0) body(row.start, row.length);
    }

    // edges += the block's potentials, (T - 1) x K x K
    void add_to_edges(Index i, const double* theta, double* edges) const {
        for_each_entry(i, [&](Index edge, double x, const Distinct& d, const PairRows::Row& row) {
            double* out = edges + edge * matrix();
            const double* in = theta + d.begin;
            if (!row.pairs) return axpy(row.length, x, in, out);
            for (Index k = 0; k < row.length; ++k) out[row.pairs[k]] += x * in[k];
        });
    }

    // m = sum over edges, of_edge(e) the K x K marginals of one
    template <class OfEdge>
    void gather(Index i, OfEdge&& of_edge, double* m) const {
        std::fill(m, m + size_of(i), 0.0);
        for_each_entry(i, [&](Index edge, double x, const Distinct& d, const PairRows::Row& row) {
            const double* in = of_edge(edge);
            double* out = m + d.begin;
            if (!row.pairs) return axpy(row.length, x, in, out);
            for (Index k = 0; k < row.length; ++k) out[k] += x * in[row.pairs[k]];
        });
    }

    // m += a * the indicators of a labelling
    void add_labelling(Index i, const std::int32_t* y, double a, double* m) const {
        for_each_weight_of(i, y, [&](double x, Index place) { m[place] += a * x; });
    }

    // <theta, indicators of a labelling>
    double score_of(Index i, const std::int32_t* y, const double* theta) const {
        double total = 0.0;
        for_each_weight_of(i, y, [&](double x, Index place) { total += x * theta[place]; });
        return total;
    }

    // If an attribute has a weight for every pair, subtracting one constant from all of them changes an edge by a
    // constant only.
    void center(Index i, double* theta) const {
        for_each_distinct(i, [&](const Distinct& d, const PairRows::Row& row) {
            if (!row.pairs) subtract_maximum(row.length, theta + d.begin);
        });
    }

    double magnitude(Index i, const double* theta) const {
        double total = 0.0;
        for_each_distinct(i, [&](const Distinct& d, const PairRows::Row& row) {
            if (row.length > 0) total += d.total * largest_magnitude(row.length, theta + d.begin);
        });
        return total;
    }

    // An upper bound on the squared norm of the counts of any labelling of the block; see NodeFeatures.
    double largest_squared_norm(Index i) const {
        double norm = 0.0;
        for_each_distinct(i, [&](const Distinct& d, const PairRows::Row&) { norm += d.total * d.total; });
        return norm;
    }

   private:
    // An attribute that occurs in a block.
    struct Distinct {
        std::int32_t attribute;
        Index begin;   // of its row in the block's vector
        double total;  // the sum of |x_tb|
    };

    Index matrix() const { return rows_.labels() * rows_.labels(); }

    void find_distinct(Index i, std::vector<std::int32_t>& present) {
        const Index first = data_.indptr[data_.offsets[i]], last = data_.indptr[data_.offsets[i + 1]];
        present.assign(data_.indices + first, data_.indices + last);
        std::sort(present.begin(), present.end());
        present.erase(std::unique(present.begin(), present.end()), present.end());
        Index begin = 0;
        for (std::int32_t attribute : present) {
            distinct_.push_back({attribute, begin, 0.0});
            begin += rows_.row(attribute).length;
        }
        for (Index e = first; e < last; ++e) {
            const Index local = std::lower_bound(present.begin(), present.end(), data_.indices[e]) - present.begin();
            entries_[e] = static_cast<std::int32_t>(local);
            distinct_[blocks_[i] + local].total += std::abs(data_.value(e));
        }
        blocks_.push_back(static_cast<Index>(distinct_.size()));
    }

    template <class Body>
    void for_each_distinct(Index i, Body&& body) const {
        for (Index d = blocks_[i]; d < blocks_[i + 1]; ++d) body(distinct_[d], rows_.row(distinct_[d].attribute));
    }

    // body(which edge, value, attribute, its row) for what the edges of a block have
    template <class Body>
    void for_each_entry(Index i, Body&& body) const {
        const Index first = data_.offsets[i];
        for (Index t = 1; t < data_.length(i); ++t)
            for (Index e = data_.indptr[first + t]; e < data_.indptr[first + t + 1]; ++e) {
                const Distinct& d = distinct_[blocks_[i] + entries_[e]];
                body(t - 1, data_.value(e), d, rows_.row(d.attribute));
            }
    }

    // body(value, place in the block's vector) for the weights in the score of a labelling
    template <class Body>
    void for_each_weight_of(Index i, const std::int32_t* y, Body&& body) const {
        for_each_entry(i, [&](Index edge, double x, const Distinct& d, const PairRows::Row& row) {
            const std::int32_t pair = static_cast<std::int32_t>(y[edge] * rows_.labels() + y[edge + 1]);
            if (!row.pairs) return body(x, d.begin + pair);
            const std::int32_t* found = std::lower_bound(row.pairs, row.pairs + row.length, pair);
            if (found < row.pairs + row.length && *found == pair) body(x, d.begin + (found - row.pairs));
        });
    }

    Attributes data_;
    const PairRows& rows_;
    std::vector<Index> blocks_;  // where the attributes of each block start in distinct_
    std::vector<Distinct> distinct_;
    std::vector<std::int32_t> entries_;  // for each entry, which attribute of its block
};

}  // namespace dualfield
