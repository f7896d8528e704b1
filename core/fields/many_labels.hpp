// A chain with many labels of which any pair may follow, as chains_together.hpp asks for it: its blocks share one
// matrix of edges, and some of them go over it together.
#pragma once

#include "fields/chains_together.hpp"
#include "oracles/chain_dense_together.hpp"

namespace dualfield {

// Inner: a PlainChain, which must live as long.
template <class Inner>
class ManyLabels {
   public:
    static constexpr Index kFewest = 100;  // with fewer labels their matrix is near enough to each block

    using Edges = DenseEdgesTogether;
    using Workspace = typename Inner::Workspace;

    explicit ManyLabels(const Inner& chain) : chain_(chain) {}

    Index labels() const { return chain_.labels(); }
    Index length(Index i) const { return chain_.positions_before(i + 1) - chain_.positions_before(i); }
    Index positions_before(Index i) const { return chain_.positions_before(i); }
    double sample_weight(Index i) const { return chain_.sample_weight(i); }
    Index compact_size(Index i) const { return chain_.compact_size(i); }
    const std::int32_t* truth(Index i) const { return chain_.truth(i); }

    void score(Index i, const double* w, double* theta) const { chain_.score(i, w, theta); }
    void center(Index i, double* theta) const { chain_.center(i, theta); }
    double true_score(Index i, const double* theta) const { return chain_.true_score(i, theta); }
    double log_partition(Index i, const double* theta, Workspace& workspace) const {
        return chain_.log_partition(i, theta, workspace);
    }
    double infer(Index i, const double* theta, double* m, Workspace& workspace) const {
        return chain_.infer(i, theta, m, workspace);
    }
    void posterior(Index i, const double* theta, double* m, Workspace& workspace) const {
        infer(i, theta, m, workspace);
    }

    void write_edges(const double* w, Edges& edges) const {
        std::vector<double> potentials(labels() * labels(), 0.0);
        for_each_transition({}, [&](Index s, Index pair) { potentials[pair] = w[chain_.transition_start() + s]; });
        edges.set(labels(), std::move(potentials));
    }
    void score_nodes(Index i, const double* w, double* theta) const { chain_.score_nodes(i, w, theta); }
    bool masked() const { return false; }
    void mask_nodes(Index, double*) const {}
    double edge_magnitude(const double* w) const {
        return largest_magnitude(std::ssize(chain_.shape().transitions), w + chain_.transition_start());
    }
    double edge_score(const Edges& edges, const double*, Index before, Index now) const {
        return edges.potential(before, now);
    }
    Index edge_place(Index before, Index now) const { return before * labels() + now; }
    void add_edges_of(Index i, const double* m, double a, double* counts) const {
        if (length(i) > 1) axpy(labels() * labels(), a, m + length(i) * labels(), counts);
    }
    OwnAttributes own_nodes(const Part& part) const { return chain_.own(part); }
    void add_nodes(const OwnAttributes& own, Index i, const double* m, double a, double* w) const {
        chain_.add_nodes(own, i, m, a, w);
    }
    void add_edges(const Part& part, const double* counts, double a, double* w) const {
        for_each_transition(part, [&](Index s, Index pair) { w[chain_.transition_start() + s] += a * counts[pair]; });
    }

   private:
    template <class Body>
    void for_each_transition(const Part& part, Body&& body) const {
        const auto& transitions = chain_.shape().transitions;
        const Index all = std::ssize(transitions), end = all * (part.index + 1) / part.count;
        for (Index s = all * part.index / part.count; s < end; ++s) body(s, Index{transitions[s]});
    }

    const Inner& chain_;
};

}  // namespace dualfield
