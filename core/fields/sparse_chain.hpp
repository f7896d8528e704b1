// A chain with many labels of which few transitions have a weight, see oracles/chain_sparse.hpp. It has the weights of
// the chain that it is made of, and keeps nothing of transitions that have none.
//
// Compact: [ T x K nodes | one number for each transition that has a weight | zeros ], the last so that there is room
// for what NodeFeatures writes past the nodes.
#pragma once

#include "fields/chain_field.hpp"
#include "fields/chains_together.hpp"
#include "oracles/chain_sparse_together.hpp"

namespace dualfield {

class SparseChain final : public OverChain<PlainChain> {
   public:
    // Needs the chain as long as it lives.
    explicit SparseChain(const PlainChain& chain)
        : OverChain(chain), pairs_(chain.labels(), chain.shape().transitions) {}

    const PlainChain& chain() const { return chain_; }

    // See chains_together.hpp.
    using Edges = SparseEdgesTogether;
    std::unique_ptr<Objective> objective() const override {
        return std::make_unique<ChainsTogetherObjective<SparseChain>>(*this);
    }
    const std::int32_t* truth(Index i) const { return chain_.truth(i); }
    void write_edges(const double* w, Edges& edges) const { edges.set(pairs_, w + chain_.transition_start()); }
    void score_nodes(Index i, const double* w, double* theta) const { chain_.score_nodes(i, w, theta); }
    bool masked() const { return false; }
    void mask_nodes(Index, double*) const {}
    double edge_magnitude(const double* w) const {
        return largest_magnitude(pairs_.count(), w + chain_.transition_start());
    }
    Index edge_place(Index before, Index now) const { return pairs_.find(before, now); }
    double edge_score(const Edges& edges, const double* w, Index before, Index now) const {
        const Index place = edge_place(before, now);
        return (place < 0 ? 0.0 : w[chain_.transition_start() + place]) - edges.top();
    }
    void add_edges_of(Index i, const double* m, double a, double* counts) const {
        axpy(transitions(i), a, m + nodes(i), counts);
    }
    OwnAttributes own_nodes(const Part& part) const { return chain_.own(part); }
    void add_nodes(const OwnAttributes& own, Index i, const double* m, double a, double* w) const {
        chain_.add_nodes(own, i, m, a, w);
    }
    void add_edges(const Part& part, const double* counts, double a, double* w) const {
        const Index first = pairs_.count() * part.index / part.count,
                    end = pairs_.count() * (part.index + 1) / part.count;
        axpy(end - first, a, counts + first, w + chain_.transition_start() + first);
    }

    Index compact_size(Index i) const override { return nodes(i) + std::max(transitions(i), kRoom); }
    bool scores_potentials() const override { return true; }

    ChainPotentials potentials(Index i, const double* theta, std::vector<double>& edges) const override {
        return sparse(i, theta).written_out(edges);
    }

    void score(Index i, const double* w, double* theta) const override {
        chain_.score_packed(i, w, theta);
        clear_room(i, theta);
    }
    void project(Direction& direction, double* theta) const override {
        chain_.project_packed(direction, theta);
        clear_room(direction.block, theta);
    }
    double pull(Index i, const double* m, Direction& direction) const override {
        return chain_.pull_packed(i, m, direction);
    }

    // Transitions stay: those without a weight have potential zero.
    void center(Index i, double* theta) const override {
        for (Index t = 0; t < length(i); ++t) subtract_maximum(labels(), theta + t * labels());
    }
    double magnitude(Index i, const double* theta) const override {
        double total = static_cast<double>(length(i) - 1) * largest_magnitude(transitions(i), theta + nodes(i));
        for (Index t = 0; t < length(i); ++t) total += largest_magnitude(labels(), theta + t * labels());
        return total;
    }

    double log_partition(Index i, const double* theta, Workspace& workspace) const override {
        return workspace.as<Scratch>().oracle.log_partition(sparse(i, theta));
    }
    double infer(Index i, const double* theta, double* m, Workspace& workspace) const override {
        const double log_z = workspace.as<Scratch>().oracle.marginals(sparse(i, theta), m, m + nodes(i));
        clear_room(i, m);
        return log_z;
    }

    void subtract_truth(Index i, double* m) const override { add_labelling(i, chain_.truth(i), -1.0, m); }
    double true_score(Index i, const double* theta) const override {
        const std::int32_t* y = chain_.truth(i);
        double total = 0.0;
        for_each_place(i, y, [&](Index place) { total += theta[place]; });
        return total;
    }

    void decode_labels(Index i, const double* theta, std::int32_t* labels, Workspace& workspace) const override {
        workspace.as<Scratch>().viterbi.decode(sparse(i, theta), labels);
    }
    void decode(Index i, const double* theta, double* m, Decoder& decoder) const override {
        decoder.labels.resize(length(i));
        decode_labels(i, theta, decoder.labels.data(), decoder.workspace);
        std::fill(m, m + compact_size(i), 0.0);
        add_labelling(i, decoder.labels.data(), 1.0, m);
    }

    // Tables would have all pairs of labels. Methods that need tables work on the chain itself.
    Index table_size(Index) const override { return static_cast<Index>(refuse()); }
    double infer_table(Index, const double*, double*, double*, Workspace&) const override { return refuse(); }
    void differentiate(Index, const double*, const double*, double*, std::vector<double>&) const override { refuse(); }

    void contrast(Index i, double* m) const override {
        const std::vector<std::int32_t> rarest(length(i), rarest_label(labels(), length(i), chain_.truth(i)));
        std::fill(m, m + compact_size(i), 0.0);
        add_labelling(i, rarest.data(), 1.0, m);
        subtract_truth(i, m);
    }
    void uniform(Index i, double* m) const override {
        const double K = static_cast<double>(labels());
        std::fill(m, m + nodes(i), 1.0 / K);
        std::fill(m + nodes(i), m + nodes(i) + transitions(i), static_cast<double>(length(i) - 1) / (K * K));
        clear_room(i, m);
    }
    void initial_potentials(Index i, double epsilon, double* theta) const override {
        std::fill(theta, theta + compact_size(i), 0.0);
        for (Index t = 0; t < length(i); ++t) theta[t * labels() + chain_.truth(i)[t]] = strength_of(labels(), epsilon);
    }

   private:
    static constexpr Index kRoom = 8;
    struct Scratch {
        SparseForwardBackward oracle;
        SparseViterbi viterbi;
    };

    Index nodes(Index i) const { return length(i) * labels(); }
    Index transitions(Index i) const { return length(i) > 1 ? pairs_.count() : 0; }
    SparsePotentials sparse(Index i, const double* theta) const { return {length(i), pairs_, theta, theta + nodes(i)}; }
    void clear_room(Index i, double* compact) const {
        std::fill(compact + nodes(i) + transitions(i), compact + compact_size(i), 0.0);
    }

    // The places in a compact vector that a labelling has: its nodes, and its transitions that have a weight.
    template <class Body>
    void for_each_place(Index i, const std::int32_t* y, Body&& body) const {
        for (Index t = 0; t < length(i); ++t) {
            body(t * labels() + y[t]);
            const Index pair = t > 0 ? pairs_.find(y[t - 1], y[t]) : -1;
            if (pair >= 0) body(nodes(i) + pair);
        }
    }
    void add_labelling(Index i, const std::int32_t* y, double a, double* m) const {
        for_each_place(i, y, [&](Index place) { m[place] += a; });
    }

    LabelPairs pairs_;
};

}  // namespace dualfield
