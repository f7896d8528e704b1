// One message along one edge, in the two algebras: sums of exponentials, and maxima.
//
// A message from node t over edge e to node s is, up to a constant,
//     log M(b) = log sum_a exp(theta_e(a, b) / rho_e + f(a))     or     max_a (theta_e(a, b) / rho_e + f(a)),
// where f is the belief of t without what came over e itself. What depends on the potentials alone is prepared once a
// run: for sums exp(theta_e / rho_e - max), so that a message costs K exponentials and K logarithms. For two labels all
// is told by log-odds, f(1) - f(0) in and log M(1) - log M(0) out, at one exponential and one logarithm.
#pragma once

#include <type_traits>

#include "base/compiler.hpp"
#include "graphs/sweep_order.hpp"
#include "simd/vector.hpp"

namespace dualfield {

enum class Algebra { kSum, kMax };

// Calls action(std::integral_constant<Index, K>) for a few labels, where loops of known length are several times
// faster, and with 0 otherwise.
template <class Action>
decltype(auto) with_known_labels(Index labels, Action&& action) {
    switch (labels) {
        case 3:
            return action(std::integral_constant<Index, 3>());
        case 4:
            return action(std::integral_constant<Index, 4>());
        case 5:
            return action(std::integral_constant<Index, 5>());
        case 6:
            return action(std::integral_constant<Index, 6>());
        case 7:
            return action(std::integral_constant<Index, 7>());
        case 8:
            return action(std::integral_constant<Index, 8>());
        default:
            return action(std::integral_constant<Index, 0>());
    }
}

template <Algebra algebra>
class MessageKernels {
   public:
    // The views and rho (null: all ones) must stay valid while messages are computed.
    void prepare(const PairwisePotentials& potentials, const double* rho, const SweepOrder& order) {
        potentials_ = potentials;
        rho_ = rho;
        number_ = order.number.data();
        any_wide_ = false;
        wide_.assign(potentials.graph.edges, 0);
        if (potentials.labels == 2) {
            prepare_binary(order.messages());
        } else {
            find_matrices();
            prepare_general();
        }
    }

    double probability(Index e) const { return rho_ ? rho_[e] : 1.0; }

    // For two labels: log-odds of the message at place p of the sweep. Branch-free, so that loops over p vectorise.
    DUALFIELD_INLINE double binary(Index p, double f) const {
        const double c00 = binary_[0][p], c01 = binary_[1][p], c10 = binary_[2][p], c11 = binary_[3][p];
        if constexpr (algebra == Algebra::kMax) {
            const double zero = c00 > c10 + f ? c00 : c10 + f, one = c01 > c11 + f ? c01 : c11 + f;
            return one - zero;
        } else {
            const bool up = f > 0.0;
            const double x = fast_exp(up ? -f : f);
            const double zero = up ? c00 * x + c10 : c00 + c10 * x, one = up ? c01 * x + c11 : c01 + c11 * x;
            return fast_log(one / zero);
        }
    }

    // Edges whose exponentials would underflow; binary() does not hold for them, exact_binary() does.
    bool any_wide() const { return any_wide_; }
    bool wide(Index p) const { return wide_[number_[p] / 2]; }

    double exact_binary(Index p, double f) const {
        return log_add(scaled(p, 0, 1), scaled(p, 1, 1) + f) - log_add(scaled(p, 0, 0), scaled(p, 1, 0) + f);
    }

    // For any number of labels: `count` messages from place `first` on, whose f are packed in rows of K, into rows of K
    // whose largest entry is zero. Exponentials and logarithms run over many messages at once, so that few labels fill
    // whole vectors too. Both arrays have room for padded(K) more; f is lost.
    template <Index known>
    void messages(Index first, Index count, double* f, double* out) const {
        const Index K = known > 0 ? known : potentials_.labels;
        if (algebra == Algebra::kSum && any_wide_) {
            for (Index i = 0; i < count; ++i) {
                if (wide(first + i)) {
                    exact_message(first + i, f + i * K, out + i * K);
                } else {
                    narrow_messages<known>(first + i, 1, f + i * K, out + i * K);
                }
            }
        } else {
            narrow_messages<known>(first, count, f, out);
        }
        for (Index i = 0; i < count; ++i) shift_to_zero<known>(out + i * K);
    }

   private:
    // exp(-600) times the smallest weight of a sum is still a normal number.
    static constexpr double kWidest = 600.0;

    static double log_add(double x, double y) {
        return (x > y ? x : y) + std::log1p(std::exp(-(x > y ? x - y : y - x)));
    }

    template <Index known>
    void narrow_messages(Index first, Index count, double* f, double* out) const {
        const Index K = known > 0 ? known : potentials_.labels, P = padded(K);
        if constexpr (algebra == Algebra::kSum) {
            for (Index i = 0; i < count; ++i) shift_to_zero<known>(f + i * K);
            exp_shifted(count * K, f, 0.0, f);
        }
        for (Index i = 0; i < count; ++i) {
            const Index d = number_[first + i];
            const double* kernel = kernels_.data() + (2 * matrix_[d / 2] + d % 2) * K * P;
            const double* x = f + i * K;
            // Whole vectors write beyond their row, where the next message comes after.
            for (Index k = 0; k < P; k += 8) {
                double sums[8];
#pragma omp simd
                for (Index b = 0; b < 8; ++b) sums[b] = combine(x[0], kernel[k + b]);
                for (Index a = 1; a < K; ++a) {
#pragma omp simd
                    for (Index b = 0; b < 8; ++b) sums[b] = add(sums[b], combine(x[a], kernel[a * P + k + b]));
                }
#pragma omp simd
                for (Index b = 0; b < 8; ++b) out[i * K + k + b] = sums[b];
            }
        }
        if constexpr (algebra == Algebra::kSum) {
#pragma omp simd
            for (Index k = 0; k < count * K; ++k) out[k] = fast_log(out[k]);
        }
    }

    template <Index known>
    void shift_to_zero(double* x) const {
        if constexpr (known == 0) {
            subtract_maximum(potentials_.labels, x);
        } else {
            double top = x[0];
            for (Index k = 1; k < known; ++k) top = x[k] > top ? x[k] : top;
            for (Index k = 0; k < known; ++k) x[k] -= top;
        }
    }

    // The algebra: sums of products of exponentials, or maxima of sums.
    static double combine(double x, double y) { return algebra == Algebra::kSum ? x * y : x + y; }
    static double add(double x, double y) { return algebra == Algebra::kSum ? x + y : (x > y ? x : y); }

    void exact_message(Index p, const double* f, double* out) const {
        const Index K = potentials_.labels;
        std::vector<double> terms(K);
        for (Index b = 0; b < K; ++b) {
            for (Index a = 0; a < K; ++a) terms[a] = scaled(p, a, b) + f[a];
            out[b] = log_sum_exp(K, terms.data());
        }
    }

    // theta_e / rho_e with source label a and target label b of the message at place p.
    double scaled(Index p, Index a, Index b) const {
        const Index e = number_[p] / 2, K = potentials_.labels;
        return potentials_.edge_of(e)[number_[p] % 2 ? a * K + b : b * K + a] / probability(e);
    }

    // Edges that share their potentials and their rho share a matrix.
    void find_matrices() {
        const Index E = potentials_.graph.edges;
        matrix_.resize(E);
        owners_.clear();
        if (potentials_.edge_stride != 0) {
            std::iota(matrix_.begin(), matrix_.end(), 0);
            owners_ = matrix_;
            return;
        }
        // Mixtures of a few forests have few distinct probabilities; sorting the edges by them puts equals together.
        by_rho_.resize(E);
        std::iota(by_rho_.begin(), by_rho_.end(), 0);
        if (rho_) std::sort(by_rho_.begin(), by_rho_.end(), [&](Index d, Index e) { return rho_[d] < rho_[e]; });
        for (const Index e : by_rho_) {
            if (owners_.empty() || probability(owners_.back()) != probability(e)) owners_.push_back(e);
            matrix_[e] = static_cast<Index>(owners_.size()) - 1;
        }
    }

    // Four exponentials an edge are cheaper than to find out which edges share theirs.
    void prepare_binary(Index messages) {
        const Index E = potentials_.graph.edges;
        entries_.resize(4 * E);
        for (Index e = 0; e < E; ++e) wide_[e] = scale_shifted(4, e, &entries_[4 * e]);
        if (algebra == Algebra::kSum) exp_shifted(4 * E, entries_.data(), 0.0, entries_.data());
        for (auto& entries : binary_) entries.resize(messages);
        for (Index p = 0; p < messages; ++p) {
            const bool along = number_[p] % 2;
            const double* entries = &entries_[4 * (number_[p] / 2)];
            binary_[0][p] = entries[0];
            binary_[1][p] = entries[along ? 1 : 2];
            binary_[2][p] = entries[along ? 2 : 1];
            binary_[3][p] = entries[3];
        }
    }

    // Two matrices each: against the edge's direction, then along it; rows by the source's label, padded.
    void prepare_general() {
        const Index K = potentials_.labels, P = padded(K);
        kernels_.assign(2 * owners_.size() * K * P, 1.0);
        entries_.resize(K * K);
        wide_matrix_.resize(owners_.size());
        for (std::size_t m = 0; m < owners_.size(); ++m) {
            wide_matrix_[m] = scale_shifted(K * K, owners_[m], entries_.data());
            if (algebra == Algebra::kSum) exp_shifted(K * K, entries_.data(), 0.0, entries_.data());
            double* against = &kernels_[2 * m * K * P];
            double* along = against + K * P;
            for (Index a = 0; a < K; ++a)
                for (Index b = 0; b < K; ++b) along[a * P + b] = against[b * P + a] = entries_[a * K + b];
        }
        for (Index e = 0; e < potentials_.graph.edges; ++e) wide_[e] = wide_matrix_[matrix_[e]];
    }

    // out = theta_e / rho_e - max; whether the range is too wide to exponentiate.
    bool scale_shifted(Index n, Index e, double* out) {
        const double* theta = potentials_.edge_of(e);
        double top = theta[0], bottom = theta[0];
        for (Index k = 1; k < n; ++k) {
            top = theta[k] > top ? theta[k] : top;
            bottom = theta[k] < bottom ? theta[k] : bottom;
        }
        const double rho = probability(e);
        for (Index k = 0; k < n; ++k) out[k] = (theta[k] - top) / rho;
        const bool wide = algebra == Algebra::kSum && (top - bottom) / rho > kWidest;
        any_wide_ = any_wide_ || wide;
        return wide;
    }

    PairwisePotentials potentials_{};
    const double* rho_ = nullptr;
    const std::int32_t* number_ = nullptr;
    bool any_wide_ = false;
    std::vector<char> wide_, wide_matrix_;
    std::vector<Index> matrix_, owners_, by_rho_;  // the matrix of an edge; the first edge that has each matrix
    std::vector<double> binary_[4];                // [source label, target label] by place
    std::vector<double> kernels_, entries_;
};

}  // namespace dualfield
