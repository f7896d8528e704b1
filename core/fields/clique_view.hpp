// A field seen clique by clique: the nodes and edges of its blocks, each with potentials linear in the weights.
//
// Solvers that never call an oracle work on this view: a step moves the pseudo-marginals of one node or one edge, and
// needs the potentials of that clique, Psi_c^T w, and the image of its change in the weights, Psi_c delta.
#pragma once

#include <memory>
#include <vector>

#include "fields/chain.hpp"
#include "fields/graph_field.hpp"
#include "graphs/orientation.hpp"

namespace dualfield {

class CliqueView {
   public:
    virtual ~CliqueView() = default;

    virtual Index blocks() const = 0;
    virtual Index labels() const = 0;
    virtual Index dimension() const = 0;
    virtual double l2() const = 0;
    virtual double sample_weight(Index i) const = 0;
    virtual PairwiseGraph graph(Index i) const = 0;
    virtual const std::int32_t* truth(Index i) const = 0;
    virtual const CliqueCounts& counts(Index i) const = 0;  // of the entropies

    // The potentials of a node (K numbers) or an edge (K x K).
    virtual void score_node(Index i, Index v, const double* w, double* theta) const = 0;
    virtual void score_edge(Index i, Index e, const double* w, double* theta) const = 0;

    // |Psi_c delta|^2 of a change of a clique's marginals, and w += a Psi_c delta. Of an edge, pull writes to `counts`,
    // K x K numbers at most, what apply reads.
    virtual double pull_node(Index i, Index v, const double* delta) const = 0;
    virtual double pull_edge(Index i, Index e, const double* delta, double* counts) const = 0;
    virtual void apply_node(Index i, Index v, double a, const double* delta, double* w) const = 0;
    virtual void apply_edge(Index i, Index e, double a, const double* counts, double* w) const = 0;
};

// Of the fields on graphs.
class GraphCliques : public CliqueView {
   public:
    GraphCliques(const GraphField& field, SharedCounts counts)
        : field_(field), counts_(std::move(counts)), rows_(field.attributes().count, field.labels()) {
        const Attributes& data = field.attributes();
        squared_norms_.assign(data.positions(), field.has_bias() ? 1.0 : 0.0);
        for (Index p = 0; p < data.positions(); ++p)
            for (Index e = data.indptr[p]; e < data.indptr[p + 1]; ++e)
                squared_norms_[p] += data.value(e) * data.value(e);
    }

    Index blocks() const override { return field_.blocks(); }
    Index labels() const override { return field_.labels(); }
    Index dimension() const override { return field_.dimension(); }
    double l2() const override { return field_.l2(); }
    double sample_weight(Index i) const override { return field_.sample_weight(i); }
    PairwiseGraph graph(Index i) const override { return field_.graph(i); }
    const std::int32_t* truth(Index i) const override { return field_.truth(i); }
    const CliqueCounts& counts(Index i) const override { return *counts_[i]; }

    void score_node(Index i, Index v, const double* w, double* theta) const override {
        const Attributes& data = field_.attributes();
        const Index p = data.offsets[i] + v, K = labels();
        if (field_.has_bias()) {
            std::copy(w + bias_start(), w + bias_start() + K, theta);
        } else {
            std::fill(theta, theta + K, 0.0);
        }
        for (Index e = data.indptr[p]; e < data.indptr[p + 1]; ++e)
            axpy(K, data.value(e), w + rows_.start(data.indices[e]), theta);
    }

    void score_edge(Index i, Index e, const double* w, double* theta) const override {
        const EdgeWeights& edges = field_.edge_weights();
        const Index pairs = edges.matrix();
        std::fill(theta, theta + pairs, 0.0);
        edges.for_each_feature(i, e, [&](Index f, double x) {
            for (Index pair = 0; pair < pairs; ++pair)
                edges.with_weight(
                    f, pair, [&](Index place, double value) { theta[pair] += x * value * w[rows_.size() + place]; });
        });
    }

    double pull_node(Index i, Index v, const double* delta) const override {
        return squared_norms_[field_.attributes().offsets[i] + v] * squared_norm(labels(), delta);
    }

    double pull_edge(Index i, Index e, const double* delta, double* counts) const override {
        const EdgeWeights& edges = field_.edge_weights();
        const Index parameters = edges.shape().parameters;
        std::fill(counts, counts + parameters, 0.0);
        for (Index pair = 0; pair < edges.matrix(); ++pair)
            edges.with_weight(0, pair, [&](Index place, double value) { counts[place] += value * delta[pair]; });
        double squares = 0.0;
        edges.for_each_feature(i, e, [&](Index, double x) { squares += x * x; });
        return squares * squared_norm(parameters, counts);
    }

    void apply_node(Index i, Index v, double a, const double* delta, double* w) const override {
        const Attributes& data = field_.attributes();
        const Index p = data.offsets[i] + v, K = labels();
        if (field_.has_bias()) axpy(K, a, delta, w + bias_start());
        for (Index e = data.indptr[p]; e < data.indptr[p + 1]; ++e)
            axpy(K, a * data.value(e), delta, w + rows_.start(data.indices[e]));
    }

    void apply_edge(Index i, Index e, double a, const double* counts, double* w) const override {
        const EdgeWeights& edges = field_.edge_weights();
        const Index parameters = edges.shape().parameters;
        edges.for_each_feature(
            i, e, [&](Index f, double x) { axpy(parameters, a * x, counts, w + rows_.size() + f * parameters); });
    }

   private:
    Index bias_start() const { return dimension() - labels(); }

    const GraphField& field_;
    SharedCounts counts_;
    AllPairs rows_;
    std::vector<double> squared_norms_;  // of each node's attributes, and the bias
};

// Of chains: paths whose edges all have the transitions' weights, and whose ends have weights of their own.
template <class Rows>
class ChainCliques : public CliqueView {
   public:
    explicit ChainCliques(const Chain<Rows>& field) : field_(field) {
        Index longest = 0;
        for (Index i = 0; i < field.blocks(); ++i) longest = std::max(longest, field.length(i));
        for (std::int32_t t = 0; t + 1 < longest; ++t) ends_.insert(ends_.end(), {t, t + 1});
        counts_ = counts_by_structure(
            field.blocks(), [&](Index i) { return graph(i); },
            [](const PairwiseGraph& path) { return OrientedForests().counts(path); });
    }

    Index blocks() const override { return field_.blocks(); }
    Index labels() const override { return field_.labels(); }
    Index dimension() const override { return field_.dimension(); }
    double l2() const override { return field_.l2(); }
    double sample_weight(Index i) const override { return field_.sample_weight(i); }
    PairwiseGraph graph(Index i) const override { return {field_.length(i), field_.length(i) - 1, ends_.data()}; }
    const std::int32_t* truth(Index i) const override { return field_.truth(i); }
    const CliqueCounts& counts(Index i) const override { return *counts_[i]; }

    void score_node(Index i, Index v, const double* w, double* theta) const override {
        std::fill(theta, theta + labels(), 0.0);
        field_.for_each_dense_row(i, v, [&](Index start) { axpy(labels(), 1.0, w + start, theta); });
        for_each_entry(
            i, v, [&](std::int32_t attribute, double x) { field_.rows().score(w, attribute, x, labels(), theta); });
    }

    void score_edge(Index, Index, const double* w, double* theta) const override {
        std::fill(theta, theta + labels() * labels(), 0.0);
        const auto& transitions = field_.shape().transitions;
        for (std::size_t s = 0; s < transitions.size(); ++s) theta[transitions[s]] = w[field_.transition_start() + s];
    }

    double pull_node(Index i, Index v, const double* delta) const override {
        double norm = 0.0;
        field_.for_each_dense_row(i, v, [&](Index) { norm += squared_norm(labels(), delta); });
        for_each_entry(i, v, [&](std::int32_t attribute, double x) {
            norm += x * x * field_.rows().squared_norm_in_row(attribute, labels(), delta);
        });
        return norm;
    }

    double pull_edge(Index, Index, const double* delta, double* counts) const override {
        const auto& transitions = field_.shape().transitions;
        for (std::size_t s = 0; s < transitions.size(); ++s) counts[s] = delta[transitions[s]];
        return squared_norm(static_cast<Index>(transitions.size()), counts);
    }

    void apply_node(Index i, Index v, double a, const double* delta, double* w) const override {
        field_.for_each_dense_row(i, v, [&](Index start) { axpy(labels(), a, delta, w + start); });
        for_each_entry(i, v,
                       [&](std::int32_t attribute, double x) { field_.rows().apply(w, attribute, a * x, delta); });
    }

    void apply_edge(Index, Index, double a, const double* counts, double* w) const override {
        axpy(static_cast<Index>(field_.shape().transitions.size()), a, counts, w + field_.transition_start());
    }

   private:
    template <class Body>
    void for_each_entry(Index i, Index v, Body&& body) const {
        const Attributes& data = field_.attributes();
        const Index p = data.offsets[i] + v;
        for (Index e = data.indptr[p]; e < data.indptr[p + 1]; ++e) body(data.indices[e], data.value(e));
    }

    const Chain<Rows>& field_;
    SharedCounts counts_;
    std::vector<std::int32_t> ends_;  // of the longest chain; those of the others are its beginning
};

}  // namespace dualfield
