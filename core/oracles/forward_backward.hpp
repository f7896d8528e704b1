// Forward-backward on a chain: log-partition, node and edge marginals.
//
// Two paths give the same numbers. The fast one works with probabilities: potentials are shifted by their
// maxima, exponentiated once, and each forward message is scaled to sum to one, so that
//     alpha_t[j] = exp(node_t[j]) sum_i alpha_{t-1}[i] exp(edge[i][j]) / c_t,    log Z = sum_t log c_t + shifts.
// A message entry is never smaller than exp(-(range of an edge + range of a node)) times the largest, so
// nothing that matters underflows while those ranges add up to less than kProbabilityRange; beyond, the same
// recursion runs on logarithms.
#pragma once

#include "oracles/chain_potentials.hpp"

namespace dualfield {

class ForwardBackward {
   public:
    double log_partition(const ChainPotentials& chain) {
        if (!prepare(chain)) {
            log_forward(chain);
            return log_sum_exp(chain.labels, &log_alpha_[(chain.length - 1) * chain.labels]);
        }
        return forward(chain);
    }

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
        const Index K = chain.labels;
        log_forward(chain);
        log_backward(chain);
        const double log_z = log_sum_exp(K, &log_alpha_[(chain.length - 1) * K]);
        for (Index k = 0; k < chain.length * K; ++k) log_nodes[k] = log_alpha_[k] + log_beta_[k] - log_z;
        for (Index t = 0; t < chain.edges(); ++t)
            for (Index i = 0; i < K; ++i)
                for (Index j = 0; j < K; ++j) log_edges[(t * K + i) * K + j] = log_edge(chain, t, i, j) - log_z;
        return log_z;
    }

    // The forward messages of the last call, as logarithms: log_alpha[t][j] + constant_t.
    const double* log_messages(const ChainPotentials& chain) {
        log_forward(chain);
        return log_alpha_.data();
    }

   private:
    static constexpr double kProbabilityRange = 600.0;

    // Exponentiates the shifted potentials; false where their range calls for logarithms.
    bool prepare(const ChainPotentials& chain) {
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
            edge_range = std::max(edge_range, top - minimum(K * K, edge));
            shift_ += top * static_cast<double>(chain.tied() ? T - 1 : 1);
            for (Index i = 0; i < K; ++i) exp_row(K, P, edge + i * K, top, &exp_edge_[(m * K + i) * P]);
        }
        for (Index t = 0; t < T; ++t) {
            const double* node = chain.node_row(t);
            const double top = maximum(K, node);
            node_range = std::max(node_range, top - minimum(K, node));
            shift_ += top;
            exp_row(K, P, node, top, &exp_node_[t * P]);
        }
        return edge_range + node_range < kProbabilityRange;
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
        for (Index t = 0; t < T; ++t) {
            double* alpha = &alpha_[t * P];
            const double* emission = &exp_node_[t * P];
            if (t == 0) {
                std::copy(emission, emission + P, alpha);
            } else {
                std::fill(alpha, alpha + P, 0.0);
                multiply_left(K, P, alpha - P, exp_edge(chain, t - 1), alpha);
#pragma omp simd
                for (Index j = 0; j < P; ++j) alpha[j] *= emission[j];
            }
            const double total = sum(P, alpha);
            inverse_scale_[t] = 1.0 / total;
            log_z += std::log(total);
            scale(P, inverse_scale_[t], alpha);
        }
        return log_z;
    }

    // out += x^T E, four rows at a time so that `out` is loaded and stored a quarter as often.
    static void multiply_left(Index K, Index P, const double* x, const double* E, double* out) {
        Index i = 0;
        for (; i + 4 <= K; i += 4, E += 4 * P) {
            const double a = x[i], b = x[i + 1], c = x[i + 2], d = x[i + 3];
#pragma omp simd
            for (Index j = 0; j < P; ++j) out[j] += (a * E[j] + b * E[P + j]) + (c * E[2 * P + j] + d * E[3 * P + j]);
        }
        for (; i < K; ++i, E += P) axpy(P, x[i], E, out);
    }

    // With b_t = exp(node_t) beta_t / c_t:  beta_{t-1}[i] = sum_j E[i][j] b_t[j],
    // node marginal = alpha_t beta_t,  edge marginal = alpha_{t-1}[i] E[i][j] b_t[j].
    void backward(const ChainPotentials& chain, double* nodes, double* edges, double* edge_sum) {
        const Index K = chain.labels, P = stride_, T = chain.length;
        beta_.assign(P, 1.0);
        outgoing_.resize(P);
        if (edge_sum) outer_.assign(K * P, 0.0);
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
            double* b = outgoing_.data();
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
            if (edge_sum) {
                // Where the edges share one matrix it is multiplied in once, at the end.
                for (Index i = 0; i < K; ++i) {
                    double* row = &outer_[i * P];
                    if (chain.tied()) {
                        axpy(P, previous[i], b, row);
                    } else {
#pragma omp simd
                        for (Index j = 0; j < P; ++j) row[j] += previous[i] * E[i * P + j] * b[j];
                    }
                }
            }
            if (!chain.tied()) transpose(K, P, E);
            std::fill(beta_.begin(), beta_.end(), 0.0);
            multiply_left(K, P, b, transposed_.data(), beta_.data());
        }
        if (edge_sum) {
            for (Index i = 0; i < K; ++i)
                for (Index j = 0; j < K; ++j)
                    edge_sum[i * K + j] =
                        outer_[i * P + j] * (chain.tied() && T > 1 ? exp_edge(chain, 0)[i * P + j] : 1.0);
        }
    }

    void transpose(Index K, Index P, const double* E) {
        transposed_.assign(K * P, 0.0);
        for (Index i = 0; i < K; ++i)
            for (Index j = 0; j < K; ++j) transposed_[j * P + i] = E[i * P + j];
    }

    // The path on logarithms: exact for any finite potentials, about ten times slower.
    void log_forward(const ChainPotentials& chain) {
        const Index K = chain.labels, T = chain.length;
        log_alpha_.resize(T * K);
        terms_.resize(K);
        std::copy(chain.node_row(0), chain.node_row(0) + K, log_alpha_.begin());
        for (Index t = 1; t < T; ++t)
            for (Index j = 0; j < K; ++j) {
                for (Index i = 0; i < K; ++i) terms_[i] = log_alpha_[(t - 1) * K + i] + chain.edge_row(t - 1, i)[j];
                log_alpha_[t * K + j] = chain.node_row(t)[j] + log_sum_exp(K, terms_.data());
            }
    }

    void log_backward(const ChainPotentials& chain) {
        const Index K = chain.labels, T = chain.length;
        log_beta_.assign(T * K, 0.0);
        for (Index t = T - 1; t > 0; --t)
            for (Index i = 0; i < K; ++i) {
                for (Index j = 0; j < K; ++j)
                    terms_[j] = chain.edge_row(t - 1, i)[j] + chain.node_row(t)[j] + log_beta_[t * K + j];
                log_beta_[(t - 1) * K + i] = log_sum_exp(K, terms_.data());
            }
    }

    // log(edge marginal) + log Z of the edge from (t, i) to (t + 1, j).
    double log_edge(const ChainPotentials& chain, Index t, Index i, Index j) const {
        const Index K = chain.labels;
        return log_alpha_[t * K + i] + chain.edge_row(t, i)[j] + chain.node_row(t + 1)[j] + log_beta_[(t + 1) * K + j];
    }

    double log_space_marginals(const ChainPotentials& chain, double* nodes, double* edges, double* edge_sum) {
        const Index K = chain.labels;
        log_forward(chain);
        log_backward(chain);
        const double log_z = log_sum_exp(K, &log_alpha_[(chain.length - 1) * K]);
        if (nodes)
            for (Index k = 0; k < chain.length * K; ++k) nodes[k] = fast_exp(log_alpha_[k] + log_beta_[k] - log_z);
        if (edge_sum) std::fill(edge_sum, edge_sum + K * K, 0.0);
        for (Index t = 0; t < chain.edges(); ++t)
            for (Index i = 0; i < K; ++i)
                for (Index j = 0; j < K; ++j) {
                    const double p = fast_exp(log_edge(chain, t, i, j) - log_z);
                    if (edges) edges[(t * K + i) * K + j] = p;
                    if (edge_sum) edge_sum[i * K + j] += p;
                }
        return log_z;
    }

    Index stride_ = 0;    // of the padded rows below
    double shift_ = 0.0;  // the sum of all maxima subtracted
    std::vector<double> exp_node_, exp_edge_, transposed_;
    std::vector<double> alpha_, beta_, outgoing_, outer_, inverse_scale_;
    std::vector<double> log_alpha_, log_beta_, terms_;
};

}  // namespace dualfield
