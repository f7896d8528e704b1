// Forward-backward on several chains at a time that share the potentials of their edges.
//
// Messages of one label stand side by side: number c of a vector belongs to chain c. So an edge is one number times a
// vector, nothing is looked up, and each chain's numbers do not depend on which other chains are beside it. Shorter
// chains are zero beyond their ends. With E_ij = exp(edge_ij - top), and sums s_t of messages a_t,
//     a_t[j] = exp(node_t[j]) / s_{t-1} sum_i a_{t-1}[i] E_ij,    log Z = sum_t log s_t + shifts,
//     b_t[j] = exp(node_t[j]) beta_t[j] / s_t,    beta_{t-1}[i] = sum_j E_ij b_t[j].
//
// `Edges` says how a message goes over an edge:
//     kPieces                how many vectors of eight chains a label has
//     labels(), counts()     K, and how many numbers the sums of edge marginals are
//     lowest()               least potential of an edge less the largest, a negative number
//     forwards(a, sums, out) out[j] = sum_i a[i] E_ij, given sum_i a[i]
//     backwards(b, out)      out[i] = sum_j E_ij b[j]
//     add(n, row, leaving, arriving, edge_sum)
//                            edge_sum[ij] += E_ij times the product of rows i of `leaving` and j of `arriving`,
//                            of which each has n numbers and begins row numbers after the one before.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/aligned.hpp"
#include "oracles/chain_potentials.hpp"
#include "simd/products.hpp"

namespace dualfield {

// T x K potentials of nodes. `masked`: some may be -inf, for impossible labels. A chain without nodes keeps a place
// free.
struct NodePotentials {
    Index length = 0;
    const double* node = nullptr;
    bool masked = false;
};

template <class Edges>
class ForwardBackwardTogether {
   public:
    static constexpr Index kPieces = Edges::kPieces, kChains = 8 * kPieces;

    // log Z of each chain, without what the edges' largest potential adds to it; NaN for a chain whose potentials are
    // too far apart for probabilities. That one is left to another oracle.
    void log_partitions(const Edges& edges, const NodePotentials* chains, double* log_z) {
        prepare(edges, chains);
        forward(edges, chains, log_z);
    }

    // Also the marginals of nodes, T x K for each chain; and edge_sum += sum over chains of weights[c] times the
    // marginals of edges, unless it is null. A chain whose log Z is NaN adds nothing, and its nodes are not written.
    void marginals(const Edges& edges, const NodePotentials* chains, const double* weights, double* log_z,
                   double* const* nodes, double* edge_sum) {
        prepare(edges, chains);
        forward(edges, chains, log_z);
        for (Index c = 0; c < kChains; ++c)
            if (std::isnan(log_z[c])) leave_out(c);
        backward(edges, weights, nodes, edge_sum);
    }

   private:
    // Messages that are zero where a potential is -inf may fall far behind others and still matter, so they are looked
    // at: see chain_constrained_forward_backward.hpp.
    static constexpr double kProbabilityRange = 600.0, kRangeOfPossible = 300.0, kLeastMessage = 1e-120;
    static constexpr Index kMostPositions = 24;  // whose messages are kept for the sums of edges

    struct Message {
        Piece pieces[kPieces];
    };
    template <class Body>
    DUALFIELD_INLINE static void for_each(Body&& body) {
        for_each_piece<kPieces>(body);
    }
    DUALFIELD_INLINE static void load(const double* x, Message& message) {
        for_each([&](Index p) DUALFIELD_INLINE { dualfield::load(x + 8 * p, message.pieces[p]); });
    }
    DUALFIELD_INLINE static void store(const Message& message, double* x) {
        for_each([&](Index p) DUALFIELD_INLINE { dualfield::store(message.pieces[p], x + 8 * p); });
    }

    void prepare(const Edges& edges, const NodePotentials* chains) {
        labels_ = edges.labels();
        longest_ = 0;
        for (Index c = 0; c < kChains; ++c) {
            length_[c] = chains[c].length;
            longest_ = std::max(longest_, length_[c]);
        }
        const Index K = labels_;
        double* out = room(exp_node_, longest_ * K * kChains);
        Piece least[kChains];
        clear(least);
        std::fill(shift_, shift_ + kChains, 0.0);
        for (Index t = 0; t < longest_; ++t)
            for (Index p = 0; p < kPieces; ++p) exponentiate(chains + 8 * p, t, 8 * p, least, out + t * K * kChains);
        for (Index c = 0; c < kChains; ++c) {
            const double range = largest(-least[c]) - (length_[c] > 1 ? edges.lowest() : 0.0);
            too_far_[c] = !(range < (chains[c].masked ? kRangeOfPossible : kProbabilityRange));
        }
    }

    // The exponentials of eight chains' potentials at position t, from place `first` of each vector on.
    void exponentiate(const NodePotentials* chains, Index t, Index first, Piece* least, double* out) {
        const Index K = labels_;
        const double* node[8];
        double top[8];
        for (Index c = 0; c < 8; ++c) {
            node[c] = t < chains[c].length ? chains[c].node + t * K : nullptr;
            if (!node[c]) continue;
            top[c] = maximum(K, node[c]);
            shift_[first + c] += top[c];
        }
        for (Index k = 0; k < K; k += 8) {
            const Index some = std::min<Index>(8, K - k);
            Piece rows[8];
            for_each_piece<8>([&](Index c) DUALFIELD_INLINE {
                if (!node[c]) {
                    rows[c] = Piece{};
                    return;
                }
                if (some == 8) {
                    dualfield::load(node[c] + k, rows[c]);
                } else {
                    load_first(some, node[c] + k, top[c], rows[c]);
                }
                rows[c] -= top[c];
                Piece possible = rows[c];
                for_each_piece<kParts>([&](Index n) DUALFIELD_INLINE {
                    lanes(possible, n) =
                        lanes(possible, n) > -std::numeric_limits<double>::infinity() ? lanes(possible, n) : Lanes{};
                });
                lower(possible, least[first + c]);
                dualfield::exponentiate(rows[c]);
            });
            transpose(rows);
            for (Index j = 0; j < some; ++j) dualfield::store(rows[j], out + (k + j) * kChains + first);
        }
    }

    // 1 / totals for chains that have a position t, 0 for others.
    Message inverse_of(Index t, const double* totals) const {
        double inverse[kChains];
        for (Index c = 0; c < kChains; ++c) inverse[c] = t < length_[c] ? 1.0 / totals[c] : 0.0;
        Message message;
        load(inverse, message);
        return message;
    }

    void forward(const Edges& edges, const NodePotentials* chains, double* log_z) {
        const Index K = labels_, row = K * kChains;
        double* a = room(alpha_, longest_ * row);
        double* totals = room(totals_, longest_ * kChains);
        for (Index t = 0; t < longest_; ++t, a += row, totals += kChains) {
            const double* node = &exp_node_[t * row];
            Message sums{};
            if (t == 0) {
                std::copy(node, node + row, a);
                for (Index k = 0; k < row; k += kChains) add(a + k, sums);
            } else {
                edges.forwards(a - row, totals - kChains, a);
                const Message inverse = inverse_of(t, totals - kChains);
                for (Index k = 0; k < row; k += kChains) {
                    Message message, factor;
                    load(a + k, message);
                    load(node + k, factor);
                    for_each([&](Index p) DUALFIELD_INLINE {
                        message.pieces[p] *= factor.pieces[p] * inverse.pieces[p];
                        sums.pieces[p] += message.pieces[p];
                    });
                    store(message, a + k);
                }
            }
            store(sums, totals);
        }
        for (Index c = 0; c < kChains; ++c) {
            log_z[c] = log_of_totals(c);
            if (too_far_[c] || (chains[c].masked && !is_trusted(c, chains[c])))
                log_z[c] = std::numeric_limits<double>::quiet_NaN();
        }
    }
    DUALFIELD_INLINE static void add(const double* x, Message& sums) {
        Message message;
        load(x, message);
        for_each([&](Index p) DUALFIELD_INLINE { sums.pieces[p] += message.pieces[p]; });
    }

    double log_of_totals(Index c) const {
        double log = shift_[c], product = 1.0;
        for (Index t = 0; t < length_[c]; ++t) {
            product *= totals_[t * kChains + c];
            if (product > 1e-40 && product < 1e40) continue;
            log += std::log(product);
            product = 1.0;
        }
        return log + std::log(product);
    }

    // Whether no message of a possible label is so small that it may have lost digits.
    bool is_trusted(Index c, const NodePotentials& chain) const {
        for (Index t = 0; t < length_[c]; ++t) {
            const double least = kLeastMessage * totals_[t * kChains + c];
            for (Index k = 0; k < labels_; ++k)
                if (chain.node[t * labels_ + k] > -std::numeric_limits<double>::infinity() &&
                    !(alpha_[(t * labels_ + k) * kChains + c] >= least))
                    return false;
        }
        return true;
    }

    // Its messages count for nothing.
    void leave_out(Index c) {
        for (Index k = 0; k < longest_ * labels_; ++k) alpha_[k * kChains + c] = 0.0;
        length_[c] = 0;
    }

    void backward(const Edges& edges, const double* weights, double* const* nodes, double* edge_sum) {
        const Index K = labels_, row = K * kChains;
        double *beta = room(beta_, row), *b = room(outgoing_, row), *products = room(products_, row);
        std::fill(beta, beta + row, 0.0);
        const Index steps = longest_ - 1, groups = (steps + kMostPositions - 1) / kMostPositions;
        kept_ = groups > 0 ? (steps + groups - 1) / groups : 0;
        double* leaving = room(leaving_, edge_sum ? kept_ * row : 0);
        double* arriving = room(arriving_, edge_sum ? kept_ * row : 0);
        Index kept = 0;
        for (Index t = longest_ - 1; t >= 0; --t) {
            for (Index c = 0; c < kChains; ++c)
                if (t == length_[c] - 1)
                    for (Index k = 0; k < K; ++k) beta[k * kChains + c] = 1.0;
            const double *a = &alpha_[t * row], *node = &exp_node_[t * row];
            const Message inverse = inverse_of(t, &totals_[t * kChains]);
            Message sums{};
            for (Index k = 0; k < row; k += kChains) {
                Message alpha, back, factor;
                load(a + k, alpha);
                load(beta + k, back);
                load(node + k, factor);
                for_each([&](Index p) DUALFIELD_INLINE {
                    alpha.pieces[p] *= back.pieces[p];
                    sums.pieces[p] += alpha.pieces[p];
                    back.pieces[p] *= factor.pieces[p] * inverse.pieces[p];
                });
                store(alpha, products + k);
                store(back, b + k);
            }
            double totals[kChains];
            store(sums, totals);
            write_nodes(t, totals, products, nodes);
            if (t == 0) break;
            if (edge_sum) {
                keep(t, weights, a - row, b, leaving + kept * kChains, arriving + kept * kChains);
                if (++kept == kept_ || t == 1) {
                    edges.add(kept * kChains, kept_ * kChains, leaving, arriving, edge_sum);
                    kept = 0;
                }
            }
            edges.backwards(b, beta);
        }
    }

    // The messages on the two sides of the edge before position t, label by label in rows of positions.
    void keep(Index t, const double* weights, const double* before, const double* b, double* leaving,
              double* arriving) const {
        Message factor = inverse_of(t, &totals_[(t - 1) * kChains]), weight;
        load(weights, weight);
        for_each([&](Index p) DUALFIELD_INLINE { factor.pieces[p] *= weight.pieces[p]; });
        for (Index k = 0; k < labels_; ++k) {
            Message from, to;
            load(before + k * kChains, from);
            load(b + k * kChains, to);
            for_each([&](Index p) DUALFIELD_INLINE { to.pieces[p] *= factor.pieces[p]; });
            store(from, leaving + k * kept_ * kChains);
            store(to, arriving + k * kept_ * kChains);
        }
    }

    // The marginals of the nodes at position t: products of messages over their totals.
    void write_nodes(Index t, const double* totals, const double* products, double* const* nodes) const {
        const Message inverse = inverse_of(t, totals);
        for (Index first = 0; first < kChains; first += 8)
            for (Index k = 0; k < labels_; k += 8) {
                const Index some = std::min<Index>(8, labels_ - k);
                Piece rows[8];
                for_each_piece<8>([&](Index j) DUALFIELD_INLINE {
                    rows[j] = Piece{};
                    if (j < some) dualfield::load(products + (k + j) * kChains + first, rows[j]);
                    rows[j] *= inverse.pieces[first / 8];
                });
                transpose(rows);
                for_each_piece<8>([&](Index c) DUALFIELD_INLINE {
                    if (t < length_[first + c]) store_first(some, rows[c], nodes[first + c] + t * labels_ + k);
                });
            }
    }

    Index labels_ = 0, longest_ = 0, kept_ = 0;
    Index length_[kChains];
    double shift_[kChains];  // the sum of all maxima subtracted
    bool too_far_[kChains];
    AlignedVector exp_node_, alpha_;            // T rows of messages
    AlignedVector totals_;                      // T messages of s_t
    AlignedVector beta_, outgoing_, products_;  // one row
    AlignedVector leaving_, arriving_;          // a row of positions for each label
};

}  // namespace dualfield
