// Labellings of large score on a pairwise graph: max-product belief propagation, and TRW-S with its bound.
//
// Both rewrite theta by messages and decode in breadth-first order: node s takes the label that is best for
//     theta_s + sum over earlier neighbours u of theta_us(label of u, .) + sum over later ones of M_{u->s},
// which on a forest is the way back of the Viterbi algorithm, so the labelling is optimal there, ties or not. Single
// nodes are then relabelled as long as that raises the score (iterated conditional modes).
#pragma once

#include "oracles/loopy_message_passing.hpp"

namespace dualfield {

struct Decoding {
    double score;  // of the labels found
    double bound;  // no labelling has a larger score; infinite where the method proves none
    bool converged;
    Index sweeps;
};

inline double labelling_score(const PairwisePotentials& potentials, const std::int32_t* labels) {
    const PairwiseGraph& graph = potentials.graph;
    double score = 0.0;
    for (Index v = 0; v < graph.nodes; ++v) score += potentials.node_of(v)[labels[v]];
    for (Index e = 0; e < graph.edges; ++e)
        score += potentials.edge_of(e)[labels[graph.first(e)] * potentials.labels + labels[graph.second(e)]];
    return score;
}

// The common part of both decoders: from messages to labels.
class LabelSearch {
   public:
    // add_message(d, scores): scores += message d = 2 e + i, K numbers.
    template <class AddMessage>
    void decode(const PairwisePotentials& potentials, const SweepOrder& order, AddMessage&& add_message,
                std::int32_t* labels) {
        const Index K = potentials.labels;
        for (const std::int32_t v : order.nodes) {
            scores_.assign(potentials.node_of(v), potentials.node_of(v) + K);
            for (Index k = order.starts[v]; k < order.starts[v + 1]; ++k) {
                const Index d = order.incoming[k], u = potentials.graph.ends[d ^ 1];
                if (order.rank[u] < order.rank[v]) {
                    add_edge(potentials, d, labels[u]);
                } else {
                    add_message(d, scores_.data());
                }
            }
            labels[v] = static_cast<std::int32_t>(argmax(K, scores_.data()));
        }
    }

    // Iterated conditional modes; the score at the end.
    double improve(const PairwisePotentials& potentials, const SweepOrder& order, std::int32_t* labels) {
        const Index K = potentials.labels;
        bool changed = true;
        for (Index round = 0; changed && round < kRounds; ++round) {
            changed = false;
            for (const std::int32_t v : order.nodes) {
                scores_.assign(potentials.node_of(v), potentials.node_of(v) + K);
                for (Index k = order.starts[v]; k < order.starts[v + 1]; ++k)
                    add_edge(potentials, order.incoming[k], labels[potentials.graph.ends[order.incoming[k] ^ 1]]);
                const Index best = argmax(K, scores_.data());
                if (!(scores_[best] > scores_[labels[v]])) continue;
                labels[v] = static_cast<std::int32_t>(best);
                changed = true;
            }
        }
        return labelling_score(potentials, labels);
    }

   private:
    static constexpr Index kRounds = 100;  // rounding could make it circle

    // scores_ += theta_e with `other` the label of the end of edge e that message d does not enter.
    void add_edge(const PairwisePotentials& potentials, Index d, Index other) {
        const Index K = potentials.labels;
        const double* theta = potentials.edge_of(d / 2);
        for (Index a = 0; a < K; ++a) scores_[a] += theta[d % 2 ? other * K + a : a * K + other];
    }

    std::vector<double> scores_;
};

class MaxProduct {
   public:
    Decoding run(const PairwisePotentials& potentials, const PropagationOptions& options, std::int32_t* labels) {
        const Index K = potentials.labels;
        const Passage passage = passing_.run(potentials, nullptr, options, false);
        row_.resize(K);
        search_.decode(
            potentials, passing_.order(),
            [&](Index d, double* scores) {
                passing_.message(passing_.order().place_of[d], row_.data());
                for (Index k = 0; k < K; ++k) scores[k] += row_[k];
            },
            labels);
        const double score = search_.improve(potentials, passing_.order(), labels);
        return {score, std::numeric_limits<double>::infinity(), passage.converged, passage.sweeps};
    }

   private:
    MessagePassing<Algebra::kMax> passing_;
    LabelSearch search_;
    std::vector<double> row_;
};

// Sequential tree-reweighted message passing (Kolmogorov, 2006), written for maxima.
//
// With beliefs b_s = theta_s + sum M_{u->s} and edge terms theta_st - M_{t->s} - M_{s->t}, a pass in one direction
// makes
//     M_{s->t}(b) = max_a (gamma_s b_s(a) - M_{t->s}(a) + theta_st(a, b)) - c_st
// for each neighbour t ahead. No belief that was used changes before the pass ends, so whenever gamma_s n_s <= 1, n_s
// the number of neighbours ahead, the score of any labelling is at most
//     sum_s (1 - gamma_s n_s) max b_s + sum_st c_st.
// Kolmogorov's gamma_s = 1 / max(neighbours before, neighbours after) is what keeps this bound from rising. The first
// pass, from the last node to the first, takes gamma_s = 1 / n_s instead: on a forest that is dynamic programming, and
// the bound is tight at once.
class TrwS {
   public:
    // Stops when the bound meets the best labelling, or falls by less than tolerance max(1, |bound|) in a sweep; either
    // counts as converged. The best labelling of all sweeps is kept: the first one, where scores are no numbers.
    Decoding run(const PairwisePotentials& potentials, Index max_sweeps, double tolerance, std::int32_t* labels) {
        const Index V = potentials.graph.nodes, K = potentials.labels;
        order_.build(potentials.graph);
        messages_.assign(order_.messages() * K, 0.0);
        belief_.resize(K);
        cavity_.resize(K);
        labels_.resize(V);
        const auto add_message = [&](Index d, double* scores) { axpy(K, 1.0, &messages_[d * K], scores); };
        Decoding found{-std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity(), false, 0};
        double last = found.bound;
        for (Index sweep = 1; sweep <= max_sweeps && !found.converged; ++sweep) {
            if (sweep > 1) pass(potentials, true, false);
            const double bound = pass(potentials, false, sweep == 1);
            search_.decode(potentials, order_, add_message, labels_.data());
            const double score = labelling_score(potentials, labels_.data());
            if (sweep == 1 || score > found.score) {
                found.score = score;
                std::copy(labels_.begin(), labels_.end(), labels);
            }
            found.bound = std::min(found.bound, bound);
            found.sweeps = sweep;
            const double margin = tolerance * std::max(1.0, std::abs(bound));
            // The second sweep changes gamma, so only from the third on is the fall that of one iteration.
            found.converged = found.bound - found.score <= margin || (sweep > 2 && last - bound <= margin);
            last = bound;
        }
        found.score = search_.improve(potentials, order_, labels);
        // Rounding alone can put the bound below a labelling's score.
        found.bound = std::max(found.bound, found.score);
        return found;
    }

   private:
    // All messages to the nodes ahead, by rank or against it; the bound.
    double pass(const PairwisePotentials& potentials, bool forth, bool all_ahead) {
        const Index V = potentials.graph.nodes, K = potentials.labels;
        double bound = 0.0;
        for (Index k = 0; k < V; ++k) {
            const std::int32_t v = order_.nodes[forth ? k : V - 1 - k];
            std::copy(potentials.node_of(v), potentials.node_of(v) + K, belief_.begin());
            Index ahead = 0;
            for (Index j = order_.starts[v]; j < order_.starts[v + 1]; ++j) {
                axpy(K, 1.0, &messages_[order_.incoming[j] * K], belief_.data());
                if (is_ahead(potentials, order_.incoming[j], v, forth)) ++ahead;
            }
            const Index degree = order_.starts[v + 1] - order_.starts[v];
            const Index share = all_ahead ? ahead : std::max(ahead, degree - ahead);
            const double gamma = share > 0 ? 1.0 / static_cast<double>(share) : 0.0;
            if (ahead < share || share == 0)
                bound += (1.0 - gamma * static_cast<double>(ahead)) * maximum(K, belief_.data());
            for (Index j = order_.starts[v]; j < order_.starts[v + 1]; ++j)
                if (is_ahead(potentials, order_.incoming[j], v, forth))
                    bound += send(potentials, order_.incoming[j], gamma);
        }
        return bound;
    }

    bool is_ahead(const PairwisePotentials& potentials, Index d, Index v, bool forth) const {
        return (order_.rank[potentials.graph.ends[d ^ 1]] > order_.rank[v]) == forth;
    }

    // The answer to message d, along the same edge; c_st.
    double send(const PairwisePotentials& potentials, Index d, double gamma) {
        const Index K = potentials.labels;
        const double* theta = potentials.edge_of(d / 2);
        const double* back = &messages_[d * K];
        double* out = &messages_[(d ^ 1) * K];
        for (Index a = 0; a < K; ++a) cavity_[a] = gamma * belief_[a] - back[a];
        if (d % 2) {  // from the second end: the target's labels are the rows
            for (Index b = 0; b < K; ++b) {
                double top = theta[b * K] + cavity_[0];
#pragma omp simd reduction(max : top)
                for (Index a = 1; a < K; ++a) {
                    const double value = theta[b * K + a] + cavity_[a];
                    top = value > top ? value : top;
                }
                out[b] = top;
            }
        } else {
            for (Index b = 0; b < K; ++b) out[b] = theta[b] + cavity_[0];
            for (Index a = 1; a < K; ++a) {
#pragma omp simd
                for (Index b = 0; b < K; ++b) {
                    const double value = theta[a * K + b] + cavity_[a];
                    out[b] = value > out[b] ? value : out[b];
                }
            }
        }
        const double top = maximum(K, out);
        for (Index b = 0; b < K; ++b) out[b] -= top;
        return top;
    }

    SweepOrder order_;
    LabelSearch search_;
    std::vector<double> messages_, belief_, cavity_;  // messages_[d * K + label], d = 2 e + i
    std::vector<std::int32_t> labels_;
};

}  // namespace dualfield
