// Approximate log-partition and marginals of a pairwise graph: loopy belief propagation, and its tree-reweighted form.
//
// At a fixed point of the messages the beliefs are consistent marginals, and
//     log Z = sum <theta, mu> + sum_v H(mu_v) - sum_e rho_e I(mu_e)
// is the Bethe approximation for rho = 1 and the upper bound of Wainwright, Jaakkola and Willsky (2005) for the edge
// probabilities of a mixture of spanning forests. It is computed from the normalisers of the beliefs,
//     log Z = sum_v log Z_v + sum_e rho_e (log Z_e - log Z_s - log Z_t),
// which is the same at a fixed point, costs a logarithm an edge instead of K^2, and is stationary in the messages
// there: messages wrong by eps give a value wrong by eps^2.
//
// A bound that holds whatever the messages comes with it. Beliefs and messages rewrite theta as a mixture of forests
// with node terms b_v and edge terms theta_e / rho_e - log M_{e->s} - log M_{e->t}. Summing out the leaves of a forest
// one by one multiplies by Z_s exp(r(a)), r(a) = log sum_b exp(theta_e(a, b) / rho_e + b_s(b) - log M_{e->s}(b)) - log
// M_{e->t}(a) - log Z_s, at most by the largest over a and over both directions of the edge; so
//     log Z <= sum_v log Z_v + sum_e rho_e max r,    with equality to the value above at a fixed point.
#pragma once

#include "oracles/loopy_message_passing.hpp"

namespace dualfield {

struct Approximation {
    double log_partition;
    double upper_bound;  // proven for any messages, if rho is in the forest polytope; infinite without rho
    bool converged;
    Index sweeps;
    double residual;
    double magnitude = 0.0;  // rounding errors of the upper bound are relative to it
};

class BeliefPropagation {
   public:
    // rho: a number in (0, 1] an edge, or null for all ones, plain belief propagation. Fills node_marginals, V x K, and
    // edge_marginals, E x K x K, where not null. `warm`: from the messages of the last call, if it was on the same
    // graph.
    Approximation run(const PairwisePotentials& potentials, const double* rho, const PropagationOptions& options,
                      double* node_marginals, double* edge_marginals, bool warm) {
        const Passage passage = passing_.run(potentials, rho, options, warm);
        const Index V = potentials.graph.nodes, E = potentials.graph.edges, K = potentials.labels;
        for (auto* row : {&row_, &first_, &second_}) row->resize(K);
        for (auto* square : {&table_, &exps_}) square->assign(padded(K * K), 0.0);
        log_normalisers_.resize(V);
        double nodes = 0.0, edges = 0.0, largest = 0.0, magnitude = 0.0;
        for (Index v = 0; v < V; ++v) {
            passing_.belief(v, row_.data());
            const double top = maximum(K, row_.data());
            exp_shifted(K, row_.data(), top, row_.data());
            const double total = sum(K, row_.data());
            log_normalisers_[v] = top + std::log(total);
            nodes += log_normalisers_[v] + passing_.offset(v);
            magnitude += std::abs(log_normalisers_[v]) + std::abs(passing_.offset(v));
            if (node_marginals)
                for (Index k = 0; k < K; ++k) node_marginals[v * K + k] = row_[k] / total;
        }
        for (Index e = 0; e < E; ++e) {
            const double both =
                log_normalisers_[potentials.graph.first(e)] + log_normalisers_[potentials.graph.second(e)];
            const double top = exponentiate_edge_belief(potentials, e);
            const double total = sum(K * K, exps_.data());
            edges += passing_.kernels().probability(e) * (top + std::log(total) - both);
            if (rho) largest += rho[e] * (largest_remainder(potentials, e, top) - both);
            magnitude += std::abs(top) + std::abs(both);
            if (edge_marginals) {
                const double inverse = 1.0 / total;
                for (Index k = 0; k < K * K; ++k) edge_marginals[e * K * K + k] = inverse * exps_[k];
            }
        }
        const double bound = rho ? nodes + largest : std::numeric_limits<double>::infinity();
        return {nodes + edges, bound, passage.converged, passage.sweeps, passage.residual, magnitude};
    }

   private:
    // table_ = theta_e / rho_e + cavity of the first node + cavity of the second; exps_ = exp(table_ - max); the max.
    double exponentiate_edge_belief(const PairwisePotentials& potentials, Index e) {
        const Index K = potentials.labels, P = padded(K * K);
        const double inverse = 1.0 / passing_.kernels().probability(e);
        const double* theta = potentials.edge_of(e);
        passing_.cavity(passing_.order().place_of[2 * e + 1], first_.data());
        passing_.cavity(passing_.order().place_of[2 * e], second_.data());
        double top = -std::numeric_limits<double>::infinity();
        for (Index a = 0; a < K; ++a)
            for (Index b = 0; b < K; ++b) {
                const double value = inverse * theta[a * K + b] + first_[a] + second_[b];
                table_[a * K + b] = value;
                top = value > top ? value : top;
            }
        for (Index k = 0; k < P; k += 8) {
#pragma omp simd
            for (Index j = k; j < k + 8; ++j) exps_[j] = fast_exp(table_[j] - top);
        }
        return top;
    }

    // max over labels and directions of r + log Z_s + log Z_t, with log sum_b exp(table(a, b)) - b_t(a) = r(a) + log
    // Z_s.
    double largest_remainder(const PairwisePotentials& potentials, Index e, double top) {
        const Index K = potentials.labels;
        double largest = -std::numeric_limits<double>::infinity();
        for (const bool by_rows : {true, false}) {
            const Index t = by_rows ? potentials.graph.first(e) : potentials.graph.second(e);
            const Index along = by_rows ? 1 : K, across = by_rows ? K : 1;
            passing_.belief(t, row_.data());
            for (Index a = 0; a < K; ++a) {
                double total = 0.0;
                for (Index b = 0; b < K; ++b) total += exps_[a * across + b * along];
                double log_total = top + fast_log(total > kSmallest ? total : kSmallest);
                if (!(total > kSmallest)) {  // some of the exponentials underflow
                    for (Index b = 0; b < K; ++b) second_[b] = table_[a * across + b * along];
                    log_total = log_sum_exp(K, second_.data());
                }
                largest = std::max(largest, log_total - row_[a] + log_normalisers_[t]);
            }
        }
        return largest;
    }

    // exp(-708) is the least that fast_exp gives; a sum this large misses nothing that counts.
    static constexpr double kSmallest = 1e-280;

    MessagePassing<Algebra::kSum> passing_;
    std::vector<double> log_normalisers_, row_, first_, second_, table_, exps_;
};

}  // namespace dualfield
