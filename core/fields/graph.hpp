// Graphs with exact inference, on a junction tree for each structure.
//
// Table: [ cliques | separators ] of the tree; cliques count +1, separators -1.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "duality/entropy.hpp"
#include "fields/graph_field.hpp"
#include "oracles/tree_inference.hpp"

namespace dualfield {

class Graph : public GraphField {
   public:
    // budget: the most numbers that the tables of one block may take.
    Graph(const GraphData& data, Index budget) : GraphField(data) {
        std::map<std::vector<std::int32_t>, std::shared_ptr<const JunctionTree>> known;
        for (Index i = 0; i < blocks(); ++i) {
            const PairwiseGraph graph = this->graph(i);
            std::vector<std::int32_t> key(graph.ends, graph.ends + 2 * graph.edges);
            key.push_back(static_cast<std::int32_t>(graph.nodes));
            const LargerCliques larger = cliques_.of(i);
            for (Index q = 0; q < larger.count; ++q) {
                key.push_back(-1);
                key.insert(key.end(), larger.first(q), larger.first(q) + larger.size(q));
            }
            auto& tree = known[std::move(key)];
            if (!tree) tree = std::make_shared<const JunctionTree>(graph, labels(), budget, larger);
            if (!tree->complete()) throw std::invalid_argument("graph " + std::to_string(i) + " " + tree->refusal());
            trees_.push_back(tree);
        }
    }

    Index treewidth(Index i) const { return trees_[i]->treewidth(); }
    bool forests() const {  // whether no graph has a loop
        for (const auto& tree : trees_)
            if (tree->treewidth() > 1) return false;
        return true;
    }
    Index table_size(Index i) const override { return trees_[i]->table_size(); }

    double log_partition(Index i, const double* theta, Workspace& workspace) const override {
        auto& scratch = workspace.as<Scratch>();
        return scratch.oracle.log_partition(*trees_[i], all_potentials(i, theta, scratch));
    }

    double infer(Index i, const double* theta, double* m, Workspace& workspace) const override {
        return infer_table(i, theta, room(workspace.as<Scratch>().table, table_size(i)), m, workspace);
    }

    double infer_table(Index i, const double* theta, double* table, double* m, Workspace& workspace) const override {
        auto& scratch = workspace.as<Scratch>();
        const double log_z = scratch.oracle.marginals(*trees_[i], all_potentials(i, theta, scratch), table);
        compact(i, table, m);
        return log_z;
    }

    double infer_untied(Index i, const double* theta, double* table, Workspace& workspace) const override {
        return workspace.as<Scratch>().oracle.untied_marginals(*trees_[i], theta, table);
    }

    void decode_labels(Index i, const double* theta, std::int32_t* labels, Workspace& workspace) const override {
        auto& scratch = workspace.as<Scratch>();
        scratch.oracle.decode(*trees_[i], all_potentials(i, theta, scratch), labels);
    }

    // `count` exact samples, count x nodes.
    void sample(Index i, const double* theta, Index count, Random& random, std::int32_t* samples) const {
        Scratch scratch;
        scratch.oracle.sample(*trees_[i], all_potentials(i, theta, scratch), count, random, samples);
    }

    void compact(Index i, const double* table, double* m) const override {
        double* edge = m + node_size(i);
        double* larger = m + clique_start(i);
        std::fill(edge, edge + edges_.compact_size() + cliques_.size(), 0.0);
        JunctionTreeOracle().read(
            *trees_[i], table, m, [&](Index e, const double* mu) { edges_.add_edge(i, e, mu, edge); },
            [&](Index q, const double* mu) { add_clique(i, q, mu, larger); });
    }

    void differentiate(Index i, const double* table, const double* dtheta, double* dm,
                       std::vector<double>& scratch) const override {
        Scratch own;
        own.oracle.differentiate(*trees_[i], table, all_potentials(i, dtheta, own), room(scratch, table_size(i)));
        compact(i, scratch.data(), dm);
    }

    void contrast(Index i, double* m) const override {
        std::vector<Index> occurrences(labels(), 0);
        for (Index v = 0; v < nodes(i); ++v) ++occurrences[truth(i)[v]];
        const auto rarest = std::min_element(occurrences.begin(), occurrences.end()) - occurrences.begin();
        const std::vector<std::int32_t> everywhere(nodes(i), static_cast<std::int32_t>(rarest));
        std::fill(m, m + compact_size(i), 0.0);
        add_labelling(i, everywhere.data(), 1.0, m);
        subtract_truth(i, m);
    }

    double radius_bound(Index i) const override { return bounded_radius(i); }

    Segments segments(Index i) const override {
        const JunctionTree& tree = *trees_[i];
        return {{{{0, tree.cliques_length(), 1.0}, {tree.cliques_length(), tree.separators_length(), -1.0}}}, 2};
    }

    void repair_table(Index i, double* table) const override { JunctionTreeOracle().repair(*trees_[i], table); }

    void uniform(Index i, double* m) const override {
        const double K = static_cast<double>(labels());
        std::fill(m, m + node_size(i), 1.0 / K);
        double* edge = m + node_size(i);
        for (Index f = 0; f < edges_.shape().features; ++f, edge += edges_.matrix())
            std::fill(edge, edge + edges_.matrix(), edges_.total(i, f) / (K * K));
        cliques_.for_each_tensor([&](Index start, Index length) {
            std::fill(edge + start, edge + start + length,
                      static_cast<double>(cliques_.occurrences(i, start)) / static_cast<double>(length));
        });
    }

    void initial_table(Index i, double epsilon, double* table) const override {
        for_each_part(i, [&](const std::int32_t* nodes, Index size, Index offset, Index length, double) {
            std::fill(table + offset, table + offset + length, epsilon / static_cast<double>(length));
            table[offset + entry_of(labels(), size, [&](Index v) { return truth(i)[nodes[v]]; })] += 1.0 - epsilon;
        });
    }

    double initial_entropy(Index i, double epsilon) const override {
        double total = 0.0;
        for_each_part(i, [&](const std::int32_t*, Index, Index, Index length, double count) {
            total += count * mixture_entropy(length, epsilon);
        });
        return total;
    }

    void product_table(Index i, double epsilon, double* table) const override {
        const Index K = labels();
        std::vector<double> nodes(node_size(i), epsilon / static_cast<double>(K));
        for (Index v = 0; v < this->nodes(i); ++v) nodes[v * K + truth(i)[v]] += 1.0 - epsilon;
        for_each_part(i, [&](const std::int32_t* members, Index size, Index offset, Index, double) {
            fill_product(size, [&](Index v) { return nodes.data() + members[v] * K; }, table + offset);
        });
    }

    double product_entropy(Index i, double epsilon) const override {
        return static_cast<double>(nodes(i)) * mixture_entropy(labels(), epsilon);
    }

    void initial_potentials(Index i, double epsilon, double* theta) const override {
        std::fill(theta, theta + compact_size(i), 0.0);
        for (Index v = 0; v < nodes(i); ++v) theta[v * labels() + truth(i)[v]] = strength_of(labels(), epsilon);
    }

   private:
    struct Scratch {
        JunctionTreeOracle oracle;
        std::vector<double> edges, table;
        std::vector<const double*> tensors;
    };

    PairwisePotentials all_potentials(Index i, const double* theta, Scratch& scratch) const {
        PairwisePotentials all = potentials(i, theta, scratch.edges);
        all.larger = cliques_.tensors(i, theta + clique_start(i), scratch.tensors);
        return all;
    }

    // larger += the marginals of one larger clique
    void add_clique(Index i, Index q, const double* mu, double* larger) const {
        const Index size = cliques_.of(i).size(q);
        axpy(table_length(labels(), size), 1.0, mu, larger + cliques_.tensor_of(size));
    }

    // The table of independent nodes, the v-th of them with probabilities of(v).
    template <class Of>
    void fill_product(Index size, Of&& of, double* table) const {
        const Index K = labels();
        table[0] = 1.0;
        Index filled = 1;  // a table over the first nodes, to which the next one is multiplied from the end
        for (Index v = 0; v < size; ++v, filled *= K)
            for (Index entry = filled - 1; entry >= 0; --entry) {
                const double before = table[entry];
                for (Index k = K - 1; k >= 0; --k) table[entry * K + k] = before * of(v)[k];
            }
    }

    // body(nodes, how many, where their table is, its length, its counting number) for all cliques and separators.
    template <class Body>
    void for_each_part(Index i, Body&& body) const {
        const JunctionTree& tree = *trees_[i];
        for (const Clique& c : tree.cliques()) {
            body(tree.nodes(c), c.size, c.table, c.length, 1.0);
            if (c.rows > 0) body(tree.nodes(c), c.shared, c.separator, c.rows, -1.0);
        }
    }

    std::vector<std::shared_ptr<const JunctionTree>> trees_;
};

}  // namespace dualfield
