// Pseudo-likelihood on pairwise graphs: every node given the true labels of its neighbours.
//
// A block is one node v, a multinomial logistic regression whose potentials are those of its attributes and bias plus,
// for each edge to a neighbour u, the row or column of the edge's matrix that belongs to y_u. The weights are those of
// the graph: the one of an edge serves both of its ends. Compact vector and table are both the K marginals.
#pragma once

#include <vector>

#include "duality/entropy.hpp"
#include "fields/graph_field.hpp"

namespace dualfield {

class PseudoLikelihood : public GeneralField {
   public:
    // Needs labels.
    explicit PseudoLikelihood(const GraphData& data)
        : data_(data.attributes),
          rows_(data.attributes.count, data.shape.labels),
          edges_(data.shape, data.edges),
          bias_(data.bias),
          y_(data.labels),
          l2_(data.l2),
          weights_(data_.positions(), 1.0),
          starts_(data_.positions() + 1, 0),
          squared_norms_(data_.positions(), 0.0) {
        const auto for_each_end = [&](auto&& body) {
            for (Index g = 0; g < data_.blocks; ++g) {
                const PairwiseGraph graph = edges_.graph(g, data_.length(g));
                const Index first = data_.offsets[g];
                for (Index e = 0; e < graph.edges; ++e) {
                    const std::int32_t a = graph.first(e), b = graph.second(e);
                    body(first + a, Neighbour{g, e, y_[first + b], true});
                    body(first + b, Neighbour{g, e, y_[first + a], false});
                }
            }
        };
        for_each_end([&](Index p, const Neighbour&) { ++starts_[p + 1]; });
        for (std::size_t p = 1; p < starts_.size(); ++p) starts_[p] += starts_[p - 1];
        neighbours_.resize(starts_.back());
        std::vector<Index> next(starts_.begin(), starts_.end() - 1);
        for_each_end([&](Index p, const Neighbour& neighbour) { neighbours_[next[p]++] = neighbour; });
        for (Index g = 0; g < data_.blocks; ++g)
            for (Index p = data_.offsets[g]; p < data_.offsets[g + 1]; ++p) {
                if (data.sample_weight) weights_[p] = data.sample_weight[g];
                for (Index e = data_.indptr[p]; e < data_.indptr[p + 1]; ++e)
                    squared_norms_[p] += data_.value(e) * data_.value(e);
            }
    }

    bool one_node() const override { return true; }
    bool labelled() const override { return true; }
    Index blocks() const override { return data_.positions(); }
    Index labels() const override { return edges_.shape().labels; }
    Index dimension() const override { return rows_.size() + dense_size(); }
    Index compact_size(Index) const override { return labels(); }
    Index table_size(Index) const override { return labels(); }
    double l2() const override { return l2_; }
    double sample_weight(Index i) const override { return weights_[i]; }
    Index positions_before(Index i) const override { return i; }

    void score(Index i, const double* w, double* theta) const override {
        std::fill(theta, theta + labels(), 0.0);
        for (Index e = data_.indptr[i]; e < data_.indptr[i + 1]; ++e)
            axpy(labels(), data_.value(e), w + rows_.start(data_.indices[e]), theta);
        add_dense(i, w + rows_.size(), theta);
    }

    void project(Direction& direction, double* theta) const override {
        const Index i = direction.block;
        for (Index k = 0; k < labels(); ++k) theta[k] = squared_norms_[i] * direction.rows[k];
        add_dense(i, direction.dense.data(), theta);
    }

    void center(Index, double* theta) const override { subtract_maximum(labels(), theta); }
    double magnitude(Index, const double* theta) const override { return largest_magnitude(labels(), theta); }
    double log_partition(Index, const double* theta, Workspace&) const override { return log_sum_exp(labels(), theta); }

    double infer(Index, const double* theta, double* m, Workspace&) const override {
        const double top = maximum(labels(), theta);
        exp_shifted(labels(), theta, top, m);
        const double total = sum(labels(), m);
        scale(labels(), 1.0 / total, m);
        return top + std::log(total);
    }

    double infer_table(Index i, const double* theta, double* table, double* m, Workspace& workspace) const override {
        const double log_z = infer(i, theta, m, workspace);
        std::copy(m, m + labels(), table);
        return log_z;
    }

    double infer_untied(Index i, const double* theta, double* table, Workspace& workspace) const override {
        return infer(i, theta, table, workspace);
    }

    void differentiate(Index, const double* table, const double* dtheta, double* dm,
                       std::vector<double>&) const override {
        const double expected = dot(labels(), table, dtheta);
        for (Index k = 0; k < labels(); ++k) dm[k] = table[k] * (dtheta[k] - expected);
    }

    void decode_labels(Index, const double* theta, std::int32_t* label, Workspace&) const override {
        *label = static_cast<std::int32_t>(argmax(labels(), theta));
    }

    void decode(Index, const double* theta, double* m, Decoder&) const override {
        std::fill(m, m + labels(), 0.0);
        m[argmax(labels(), theta)] = 1.0;
    }

    void subtract_truth(Index i, double* m) const override { m[y_[i]] -= 1.0; }
    double true_score(Index i, const double* theta) const override { return theta[y_[i]]; }

    // The counts of attributes are the outer product of x and m; those of edges may meet in one weight.
    double pull(Index i, const double* m, Direction& direction) const override {
        direction.block = i;
        direction.rows.assign(m, m + labels());
        direction.dense.assign(dense_size(), 0.0);
        double* dense = direction.dense.data();
        for_each_weight(i, [&](Index k, Index place, double value) { dense[place] += value * m[k]; });
        if (bias_) std::copy(m, m + labels(), dense + edges_.size());
        return squared_norms_[i] * squared_norm(labels(), m) + squared_norm(dense_size(), dense);
    }

    void apply(double* w, double a, const Direction& direction, const Part& part) const override {
        const Index i = direction.block;
        for (Index e = data_.indptr[i]; e < data_.indptr[i + 1]; ++e)
            if (data_.indices[e] % part.count == part.index)
                axpy(labels(), a * data_.value(e), direction.rows.data(), w + rows_.start(data_.indices[e]));
        if (part.index == 0) axpy(dense_size(), a, direction.dense.data(), w + rows_.size());
    }

    double product(const double* w, const Direction& direction, const Part& part) const override {
        const Index i = direction.block;
        double total = part.index == 0 ? dot(dense_size(), direction.dense.data(), w + rows_.size()) : 0.0;
        for (Index e = data_.indptr[i]; e < data_.indptr[i + 1]; ++e)
            if (data_.indices[e] % part.count == part.index)
                total += data_.value(e) * dot(labels(), direction.rows.data(), w + rows_.start(data_.indices[e]));
        return total;
    }

    void for_each_range_of(Index i, RangeBody body, const Part& part) const override {
        for (Index e = data_.indptr[i]; e < data_.indptr[i + 1]; ++e)
            if (data_.indices[e] % part.count == part.index) body(rows_.start(data_.indices[e]), labels());
        if (part.index == 0 && dense_size() > 0) body(rows_.size(), dense_size());
    }

    void for_each_range(RangeBody body) const override {
        for (Index start = 0; start < rows_.size(); start += labels()) body(start, labels());
        if (dense_size() > 0) body(rows_.size(), dense_size());
    }

    void contrast(Index i, double* m) const override {
        std::fill(m, m + labels(), 0.0);
        m[y_[i] == 0 ? labels() - 1 : 0] = 1.0;
        subtract_truth(i, m);
    }

    // Exact: every other label is tried.
    double radius_bound(Index i) const override {
        std::vector<double> m(labels());
        Direction direction;
        double largest = 0.0;
        for (Index k = 0; k < labels(); ++k) {
            std::fill(m.begin(), m.end(), 0.0);
            m[k] += 1.0;
            subtract_truth(i, m.data());
            largest = std::max(largest, pull(i, m.data(), direction));
        }
        return largest;
    }

    Segments segments(Index) const override { return {{{{0, labels(), 1.0}, {0, 0, 0.0}}}, 1}; }
    void compact(Index, const double* table, double* m) const override { std::copy(table, table + labels(), m); }
    void repair_table(Index, double* table) const override { scale(labels(), 1.0 / sum(labels(), table), table); }
    void uniform(Index, double* m) const override { std::fill(m, m + labels(), 1.0 / static_cast<double>(labels())); }

    void initial_table(Index i, double epsilon, double* table) const override {
        std::fill(table, table + labels(), epsilon / static_cast<double>(labels()));
        table[y_[i]] += 1.0 - epsilon;
    }
    double initial_entropy(Index, double epsilon) const override { return mixture_entropy(labels(), epsilon); }
    void product_table(Index i, double epsilon, double* table) const override { initial_table(i, epsilon, table); }
    double product_entropy(Index i, double epsilon) const override { return initial_entropy(i, epsilon); }

    void initial_potentials(Index i, double epsilon, double* theta) const override {
        std::fill(theta, theta + labels(), 0.0);
        theta[y_[i]] = strength_of(labels(), epsilon);
    }

   private:
    struct Neighbour {
        Index graph, edge;
        std::int32_t label;  // of the other end
        bool first;          // whether this end is the edge's first
    };

    Index dense_size() const { return edges_.size() + (bias_ ? labels() : 0); }

    // body(k, place, value): label k of node i has the weight at `place`, an edge's, `value` times.
    template <class Body>
    void for_each_weight(Index i, Body&& body) const {
        const Index K = labels();
        for (Index n = starts_[i]; n < starts_[i + 1]; ++n) {
            const Neighbour& neighbour = neighbours_[n];
            edges_.for_each_feature(neighbour.graph, neighbour.edge, [&](Index f, double x) {
                for (Index k = 0; k < K; ++k) {
                    const Index pair = neighbour.first ? k * K + neighbour.label : neighbour.label * K + k;
                    edges_.with_weight(f, pair, [&](Index place, double value) { body(k, place, x * value); });
                }
            });
        }
    }

    void add_dense(Index i, const double* dense, double* theta) const {
        for_each_weight(i, [&](Index k, Index place, double value) { theta[k] += value * dense[place]; });
        if (bias_) axpy(labels(), 1.0, dense + edges_.size(), theta);
    }

    Attributes data_;
    AllPairs rows_;
    EdgeWeights edges_;
    bool bias_;
    const std::int32_t* y_;
    double l2_;
    std::vector<double> weights_;  // sample weights
    std::vector<Index> starts_;    // of each node's neighbours
    std::vector<Neighbour> neighbours_;
    std::vector<double> squared_norms_;  // of each node's attributes
};

}  // namespace dualfield
