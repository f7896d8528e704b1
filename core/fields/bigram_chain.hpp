// A chain whose transitions depend on what is observed: to the score of a chain, each pair of neighbours adds the
// weights that its attributes have with the pair of labels.
//
// Weights:  [ those of the chain | attribute x pair of labels ].
// Compact:  [ that of the chain | the block's attributes x pairs ], see bigram_features.hpp; for an oracle it becomes a
// matrix
//           for each edge.
// Table:    that of the chain.
#pragma once

#include "fields/bigram_features.hpp"
#include "fields/chain_field.hpp"

namespace dualfield {

class BigramChain final : public FreeChain {
   public:
    // Needs the chain and the rows as long as it lives; `data` has the chain's blocks and positions.
    BigramChain(const FreeChain& chain, Attributes data, const PairRows& rows) : chain_(chain), pairs_(data, rows) {}

    bool labelled() const override { return chain_.labelled(); }
    Index blocks() const override { return chain_.blocks(); }
    Index dimension() const override { return chain_.dimension() + pairs_.size(); }
    Index labels() const override { return chain_.labels(); }
    Index compact_size(Index i) const override { return chain_.compact_size(i) + pairs_.size_of(i); }
    Index table_size(Index i) const override { return chain_.table_size(i); }
    double l2() const override { return chain_.l2(); }
    double sample_weight(Index i) const override { return chain_.sample_weight(i); }
    Index positions_before(Index i) const override { return chain_.positions_before(i); }
    const Attributes& attributes() const override { return chain_.attributes(); }
    const std::int32_t* truth(Index i) const override { return chain_.truth(i); }

    Index edge_step() const override { return labels() * labels(); }
    Index edge_matrices(Index i) const override { return length(i) - 1; }
    void write_edges(Index i, const double* theta, double* edges) const override {
        const double* transitions = theta + length(i) * labels();
        for (Index t = 0; t < length(i) - 1; ++t)
            std::copy(transitions, transitions + edge_step(), edges + t * edge_step());
        pairs_.add_to_edges(i, own(i, theta), edges);
    }

    ChainPotentials potentials(Index i, const double* theta, std::vector<double>& edges) const override {
        double* matrices = room(edges, edge_matrices(i) * edge_step());
        write_edges(i, theta, matrices);
        return {length(i), labels(), theta, matrices, edge_step()};
    }

    double infer_by(ConstrainedForwardBackward& oracle, Index i, const ChainPotentials& chain, double* table, double* m,
                    std::vector<double>& edges) const override {
        return infer_with(oracle, i, chain, table, m, edges);
    }

    template <class Oracle>
    double infer_with(Oracle& oracle, Index i, const ChainPotentials& chain, double* table, double* m,
                      std::vector<double>& edges) const {
        double* matrices = table ? table : room(edges, edge_matrices(i) * edge_step());
        double* nodes = table ? table + edge_matrices(i) * edge_step() : m;
        const Index size = length(i) * labels();
        const double log_z = oracle.marginals(chain, nodes, matrices, m + size);
        if (table) std::copy(nodes, nodes + size, m);
        gather(i, matrices, m);
        return log_z;
    }

    void add_labelling(Index i, const std::int32_t* y, double a, double* m) const override {
        chain_.add_labelling(i, y, a, m);
        pairs_.add_labelling(i, y, a, own(i, m));
    }

    void score(Index i, const double* w, double* theta) const override {
        chain_.score(i, w, theta);
        pairs_.score(i, w + chain_.dimension(), own(i, theta));
    }

    void project(Direction& direction, double* theta) const override {
        const Index i = direction.block;
        chain_.project(direction, theta);
        std::copy(direction.pairs.begin(), direction.pairs.begin() + pairs_.size_of(i), own(i, theta));
    }

    void center(Index i, double* theta) const override {
        chain_.center(i, theta);
        pairs_.center(i, own(i, theta));
    }

    double magnitude(Index i, const double* theta) const override {
        return chain_.magnitude(i, theta) + pairs_.magnitude(i, own(i, theta));
    }

    double log_partition(Index i, const double* theta, Workspace& workspace) const override {
        auto& scratch = workspace.as<Scratch>();
        return scratch.oracle.log_partition(potentials(i, theta, scratch.edges));
    }

    double infer(Index i, const double* theta, double* m, Workspace& workspace) const override {
        return infer_to(i, theta, nullptr, m, workspace);
    }

    double infer_table(Index i, const double* theta, double* table, double* m, Workspace& workspace) const override {
        return infer_to(i, theta, table, m, workspace);
    }

    double infer_untied(Index i, const double* theta, double* table, Workspace& workspace) const override {
        return chain_.infer_untied(i, theta, table, workspace.as<Scratch>().of_chain);
    }

    void subtract_truth(Index i, double* m) const override { add_labelling(i, truth(i), -1.0, m); }

    double true_score(Index i, const double* theta) const override {
        return chain_.true_score(i, theta) + pairs_.score_of(i, truth(i), own(i, theta));
    }

    double pull(Index i, const double* m, Direction& direction) const override {
        const double norm = chain_.pull(i, m, direction);
        direction.pairs.assign(own(i, m), own(i, m) + pairs_.size_of(i));
        return norm + squared_norm(pairs_.size_of(i), direction.pairs.data());
    }

    void apply(double* w, double a, const Direction& direction, const Part& part) const override {
        chain_.apply(w, a, direction, part);
        if (part.index == 0) pairs_.apply(direction.block, w + chain_.dimension(), a, direction.pairs.data());
    }

    double product(const double* w, const Direction& direction, const Part& part) const override {
        const double own =
            part.index > 0 ? 0.0 : pairs_.product(direction.block, w + chain_.dimension(), direction.pairs.data());
        return chain_.product(w, direction, part) + own;
    }

    void for_each_range_of(Index i, RangeBody body, const Part& part) const override {
        chain_.for_each_range_of(i, body, part);
        if (part.index > 0) return;
        pairs_.for_each_range_of(i, [&](Index start, Index length) { body(chain_.dimension() + start, length); });
    }

    void for_each_range(RangeBody body) const override {
        chain_.for_each_range(body);
        pairs_.for_each_range([&](Index start, Index length) { body(chain_.dimension() + start, length); });
    }

    void decode_labels(Index i, const double* theta, std::int32_t* labels, Workspace& workspace) const override {
        auto& scratch = workspace.as<Scratch>();
        scratch.viterbi.decode(potentials(i, theta, scratch.edges), labels);
    }

    void decode(Index i, const double* theta, double* m, Decoder& decoder) const override {
        decoder.labels.resize(length(i));
        decode_labels(i, theta, decoder.labels.data(), decoder.workspace);
        std::fill(m, m + compact_size(i), 0.0);
        add_labelling(i, decoder.labels.data(), 1.0, m);
    }

    void differentiate(Index i, const double* table, const double* dtheta, double* dm,
                       std::vector<double>& scratch) const override {
        const Index size = length(i) * labels(), matrices = edge_matrices(i) * edge_step();
        double* change = room(scratch, 2 * matrices + size + labels());
        double* d_edges = change + matrices;
        write_edges(i, dtheta, change);
        chain_tangent({length(i), labels(), dtheta, change, edge_step()}, table, d_edges + matrices, dm, d_edges);
        std::fill(dm + size, own(i, dm), 0.0);
        for (Index t = 0; t < length(i) - 1; ++t) axpy(edge_step(), 1.0, d_edges + t * edge_step(), dm + size);
        gather(i, d_edges, dm);
    }

    // For solvers on the dual. What speaks of tables alone is the chain's.
    void contrast(Index i, double* m) const override {
        std::fill(m, m + compact_size(i), 0.0);
        add_labelling(i, std::vector<std::int32_t>(length(i), rarest_label(labels(), length(i), truth(i))).data(), 1.0,
                      m);
        subtract_truth(i, m);
    }

    double radius_bound(Index i) const override {
        std::vector<double> m(compact_size(i), 0.0);
        Direction direction;
        subtract_truth(i, m.data());
        const double root = std::sqrt(pull(i, m.data(), direction)) + std::sqrt(largest_squared_norm(i));
        return root * root;
    }

    double largest_squared_norm(Index i) const override {
        return chain_.largest_squared_norm(i) + pairs_.largest_squared_norm(i);
    }

    void compact(Index i, const double* table, double* m) const override {
        chain_.compact(i, table, m);
        gather(i, table, m);
    }

    Segments segments(Index i) const override { return chain_.segments(i); }
    void repair_table(Index i, double* table) const override { chain_.repair_table(i, table); }
    void initial_table(Index i, double epsilon, double* table) const override {
        chain_.initial_table(i, epsilon, table);
    }
    double initial_entropy(Index i, double epsilon) const override { return chain_.initial_entropy(i, epsilon); }
    void product_table(Index i, double epsilon, double* table) const override {
        chain_.product_table(i, epsilon, table);
    }
    double product_entropy(Index i, double epsilon) const override { return chain_.product_entropy(i, epsilon); }

    void uniform(Index i, double* m) const override {
        chain_.uniform(i, m);
        const std::vector<double> same(edge_step(), 1.0 / static_cast<double>(edge_step()));
        pairs_.gather(i, [&](Index) { return same.data(); }, own(i, m));
    }

    void initial_potentials(Index i, double epsilon, double* theta) const override {
        chain_.initial_potentials(i, epsilon, theta);
        std::fill(own(i, theta), theta + compact_size(i), 0.0);
    }

   private:
    struct Scratch {
        ForwardBackward oracle;
        Workspace of_chain;
        Viterbi viterbi;
        std::vector<double> edges, marginals;
    };

    // The part of a compact vector that the chain does not have.
    template <class Number>
    Number* own(Index i, Number* compact) const {
        return compact + chain_.compact_size(i);
    }

    void gather(Index i, const double* edges, double* m) const {
        pairs_.gather(i, [&](Index e) { return edges + e * edge_step(); }, own(i, m));
    }

    double infer_to(Index i, const double* theta, double* table, double* m, Workspace& workspace) const {
        auto& scratch = workspace.as<Scratch>();
        return infer_with(scratch.oracle, i, potentials(i, theta, scratch.edges), table, m, scratch.marginals);
    }

    const FreeChain& chain_;
    BigramFeatures pairs_;
};

}  // namespace dualfield
