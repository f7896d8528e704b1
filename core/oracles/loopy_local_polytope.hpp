// The maximum over the local polytope of <theta, mu> + sum_c count_c H(mu_c), for entropies that are concave clique by
// clique.
//
// With multipliers xi for the agreement of edges with their nodes, m_ev = mu_v, the maximum is
//     min over xi of  sum_c max over the simplex of <theta_c + A_c^T xi, mu_c> + count_c H(mu_c),
// a smooth convex function of xi whose gradient is A mu, the disagreement of the maximisers. It is minimised by
// accelerated gradient descent (Nesterov, 1983) with backtracking, restarted where the value rises (O'Donoghue and
// Candes, 2015). Any xi gives an upper bound, and marginals made to agree a lower one; it has converged once they meet.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "duality/clique_entropies.hpp"
#include "duality/local_polytope.hpp"
#include "graphs/orientation.hpp"
#include "oracles/loopy_belief_propagation.hpp"

namespace dualfield {

template <class Entropy>
class LocalPolytope {
   public:
    // Writes marginals that agree, of nodes and of edges (K x K each); either may be null. The first and second counts
    // are not used. `log_partition` is the upper bound.
    Approximation run(const PairwisePotentials& potentials, const CliqueCounts& counts,
                      const PropagationOptions& options, double* nodes, double* edges) {
        prepare(potentials, counts);
        const std::size_t places = 2 * static_cast<std::size_t>(potentials.graph.edges * potentials.labels);
        xi_.assign(places, 0.0);
        ahead_ = xi_;
        double value = evaluate(xi_), step = 0.25, lower = -std::numeric_limits<double>::infinity();
        Index momentum = 0, sweep = 0;
        bool converged = false;
        for (; sweep < options.max_sweeps; ++sweep) {
            if (sweep % kBetweenChecks == 0) {
                value = evaluate(xi_);
                lower = std::max(lower, repaired_value(nullptr, nullptr));
                converged = value - lower <= options.tolerance * (1.0 + std::abs(value));
                if (converged) break;
            }
            const double here = evaluate(ahead_), slope = squared_norm(static_cast<Index>(places), gradient_.data());
            if (!(slope > 0.0) || !std::isfinite(here)) break;  // all agree, or no step leads anywhere
            const std::vector<double> direction = gradient_;
            double next = here;
            step = std::min(2.0 * step, kMostStep);
            for (int halvings = 0; halvings < kMostHalvings; ++halvings, step *= 0.5) {
                moved_ = ahead_;
                axpy(static_cast<Index>(places), -step, direction.data(), moved_.data());
                next = evaluate(moved_);
                if (next <= here - 0.5 * step * slope + kRounding * std::abs(here)) break;
            }
            momentum = next > value ? 0 : momentum + 1;
            const double beta = static_cast<double>(momentum) / static_cast<double>(momentum + 3);
            for (std::size_t k = 0; k < places; ++k) ahead_[k] = moved_[k] + beta * (moved_[k] - xi_[k]);
            xi_.swap(moved_);
            value = next;
        }
        value = evaluate(xi_);
        lower = std::max(lower, repaired_value(nodes, edges));
        return {value, value,         converged || value - lower <= options.tolerance * (1.0 + std::abs(value)),
                sweep, value - lower, magnitude_};
    }

   private:
    static constexpr Index kBetweenChecks = 5;
    static constexpr double kMostStep = 1e12, kRounding = 1e-15;
    static constexpr int kMostHalvings = 80;  // from the longest step to 1e-12

    void prepare(const PairwisePotentials& potentials, const CliqueCounts& counts) {
        potentials_ = &potentials;
        counts_ = &counts;
        const Index K = potentials.labels;
        node_mu_.resize(potentials.graph.nodes * K);
        edge_mu_.resize(potentials.graph.edges * K * K);
        gradient_.resize(2 * potentials.graph.edges * K);
        slope_.resize(K * K);
    }

    // The upper bound at xi; leaves the maximisers in *_mu_ and their disagreement in gradient_.
    double evaluate(const std::vector<double>& xi) {
        const PairwiseGraph& graph = potentials_->graph;
        const Index K = potentials_->labels;
        double total = 0.0;
        magnitude_ = 0.0;
        const auto add = [&](Index n, double count, const double* slope, double* mu) {
            const double value = entropy_.conjugate(n, count, slope, mu);
            total += value;
            magnitude_ += std::abs(value) + largest_magnitude(n, slope);
        };
        slopes_.assign(potentials_->node, potentials_->node + graph.nodes * K);
        for (Index d = 0; d < 2 * graph.edges; ++d)
            axpy(K, -1.0, xi.data() + d * K, slopes_.data() + graph.ends[d] * K);
        for (Index v = 0; v < graph.nodes; ++v)
            add(K, counts_->node[v], slopes_.data() + v * K, node_mu_.data() + v * K);
        for (Index e = 0; e < graph.edges; ++e) {
            const double* theta = potentials_->edge_of(e);
            const double* price = xi.data() + 2 * e * K;
            double* mu = edge_mu_.data() + e * K * K;
            double* disagreement = gradient_.data() + 2 * e * K;
            for (Index s = 0; s < K; ++s)
                for (Index t = 0; t < K; ++t) slope_[s * K + t] = theta[s * K + t] + price[s] + price[K + t];
            add(K * K, counts_->edge[e], slope_.data(), mu);
            for (Index k = 0; k < K; ++k) {
                disagreement[k] = sum(K, mu + k * K) - node_mu_[graph.first(e) * K + k];
                disagreement[K + k] = -node_mu_[graph.second(e) * K + k];
            }
            for (Index s = 0; s < K; ++s) axpy(K, 1.0, mu + s * K, disagreement + K);
        }
        return total;
    }

    // The value of marginals that agree and are close to the maximisers.
    double repaired_value(double* nodes, double* edges) {
        const PairwiseGraph& graph = potentials_->graph;
        const Index K = potentials_->labels;
        double total = 0.0;
        agreed_ = node_mu_;
        for (Index d = 0; d < 2 * graph.edges; ++d) {  // (A mu)_d + mu_v are the sums of the edge
            axpy(K, 1.0, gradient_.data() + d * K, agreed_.data() + graph.ends[d] * K);
            axpy(K, 1.0, node_mu_.data() + graph.ends[d] * K, agreed_.data() + graph.ends[d] * K);
        }
        for (Index v = 0; v < graph.nodes; ++v) {
            double* mean = agreed_.data() + v * K;
            for (Index k = 0; k < K; ++k) mean[k] = non_negative(mean[k]);
            scale(K, 1.0 / sum(K, mean), mean);
            total += dot(K, potentials_->node_of(v), mean) + Entropy::entropy({K, 0}, {counts_->node[v]}, mean);
        }
        for (Index e = 0; e < graph.edges; ++e) {
            slope_.assign(edge_mu_.data() + e * K * K, edge_mu_.data() + (e + 1) * K * K);
            transport_.repair(K, agreed_.data() + graph.first(e) * K, agreed_.data() + graph.second(e) * K,
                              slope_.data());
            total += dot(K * K, potentials_->edge_of(e), slope_.data()) +
                     Entropy::entropy({K * K, 0}, {counts_->edge[e]}, slope_.data());
            if (edges) std::copy(slope_.begin(), slope_.end(), edges + e * K * K);
        }
        if (nodes) std::copy(agreed_.begin(), agreed_.end(), nodes);
        return total;
    }

    const PairwisePotentials* potentials_ = nullptr;
    const CliqueCounts* counts_ = nullptr;
    Entropy entropy_;
    Transport transport_;
    double magnitude_ = 0.0;  // rounding errors of the last evaluate()'s value are relative to it
    std::vector<double> xi_, ahead_, moved_, gradient_, node_mu_, edge_mu_, slopes_, slope_, agreed_;
};

}  // namespace dualfield
