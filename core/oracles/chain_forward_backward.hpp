// Forward-backward on a chain: log-partition, node and edge marginals.
//
// Two paths give the same numbers. The fast one works with probabilities: potentials are shifted by their
// maxima, exponentiated once, and each forward message is scaled to sum to one, so that
//     alpha_t[j] = exp(node_t[j]) sum_i alpha_{t-1}[i] exp(edge[i][j]) / c_t,    log Z = sum_t log c_t + shifts.
// Backward messages have scales of their own, so the two sweeps are independent and run side by side: while one waits
// for its scale, the other multiplies. A message entry is never smaller than exp(-(range of an edge +
// range of a node)) times the largest, so nothing that matters underflows while those ranges add up to less than
// kProbabilityRange; beyond, the same recursion runs on logarithms.
#pragma once

#include "base/aligned.hpp"
#include "base/compiler.hpp"
#include "oracles/chain_potentials.hpp"
#include "simd/products.hpp"

namespace dualfield {

class ForwardBackward {
   public:
    double log_partition(const ChainPotentials& chain) {
        return prepare(chain) ? sweep<false>(chain) : log_forward(chain);
    }

    // Fills, where not null: `nodes` T x K; `edges` (T-1) x K x K; `edge_sum` K x K, the sum of the edge
    // marginals.
    double marginals(const ChainPotentials& chain, double* nodes, double* edges, double* edge_sum) {
        if (!prepare(chain)) return log_space_marginals(chain, nodes, edges, edge_sum);
        const double log_z = sweep<true>(chain);
        combine(chain, nodes, edges, edge_sum);
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
        return prepare(chain, kProbabilityRange, [](const Piece&, Piece&) {});
    }

    // Exponentiates the shifted potentials; false where their range calls for logarithms. count(x, shifted) sets
    // to zero what of the shifted x does not count for the range.
    template <class Count>
    bool prepare(const ChainPotentials& chain, double most_range, Count&& count) {
        const Index K = chain.labels, P = padded(K), T = chain.length;
        const Index matrices = chain.edge_matrices();
        stride_ = P;
        shift_ = 0.0;
        Piece least_edge{}, least_node{};
        double* out = room(exp_edge_, matrices * P * P);
        for (Index m = 0; m < matrices; ++m) {
            const double* edge = chain.edge_row(m, 0);
            const double top = maximum(K * K, edge);
            shift_ += top * static_cast<double>(chain.tied() ? T - 1 : 1);
            for (Index i = 0; i < K; ++i, out += P) exp_row(K, edge + i * K, top, out, least_edge, count);
            std::fill(out, out + (P - K) * P, 0.0);
            out += (P - K) * P;
        }
        out = room(exp_node_, T * P);
        for (Index t = 0; t < T; ++t, out += P) {
            const double* node = chain.node_row(t);
            const double top = maximum(K, node);
            shift_ += top;
            exp_row(K, node, top, out, least_node, count);
        }
        return largest(-least_edge) + largest(-least_node) < most_range;
    }

    // out = exp(x - top), padded; least = min(least, x - top).
    template <class Count>
    DUALFIELD_INLINE static void exp_row(Index K, const double* x, double top, double* out, Piece& least,
                                         Count&& count) {
        for_pieces_of(K, x, [&](const Piece& piece, Index k) DUALFIELD_INLINE {
            Piece exps = piece - top, shifted = exps;
            count(piece, shifted);
            lower(shifted, least);
            exponentiate(exps);
            if (k + 8 > K) keep_first(K - k, exps);
            store(exps, out + k);
        });
    }

    const double* exp_edge(const ChainPotentials& chain, Index t) const {
        return exp_edge_.data() + (chain.tied() ? 0 : t * stride_ * stride_);
    }

    // Forward messages alpha_t and, where kBoth, with beta_{T-1} = 1,
    //     b_t[j] = exp(node_t[j]) beta_t[j] / d_t,    beta_{t-1}[i] = sum_j E[i][j] b_t[j],
    // where d_t makes b_t sum to one.
    template <bool kBoth>
    double sweep(const ChainPotentials& chain) {
        const Index P = stride_, T = chain.length, pieces = P / 8;
        room(alpha_, T * P);
        if (kBoth) {
            room(outgoing_, T * P);
            room(beta_, T * P);
        }
        double log_z = 0.0;
        if (chain.tied() && pieces <= kFewPieces) {
            if (kBoth && T > 1) transpose(P, exp_edge(chain, 0), room(transposed_, P * P));
            for_each_group<kFewPieces>(pieces, [&]<Index B>(Index) { log_z = sweep_few<kBoth, B>(T); });
        } else {
            log_z = sweep_many<kBoth>(chain);
        }
        return log_z;
    }

    // The logarithm of a product of scales, each above exp(-kProbabilityRange).
    class LogProduct {
       public:
        void multiply(double factor) {
            product_ *= factor;
            if (product_ < 1e-40 || product_ > 1e40) {
                log_ += std::log(product_);
                product_ = 1.0;
            }
        }
        double value() const { return log_ + std::log(product_); }

       private:
        double log_ = 0.0, product_ = 1.0;
    };

    // out = product * emission / its sum, which is returned.
    template <Index B>
    DUALFIELD_INLINE static double finish(const Piece (&product)[B], const double* emission, double* out) {
        Piece message[B], sums{};
        for_each_piece<B>([&](Index p) DUALFIELD_INLINE {
            load(emission + 8 * p, message[p]);
            message[p] *= product[p];
            sums += message[p];
        });
        const double scale = total(sums), inverse = 1.0 / scale;
        for_each_piece<B>([&](Index p) DUALFIELD_INLINE { store(message[p] * inverse, out + 8 * p); });
        return scale;
    }

    template <bool kBoth, Index B>
    double sweep_few(Index T) {
        constexpr Index P = 8 * B;
        const double *E = exp_edge_.data(), *transposed = transposed_.data(), *node = exp_node_.data();
        double *alpha = alpha_.data(), *beta = beta_.data(), *b = outgoing_.data();
        Piece product[B];
        for_each_piece<B>([&](Index p) DUALFIELD_INLINE { product[p] = Piece{} + 1.0; });
        LogProduct z;
        z.multiply(finish(product, node, alpha));
        if (kBoth) {
            for_each_piece<B>([&](Index p) DUALFIELD_INLINE { store(product[p], beta + (T - 1) * P + 8 * p); });
            finish(product, node + (T - 1) * P, b + (T - 1) * P);
        }
        for (Index t = 1; t < T; ++t) {
            multiply_left(alpha + (t - 1) * P, E, product);
            z.multiply(finish(product, node + t * P, alpha + t * P));
            if (!kBoth) continue;
            const Index s = T - 1 - t;
            multiply_left(b + (s + 1) * P, transposed, product);
            for_each_piece<B>([&](Index p) DUALFIELD_INLINE { store(product[p], beta + s * P + 8 * p); });
            finish(product, node + s * P, b + s * P);
        }
        return shift_ + z.value();
    }

    // out = product * emission / its sum, which is returned.
    static double finish(Index P, const double* product, const double* emission, double* out) {
        Piece sums{}, message, factor;
        for (Index j = 0; j < P; j += 8) {
            load(product + j, message);
            load(emission + j, factor);
            message *= factor;
            sums += message;
            store(message, out + j);
        }
        const double scale = total(sums);
        dualfield::scale(P, 1.0 / scale, out);
        return scale;
    }

    template <bool kBoth>
    double sweep_many(const ChainPotentials& chain) {
        const Index P = stride_, T = chain.length;
        const double* node = exp_node_.data();
        double *alpha = alpha_.data(), *beta = beta_.data(), *b = outgoing_.data();
        LogProduct z;
        std::fill(alpha, alpha + P, 1.0);
        z.multiply(finish(P, alpha, node, alpha));
        if (kBoth) {
            std::fill(beta + (T - 1) * P, beta + T * P, 1.0);
            finish(P, beta + (T - 1) * P, node + (T - 1) * P, b + (T - 1) * P);
        }
        for (Index t = 1; t < T; ++t) {
            const Index s = T - 1 - t;
            const double *from = alpha + (t - 1) * P, *E = exp_edge(chain, t - 1);
            double* to = alpha + t * P;
            if (kBoth && chain.tied()) {
                dualfield::multiply<true, true>(P, E, from, to, b + (s + 1) * P, beta + s * P, t % 2);
            } else {
                dualfield::multiply<true, false>(P, E, from, to, nullptr, nullptr, t % 2);
                if (kBoth)
                    dualfield::multiply<false, true>(P, exp_edge(chain, s), nullptr, nullptr, b + (s + 1) * P,
                                                     beta + s * P, t % 2);
            }
            z.multiply(finish(P, to, node + t * P, to));
            if (kBoth) finish(P, beta + s * P, node + s * P, b + s * P);
        }
        return shift_ + z.value();
    }

    // node marginal = alpha_t beta_t / z_t,  edge marginal = alpha_{t-1}[i] E[i][j] b_t[j] / z_{t-1},
    // where z_t = <alpha_t, beta_t>; from here on b_t is b_t / z_{t-1}.
    void combine(const ChainPotentials& chain, double* nodes, double* edges, double* edge_sum) {
        const Index K = chain.labels, P = stride_, T = chain.length;
        const bool tied_sum = edge_sum && chain.tied();
        if (edge_sum && !tied_sum) std::fill(edge_sum, edge_sum + K * K, 0.0);
        for (Index t = 0; t < T; ++t) {
            const double *alpha = &alpha_[t * P], *beta = &beta_[t * P];
            Piece products{};
            for (Index j = 0; j < P; j += 8) add_products(alpha + j, beta + j, products);
            const double inverse = 1.0 / total(products);
            if (nodes)
                for_pieces_of(K, alpha, [&](Piece& piece, Index j) DUALFIELD_INLINE {
                    Piece other;
                    load(beta + j, other);
                    store_first(std::min<Index>(8, K - j), piece * other * inverse, nodes + t * K + j);
                });
            if (t == T - 1) break;
            double* b = &outgoing_[(t + 1) * P];
            scale(P, inverse, b);
            const double* E = exp_edge(chain, t);
            if (edges) {
                double* edge = edges + t * K * K;
                for (Index i = 0; i < K; ++i) {
                    const double a = alpha[i];
                    const double* row = E + i * P;
#pragma omp simd
                    for (Index j = 0; j < K; ++j) edge[i * K + j] = a * row[j] * b[j];
                }
            }
            if (edge_sum && !tied_sum) {
                for (Index i = 0; i < K; ++i) {
                    double* row = edge_sum + i * K;
#pragma omp simd
                    for (Index j = 0; j < K; ++j) row[j] += alpha[i] * E[i * P + j] * b[j];
                }
            }
        }
        if (tied_sum) sum_outer_products(chain, edge_sum);
    }

    // Where the edges share one matrix E, the sum of their marginals is E times, entry by entry, sum_t alpha_{t-1}
    // b_t^T: a product of matrices, four rows of it at a time.
    void sum_outer_products(const ChainPotentials& chain, double* edge_sum) const {
        const Index K = chain.labels, P = stride_, T = chain.length;
        if (T == 1) return std::fill(edge_sum, edge_sum + K * K, 0.0);
        const double* E = exp_edge(chain, 0);
        constexpr Index R = 4;
        for_each_group<kPiecesAtOnce>(P / 8, [&]<Index B>(Index first) {
            for (Index i = 0; i < K; i += R) {
                Piece sums[R * B];
                clear(sums);
                const double* a = &alpha_[i];  // i + R <= P
                const double* b = &outgoing_[P + 8 * first];
                for (Index t = 1; t < T; ++t, a += P, b += P)
                    for_each_piece<R * B>([&](Index s)
                                              DUALFIELD_INLINE { add_product(a[s / B], b + 8 * (s % B), sums[s]); });
                for_each_piece<R * B>([&](Index s) DUALFIELD_INLINE {
                    const Index row = i + s / B, j = 8 * (first + s % B);
                    if (row >= K) return;
                    Piece factors;
                    load(E + row * P + j, factors);
                    store_first(std::min<Index>(8, K - j), sums[s] * factors, edge_sum + row * K + j);
                });
            }
        });
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
            log_z += top + normalise_logarithms(K, alpha).value();
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
        normalise_logarithms(K * K, out);
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
    AlignedVector alpha_, beta_, outgoing_;           // T rows of messages; outgoing_ are the b_t
    std::vector<double> log_alpha_, log_beta_, log_edge_, terms_;
};

}  // namespace dualfield
