// Chains with many labels of which few pairs have a potential of their own: all other pairs have potential zero. Then a
// step costs O(K + pairs) instead of O(K^2) (Lavergne, Cappe and Yvon 2010): with E_ij = exp(theta_ij) and b = exp(0),
// both less the same shift,
//     sum_i alpha_i E_ij = b sum_i alpha_i + sum over pairs (i, j) of alpha_i (E_ij - b).
// The second sum may nearly cancel the first, where most of alpha lies on pairs of tiny E_ij. Such a column is summed
// directly, entry by entry. Where potentials are too far apart for probabilities, the oracle for all pairs takes over.
//
// A label j may be closed: then pairs (i, j) without a potential are impossible, and b is zero for that j. So pairs
// that few labels may precede cost nothing, where most pairs of labels are forbidden. Other forbidden pairs have -inf.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/aligned.hpp"
#include "oracles/chain_constrained_forward_backward.hpp"

namespace dualfield {

// Which pairs of labels have a potential, by rows and by columns.
class LabelPairs {
   public:
    // `pairs` are from * labels + to, increasing. `closed`: for each label, whether other pairs that lead to it are
    // impossible; empty where there are no such labels.
    LabelPairs(Index labels, const std::vector<std::int32_t>& pairs, std::vector<char> closed = {})
        : labels_(labels),
          closed_(std::move(closed)),
          row_starts_(labels + 1, 0),
          column_starts_(labels + 1, 0),
          observed_((labels * labels + 63) / 64, 0) {
        for (std::int32_t pair : pairs) {
            ++row_starts_[pair / labels + 1];
            ++column_starts_[pair % labels + 1];
            to_.push_back(static_cast<std::int32_t>(pair % labels));
            observed_[pair / 64] |= std::uint64_t{1} << (pair % 64);
        }
        std::partial_sum(row_starts_.begin(), row_starts_.end(), row_starts_.begin());
        std::partial_sum(column_starts_.begin(), column_starts_.end(), column_starts_.begin());
        from_.resize(pairs.size());
        place_.resize(pairs.size());
        std::vector<Index> next(column_starts_.begin(), column_starts_.end() - 1);
        for (Index s = 0; s < std::ssize(pairs); ++s) {
            const Index k = next[to_[s]]++;
            from_[k] = static_cast<std::int32_t>(pairs[s] / labels);
            place_[k] = static_cast<std::int32_t>(s);
        }
    }

    Index labels() const { return labels_; }
    Index count() const { return std::ssize(to_); }
    bool is_open(Index j) const { return closed_.empty() || !closed_[j]; }
    bool holds(Index i, Index j) const {
        const Index pair = i * labels_ + j;
        return observed_[pair / 64] >> (pair % 64) & 1;
    }
    // The number of a pair, -1 where it has none.
    Index find(Index i, Index j) const {
        if (!holds(i, j)) return -1;
        return std::lower_bound(&to_[row_starts_[i]], to_.data() + row_starts_[i + 1], static_cast<std::int32_t>(j)) -
               to_.data();
    }

    // Pairs in their order are by rows: row i has numbers row_start(i) .. row_start(i + 1) - 1, to labels to()[s]. By
    // columns: entry k of column j is from label from()[k] and has number place()[k].
    Index row_start(Index i) const { return row_starts_[i]; }
    const std::int32_t* to() const { return to_.data(); }
    Index column_start(Index j) const { return column_starts_[j]; }
    const std::int32_t* from() const { return from_.data(); }
    const std::int32_t* place() const { return place_.data(); }

   private:
    Index labels_;
    std::vector<char> closed_;
    std::vector<Index> row_starts_, column_starts_;
    std::vector<std::int32_t> to_, from_, place_;
    std::vector<std::uint64_t> observed_;  // a bit for each pair of labels
};

// One chain: T x K potentials of nodes, and one for each of the pairs, of which a chain of one node has none. `masked`:
// some may be -inf, or labels closed; then nodes are as keep_live() leaves them.
struct SparsePotentials {
    Index length;
    const LabelPairs& pairs;
    const double *node, *edge;
    bool masked = false;

    Index labels() const { return pairs.labels(); }
    const double* node_row(Index t) const { return node + t * labels(); }

    // The same with all pairs written out into `edges`.
    ChainPotentials written_out(std::vector<double>& edges) const {
        const Index K = labels();
        edges.assign(K * K, 0.0);
        for (Index pair = 0; pair < K * K && masked; ++pair)
            if (!pairs.is_open(pair % K)) edges[pair] = kImpossible;
        for (Index i = 0; i < K && length > 1; ++i)  // a single node has no pairs
            for (Index s = pairs.row_start(i); s < pairs.row_start(i + 1); ++s) edges[i * K + pairs.to()[s]] = edge[s];
        return {length, K, node, edges.data(), 0};
    }
};

class SparseForwardBackward {
   public:
    double log_partition(const SparsePotentials& chain) {
        if (prepare(chain)) {
            const double log_z = forward(chain);
            if (is_trusted(chain)) return log_z;
        }
        return with_all_pairs(chain, [&](auto& oracle) { return oracle.log_partition(chain.written_out(edges_)); });
    }

    // `nodes` T x K; `edge_sum`, the sum of the marginals of each pair over positions.
    double marginals(const SparsePotentials& chain, double* nodes, double* edge_sum) {
        if (!prepare(chain)) return marginals_of_all_pairs(chain, nodes, edge_sum);
        const double log_z = forward(chain);
        if (!is_trusted(chain)) return marginals_of_all_pairs(chain, nodes, edge_sum);
        backward(chain, nodes, edge_sum);
        return log_z;
    }

   private:
    // With impossible labels and pairs: see chain_constrained_forward_backward.hpp.
    static constexpr double kProbabilityRange = 600.0, kRangeOfPossible = 300.0, kLeastMessage = 1e-120;
    // If the two sums cancel to less than this share, the column is summed directly.
    static constexpr double kCancelled = 1e-3;

    // Exponentiates the shifted potentials; false where their range calls for logarithms.
    bool prepare(const SparsePotentials& chain) {
        const Index K = chain.labels(), S = chain.pairs.count(), T = chain.length;
        double top = 0.0, least = 0.0, least_node = 0.0;
        if (T > 1)
            for (Index s = 0; s < S; ++s)
                top = std::max(top, chain.edge[s]), least = std::min(least, possible(chain.edge[s]));
        shift_ = static_cast<double>(T - 1) * top;
        double* out = room(exp_node_, T * K);
        for (Index t = 0; t < T; ++t, out += K) {
            const double* node = chain.node_row(t);
            const double highest = maximum(K, node);
            shift_ += highest;
            double lowest = highest;
            for (Index k = 0; k < K; ++k) lowest = std::min(lowest, node[k] > kImpossible ? node[k] : highest);
            least_node = std::min(least_node, lowest - highest);
            exp_shifted(K, node, highest, out);
        }
        if (!(top - least - least_node < (chain.masked ? kRangeOfPossible : kProbabilityRange))) return false;
        if (T == 1) return true;
        background_ = std::exp(-top);
        exp_shifted(S, chain.edge, top, room(exp_edge_, S));
        double *by_row = room(by_row_, S), *by_column = room(by_column_, S);
        const std::int32_t* to = chain.pairs.to();
        for (Index s = 0; s < S; ++s) by_row[s] = exp_edge_[s] - (chain.pairs.is_open(to[s]) ? background_ : 0.0);
        const std::int32_t* place = chain.pairs.place();
        for (Index k = 0; k < S; ++k) by_column[k] = by_row[place[k]];
        return true;
    }

    static double possible(double potential) { return potential > kImpossible ? potential : 0.0; }

    // Whether no message of a possible label is so small that it may have lost digits.
    bool is_trusted(const SparsePotentials& chain) const {
        if (!chain.masked) return true;
        for (Index k = 0; k < chain.length * chain.labels(); ++k)
            if (chain.node[k] > kImpossible && !(alpha_[k] >= kLeastMessage)) return false;
        return true;
    }

    // alpha_t[j] = exp(node_t[j]) sum_i alpha_{t-1}[i] E[i][j] / c_t, which sums to one.
    double forward(const SparsePotentials& chain) {
        const Index K = chain.labels(), T = chain.length;
        double* alpha = room(alpha_, T * K);
        scales_.resize(T);
        std::copy(exp_node_.begin(), exp_node_.begin() + K, alpha);
        double log_z = shift_ + std::log(normalise(0, K, alpha));
        for (Index t = 1; t < T; ++t) {
            const double *before = alpha + (t - 1) * K, *node = &exp_node_[t * K];
            double* now = alpha + t * K;
            for (Index j = 0; j < K; ++j) {
                double total = gathered(chain.pairs.column_start(j), chain.pairs.column_start(j + 1),
                                        chain.pairs.from(), by_column_.data(), before);
                if (chain.pairs.is_open(j)) {
                    total += background_;  // times the sum of the message, which is one
                    if (total < kCancelled * background_) total = sum_directly(chain.pairs, j, before);
                }
                now[j] = node[j] * total;
            }
            log_z += std::log(normalise(t, K, now));
        }
        return log_z;
    }

    double normalise(Index t, Index K, double* message) {
        const double total = sum(K, message);
        scale(K, 1.0 / total, message);
        return scales_[t] = total;
    }

    // sum_k factors[k] x[at[k]] over first .. end - 1. Several sums at a time: a processor waits for none of them.
    static double gathered(Index first, Index end, const std::int32_t* at, const double* factors, const double* x) {
        double a = 0.0, b = 0.0, c = 0.0, d = 0.0;
        Index k = first;
        for (; k + 4 <= end; k += 4) {
            a += factors[k] * x[at[k]];
            b += factors[k + 1] * x[at[k + 1]];
            c += factors[k + 2] * x[at[k + 2]];
            d += factors[k + 3] * x[at[k + 3]];
        }
        for (; k < end; ++k) a += factors[k] * x[at[k]];
        return (a + b) + (c + d);
    }

    // With b_t[j] = exp(node_t[j]) beta_t[j] / c_t:  beta_{t-1}[i] = sum_j E[i][j] b_t[j], and <alpha_t, beta_t> = 1.
    // The marginal of a pair, summed over positions, is E[i][j] sum_t alpha_{t-1}[i] b_t[j]: with one label's messages
    // of all positions side by side a product of two short vectors.
    void backward(const SparsePotentials& chain, double* nodes, double* edge_sum) {
        const Index K = chain.labels(), T = chain.length, P = padded(T);
        double *beta = room(beta_, K), *b = room(outgoing_, K);
        double *leaving = room(leaving_, K * P), *arriving = room(arriving_, K * P);
        std::fill(beta, beta + K, 1.0);
        for (Index k = 0; k < K; ++k) {
            std::fill(leaving + k * P + T - 1, leaving + (k + 1) * P, 0.0);
            std::fill(arriving + k * P + T - 1, arriving + (k + 1) * P, 0.0);
        }
        for (Index t = T - 1; t >= 0; --t) {
            const double* alpha = &alpha_[t * K];
            double* marginal = nodes + t * K;
            for (Index k = 0; k < K; ++k) marginal[k] = alpha[k] * beta[k];
            scale(K, 1.0 / sum(K, marginal), marginal);
            if (t == 0) break;
            const double *before = alpha - K, *node = &exp_node_[t * K], inverse = 1.0 / scales_[t];
            for (Index k = 0; k < K; ++k) {
                b[k] = node[k] * beta[k] * inverse;
                leaving[k * P + t - 1] = before[k];
                arriving[k * P + t - 1] = b[k];
            }
            const double all = background_ * sum_of_open(chain, b);
            for (Index i = 0; i < K; ++i) {
                const double total = all + gathered(chain.pairs.row_start(i), chain.pairs.row_start(i + 1),
                                                    chain.pairs.to(), by_row_.data(), b);
                beta[i] = total < kCancelled * all ? sum_row_directly(chain.pairs, i, b) : total;
            }
        }
        if (T == 1) return;
        for (Index i = 0; i < K; ++i)
            for (Index s = chain.pairs.row_start(i); s < chain.pairs.row_start(i + 1); ++s) {
                Piece sums{};
                for (Index t = 0; t < P; t += 8)
                    add_products(leaving + i * P + t, arriving + chain.pairs.to()[s] * P + t, sums);
                edge_sum[s] = exp_edge_[s] * total(sums);
            }
    }

    static double sum_of_open(const SparsePotentials& chain, const double* x) {
        if (!chain.masked) return sum(chain.labels(), x);
        double total = 0.0;
        for (Index j = 0; j < chain.labels(); ++j) total += chain.pairs.is_open(j) ? x[j] : 0.0;
        return total;
    }

    // sum_i x_i E_ij, of an open label j, and sum_j E_ij x_j: sums of what is not negative.
    double sum_directly(const LabelPairs& pairs, Index j, const double* x) const {
        Index k = pairs.column_start(j);
        const Index end = pairs.column_start(j + 1);
        double total = 0.0;
        for (Index i = 0; i < pairs.labels(); ++i)
            total += x[i] * (k < end && pairs.from()[k] == i ? exp_edge_[pairs.place()[k++]] : background_);
        return total;
    }
    double sum_row_directly(const LabelPairs& pairs, Index i, const double* x) const {
        Index s = pairs.row_start(i);
        const Index end = pairs.row_start(i + 1);
        double total = 0.0;
        for (Index j = 0; j < pairs.labels(); ++j)
            total += x[j] * (s < end && pairs.to()[s] == j ? exp_edge_[s++] : pairs.is_open(j) ? background_ : 0.0);
        return total;
    }

    template <class Body>
    double with_all_pairs(const SparsePotentials& chain, Body&& body) {
        return chain.masked ? body(constrained_) : body(all_pairs_);
    }

    double marginals_of_all_pairs(const SparsePotentials& chain, double* nodes, double* edge_sum) {
        const Index K = chain.labels();
        const double log_z = with_all_pairs(chain, [&](auto& oracle) {
            return oracle.marginals(chain.written_out(edges_), nodes, nullptr, room(sums_, K * K));
        });
        for (Index i = 0; i < K && chain.length > 1; ++i)
            for (Index s = chain.pairs.row_start(i); s < chain.pairs.row_start(i + 1); ++s)
                edge_sum[s] = sums_[i * K + chain.pairs.to()[s]];
        return log_z;
    }

    double shift_ = 0.0, background_ = 1.0;  // what was subtracted in all; exp(0 - shift of the edges)
    AlignedVector exp_node_, exp_edge_;      // exp_edge_ by rows
    AlignedVector by_row_, by_column_;       // E - b
    AlignedVector alpha_, beta_, outgoing_;  // T rows; one row; one row
    AlignedVector leaving_, arriving_;       // alpha_{t-1} and b_t, K rows of positions
    std::vector<double> scales_, edges_, sums_;
    ForwardBackward all_pairs_;
    ConstrainedForwardBackward constrained_;
};

// The most probable labelling. Of the labels before that have no pair with j, the best is found at once when labels are
// sorted by their scores.
class SparseViterbi {
   public:
    // Writes the T labels of the best path and returns its score; ties go to the lower label.
    double decode(const SparsePotentials& chain, std::int32_t* path) {
        const Index K = chain.labels(), T = chain.length;
        best_.resize(T * K);
        candidates_.resize(K);
        by_column_.resize(chain.pairs.count());
        if (T > 1)
            for (Index k = 0; k < chain.pairs.count(); ++k) by_column_[k] = chain.edge[chain.pairs.place()[k]];
        std::copy(chain.node, chain.node + K, best_.begin());
        for (Index t = 1; t < T; ++t) step(chain, t);
        const double* last = &best_[(T - 1) * K];
        path[T - 1] = static_cast<std::int32_t>(argmax(K, last));
        for (Index t = T - 1; t > 0; --t) {
            const Index j = path[t];
            const double* before = &best_[(t - 1) * K];
            if (chain.pairs.is_open(j)) {
                std::copy(before, before + K, candidates_.begin());
            } else {
                std::fill(candidates_.begin(), candidates_.end(), kImpossible);
            }
            for (Index k = chain.pairs.column_start(j); k < chain.pairs.column_start(j + 1); ++k)
                candidates_[chain.pairs.from()[k]] = before[chain.pairs.from()[k]] + by_column_[k];
            path[t - 1] = static_cast<std::int32_t>(argmax(K, candidates_.data()));
        }
        return last[path[T - 1]];
    }

   private:
    static constexpr Index kSorted = 16;  // nearly always enough

    void step(const SparsePotentials& chain, Index t) {
        const Index K = chain.labels(), sorted = std::min(K, kSorted);
        const double *before = &best_[(t - 1) * K], *node = chain.node_row(t);
        order_.resize(K);
        std::iota(order_.begin(), order_.end(), 0);
        std::partial_sort(order_.begin(), order_.begin() + sorted, order_.end(),
                          [&](std::int32_t a, std::int32_t b) { return before[a] > before[b]; });
        const std::int32_t* from = chain.pairs.from();
        for (Index j = 0; j < K; ++j) {
            double best = best_without_pair(chain.pairs, j, before, sorted);
            for (Index k = chain.pairs.column_start(j); k < chain.pairs.column_start(j + 1); ++k)
                best = std::max(best, before[from[k]] + by_column_[k]);
            best_[t * K + j] = best + node[j];
        }
    }

    double best_without_pair(const LabelPairs& pairs, Index j, const double* before, Index sorted) const {
        if (!pairs.is_open(j)) return kImpossible;
        for (Index r = 0; r < sorted; ++r)
            if (!pairs.holds(order_[r], j)) return before[order_[r]];
        double best = kImpossible;
        for (Index r = sorted; r < pairs.labels(); ++r)
            if (!pairs.holds(order_[r], j)) best = std::max(best, before[order_[r]]);
        return best;
    }

    std::vector<double> best_, candidates_, by_column_;
    std::vector<std::int32_t> order_;
};

}  // namespace dualfield
