// A chain whose wrong labels cost something in training: with C(y_t, k) the cost of label k where y_t is right, nothing
// for k = y_t, the loss of a block is
//     log sum over y of exp(score(y) + sum_t C(y_i,t, y_t)) - score(y_i),
// softmax-margin training (Gimpel and Smith, 2010). It is convex, as costs are constants beside the potentials.
//
// Potentials stay those of the weights here; costs are added on their way to an oracle. What the oracle says then is
// the convex function A(theta) = log Z(theta + C), and what solvers take for the entropy is its conjugate,
//     A(theta) - <theta, m> = H(m) + <C, m>     at the marginals m of theta + C:
// zero at the truth and concave like the entropy, which is all that dual values and their proofs need. Methods that
// compute entropies from tables of marginals cannot use it.
#pragma once

#include "fields/constrained_chain.hpp"

namespace dualfield {

class CostlyChain final : public ConstrainedChain {
    using Base = ConstrainedChain;

   public:
    // costs: K x K, true label x label, finite, zero on the diagonal.
    CostlyChain(const FreeChain& chain, const AllowedLabels& allowed, const double* costs)
        : Base(chain, allowed, false), costs_(costs, costs + chain.labels() * chain.labels()) {
        for (const double cost : costs_) largest_ = std::max(largest_, std::abs(cost));
    }

    double magnitude(Index i, const double* theta) const override {
        return Base::magnitude(i, theta) + static_cast<double>(length(i)) * largest_;
    }

    double log_partition(Index i, const double* theta, Workspace& workspace) const override {
        auto& scratch = workspace.as<Scratch>();
        return scratch.oracle.log_partition(with_costs(i, theta, scratch));
    }

    double infer(Index i, const double* theta, double* m, Workspace& workspace) const override {
        return infer_table(i, theta, nullptr, m, workspace);
    }

    double infer_table(Index i, const double* theta, double* table, double* m, Workspace& workspace) const override {
        auto& scratch = workspace.as<Scratch>();
        return chain_.infer_by(scratch.oracle, i, with_costs(i, theta, scratch), table, m, scratch.edges);
    }

    // Costs are for training. The model's own marginals are without them.
    void posterior(Index i, const double* theta, double* m, Workspace& workspace) const override {
        Base::infer(i, theta, m, workspace);
    }

    Segments segments(Index) const override { return refuse(), Segments{}; }
    void uniform(Index, double*) const override { refuse(); }
    void initial_table(Index, double, double*) const override { refuse(); }
    double initial_entropy(Index, double) const override { return refuse(); }

   private:
    ChainPotentials with_costs(Index i, const double* theta, Scratch& scratch) const {
        const Index K = labels(), T = length(i);
        const ChainPotentials chain = potentials(i, theta, scratch.masked);
        double* nodes = scratch.masked.data();  // where potentials() has put them
        for (Index t = 0; t < T; ++t) axpy(K, 1.0, costs_.data() + chain_.truth(i)[t] * K, nodes + t * K);
        return chain;
    }

    std::vector<double> costs_;
    double largest_ = 0.0;
};

}  // namespace dualfield
