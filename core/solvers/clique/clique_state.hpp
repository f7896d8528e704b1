// Pseudo-marginals of all cliques of a data set, the multipliers that make them agree, and the weights that go with
// them.
//
// With m_ev the sums of an edge's marginals over its other end, agreement means A mu = 0, (A mu)_ev = m_ev - mu_v for
// both ends v of every edge e. The multipliers xi have the same places. In sum units, with H the clique entropies of
// block i,
//     D_rho(mu, xi) = sum_i c_i [ H(mu_i) + <xi_i, A mu_i> - |A mu_i|^2 / (2 rho) ] - l2/2 |w(mu)|^2,
//     w(mu) = -1/l2 sum_i c_i (Psi_i mu_i - Psi_i truth_i).
// Where A mu = 0 this is the dual of the relaxed problem. repaired_dual() turns mu that agree only roughly into such
// marginals.
#pragma once

#include <numeric>
#include <vector>

#include "base/archive.hpp"
#include "duality/certificate.hpp"
#include "duality/clique_entropies.hpp"
#include "duality/local_polytope.hpp"
#include "fields/clique_view.hpp"
#include "solvers/dual/best_epsilon.hpp"

namespace dualfield {

// A node or an edge: the block that it is in, its number there, and its weights in the sums.
struct CliquePlace {
    Index block, number;
    double weight;  // the sample weight of the block
    CliqueCount count;
    double norm;          // |Psi_c delta|^2 / |delta|^2, on average over delta
    Index first, second;  // the nodes of an edge
};

template <class Entropy>
class CliqueState {
   public:
    explicit CliqueState(const CliqueView& view) : view_(view), K_(view.labels()) {
        list_cliques();
        list_incident_edges();
        node_mu_.assign(nodes_.size() * node_shape().padded_size(), 0.0);
        edge_mu_.assign(edges_.size() * edge_shape().padded_size(), 0.0);
        multipliers_.assign(2 * edges_.size() * K_, 0.0);
        entropies_.resize(nodes_.size() + edges_.size());
        weights_.assign(view.dimension(), 0.0);
    }

    const CliqueView& view() const { return view_; }
    Index labels() const { return K_; }
    Index node_count() const { return static_cast<Index>(nodes_.size()); }
    Index edge_count() const { return static_cast<Index>(edges_.size()); }
    Index cliques() const { return node_count() + edge_count(); }
    CliqueShape node_shape() const { return {K_, 0}; }
    CliqueShape edge_shape() const { return {K_ * K_, K_}; }
    const CliquePlace& node(Index v) const { return nodes_[v]; }
    const CliquePlace& edge(Index e) const { return edges_[e]; }

    // node_mu: the marginals of a node. edge_mu: the marginals of an edge, followed by the sums at its two ends.
    // end_mu: those sums at the end d = 2 e + i, end i of edge e. multipliers: those at the end d.
    double* node_mu(Index v) { return node_mu_.data() + v * node_shape().padded_size(); }
    double* edge_mu(Index e) { return edge_mu_.data() + e * edge_shape().padded_size(); }
    const double* node_mu(Index v) const { return node_mu_.data() + v * node_shape().padded_size(); }
    const double* edge_mu(Index e) const { return edge_mu_.data() + e * edge_shape().padded_size(); }
    const double* end_mu(Index d) const { return edge_mu(d / 2) + (K_ + d % 2) * K_; }
    const double* multipliers(Index d) const { return multipliers_.data() + d * K_; }
    Index node_at(Index d) const { return d % 2 ? edges_[d / 2].second : edges_[d / 2].first; }

    // The edge ends d that meet at a node.
    Index degree(Index v) const { return starts_[v + 1] - starts_[v]; }
    const Index* ends_at(Index v) const { return ends_.data() + starts_[v]; }

    std::vector<double>& weights() { return weights_; }
    const std::vector<double>& weights() const { return weights_; }
    double& entropy(Index clique) { return entropies_[clique]; }

    // Every clique begins at epsilon * uniform + (1 - epsilon) * truth. NaN takes the epsilon of the largest dual
    // value.
    // Returns epsilon.
    double begin(double epsilon) {
        std::fill(weights_.begin(), weights_.end(), 0.0);
        add_uniform_to_weights();
        if (std::isnan(epsilon)) epsilon = best_start();
        scale(static_cast<Index>(weights_.size()), epsilon, weights_.data());
        for (Index v = 0; v < node_count(); ++v) {
            write_start(epsilon, K_, true_node(v), node_mu(v));
            entropies_[v] = Entropy::entropy(node_shape(), nodes_[v].count, node_mu(v));
        }
        for (Index e = 0; e < edge_count(); ++e) {
            write_start(epsilon, K_ * K_, true_edge(e), edge_mu(e));
            sum_ends(edge_mu(e));
            entropies_[node_count() + e] = Entropy::entropy(edge_shape(), edges_[e].count, edge_mu(e));
        }
        return epsilon;
    }

    // Fills the sums at an edge's ends.
    void sum_ends(double* table) const {
        double* first = table + K_ * K_;
        double* second = first + K_;
        std::fill(second, second + K_, 0.0);
        for (Index s = 0; s < K_; ++s) {
            first[s] = sum(K_, table + s * K_);
            axpy(K_, 1.0, table + s * K_, second);
        }
    }

    // xi -= A mu / rho
    void move_multipliers(double rho) {
        for (Index d = 0; d < 2 * edge_count(); ++d) {
            double* xi = multipliers_.data() + d * K_;
            const double* m = end_mu(d);
            const double* mu = node_mu(node_at(d));
            for (Index k = 0; k < K_; ++k) xi[k] -= (m[k] - mu[k]) / rho;
        }
    }

    double violation() const {  // |A mu|
        double total = 0.0;
        for_each_disagreement([&](double, double r, double) { total += r * r; });
        return std::sqrt(total);
    }

    double augmented_dual(double rho) const {
        double value = -0.5 * view_.l2() * squared_norm(static_cast<Index>(weights_.size()), weights_.data());
        for (Index c = 0; c < cliques(); ++c) value += weight(c) * entropies_[c];
        for_each_disagreement([&](double c, double r, double xi) { value += c * (xi * r - 0.5 / rho * r * r); });
        return value;
    }

    struct Repaired {
        double dual, magnitude;
    };

    // The dual value of marginals that agree and are close to the present ones, and the magnitude that its rounding
    // error is relative to.
    Repaired repaired_dual() {
        const double l2 = view_.l2();
        CompensatedSum entropies;
        double magnitude = 0.0,
               terms = 0.0;  // magnitudes of the entropies, and of the weights of these marginals
        image_.assign(weights_.size(), 0.0);
        agreed_.resize(nodes_.size() * K_);
        const auto count = [&](const CliquePlace& place, double entropy) {
            entropies.add(place.weight * entropy);
            magnitude += place.weight * std::abs(entropy);
            terms += place.weight * std::sqrt(place.norm);
        };
        for (Index v = 0; v < node_count(); ++v) {
            double* mean = agreed_.data() + v * K_;
            std::copy(node_mu(v), node_mu(v) + K_, mean);
            for (Index n = 0; n < degree(v); ++n) axpy(K_, 1.0, end_mu(ends_at(v)[n]), mean);
            scale(K_, 1.0 / sum(K_, mean), mean);
            count(nodes_[v], Entropy::entropy(node_shape(), nodes_[v].count, mean));
            scratch_.assign(mean, mean + K_);
            scratch_[true_node(v)] -= 1.0;
            view_.apply_node(nodes_[v].block, nodes_[v].number, -nodes_[v].weight / l2, scratch_.data(), image_.data());
        }
        counts_.resize(K_ * K_);
        for (Index e = 0; e < edge_count(); ++e) {
            const CliquePlace& edge = edges_[e];
            scratch_.assign(edge_mu(e), edge_mu(e) + edge_shape().size());
            transport_.repair(K_, agreed_.data() + edge.first * K_, agreed_.data() + edge.second * K_, scratch_.data());
            sum_ends(scratch_.data());
            count(edge, Entropy::entropy(edge_shape(), edge.count, scratch_.data()));
            scratch_[true_edge(e)] -= 1.0;
            view_.pull_edge(edge.block, edge.number, scratch_.data(), counts_.data());
            view_.apply_edge(edge.block, edge.number, -edge.weight / l2, counts_.data(), image_.data());
        }
        const double penalty = 0.5 * l2 * squared_norm(static_cast<Index>(image_.size()), image_.data());
        return {entropies.value() - penalty, magnitude + penalty + terms * std::sqrt(2.0 * penalty / l2)};
    }

    // g, the slope of D_rho without the entropy, per unit of sample weight: Psi_c^T w + A_c^T (xi - A mu / rho).
    void write_node_slope(Index v, double rho, const double* w, double* g) const {
        view_.score_node(nodes_[v].block, nodes_[v].number, w, g);
        const double* mu = node_mu(v);
        const double inverse = 1.0 / rho;
        for (Index n = 0; n < degree(v); ++n) {
            const Index d = ends_at(v)[n];
            const double* xi = multipliers(d);
            const double* m = end_mu(d);
            for (Index k = 0; k < K_; ++k) g[k] -= xi[k] - inverse * (m[k] - mu[k]);
        }
    }

    void write_edge_slope(Index e, double rho, const double* w, double* g) {
        view_.score_edge(edges_[e].block, edges_[e].number, w, g);
        const double inverse = 1.0 / rho;
        const auto priced = [&](Index d, Index k) {
            return multipliers(d)[k] - inverse * (end_mu(d)[k] - node_mu(node_at(d))[k]);
        };
        prices_.resize(K_);
        for (Index k = 0; k < K_; ++k) prices_[k] = priced(2 * e + 1, k);
        for (Index s = 0; s < K_; ++s) {
            const double first = priced(2 * e, s);
            for (Index t = 0; t < K_; ++t) g[s * K_ + t] += first + prices_[t];
        }
    }

    Index true_node(Index v) const { return view_.truth(nodes_[v].block)[nodes_[v].number]; }
    Index true_edge(Index e) const { return true_node(edges_[e].first) * K_ + true_node(edges_[e].second); }

    void archive(Archive& archive) {
        archive.array("nodes", node_mu_);
        archive.array("edges", edge_mu_);
        archive.array("multipliers", multipliers_);
        archive.array("entropies", entropies_);
        archive.array("weights", weights_);
    }

   private:
    double weight(Index clique) const {
        return clique < node_count() ? nodes_[clique].weight : edges_[clique - node_count()].weight;
    }

    // Graphs of sample weight zero have no cliques.
    void list_cliques() {
        const std::vector<double> ones(K_ * K_, 1.0);
        counts_.resize(K_ * K_);
        for (Index i = 0; i < view_.blocks(); ++i) {
            const double c = view_.sample_weight(i);
            if (!(c > 0.0)) continue;
            const PairwiseGraph graph = view_.graph(i);
            const CliqueCounts& counts = view_.counts(i);
            const Index before = node_count();
            for (Index v = 0; v < graph.nodes; ++v)
                nodes_.push_back(
                    {i, v, c, {counts.node[v]}, view_.pull_node(i, v, ones.data()) / static_cast<double>(K_), -1, -1});
            for (Index e = 0; e < graph.edges; ++e)
                edges_.push_back({i,
                                  e,
                                  c,
                                  {counts.edge[e], counts.first[e], counts.second[e]},
                                  view_.pull_edge(i, e, ones.data(), counts_.data()) / static_cast<double>(K_ * K_),
                                  before + graph.first(e),
                                  before + graph.second(e)});
        }
    }

    void list_incident_edges() {
        starts_.assign(node_count() + 1, 0);
        for (Index d = 0; d < 2 * edge_count(); ++d) ++starts_[node_at(d) + 1];
        std::partial_sum(starts_.begin(), starts_.end(), starts_.begin());
        ends_.resize(2 * edges_.size());
        std::vector<Index> next(starts_.begin(), starts_.end() - 1);
        for (Index d = 0; d < 2 * edge_count(); ++d) ends_[next[node_at(d)]++] = d;
    }

    static void write_start(double epsilon, Index n, Index truth, double* mu) {
        std::fill(mu, mu + n, epsilon / static_cast<double>(n));
        mu[truth] += 1.0 - epsilon;
    }

    // w += w(uniform)
    void add_uniform_to_weights() {
        scratch_.resize(K_ * K_);
        for (Index v = 0; v < node_count(); ++v) {
            write_start(1.0, K_, 0, scratch_.data());
            scratch_[true_node(v)] -= 1.0;
            const CliquePlace& node = nodes_[v];
            view_.apply_node(node.block, node.number, -node.weight / view_.l2(), scratch_.data(), weights_.data());
        }
        for (Index e = 0; e < edge_count(); ++e) {
            write_start(1.0, K_ * K_, 0, scratch_.data());
            scratch_[true_edge(e)] -= 1.0;
            const CliquePlace& edge = edges_[e];
            view_.pull_edge(edge.block, edge.number, scratch_.data(), counts_.data());
            view_.apply_edge(edge.block, edge.number, -edge.weight / view_.l2(), counts_.data(), weights_.data());
        }
    }

    // The best epsilon; the weights must be w(uniform). Entropies are linear in the counts, so their sums are enough.
    double best_start() const {
        CliqueCount nodes{0.0}, edges{0.0};
        for (const CliquePlace& v : nodes_) nodes.own += v.weight * v.count.own;
        for (const CliquePlace& e : edges_) {
            edges.own += e.weight * e.count.own;
            edges.first += e.weight * e.count.first;
            edges.second += e.weight * e.count.second;
        }
        const double penalty = 0.5 * view_.l2() * squared_norm(static_cast<Index>(weights_.size()), weights_.data());
        return largest_over_epsilon([&](double epsilon) {
            return Entropy::mixture(node_shape(), nodes, epsilon) + Entropy::mixture(edge_shape(), edges, epsilon) -
                   epsilon * epsilon * penalty;
        });
    }

    // body(sample weight, (A mu)_d(k), xi_d(k))
    template <class Body>
    void for_each_disagreement(Body&& body) const {
        for (Index d = 0; d < 2 * edge_count(); ++d) {
            const double* xi = multipliers(d);
            const double* m = end_mu(d);
            const double* mu = node_mu(node_at(d));
            for (Index k = 0; k < K_; ++k) body(edges_[d / 2].weight, m[k] - mu[k], xi[k]);
        }
    }

    const CliqueView& view_;
    Index K_;
    std::vector<CliquePlace> nodes_, edges_;
    std::vector<Index> starts_, ends_;
    std::vector<double> node_mu_, edge_mu_, multipliers_, entropies_, weights_;
    Transport transport_;
    std::vector<double> image_, agreed_, scratch_, counts_, prices_;
};

}  // namespace dualfield
