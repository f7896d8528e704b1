// Naive mean field: the best approximation of a pairwise graph by independent nodes, a lower bound on log Z.
//
// Coordinate ascent on  sum <theta, mu> + sum_v H(mu_v)  over products mu of node distributions. Given the others,
// the best distribution of node v is
//     mu_v(a) ~ exp(theta_v(a) + sum over its edges of sum_b theta_e(a, b) mu_u(b)),
// so no update lowers the bound. It has local optima; the start is the softmax of the node potentials.
#pragma once

#include "duality/entropy.hpp"
#include "graphs/sweep_order.hpp"
#include "simd/vector.hpp"

namespace dualfield {

struct MeanFieldOptions {
    Index max_sweeps = 200;
    double tolerance = 1e-8;  // on the largest change of a marginal in a sweep
};

struct MeanFieldValue {
    double log_partition;  // the lower bound
    bool converged;
    Index sweeps;
    double residual;
};

class MeanField {
   public:
    // Fills node_marginals, V x K, and edge_marginals, E x K x K (the outer products), where not null. `warm`: from the
    // marginals of the last call, if it was on the same graph with as many labels.
    MeanFieldValue run(const PairwisePotentials& potentials, const MeanFieldOptions& options, double* node_marginals,
                       double* edge_marginals, bool warm) {
        const PairwiseGraph& graph = potentials.graph;
        const Index V = graph.nodes, E = graph.edges, K = potentials.labels;
        const bool known = !order_.build(graph) && static_cast<Index>(marginals_.size()) == V * K;
        field_.resize(K);
        marginals_.resize(V * K);
        if (!warm || !known || E == 0)
            for (Index v = 0; v < V; ++v) softmax(K, potentials.node_of(v), &marginals_[v * K]);
        MeanFieldValue value{0.0, E == 0, 0, 0.0};
        while (!value.converged && value.sweeps < options.max_sweeps) {
            value.residual = sweep(potentials);
            ++value.sweeps;
            value.converged = value.residual <= options.tolerance;
        }
        // Every edge once: a node's field counts those to later nodes only.
        value.log_partition = -negative_entropy(V * K, marginals_.data());
        for (Index v = 0; v < V; ++v) {
            collect(potentials, v, true);
            value.log_partition += dot(K, field_.data(), &marginals_[v * K]);
        }
        if (node_marginals) std::copy(marginals_.begin(), marginals_.end(), node_marginals);
        if (edge_marginals)
            for (Index e = 0; e < E; ++e)
                for (Index a = 0; a < K; ++a)
                    for (Index b = 0; b < K; ++b)
                        edge_marginals[(e * K + a) * K + b] =
                            marginals_[graph.first(e) * K + a] * marginals_[graph.second(e) * K + b];
        return value;
    }

   private:
    static void softmax(Index K, const double* x, double* out) {
        exp_shifted(K, x, maximum(K, x), out);
        scale(K, 1.0 / sum(K, out), out);
    }

    // Every node once, breadth first; the largest change of a marginal.
    double sweep(const PairwisePotentials& potentials) {
        const Index K = potentials.labels;
        double residual = 0.0;
        for (const std::int32_t v : order_.nodes) {
            collect(potentials, v, false);
            softmax(K, field_.data(), field_.data());
            double* marginal = &marginals_[v * K];
            for (Index a = 0; a < K; ++a) {
                residual = std::max(residual, std::abs(field_[a] - marginal[a]));
                marginal[a] = field_[a];
            }
        }
        return residual;
    }

    // field_ = theta_v + sum over edges of E_{mu_u} theta_e
    void collect(const PairwisePotentials& potentials, Index v, bool later_only) {
        const Index K = potentials.labels;
        std::copy(potentials.node_of(v), potentials.node_of(v) + K, field_.begin());
        for (Index k = order_.starts[v]; k < order_.starts[v + 1]; ++k) {
            const Index d = order_.incoming[k], u = potentials.graph.ends[d ^ 1];
            if (later_only && order_.rank[u] < order_.rank[v]) continue;
            const double* theta = potentials.edge_of(d / 2);
            const double* other = &marginals_[u * K];
            for (Index a = 0; a < K; ++a) {
                if (d % 2) {
                    axpy(K, other[a], theta + a * K, field_.data());
                } else {
                    field_[a] += dot(K, theta + a * K, other);
                }
            }
        }
    }

    SweepOrder order_;
    std::vector<double> marginals_, field_;
};

}  // namespace dualfield
