// The linear-chain field.
//
// Block i is a sequence of T positions with K labels. Its score sums, over positions, the weights of the
// (attribute, label) pairs and the label's bias; over neighbours, the weight of the (label, label)
// transition; and the weights of the first label (begin) and of the last (end).
//
// Weights:  [ attribute x label | transition | bias | begin | end ], each part optional but the first.
// Compact:  [ T x K nodes | K x K sum over edges ].
// Table:    [ (T-1) x K x K edges | T x K nodes ]; edges count +1, interior nodes -1; a single node counts +1.
#pragma once

#include <vector>

#include "duality/entropy.hpp"
#include "fields/field.hpp"
#include "fields/weight_rows.hpp"
#include "oracles/forward_backward.hpp"

namespace dualfield {

struct ChainShape {
    Index labels;
    std::vector<std::int32_t> transitions;  // flat indices from * K + to of the transitions that have a weight
    bool bias, begin, end;
};

template <class Rows>
class Chain {
   public:
    using Workspace = ForwardBackward;

    struct Direction {
        Index block = -1;
        std::vector<double> rows;   // a count row of K for each distinct attribute of the block
        std::vector<double> dense;  // all other weights
    };

    // `labels` and `sample_weight` may be null: without labels the field can score and infer, not train.
    Chain(Attributes data, Rows rows, ChainShape shape, const std::int32_t* labels, const double* sample_weight,
          double l2)
        : data_(data),
          rows_(rows),
          shape_(std::move(shape)),
          labels_(labels),
          sample_weight_(sample_weight),
          l2_(l2),
          distinct_(labels ? data : Attributes{0, data.offsets, data.indptr, nullptr, nullptr, 0}),
          transition_start_(rows_.size()),
          bias_start_(transition_start_ + static_cast<Index>(shape_.transitions.size())),
          begin_start_(bias_start_ + (shape_.bias ? shape_.labels : 0)),
          end_start_(begin_start_ + (shape_.begin ? shape_.labels : 0)),
          dimension_(end_start_ + (shape_.end ? shape_.labels : 0)) {}

    bool labelled() const { return labels_ != nullptr; }
    Index blocks() const { return data_.blocks; }
    Index dimension() const { return dimension_; }
    Index labels() const { return shape_.labels; }
    Index length(Index i) const { return data_.length(i); }
    Index offset(Index i) const { return data_.offsets[i]; }
    double l2() const { return l2_; }
    double sample_weight(Index i) const { return sample_weight_ ? sample_weight_[i] : 1.0; }

    Index compact_size(Index i) const { return (length(i) + labels()) * labels(); }
    Index table_size(Index i) const { return ((length(i) - 1) * labels() + length(i)) * labels(); }

    // The compact vector of potentials as a chain for the oracles.
    ChainPotentials potentials(Index i, const double* theta) const {
        return {length(i), labels(), theta, theta + length(i) * labels(), 0};
    }

    void score(Index i, const double* w, double* theta) const {
        const Index K = labels(), T = length(i), first = offset(i);
        constexpr Index kAhead = 6;
        const Index last_entry = data_.indptr[first + T];
        for (Index t = 0; t < T; ++t) {
            double* node = theta + t * K;
            if (shape_.bias) {
                std::copy(w + bias_start_, w + bias_start_ + K, node);
            } else {
                std::fill(node, node + K, 0.0);
            }
            for (Index e = data_.indptr[first + t]; e < data_.indptr[first + t + 1]; ++e) {
                if (e + kAhead < last_entry) rows_.prefetch(w, data_.indices[e + kAhead]);
                rows_.score(w, data_.indices[e], data_.value(e), node);
            }
        }
        if (shape_.begin) axpy(K, 1.0, w + begin_start_, theta);
        if (shape_.end) axpy(K, 1.0, w + end_start_, theta + (T - 1) * K);
        double* edge = theta + T * K;
        std::fill(edge, edge + K * K, 0.0);
        const double* transition = w + transition_start_;
        for (std::size_t s = 0; s < shape_.transitions.size(); ++s) edge[shape_.transitions[s]] = transition[s];
    }

    double center(Index i, double* theta) const {
        const Index K = labels(), T = length(i);
        double magnitude = 0.0;
        for (Index t = 0; t < T; ++t) magnitude += subtract_maximum(K, theta + t * K);
        if (T > 1) magnitude += static_cast<double>(T - 1) * subtract_maximum(K * K, theta + T * K);
        return magnitude;
    }

    double log_partition(Index i, const double* theta, Workspace& oracle) const {
        return oracle.log_partition(potentials(i, theta));
    }

    double infer(Index i, const double* theta, double* m, Workspace& oracle) const {
        return oracle.marginals(potentials(i, theta), m, nullptr, m + length(i) * labels());
    }

    double infer_table(Index i, const double* theta, double* table, double* m, Workspace& oracle) const {
        const Index K = labels(), T = length(i);
        double* nodes = table + (T - 1) * K * K;
        const double log_z = oracle.marginals(potentials(i, theta), nodes, table, m + T * K);
        std::copy(nodes, nodes + T * K, m);
        return log_z;
    }

    double infer_untied(Index i, const double* theta, double* table, Workspace& oracle) const {
        const Index K = labels(), T = length(i), edges = (T - 1) * K * K;
        return oracle.marginals({T, K, theta + edges, theta, K * K}, table + edges, table, nullptr);
    }

    void compact(Index i, const double* table, double* m) const {
        const Index K = labels(), T = length(i);
        const double* nodes = table + (T - 1) * K * K;
        std::copy(nodes, nodes + T * K, m);
        double* edge_sum = m + T * K;
        std::fill(edge_sum, edge_sum + K * K, 0.0);
        for (Index t = 0; t < T - 1; ++t) axpy(K * K, 1.0, table + t * K * K, edge_sum);
    }

    void subtract_truth(Index i, double* m) const {
        const Index K = labels(), T = length(i);
        const std::int32_t* y = labels_ + offset(i);
        for (Index t = 0; t < T; ++t) m[t * K + y[t]] -= 1.0;
        for (Index t = 1; t < T; ++t) m[(T + y[t - 1]) * K + y[t]] -= 1.0;
    }

    double true_score(Index i, const double* theta) const {
        const Index K = labels(), T = length(i);
        const std::int32_t* y = labels_ + offset(i);
        double total = 0.0;
        for (Index t = 0; t < T; ++t) total += theta[t * K + y[t]];
        for (Index t = 1; t < T; ++t) total += theta[(T + y[t - 1]) * K + y[t]];
        return total;
    }

    double pull(Index i, const double* m, Direction& direction) const {
        const Index K = labels(), T = length(i), first = offset(i);
        const Index distinct = distinct_.count(i);
        const std::int32_t* attributes = distinct_.attributes(i);
        direction.block = i;
        double* rows = room(direction.rows, distinct * K);
        std::fill(rows, rows + distinct * K, 0.0);
        for (Index t = 0; t < T; ++t)
            for (Index e = data_.indptr[first + t]; e < data_.indptr[first + t + 1]; ++e)
                axpy(K, data_.value(e), m + t * K, rows + distinct_.local(e) * K);
        const double norm = rows_.squared_norm_of(distinct, attributes, rows);
        direction.dense.resize(dimension_ - transition_start_);
        double* dense = direction.dense.data();
        const double* edge_sum = m + T * K;
        for (std::size_t s = 0; s < shape_.transitions.size(); ++s) *dense++ = edge_sum[shape_.transitions[s]];
        if (shape_.bias) {
            std::fill(dense, dense + K, 0.0);
            for (Index t = 0; t < T; ++t) axpy(K, 1.0, m + t * K, dense);
            dense += K;
        }
        if (shape_.begin) dense = std::copy(m, m + K, dense);
        if (shape_.end) std::copy(m + (T - 1) * K, m + T * K, dense);
        return norm + squared_norm(static_cast<Index>(direction.dense.size()), direction.dense.data());
    }

    void apply(double* w, double a, const Direction& direction) const {
        const Index distinct = distinct_.count(direction.block);
        const std::int32_t* attributes = distinct_.attributes(direction.block);
        constexpr Index kAhead = 6;
        for (Index u = 0; u < distinct; ++u) {
            if (u + kAhead < distinct) rows_.prefetch(w, attributes[u + kAhead]);
            rows_.apply(w, attributes[u], a, direction.rows.data() + u * labels());
        }
        axpy(static_cast<Index>(direction.dense.size()), a, direction.dense.data(), w + transition_start_);
    }

    void contrast(Index i, double* m) const {
        const Index K = labels(), T = length(i);
        const std::int32_t* y = labels_ + offset(i);
        std::vector<Index> occurrences(K, 0);
        for (Index t = 0; t < T; ++t) ++occurrences[y[t]];
        const Index rarest = std::min_element(occurrences.begin(), occurrences.end()) - occurrences.begin();
        std::fill(m, m + compact_size(i), 0.0);
        for (Index t = 0; t < T; ++t) m[t * K + rarest] = 1.0;
        m[(T + rarest) * K + rarest] = static_cast<double>(T - 1);
        subtract_truth(i, m);
    }

    // R_i <= (|F(y_i)| + max_y |F(y)|)^2. An attribute a has, over the positions of any label, at most the count
    // sum_t |x_ta|, and the squares of parts add up to at most the square of the whole; transitions and biases alike.
    double radius_bound(Index i) const {
        const Index T = length(i), first = offset(i);
        std::vector<double> m(compact_size(i), 0.0), counts(distinct_.count(i), 0.0);
        Direction direction;
        subtract_truth(i, m.data());
        const double truth = pull(i, m.data(), direction);
        for (Index e = data_.indptr[first]; e < data_.indptr[first + T]; ++e)
            counts[distinct_.local(e)] += std::abs(data_.value(e));
        const double positions = static_cast<double>(T), pairs = shape_.transitions.empty() ? 0.0 : positions - 1.0;
        const double largest = squared_norm(distinct_.count(i), counts.data()) + pairs * pairs +
                               (shape_.bias ? positions * positions : 0.0) + (shape_.begin ? 1.0 : 0.0) +
                               (shape_.end ? 1.0 : 0.0);
        const double root = std::sqrt(truth) + std::sqrt(largest);
        return root * root;
    }

    Segments segments(Index i) const {
        const Index K = labels(), T = length(i);
        if (T == 1) return {{{{0, K, 1.0}, {0, 0, 0.0}}}, 1};
        const Index edges = (T - 1) * K * K;
        return {{{{0, edges, 1.0}, {edges + K, (T - 2) * K, -1.0}}}, 2};
    }

    // The distribution with the first edge's marginal and then each edge's conditionals has these edges, re-weighted.
    void repair_table(Index i, double* table) const {
        const Index K = labels(), T = length(i);
        double* nodes = table + (T - 1) * K * K;
        if (T == 1) return scale(K, 1.0 / sum(K, nodes), nodes);
        const double total = sum(K * K, table);
        for (Index k = 0; k < K; ++k) nodes[k] = sum(K, table + k * K) / total;
        std::fill(nodes + K, nodes + T * K, 0.0);
        for (Index t = 0; t < T - 1; ++t)
            for (Index k = 0; k < K; ++k) {
                double* row = table + (t * K + k) * K;
                const double mass = nodes[t * K + k], row_sum = sum(K, row);
                if (row_sum > 0.0) {
                    scale(K, mass / row_sum, row);
                } else {
                    std::fill(row, row + K, mass / static_cast<double>(K));
                }
                axpy(K, 1.0, row, nodes + (t + 1) * K);
            }
    }

    void uniform(Index i, double* m) const {
        const Index K = labels(), T = length(i);
        std::fill(m, m + T * K, 1.0 / static_cast<double>(K));
        std::fill(m + T * K, m + (T + K) * K, static_cast<double>(T - 1) / static_cast<double>(K * K));
    }

    void initial_table(Index i, double epsilon, double* table) const {
        const Index K = labels(), T = length(i);
        const std::int32_t* y = labels_ + offset(i);
        double* nodes = table + (T - 1) * K * K;
        std::fill(table, nodes, epsilon / static_cast<double>(K * K));
        std::fill(nodes, nodes + T * K, epsilon / static_cast<double>(K));
        for (Index t = 0; t < T; ++t) nodes[t * K + y[t]] += 1.0 - epsilon;
        for (Index t = 1; t < T; ++t) table[((t - 1) * K + y[t - 1]) * K + y[t]] += 1.0 - epsilon;
    }

    double initial_entropy(Index i, double epsilon) const {
        const Index K = labels(), T = length(i);
        const double node = mixture_entropy(K, epsilon);
        if (T == 1) return node;
        return static_cast<double>(T - 1) * mixture_entropy(K * K, epsilon) - static_cast<double>(T - 2) * node;
    }

    void product_table(Index i, double epsilon, double* table) const {
        const Index K = labels(), T = length(i);
        const std::int32_t* y = labels_ + offset(i);
        double* nodes = table + (T - 1) * K * K;
        std::fill(nodes, nodes + T * K, epsilon / static_cast<double>(K));
        for (Index t = 0; t < T; ++t) nodes[t * K + y[t]] += 1.0 - epsilon;
        for (Index t = 0; t < T - 1; ++t)
            for (Index k = 0; k < K; ++k)
                for (Index j = 0; j < K; ++j) table[(t * K + k) * K + j] = nodes[t * K + k] * nodes[(t + 1) * K + j];
    }

    double product_entropy(Index i, double epsilon) const {
        return static_cast<double>(length(i)) * mixture_entropy(labels(), epsilon);
    }

    void initial_potentials(Index i, double epsilon, double* theta) const {
        const Index K = labels(), T = length(i);
        const std::int32_t* y = labels_ + offset(i);
        std::fill(theta, theta + compact_size(i), 0.0);
        for (Index t = 0; t < T; ++t) theta[t * K + y[t]] = strength_of(K, epsilon);
    }

    double independent_entropy(Index i, double epsilon) const {
        return static_cast<double>(length(i)) * error_entropy(labels(), epsilon);
    }

   private:
    Attributes data_;
    Rows rows_;
    ChainShape shape_;
    const std::int32_t* labels_;
    const double* sample_weight_;
    double l2_;
    DistinctAttributes distinct_;
    Index transition_start_, bias_start_, begin_start_, end_start_, dimension_;
};

}  // namespace dualfield
