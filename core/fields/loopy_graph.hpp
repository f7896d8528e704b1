// Graphs of any size with approximate inference: loopy belief propagation, its tree-reweighted form, mean field, or the
// maximum over the local polytope with entropies that are simply added up.
//
// The log-partition is replaced by the approximation's, whose derivative by the potentials is its marginals once it has
// converged. So the objective has a gradient, and every solver on the primal runs; the dual of an exact likelihood is
// not that of this objective.
#pragma once

#include <memory>
#include <string>

#include "duality/certificate.hpp"
#include "fields/graph_field.hpp"
#include "oracles/loopy_belief_propagation.hpp"
#include "oracles/loopy_decoding.hpp"
#include "oracles/loopy_local_polytope.hpp"
#include "oracles/loopy_mean_field.hpp"

namespace dualfield {

enum class Inference { kBeliefPropagation, kTreeReweighted, kMeanField, kShannon, kGini };

// What inference over the local polytope may be told: by what entropies of nodes and edges count (kShannon, kGini), or
// the probabilities of all edges of all blocks in a mixture of forests (kTreeReweighted), null to choose them.
struct EntropyOptions {
    double node_count = 1.0, edge_count = 1.0;
    const double* edge_probabilities = nullptr;
};

class LoopyGraph : public GraphField {
   public:
    LoopyGraph(const GraphData& data, Inference inference, const PropagationOptions& options,
               const EntropyOptions& entropy = {})
        : GraphField(data), inference_(inference), options_(options) {
        if (inference == Inference::kTreeReweighted && entropy.edge_probabilities) {
            counts_ = orient(data, entropy.edge_probabilities);
        } else if (inference == Inference::kTreeReweighted) {
            counts_ = counts_by_structure(blocks(), graphs(),
                                          [](const PairwiseGraph& graph) { return OrientedForests().counts(graph); });
        } else if (inference == Inference::kShannon || inference == Inference::kGini) {
            counts_ = counts_by_structure(blocks(), graphs(), [&](const PairwiseGraph& graph) {
                return constant_counts(graph, entropy.node_count, entropy.edge_count);
            });
        }
    }

    Inference inference() const { return inference_; }
    const SharedCounts& clique_counts() const { return counts_; }  // empty for kBeliefPropagation and kMeanField

    bool exact() const override { return false; }

    double log_partition(Index i, const double* theta, Workspace& workspace) const override {
        auto& scratch = workspace.as<Scratch>();
        return run(i, theta, nullptr, nullptr, scratch, options_, false).log_partition;
    }

    double upper_log_partition(Index i, const double* theta, Workspace& workspace) const override {
        auto& scratch = workspace.as<Scratch>();
        const Approximation found = run(i, theta, nullptr, nullptr, scratch, options_, false);
        return found.upper_bound + rounding_allowance(found.magnitude);
    }

    // Whether the relaxed log-partition can be bounded from both sides. It can where it is the maximum of a concave
    // function over marginals that agree.
    bool has_sides() const { return !counts_.empty(); }

    struct Sides {
        double upper, lower;
        double magnitude;  // rounding errors of both bounds are relative to it
    };

    // Bounds on the relaxed log-partition, whether or not inference has converged. Above: the oracle's bound. Below:
    // the value of the oracle's marginals after they were made to agree; m holds their counts.
    Sides sides(Index i, const double* theta, double* m, Workspace& workspace) const {
        auto& scratch = workspace.as<Scratch>();
        const Index K = labels(), square = K * K;
        const PairwiseGraph graph = this->graph(i);
        const CliqueCounts& counts = *counts_[i];
        double* edges = room(scratch.edge_marginals, graph.edges * square);
        const Approximation found = run(i, theta, m, edges, scratch, options_, false);
        const PairwisePotentials given = potentials(i, theta, scratch.edge_potentials);
        Sides sides{found.upper_bound, 0.0, found.magnitude};
        const auto add = [&](double term) {
            sides.lower += term;
            sides.magnitude += std::abs(term);
        };
        for (Index v = 0; v < graph.nodes; ++v) {
            scale(K, 1.0 / sum(K, m + v * K), m + v * K);
            add(dot(K, given.node_of(v), m + v * K));
            add(entropy({K, 0}, {counts.node[v]}, m + v * K));
        }
        std::vector<double> table(square + 2 * K);
        for (Index e = 0; e < graph.edges; ++e) {
            const double* first = m + graph.first(e) * K;
            const double* second = m + graph.second(e) * K;
            scratch.transport.repair(K, first, second, edges + e * square);
            std::copy(edges + e * square, edges + (e + 1) * square, table.begin());
            std::copy(first, first + K, table.begin() + square);
            std::copy(second, second + K, table.begin() + square + K);
            add(dot(square, given.edge_of(e), table.data()));
            add(entropy({square, K}, {counts.edge[e], counts.first[e], counts.second[e]}, table.data()));
        }
        add_edges(i, edges, m);
        return sides;
    }

    double infer(Index i, const double* theta, double* m, Workspace& workspace) const override {
        return infer_and_report(i, theta, m, workspace).log_partition;
    }

    // The same. Also reports whether inference converged.
    Approximation infer_and_report(Index i, const double* theta, double* m, Workspace& workspace) const {
        return infer_with(i, theta, m, workspace.as<Scratch>(), options_, false);
    }

    // A labelling of large score, by TRW-S.
    void decode_labels(Index i, const double* theta, std::int32_t* labels, Workspace& workspace) const override {
        auto& scratch = workspace.as<Scratch>();
        scratch.decoder.run(potentials(i, theta, scratch.edge_potentials), options_.max_sweeps, kDecodingTolerance,
                            labels);
    }

    // The table is a copy of the potentials: differentiate() starts from them again.
    Index table_size(Index i) const override { return compact_size(i); }

    double infer_table(Index i, const double* theta, double* table, double* m, Workspace& workspace) const override {
        std::copy(theta, theta + compact_size(i), table);
        return infer(i, theta, m, workspace);
    }

    // Central differences of the marginals. Both sides start from the fixed point at theta, so that all three belong to
    // the same one.
    void differentiate(Index i, const double* theta, const double* dtheta, double* dm,
                       std::vector<double>& scratch) const override {
        const Index size = compact_size(i);
        const double largest = largest_magnitude(size, dtheta);
        std::fill(dm, dm + size, 0.0);
        if (!(largest > 0.0)) return;
        const double step = kDifference / largest;
        PropagationOptions options = options_;
        options.tolerance = std::min(options.tolerance, kDifferenceTolerance);
        Scratch oracle;
        double* moved = room(scratch, 2 * size);
        double* m = moved + size;
        infer_with(i, theta, m, oracle, options, false);
        for (const double sign : {1.0, -1.0}) {
            for (Index k = 0; k < size; ++k) moved[k] = theta[k] + sign * step * dtheta[k];
            infer_with(i, moved, m, oracle, options, true);
            axpy(size, sign * 0.5 / step, m, dm);
        }
    }

   private:
    static constexpr double kDecodingTolerance = 1e-9, kDifference = 1e-4, kDifferenceTolerance = 1e-11;

    struct Scratch {
        BeliefPropagation propagation;
        MeanField mean_field;
        LocalPolytope<Entropic> shannon;
        LocalPolytope<Gini> gini;
        TrwS decoder;
        Transport transport;
        std::vector<double> edge_potentials, edge_marginals;
    };

    Approximation infer_with(Index i, const double* theta, double* m, Scratch& scratch,
                             const PropagationOptions& options, bool warm) const {
        const Index edges = edges_.count(i), square = edges_.matrix();
        double* edge_marginals = room(scratch.edge_marginals, edges * square);
        const Approximation found = run(i, theta, m, edge_marginals, scratch, options, warm);
        add_edges(i, edge_marginals, m);
        return found;
    }

    // Writes the part of the counts m that edges have.
    void add_edges(Index i, const double* edge_marginals, double* m) const {
        double* edge = m + node_size(i);
        std::fill(edge, edge + edges_.compact_size(), 0.0);
        for (Index e = 0; e < edges_.count(i); ++e) edges_.add_edge(i, e, edge_marginals + e * edges_.matrix(), edge);
    }

    double entropy(const CliqueShape& shape, const CliqueCount& count, const double* mu) const {
        return inference_ == Inference::kGini ? Gini::entropy(shape, count, mu) : Entropic::entropy(shape, count, mu);
    }

    Approximation run(Index i, const double* theta, double* nodes, double* edge_marginals, Scratch& scratch,
                      const PropagationOptions& options, bool warm) const {
        const PairwisePotentials given = potentials(i, theta, scratch.edge_potentials);
        if (inference_ == Inference::kMeanField) {
            const MeanFieldValue found =
                scratch.mean_field.run(given, {options.max_sweeps, options.tolerance}, nodes, edge_marginals, warm);
            return {found.log_partition, std::numeric_limits<double>::infinity(), found.converged, found.sweeps,
                    found.residual};
        }
        if (inference_ == Inference::kShannon)
            return scratch.shannon.run(given, *counts_[i], options, nodes, edge_marginals);
        if (inference_ == Inference::kGini) return scratch.gini.run(given, *counts_[i], options, nodes, edge_marginals);
        static constexpr double kNoEdges = 1.0;  // an array that is empty but not null
        const double* rho = nullptr;
        if (inference_ == Inference::kTreeReweighted) rho = edges_.count(i) > 0 ? counts_[i]->edge.data() : &kNoEdges;
        return scratch.propagation.run(given, rho, options, nodes, edge_marginals, warm);
    }

    // The counts for given probabilities of the edges of all blocks.
    SharedCounts orient(const GraphData& data, const double* probabilities) const {
        SharedCounts all;
        for (Index i = 0; i < blocks(); ++i) {
            auto counts = balanced_orientation(graph(i), probabilities + data.edges.offsets[i]);
            for (std::size_t v = 0; v < counts.node.size(); ++v)
                if (!(counts.node[v] > 0.0))
                    throw std::invalid_argument("node " + std::to_string(v) + " of graph " + std::to_string(i) +
                                                " has edges of too large tree weights: the entropy is not concave");
            all.push_back(std::make_shared<const CliqueCounts>(std::move(counts)));
        }
        return all;
    }

    Inference inference_;
    PropagationOptions options_;
    SharedCounts counts_;
};

}  // namespace dualfield
