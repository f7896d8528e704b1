// The potentials of one chain, as a view: theta(y) = sum_t node[t][y_t] + sum_t edge_t[y_{t-1}][y_t].
#pragma once

#include "simd/vector.hpp"

namespace dualfield {

struct ChainPotentials {
    Index length;        // T >= 1
    Index labels;        // K >= 1
    const double* node;  // T x K
    const double* edge;  // K x K, shared by all positions, or (T - 1) x K x K
    Index edge_step;     // 0 where the edges are shared, K * K where each position has its own

    const double* node_row(Index t) const { return node + t * labels; }
    // Row `from` of the edge between positions t and t + 1.
    const double* edge_row(Index t, Index from) const { return edge + t * edge_step + from * labels; }
    bool tied() const { return edge_step == 0; }
    Index edges() const { return length - 1; }
    // How many K x K matrices `edge` holds.
    Index edge_matrices() const { return edges() == 0 ? 0 : (tied() ? 1 : edges()); }
};

}  // namespace dualfield
