// Forward-backward on a chain where some labels and pairs are impossible, their potentials -inf.
//
// The recursions are those of chain_forward_backward.hpp: exp(-inf) is a zero, which stays out of every sum. What no
// longer holds is that a message's entries lie within one step's range of each other: where pairs are forbidden, a
// label can fall behind the others for many positions and still be the only one that leads to the end. So the
// probabilities are looked at: where an entry of a live label is too small to be trusted, the path on logarithms is
// taken, which -inf does not disturb.
#pragma once

#include "base/compiler.hpp"
#include "oracles/chain_forward_backward.hpp"
#include "oracles/chain_live_labels.hpp"

namespace dualfield {

class ConstrainedForwardBackward : private ForwardBackward {
   public:
    // Potentials as keep_live() leaves them, with a labelling of finite score.
    double log_partition(const ChainPotentials& chain) {
        double log_z = 0.0;
        return probabilities<false>(chain, log_z) ? log_z : log_forward(chain);
    }

    // Fills, where not null, what ForwardBackward::marginals does; exact zeros for what is impossible.
    double marginals(const ChainPotentials& chain, double* nodes, double* edges, double* edge_sum) {
        double log_z = 0.0;
        if (!probabilities<true>(chain, log_z)) return log_space_marginals(chain, nodes, edges, edge_sum);
        combine(chain, nodes, edges, edge_sum);
        return log_z;
    }

   private:
    // <alpha_t, beta_t>, by which marginals are divided, is at least kLeastMessage exp(-kRange) / K: far from
    // underflow.
    static constexpr double kRange = 300.0, kLeastMessage = 1e-120;

    template <bool kBoth>
    bool probabilities(const ChainPotentials& chain, double& log_z) {
        if (!prepare(chain, kRange, possible)) return false;
        log_z = sweep<kBoth>(chain);
        double least = 1.0;
        for (Index t = 0; t < chain.length; ++t) {
            const double* node = chain.node_row(t);
            const double* alpha = &alpha_[t * stride_];
#pragma omp simd reduction(min : least)
            for (Index k = 0; k < chain.labels; ++k) {
                const double entry = node[k] > kImpossible ? alpha[k] : 1.0;
                least = entry < least ? entry : least;
            }
        }
        return least >= kLeastMessage && std::isfinite(log_z);
    }

    static void possible(const Piece& x, Piece& shifted) {
        for_each_piece<kParts>([&](Index n) DUALFIELD_INLINE {
            lanes(shifted, n) = lanes(x, n) > kImpossible ? lanes(shifted, n) : Lanes{};
        });
    }
};

}  // namespace dualfield
