// Forward-backward on a chain: log-partition, node and edge marginals.
//
// Two paths give the same numbers. The fast one works with probabilities: potentials are shifted by their
// maxima, exponentiated once, and each forward message is scaled to sum to one, so that
//     alpha_t[j] = exp(node_t[j]) sum_i alpha_{t-1}[i] exp(edge[i][j]) / c_t,    log Z = sum_t log c_t + shifts.
// A message entry is never smaller than exp(-(range of an edge + range of a node)) times the largest, so
// nothing that matters underflows while those ranges add up to less than kProbabilityRange; beyond, the same
// recursion runs on logarithms.
#pragma once

#include "math/aligned.hpp"
#include "math/pieces.hpp"
#include "oracles/chain_potentials.hpp"

namespace dualfield {

class ForwardBackward {
   public:
    double log_partition(const ChainPotentials& chain) { return prepare(chain) ? forward(chain) : log_forward(chain); }

    // Fills, where not null: `nodes` T x K; `edges` (T-1) x K x K; `edge_sum` K x K, the sum of the edge
    // marginals.
    double marginals(const ChainPotentials& chain, double* nodes, double* edges, double* edge_sum) {
        if (!prepare(chain)) return log_space_marginals(chain, nodes, edges, edge_sum);
        const double log_z = forward(chain);
        backward(chain, nodes, edges, edge_sum);
        return log_z;
    }

    // Logarithms of the node and edge marginals, for potentials whose marginals underflow.
    double log_marginals(const ChainPotentials& chain, double* log_nodes, double* log_edges) {
        const Index K = chain.labels, T = chain.length;
        const double log_z = log_forward(chain);
        log_backward(chain);
        if (T == 1) std::copy(log_alpha_.begin(), log_alpha_.begin() + K, log_nodes);
        for (Index t = 0; t < T - 1; ++t) {
            double* edge = log_edges + t * K * K;
            log_edge_marginal(chain, t, edge);
            for (Index i = 0; i < K; ++i) log_nodes[t * K + i] = log_sum_exp(K, edge + i * K);
            if (t < T - 2) continue;
            for (Index j = 0; j < K; ++j) {
                for (Index i = 0; i < K; ++i) terms_[i] = edge[i * K + j];
                log_nodes[(t + 1) * K + j] = log_sum_exp(K, terms_.data());
            }
        }
        return log_z;
    }

    // The forward messages of the last call, as logarithms: log_alpha[t][j] + constant_t.
    const double* log_messages(const ChainPotentials& chain) {
        log_forward(chain);
        return log_alpha_.data();
    }

   protected:
    static constexpr double kProbabilityRange = 600.0;

    bool prepare(const ChainPotentials& chain) {
        return prepare(chain, kProbabilityRange, [](Index n, const double* x) { return minimum(n, x); });
    }

    // Exponentiates the shifted potentials; false where their range, from the least that counts, calls for logarithms.
    template <class Least>
    bool prepare(const ChainPotentials& chain, double most_range, Least&& least) {
        const Index K = chain.labels, P = padded(K), T = chain.length;
        const Index matrices = chain.edge_matrices();
        stride_ = P;
        shift_ = 0.0;
        double edge_range = 0.0, node_range = 0.0;
        exp_edge_.resize(matrices * K * P);
        exp_node_.resize(T * P);
        for (Index m = 0; m < matrices; ++m) {
            const double* edge = chain.edge_row(m, 0);
            const double top = maximum(K * K, edge);
            edge_range = std::max(edge_range, top - least(K * K, edge));
            shift_ += top * static_cast<double>(chain.tied() ? T - 1 : 1);
            for (Index i = 0; i < K; ++i) exp_row(K, P, edge + i * K, top, &exp_edge_[(m * K + i) * P]);
        }
        for (Index t = 0; t < T; ++t) {
            const double* node = chain.node_row(t);
            const double top = maximum(K, node);
            node_range = std::max(node_range, top - least(K, node));
            shift_ += top;
            exp_row(K, P, node, top, &exp_node_[t * P]);
        }
        return edge_range + node_range < most_range;
    }

    static void exp_row(Index K, Index P, const double* x, double shift, double* out) {
        exp_shifted(K, x, shift, out);
        for (Index k = K; k < P; ++k) out[k] = 0.0;
    }

    const double* exp_edge(const ChainPotentials& chain, Index t) const {
        return exp_edge_.data() + (chain.tied() ? 0 : t * chain.labels * stride_);
    }

    double forward(const ChainPotentials& chain) {
        const Index K = chain.labels, P = stride_, T = chain.length;
        alpha_.resize(T * P);
        inverse_scale_.resize(T);
        double log_z = shift_;
        double product = 1.0;  // of the scales since the last logarithm
        for (Index t = 0; t < T; ++t) {
            double* alpha = &alpha_[t * P];
            const double* emission = &exp_node_[t * P];
            if (t == 0) {
                std::copy(emission, emission + P, alpha);
            } else {
                multiply_left(K, P, alpha - P, exp_edge(chain, t - 1), alpha);
#pragma omp simd
                for (Index j = 0; j < P; ++j) alpha[j] *= emission[j];
            }
            const double total = sum(P, alpha);
            inverse_scale_[t] = 1.0 / total;
            scale(P, inverse_scale_[t], alpha);
            product *= total;
            if (product < 1e-40 || product > 1e40) {  // total itself is above exp(-kProbabilityRange)
                log_z += std::log(product);
                product = 1.0;
            }
        }
        return log_z + std::log(product);
    }

    // out = x^T E, in sums that stay in registers: two of them for each piece of the row, so that they wait less for each
    // other.
    static void multiply_left(Index K, Index P, const double* x, const double* E, double* out) {
        for_each_group(P / 8, [&]<Index B>(Index first) {
            Piece even[B], odd[B];
            clear(even);
            clear(odd);
            const double* row = E + 8 * first;
            Index i = 0;
            for (; i + 2 <= K; i += 2, row += 2 * P)
                for (Index p = 0; p < B; ++p) {
                    add_product(x[i], row + 8 * p, even[p]);
                    add_product(x[i + 1], row + P + 8 * p, odd[p]);
                }
            for (Index p = 0; p < B; ++p) {
                if (i < K) add_product(x[i], row + 8 * p, even[p]);
                even[p] += odd[p];
                store(even[p], out + 8 * (first + p));
            }
        });
    }

    // With b_t = exp(node_t) beta_t / c_t:  beta_{t-1}[i] = sum_j E[i][j] b_t[j],
    // node marginal = alpha_t beta_t,  edge marginal = alpha_{t-1}[i] E[i][j] b_t[j].
    void backward(const ChainPotentials& chain, double* nodes, double* edges, double* edge_sum) {
        const Index K = chain.labels, P = stride_, T = chain.length;
        const bool tied_sum = edge_sum && chain.tied();
        beta_.assign(P, 1.0);
        outgoing_.resize(tied_sum ? T * P : P);
        if (edge_sum && !tied_sum) std::fill(edge_sum, edge_sum + K * K, 0.0);
        if (chain.tied() && T > 1) transpose(K, P, exp_edge(chain, 0));
        for (Index t = T - 1; t >= 0; --t) {
            const double* alpha = &alpha_[t * P];
            if (nodes) {
                double* node = nodes + t * K;
#pragma omp simd
                for (Index j = 0; j < K; ++j) node[j] = alpha[j] * beta_[j];
            }
            if (t == 0) break;
            const double* emission = &exp_node_[t * P];
            const double* previous = alpha - P;
            const double* E = exp_edge(chain, t - 1);
            double* b = outgoing_.data() + (tied_sum ? t * P : 0);
#pragma omp simd
            for (Index j = 0; j < P; ++j) b[j] = emission[j] * beta_[j] * inverse_scale_[t];
            if (edges) {
                double* edge = edges + (t - 1) * K * K;
                for (Index i = 0; i < K; ++i) {
                    const double a = previous[i];
                    const double* row = E + i * P;
#pragma omp simd
                    for (Index j = 0; j < K; ++j) edge[i * K + j] = a * row[j] * b[j];
                }
            }
            if (edge_sum && !tied_sum) {
                for (Index i = 0; i < K; ++i) {
                    double* row = edge_sum + i * K;
#pragma omp simd
                    for (Index j = 0; j < K; ++j) row[j] += previous[i] * E[i * P + j] * b[j];
                }
            }
            if (!chain.tied()) transpose(K, P, E);
            multiply_left(K, P, b, transposed_.data(), beta_.data());
        }
        if (tied_sum) sum_outer_products(chain, edge_sum);
    }

    // Where the edges share one matrix E, the sum of their marginals is E times, entry by entry, sum_t alpha_{t-1} b_t^T:
    // a product of matrices, four rows of it at a time.
    void sum_outer_products(const ChainPotentials& chain, double* edge_sum) {
        const Index K = chain.labels, P = stride_, T = chain.length;
        if (T == 1) return std::fill(edge_sum, edge_sum + K * K, 0.0);
        const double* E = exp_edge(chain, 0);
        constexpr Index R = 4;
        for_each_group(P / 8, [&]<Index B>(Index first) {
            const Index columns = std::min(8 * B, K - 8 * first);
            for (Index i = 0; i < K; i += R) {
                Piece sums[R][B];
                for (auto& row : sums) clear(row);
                for (Index t = 1; t < T; ++t) {
                    const double* a = &alpha_[(t - 1) * P + i];  // i + R <= P
                    const double* b = &outgoing_[t * P + 8 * first];
                    for (Index r = 0; r < R; ++r)
                        for (Index p = 0; p < B; ++p) add_product(a[r], b + 8 * p, sums[r][p]);
                }
                for (Index r = 0; r < std::min(R, K - i); ++r) {
                    double row[8 * B];
                    for (Index p = 0; p < B; ++p) store(sums[r][p], row + 8 * p);
                    const double* factors = E + (i + r) * P + 8 * first;
                    double* out = edge_sum + (i + r) * K + 8 * first;
#pragma omp simd
                    for (Index j = 0; j < columns; ++j) out[j] = row[j] * factors[j];
                }
            }
        });
    }

    void transpose(Index K, Index P, const double* E) {
        transposed_.assign(K * P, 0.0);
        for (Index i = 0; i < K; ++i)
            for (Index j = 0; j < K; ++j) transposed_[j * P + i] = E[i * P + j];
    }

    // The path on logarithms, about ten times slower. Messages are kept relative to their largest entry or sum, and
    // every edge marginal is normalised by itself, so that errors do not grow with the length or with log Z.
    double log_forward(const ChainPotentials& chain) {
        const Index K = chain.labels, T = chain.length;
        log_alpha_.resize(T * K);
        terms_.resize(K);
        double log_z = 0.0;
        for (Index t = 0; t < T; ++t) {
            double* alpha = &log_alpha_[t * K];
            const double* node = chain.node_row(t);
            const double top = maximum(K, node);
            for (Index j = 0; j < K; ++j) {
                if (t > 0)
                    for (Index i = 0; i < K; ++i) terms_[i] = alpha[i - K] + chain.edge_row(t - 1, i)[j];
                alpha[j] = (node[j] - top) + (t > 0 ? log_sum_exp(K, terms_.data()) : 0.0);
            }
            const double scale = log_sum_exp(K, alpha);
            for (Index j = 0; j < K; ++j) alpha[j] -= scale;
            log_z += top + scale;
        }
        return log_z;
    }

    void log_backward(const ChainPotentials& chain) {
        const Index K = chain.labels, T = chain.length;
        log_beta_.assign(T * K, 0.0);
        for (Index t = T - 1; t > 0; --t) {
            const double* node = chain.node_row(t);
            const double node_top = maximum(K, node);
            double* beta = &log_beta_[(t - 1) * K];
            for (Index i = 0; i < K; ++i) {
                for (Index j = 0; j < K; ++j)
                    terms_[j] = (node[j] - node_top) + chain.edge_row(t - 1, i)[j] + beta[K + j];
                beta[i] = log_sum_exp(K, terms_.data());
            }
            const double top = maximum(K, beta);
            for (Index i = 0; i < K; ++i) beta[i] -= top;
        }
    }

    // The logarithms of the marginal of the edge from position t to t + 1, K x K.
    void log_edge_marginal(const ChainPotentials& chain, Index t, double* out) const {
        const Index K = chain.labels;
        const double* node = chain.node_row(t + 1);
        const double top = maximum(K, node);
        for (Index i = 0; i < K; ++i)
            for (Index j = 0; j < K; ++j)
                out[i * K + j] =
                    log_alpha_[t * K + i] + chain.edge_row(t, i)[j] + (node[j] - top) + log_beta_[(t + 1) * K + j];
        const double total = log_sum_exp(K * K, out);
        for (Index k = 0; k < K * K; ++k) out[k] -= total;
    }

    double log_space_marginals(const ChainPotentials& chain, double* nodes, double* edges, double* edge_sum) {
        const Index K = chain.labels, T = chain.length;
        const double log_z = log_forward(chain);
        log_backward(chain);
        if (nodes) std::fill(nodes, nodes + T * K, 0.0);
        if (edge_sum) std::fill(edge_sum, edge_sum + K * K, 0.0);
        if (nodes && T == 1) exp_shifted(K, log_alpha_.data(), 0.0, nodes);
        log_edge_.resize(K * K);
        for (Index t = 0; t < T - 1; ++t) {
            log_edge_marginal(chain, t, log_edge_.data());
            exp_shifted(K * K, log_edge_.data(), 0.0, log_edge_.data());
            for (Index i = 0; i < K; ++i)
                for (Index j = 0; j < K; ++j) {
                    const double p = log_edge_[i * K + j];
                    if (edges) edges[(t * K + i) * K + j] = p;
                    if (edge_sum) edge_sum[i * K + j] += p;
                    if (nodes) nodes[t * K + i] += p;
                    if (nodes && t == T - 2) nodes[(t + 1) * K + j] += p;
                }
        }
        return log_z;
    }

    Index stride_ = 0;                                // of the padded rows below
    double shift_ = 0.0;                              // the sum of all maxima subtracted
    AlignedVector exp_node_, exp_edge_, transposed_;  // rows of whole lines
    AlignedVector alpha_, beta_, outgoing_;
    std::vector<double> inverse_scale_;
    std::vector<double> log_alpha_, log_beta_, log_edge_, terms_;
};

}  // namespace dualfield
