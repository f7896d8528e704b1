// A chain with many labels of which few transitions have a weight, see oracles/chain_sparse.hpp. It has the weights of
// the chain that it is made of, and keeps nothing of transitions that have none. Some labellings may be forbidden, as
// in constrained_chain.hpp; potentials stay finite, and those of what is forbidden become -inf on their way to an
// oracle.
//
// Compact: [ T x K nodes | one number for each transition that has a weight | zeros ], the last so that there is room
// for what NodeFeatures writes past the nodes.
#pragma once

#include <map>

#include "fields/chain_field.hpp"
#include "fields/chains_together.hpp"
#include "fields/sparse_rules.hpp"
#include "oracles/chain_sparse_together.hpp"
#include "oracles/chain_sparse_viterbi_together.hpp"

namespace dualfield {

class SparseChain final : public OverChain<PlainChain> {
   public:
    // Needs the chain as long as it lives.
    explicit SparseChain(const PlainChain& chain)
        : OverChain(chain), rules_(chain.labels(), chain.shape().transitions) {}
    // Needs the masks only now. Throws where a block has no allowed labelling.
    SparseChain(const PlainChain& chain, const AllowedLabels& allowed)
        : OverChain(chain), rules_(chain.labels(), chain.shape().transitions, allowed.transitions) {
        find_live(allowed);
    }

    const PlainChain& chain() const { return chain_; }

    // See chains_together.hpp. What edges a decoder has, it views.
    using Edges = SparseEdgesTogether;
    using DecoderTogether = SparseViterbiTogether;
    void write_edges(const double* w, DecoderTogether& decoder, std::vector<double>& buffer) const {
        decoder.set_edges(rules_.pairs(), rules_.potentials(w + chain_.transition_start(), buffer));
    }
    std::unique_ptr<Objective> objective() const override {
        return std::make_unique<ChainsTogetherObjective<const SparseChain&>>(*this);
    }
    const std::int32_t* truth(Index i) const { return chain_.truth(i); }
    void write_edges(const double* w, Edges& edges) const {
        std::vector<double> buffer;
        edges.set(rules_.pairs(), rules_.potentials(w + chain_.transition_start(), buffer));
    }
    void score_nodes(Index i, const double* w, double* theta) const { chain_.score_nodes(i, w, theta); }
    bool masked() const { return !live_.empty(); }
    void mask_nodes(Index i, double* theta) const {
        if (!masked()) return;
        const char* possible = live(i);
        const Index count = nodes(i);
#pragma omp simd
        for (Index k = 0; k < count; ++k) theta[k] = possible[k] ? theta[k] : kImpossible;
    }
    double edge_magnitude(const double* w) const {
        return largest_magnitude(rules_.weighted(), w + chain_.transition_start());
    }
    Index edge_place(Index before, Index now) const { return rules_.pairs().find(before, now); }
    double edge_score(const Edges& edges, const double* w, Index before, Index now) const {
        const Index weight = weight_of(before, now);
        return (weight < 0 ? 0.0 : w[chain_.transition_start() + weight]) - edges.top();
    }
    void add_edges_of(Index i, const double* m, double a, double* counts) const {
        for (Index s = 0; s < transitions(i); ++s) counts[rules_.place_of(s)] += a * m[nodes(i) + s];
    }
    OwnAttributes own_nodes(const Part& part) const { return chain_.own(part); }
    void add_nodes(const OwnAttributes& own, Index i, const double* m, double a, double* w) const {
        chain_.add_nodes(own, i, m, a, w);
    }
    void add_edges(const Part& part, const double* counts, double a, double* w) const {
        const Index all = rules_.weighted(), end = all * (part.index + 1) / part.count;
        for (Index s = all * part.index / part.count; s < end; ++s)
            w[chain_.transition_start() + s] += a * counts[rules_.place_of(s)];
    }

    Index compact_size(Index i) const override { return nodes(i) + std::max(transitions(i), kRoom); }
    bool scores_potentials() const override { return true; }

    bool constrained() const override { return masked(); }
    ChainPotentials potentials(Index i, const double* theta, std::vector<double>& buffer) const override {
        std::vector<double> edges;
        Masked masked_potentials;
        const ChainPotentials chain = sparse(i, theta, masked_potentials).written_out(edges);
        buffer.assign(chain.node, chain.node + nodes(i));
        buffer.insert(buffer.end(), edges.begin(), edges.end());
        return {chain.length, chain.labels, buffer.data(), buffer.data() + nodes(i), 0};
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
        const Index K = labels();
        for (Index t = 0; t < length(i); ++t, theta += K) {
            if (!masked()) {
                subtract_maximum(K, theta);
                continue;
            }
            const char* possible = live(i) + t * K;
            double top = kImpossible;
            for (Index k = 0; k < K; ++k) top = possible[k] ? std::max(top, theta[k]) : top;
            for (Index k = 0; k < K; ++k) theta[k] -= top;
        }
    }
    double magnitude(Index i, const double* theta) const override {
        double total = static_cast<double>(length(i) - 1) * largest_magnitude(transitions(i), theta + nodes(i));
        for (Index t = 0; t < length(i); ++t) total += largest_magnitude(labels(), theta + t * labels());
        return total;
    }

    double log_partition(Index i, const double* theta, Workspace& workspace) const override {
        auto& scratch = workspace.as<Scratch>();
        return scratch.oracle.log_partition(sparse(i, theta, scratch.masked));
    }
    double infer(Index i, const double* theta, double* m, Workspace& workspace) const override {
        auto& scratch = workspace.as<Scratch>();
        const SparsePotentials chain = sparse(i, theta, scratch.masked);
        if (!masked() || length(i) == 1) {
            const double log_z = scratch.oracle.marginals(chain, m, m + nodes(i));
            clear_room(i, m);
            return log_z;
        }
        double* edges = room(scratch.edges, rules_.pairs().count());
        const double log_z = scratch.oracle.marginals(chain, m, edges);
        for (Index s = 0; s < transitions(i); ++s) m[nodes(i) + s] = edges[rules_.place_of(s)];
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
        auto& scratch = workspace.as<Scratch>();
        scratch.viterbi.decode(sparse(i, theta, scratch.masked), labels);
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

    // The labelling that has as many labels rare in y_i as possible.
    void contrast(Index i, double* m) const override {
        if (masked()) {
            std::vector<double> theta(compact_size(i), 0.0), occurrences(labels(), 0.0);
            for (Index t = 0; t < length(i); ++t) occurrences[chain_.truth(i)[t]] -= 1.0;
            for (Index t = 0; t < length(i); ++t)
                std::copy(occurrences.begin(), occurrences.end(), theta.begin() + t * labels());
            Decoder decoder;
            decode(i, theta.data(), m, decoder);
        } else {
            const std::vector<std::int32_t> rarest(length(i), rarest_label(labels(), length(i), chain_.truth(i)));
            std::fill(m, m + compact_size(i), 0.0);
            add_labelling(i, rarest.data(), 1.0, m);
        }
        subtract_truth(i, m);
    }
    void uniform(Index i, double* m) const override {
        if (masked()) {
            Workspace workspace;
            infer(i, std::vector<double>(compact_size(i), 0.0).data(), m, workspace);
            return;
        }
        const double K = static_cast<double>(labels());
        std::fill(m, m + nodes(i), 1.0 / K);
        std::fill(m + nodes(i), m + nodes(i) + transitions(i), static_cast<double>(length(i) - 1) / (K * K));
        clear_room(i, m);
    }
    // Where labels are constrained each wrong label has the potential -s, as in constrained_chain.hpp.
    void initial_potentials(Index i, double epsilon, double* theta) const override {
        const double strength = strength_of(labels(), epsilon);
        std::fill(theta, theta + compact_size(i), 0.0);
        if (masked()) std::fill(theta, theta + nodes(i), -strength);
        for (Index t = 0; t < length(i); ++t) theta[t * labels() + chain_.truth(i)[t]] = masked() ? 0.0 : strength;
    }

   private:
    static constexpr Index kRoom = 8;
    struct Masked {
        std::vector<double> nodes, edges;
    };
    struct Scratch {
        SparseForwardBackward oracle;
        SparseViterbi viterbi;
        Masked masked;
        std::vector<double> edges;
    };

    Index nodes(Index i) const { return length(i) * labels(); }
    Index transitions(Index i) const { return length(i) > 1 ? rules_.weighted() : 0; }
    Index weight_of(Index before, Index now) const {
        const Index pair = edge_place(before, now);
        return pair < 0 ? -1 : rules_.weight_of(pair);
    }

    SparsePotentials sparse(Index i, const double* theta, Masked& buffer) const {
        const double* edge = theta + nodes(i);
        if (!masked()) return {length(i), rules_.pairs(), theta, edge};
        buffer.nodes.assign(theta, theta + nodes(i));
        mask_nodes(i, buffer.nodes.data());
        if (length(i) > 1) edge = rules_.potentials(edge, buffer.edges);
        return {length(i), rules_.pairs(), buffer.nodes.data(), edge, true};
    }
    const char* live(Index i) const { return live_.data() + positions_before(i) * labels(); }

    // Finds the labels that some allowed labelling has, all positions x K.
    void find_live(const AllowedLabels& allowed) {
        const Index K = labels();
        live_.assign(positions_before(blocks()) * K, 1);
        std::map<Index, const char*> found;  // by length: without sets at positions only the length matters
        for (Index i = 0; i < blocks(); ++i) {
            const Index T = length(i), first = positions_before(i) * K;
            char* live = live_.data() + first;
            const auto [same, is_new] = found.try_emplace(T, live);
            if (!is_new && !allowed.positions) {
                std::copy(same->second, same->second + T * K, live);
                continue;
            }
            for (Index k = 0; allowed.positions && k < T * K; ++k) live[k] = allowed.positions[first + k];
            for (Index k = 0; k < K; ++k) {
                if (!allowed.begin[k]) live[k] = 0;
                if (!allowed.end[k]) live[(T - 1) * K + k] = 0;
            }
            const Index reached = rules_.keep_live(T, live);
            if (reached < T) refuse_block(i, T, "that the constraints and the allowed sets leave", reached);
        }
    }

    void clear_room(Index i, double* compact) const {
        std::fill(compact + nodes(i) + transitions(i), compact + compact_size(i), 0.0);
    }

    // The places in a compact vector that a labelling has: its nodes, and its transitions that have a weight.
    template <class Body>
    void for_each_place(Index i, const std::int32_t* y, Body&& body) const {
        for (Index t = 0; t < length(i); ++t) {
            body(t * labels() + y[t]);
            const Index weight = t > 0 ? weight_of(y[t - 1], y[t]) : -1;
            if (weight >= 0) body(nodes(i) + weight);
        }
    }
    void add_labelling(Index i, const std::int32_t* y, double a, double* m) const {
        for_each_place(i, y, [&](Index place) { m[place] += a; });
    }

    SparseRules rules_;
    std::vector<char> live_;  // positions x K; empty where every labelling is allowed
};

}  // namespace dualfield
