// The weights of edges: for each edge feature a matrix over pairs of labels, in which pairs may share a weight or have
// none.
//
// A block's potentials and marginals of edges are kept by feature, [ feature x K x K ]: with x_ef the features of edge
// e,
//     theta_e = sum_f x_ef theta_f,    m_f = sum_e x_ef mu_e,    so  sum_e <theta_e, mu_e> = sum_f <theta_f, m_f>.
// Without features there is one, of value 1.
#pragma once

#include <vector>

#include "graphs/pairwise.hpp"
#include "simd/vector.hpp"

namespace dualfield {

struct EdgeShape {
    Index labels;
    Index features;                     // at least 1
    Index parameters;                   // weights a feature
    std::vector<std::int32_t> pattern;  // K x K: the weight that a pair of labels has; -1: none
    std::vector<double> values;         // K x K: the factor of that weight
    double scale;  // a factor of every weight: one l2 on the stored weights then gives edges their own
};

// The edges of all blocks. Block i has edges offsets[i] .. offsets[i + 1], whose nodes are counted within the block.
struct Edges {
    const Index* offsets;
    const std::int32_t* ends;
    const double* features;  // edges x features; null: one feature of value 1
};

class EdgeWeights {
   public:
    EdgeWeights(EdgeShape shape, Edges edges) : shape_(std::move(shape)), edges_(edges) {}

    const EdgeShape& shape() const { return shape_; }
    Index size() const { return shape_.features * shape_.parameters; }  // how many weights there are
    Index compact_size() const { return shape_.features * matrix(); }
    Index matrix() const { return shape_.labels * shape_.labels; }
    bool tied() const { return edges_.features == nullptr; }
    Index count(Index i) const { return edges_.offsets[i + 1] - edges_.offsets[i]; }
    PairwiseGraph graph(Index i, Index nodes) const { return {nodes, count(i), edges_.ends + 2 * edges_.offsets[i]}; }

    // body(f, x) for the features of an edge of block i that are not zero.
    template <class Body>
    void for_each_feature(Index i, Index e, Body&& body) const {
        if (tied()) return body(Index{0}, 1.0);
        const double* x = edges_.features + (edges_.offsets[i] + e) * shape_.features;
        for (Index f = 0; f < shape_.features; ++f)
            if (x[f] != 0.0) body(f, x[f]);
    }

    // Calls body(place, value) with the weight of a pair of labels under a feature and its factor, if it has one.
    template <class Body>
    void with_weight(Index f, Index pair, Body&& body) const {
        if (shape_.pattern[pair] >= 0)
            body(f * shape_.parameters + shape_.pattern[pair], shape_.scale * shape_.values[pair]);
    }

    // Matrices by feature, from weights.
    void score(const double* w, double* theta) const {
        for (Index f = 0; f < shape_.features; ++f)
            for (Index pair = 0; pair < matrix(); ++pair) {
                double& entry = theta[f * matrix() + pair];
                entry = 0.0;
                with_weight(f, pair, [&](Index place, double value) { entry = value * w[place]; });
            }
    }

    // Counts, from matrices by feature.
    void pull(const double* m, double* counts) const {
        std::fill(counts, counts + size(), 0.0);
        for (Index f = 0; f < shape_.features; ++f)
            for (Index pair = 0; pair < matrix(); ++pair)
                with_weight(f, pair,
                            [&](Index place, double value) { counts[place] += value * m[f * matrix() + pair]; });
    }

    // The matrices of the block's edges, from matrices by feature; where one serves all edges, that one.
    const double* of_edges(Index i, const double* theta, std::vector<double>& buffer) const {
        if (tied()) return theta;
        const Index edges = count(i);
        buffer.assign(edges * matrix(), 0.0);
        for (Index e = 0; e < edges; ++e)
            for_each_feature(i, e, [&](Index f, double x) {
                axpy(matrix(), x, theta + f * matrix(), buffer.data() + e * matrix());
            });
        return buffer.data();
    }

    // m += the part of one edge, whose marginals are given
    void add_edge(Index i, Index e, const double* mu, double* m) const {
        for_each_feature(i, e, [&](Index f, double x) { axpy(matrix(), x, mu, m + f * matrix()); });
    }

    // The sum of a feature over the block's edges, or of its absolute value.
    double total(Index i, Index f) const {
        return sum_over_edges(i, f, [](double x) { return x; });
    }
    double absolute_total(Index i, Index f) const {
        return sum_over_edges(i, f, [](double x) { return std::abs(x); });
    }

    // An upper bound on the squared norm of the counts of any labelling of the block.
    double largest_squared_norm(Index i) const {
        double largest = 0.0, norm = 0.0;
        for (double value : shape_.values) largest = std::max(largest, std::abs(value * shape_.scale));
        for (Index f = 0; f < shape_.features; ++f) {
            const double most = largest * absolute_total(i, f);
            norm += most * most;
        }
        return norm;
    }

   private:
    template <class Of>
    double sum_over_edges(Index i, Index f, Of&& of) const {
        if (tied()) return static_cast<double>(count(i));
        double total = 0.0;
        for (Index e = edges_.offsets[i]; e < edges_.offsets[i + 1]; ++e)
            total += of(edges_.features[e * shape_.features + f]);
        return total;
    }

    EdgeShape shape_;
    Edges edges_;
};

}  // namespace dualfield
