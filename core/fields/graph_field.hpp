// What fields on pairwise graphs have in common, whatever their inference: data, weights, features and counts.
//
// Block i is a graph of V nodes with K labels each, whose edges are directed as given. Its score sums, over nodes, the
// weights of the (attribute, label) pairs and the label's bias; over edges, for each of their features, the weight of
// the pair of labels; over larger cliques, where there are any, the weight of their labels.
//
// Weights:  [ attribute x label | edge feature x parameter | clique size x K^size | bias ].
// Compact:  [ V x K nodes | edge feature x K x K | clique size x K^size ].
#pragma once

#include <vector>

#include "fields/clique_weights.hpp"
#include "fields/edge_weights.hpp"
#include "fields/general_field.hpp"
#include "fields/node_features.hpp"

namespace dualfield {

// What a graph field is made of. `labels` and `sample_weight` may be null: without labels it can infer, not train.
struct GraphData {
    Attributes attributes;
    Edges edges;
    EdgeShape shape;
    bool bias;
    const std::int32_t* labels;
    const double* sample_weight;
    double l2;
    CliqueLists cliques;
};

class GraphField : public GeneralField {
   public:
    explicit GraphField(const GraphData& data)
        : nodes_(data.attributes, AllPairs(data.attributes.count, data.shape.labels), data.shape.labels,
                 data.labels != nullptr),
          edges_(data.shape, data.edges),
          cliques_(data.shape.labels, data.cliques),
          bias_(data.bias),
          y_(data.labels),
          sample_weight_(data.sample_weight),
          l2_(data.l2) {}

    bool labelled() const override { return y_ != nullptr; }
    Index blocks() const override { return nodes_.data().blocks; }
    Index labels() const override { return nodes_.labels(); }
    Index dimension() const override { return nodes_.size() + dense_size(); }
    Index compact_size(Index i) const override { return node_size(i) + edges_.compact_size() + cliques_.size(); }
    double l2() const override { return l2_; }
    double sample_weight(Index i) const override { return sample_weight_ ? sample_weight_[i] : 1.0; }
    Index positions_before(Index i) const override { return nodes_.data().offsets[i]; }

    // For those who look at single cliques.
    const Attributes& attributes() const { return nodes_.data(); }
    const EdgeWeights& edge_weights() const { return edges_; }
    bool has_bias() const { return bias_; }
    bool has_larger_cliques() const { return cliques_.size() > 0; }
    PairwiseGraph graph(Index i) const { return edges_.graph(i, nodes(i)); }
    const std::int32_t* truth(Index i) const { return y_ + nodes_.offset(i); }
    auto graphs() const {
        return [this](Index i) { return graph(i); };
    }

    void score(Index i, const double* w, double* theta) const override {
        const double* dense = w + nodes_.size();
        nodes_.score(i, w, bias_in(dense), theta);
        score_dense(i, dense, theta);
    }

    void project(Direction& direction, double* theta) const override {
        const double* dense = direction.dense.data();
        nodes_.project(direction.block, direction.rows, bias_in(dense), theta);
        score_dense(direction.block, dense, theta);
    }

    void center(Index i, double* theta) const override {
        for (Index v = 0; v < nodes(i); ++v) subtract_maximum(labels(), theta + v * labels());
        double* edge = theta + node_size(i);
        for (Index f = 0; f < edges_.shape().features; ++f)
            subtract_maximum(edges_.matrix(), edge + f * edges_.matrix());
        double* larger = theta + clique_start(i);
        cliques_.for_each_tensor([&](Index start, Index length) { subtract_maximum(length, larger + start); });
    }

    double magnitude(Index i, const double* theta) const override {
        double total = 0.0;
        for (Index v = 0; v < nodes(i); ++v) total += largest_magnitude(labels(), theta + v * labels());
        const double* edge = theta + node_size(i);
        for (Index f = 0; f < edges_.shape().features; ++f)
            total += edges_.absolute_total(i, f) * largest_magnitude(edges_.matrix(), edge + f * edges_.matrix());
        const double* larger = theta + clique_start(i);
        cliques_.for_each_tensor([&](Index start, Index length) {
            total += static_cast<double>(cliques_.occurrences(i, start)) * largest_magnitude(length, larger + start);
        });
        return total;
    }

    void subtract_truth(Index i, double* m) const override { add_labelling(i, truth(i), -1.0, m); }

    double true_score(Index i, const double* theta) const override {
        const std::int32_t* y = truth(i);
        const PairwiseGraph graph = this->graph(i);
        double total = 0.0;
        for (Index v = 0; v < graph.nodes; ++v) total += theta[v * labels() + y[v]];
        const double* edge = theta + node_size(i);
        for (Index e = 0; e < graph.edges; ++e) {
            const Index pair = y[graph.first(e)] * labels() + y[graph.second(e)];
            edges_.for_each_feature(i, e, [&](Index f, double x) { total += x * edge[f * edges_.matrix() + pair]; });
        }
        const double* larger = theta + clique_start(i);
        cliques_.for_each_entry(i, y, [&](Index entry) { total += larger[entry]; });
        return total;
    }

    double pull(Index i, const double* m, Direction& direction) const override {
        direction.block = i;
        const double norm = nodes_.pull(i, m, direction.rows);
        direction.dense.resize(dense_size());
        edges_.pull(m + node_size(i), direction.dense.data());
        const double* larger = m + clique_start(i);
        std::copy(larger, larger + cliques_.size(), direction.dense.data() + edges_.size());
        if (bias_) {
            double* bias = direction.dense.data() + edges_.size() + cliques_.size();
            std::fill(bias, bias + labels(), 0.0);
            for (Index v = 0; v < nodes(i); ++v) axpy(labels(), 1.0, m + v * labels(), bias);
        }
        return norm + squared_norm(dense_size(), direction.dense.data());
    }

    void apply(double* w, double a, const Direction& direction, const Part& part) const override {
        nodes_.apply(direction.block, w, a, direction.rows, part);
        if (part.index == 0) axpy(dense_size(), a, direction.dense.data(), w + nodes_.size());
    }

    double product(const double* w, const Direction& direction, const Part& part) const override {
        return nodes_.product(direction.block, w, direction.rows, part) +
               (part.index == 0 ? dot(dense_size(), direction.dense.data(), w + nodes_.size()) : 0.0);
    }

    void for_each_range_of(Index i, RangeBody body, const Part& part) const override {
        nodes_.for_each_range_of(i, body, part);
        if (part.index == 0 && dense_size() > 0) body(nodes_.size(), dense_size());
    }

    void for_each_range(RangeBody body) const override {
        nodes_.for_each_range(body);
        if (dense_size() > 0) body(nodes_.size(), dense_size());
    }

    void decode(Index i, const double* theta, double* m, Decoder& decoder) const override {
        decoder.labels.resize(nodes(i));
        decode_labels(i, theta, decoder.labels.data(), decoder.workspace);
        std::fill(m, m + compact_size(i), 0.0);
        add_labelling(i, decoder.labels.data(), 1.0, m);
    }

   protected:
    Index nodes(Index i) const { return nodes_.length(i); }
    Index node_size(Index i) const { return nodes(i) * labels(); }
    Index clique_start(Index i) const { return node_size(i) + edges_.compact_size(); }  // in compact vectors

    // The compact potentials as a graph for the oracles; `buffer` holds the edges' matrices where they differ.
    PairwisePotentials potentials(Index i, const double* theta, std::vector<double>& buffer) const {
        const double* edge = edges_.of_edges(i, theta + node_size(i), buffer);
        return {graph(i), labels(), theta, edge, edges_.tied() ? 0 : edges_.matrix()};
    }

    // m += a * the indicators of a labelling
    void add_labelling(Index i, const std::int32_t* y, double a, double* m) const {
        const PairwiseGraph graph = this->graph(i);
        for (Index v = 0; v < graph.nodes; ++v) m[v * labels() + y[v]] += a;
        double* edge = m + node_size(i);
        for (Index e = 0; e < graph.edges; ++e) {
            const Index pair = y[graph.first(e)] * labels() + y[graph.second(e)];
            edges_.for_each_feature(i, e, [&](Index f, double x) { edge[f * edges_.matrix() + pair] += a * x; });
        }
        double* larger = m + clique_start(i);
        cliques_.for_each_entry(i, y, [&](Index entry) { larger[entry] += a; });
    }

    // R_i <= (|F(y_i)| + max_y |F(y)|)^2, the latter bounded part by part.
    double bounded_radius(Index i) const {
        std::vector<double> m(compact_size(i), 0.0);
        Direction direction;
        subtract_truth(i, m.data());
        const double truth = pull(i, m.data(), direction), count = static_cast<double>(nodes(i));
        double largest =
            nodes_.largest_squared_norm(i) + edges_.largest_squared_norm(i) + (bias_ ? count * count : 0.0);
        cliques_.for_each_tensor([&](Index start, Index) {
            const double most = static_cast<double>(cliques_.occurrences(i, start));
            largest += most * most;
        });
        const double root = std::sqrt(truth) + std::sqrt(largest);
        return root * root;
    }

    NodeFeatures<AllPairs> nodes_;
    EdgeWeights edges_;
    CliqueWeights cliques_;

   private:
    Index dense_size() const { return edges_.size() + cliques_.size() + (bias_ ? labels() : 0); }
    const double* bias_in(const double* dense) const {
        return bias_ ? dense + edges_.size() + cliques_.size() : nullptr;
    }
    void score_dense(Index i, const double* dense, double* theta) const {
        edges_.score(dense, theta + node_size(i));
        std::copy(dense + edges_.size(), dense + edges_.size() + cliques_.size(), theta + clique_start(i));
    }

    bool bias_;
    const std::int32_t* y_;
    const double* sample_weight_;
    double l2_;
};

}  // namespace dualfield
