// Potentials of a chain given as arrays.
#pragma once

#include "bindings/arrays.hpp"
#include "oracles/chain_constrained_forward_backward.hpp"

namespace dualfield {

// node: T x K; edge: matrices x K x K with one matrix (shared) or T - 1.
inline ChainPotentials chain_of(const Input<double, 2>& node, const Input<double, 3>& edge) {
    const Index T = node.shape(0), K = node.shape(1), matrices = edge.shape(0);
    require(T >= 1 && K >= 1, "a chain needs at least one position and one label");
    require(static_cast<Index>(edge.shape(1)) == K && static_cast<Index>(edge.shape(2)) == K,
            "edge matrices must be K x K, K the number of columns of node");
    require(matrices == 1 || matrices == T - 1, "edge must hold one matrix or one for each pair of neighbours");
    return {T, K, node.data(), edge.data(), matrices == 1 ? 0 : K * K};
}

// The same for oracles, where some potentials are -inf: with that of every dead label. Needs the given one to live.
class LiveChain {
   public:
    LiveChain(const Input<double, 2>& node, const Input<double, 3>& edge) : chain_(chain_of(node, edge)) {
        constrained_ = has_impossible(chain_);
        if (!constrained_) return;
        nodes_.resize(chain_.length * chain_.labels);
        require(keep_live(chain_, nodes_.data()) == chain_.length,
                "no labelling is possible: each has a potential of -inf");
        chain_.node = nodes_.data();
    }
    LiveChain(const LiveChain&) = delete;

    const ChainPotentials& operator*() const { return chain_; }
    const ChainPotentials* operator->() const { return &chain_; }
    bool constrained() const { return constrained_; }

   private:
    ChainPotentials chain_;
    bool constrained_;
    std::vector<double> nodes_;
};

}  // namespace dualfield
