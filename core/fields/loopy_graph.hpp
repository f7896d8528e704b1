// Graphs of any size with approximate inference: loopy belief propagation, its tree-reweighted form, or mean field.
//
// The log-partition is replaced by the approximation's, whose derivative by the potentials is its marginals once it has
// converged. So the objective has a gradient, and every solver on the primal runs; the dual of an exact likelihood is not
// that of this objective.
#pragma once

#include <map>
#include <memory>

#include "fields/graph_field.hpp"
#include "graphs/spanning_trees.hpp"
#include "oracles/belief_propagation.hpp"
#include "oracles/graph_decoding.hpp"
#include "oracles/mean_field.hpp"

namespace dualfield {

enum class Inference { kBeliefPropagation, kTreeReweighted, kMeanField };

class LoopyGraph : public GraphField {
   public:
    LoopyGraph(const GraphData& data, Inference inference, const PropagationOptions& options)
        : GraphField(data), inference_(inference), options_(options) {
        if (inference != Inference::kTreeReweighted) return;
        std::map<std::vector<std::int32_t>, std::shared_ptr<const std::vector<double>>> known;
        for (Index i = 0; i < blocks(); ++i) {
            const PairwiseGraph graph = this->graph(i);
            std::vector<std::int32_t> key(graph.ends, graph.ends + 2 * graph.edges);
            key.push_back(static_cast<std::int32_t>(graph.nodes));
            auto& rho = known[std::move(key)];
            if (!rho) {
                std::vector<double> probabilities(graph.edges);
                SpanningForests().probabilities(graph, probabilities.data());
                rho = std::make_shared<const std::vector<double>>(std::move(probabilities));
            }
            edge_probabilities_.push_back(rho);
        }
    }

    bool exact() const override { return false; }

    double log_partition(Index i, const double* theta, Workspace& workspace) const override {
        auto& scratch = workspace.as<Scratch>();
        return run(i, theta, nullptr, nullptr, scratch, options_, false).log_partition;
    }

    double infer(Index i, const double* theta, double* m, Workspace& workspace) const override {
        return infer_and_report(i, theta, m, workspace).log_partition;
    }

    // The same, and how it went.
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

    // Central differences of the marginals, from the fixed point at theta itself, so that all three have the same one.
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
        TrwS decoder;
        std::vector<double> edge_potentials, edge_marginals;
    };

    Approximation infer_with(Index i, const double* theta, double* m, Scratch& scratch,
                             const PropagationOptions& options, bool warm) const {
        const Index edges = edges_.count(i), square = edges_.matrix();
        double* edge_marginals = room(scratch.edge_marginals, edges * square);
        const Approximation found = run(i, theta, m, edge_marginals, scratch, options, warm);
        double* edge = m + node_size(i);
        std::fill(edge, edge + edges_.compact_size(), 0.0);
        for (Index e = 0; e < edges; ++e) edges_.add_edge(i, e, edge_marginals + e * square, edge);
        return found;
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
        const double* rho = inference_ == Inference::kTreeReweighted ? edge_probabilities_[i]->data() : nullptr;
        return scratch.propagation.run(given, rho, options, nodes, edge_marginals, warm);
    }

    Inference inference_;
    PropagationOptions options_;
    std::vector<std::shared_ptr<const std::vector<double>>> edge_probabilities_;  // of tree-reweighted inference
};

}  // namespace dualfield
