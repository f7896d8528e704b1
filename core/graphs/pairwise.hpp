// A pairwise graph, and potentials on it, as the oracles see them: views of plain arrays.
#pragma once

#include "base/index.hpp"

namespace dualfield {

// Edge e joins the nodes ends[2 e] and ends[2 e + 1], in this direction; no self-loops, no pair of nodes twice.
struct PairwiseGraph {
    Index nodes, edges;
    const std::int32_t* ends;

    std::int32_t first(Index e) const { return ends[2 * e]; }
    std::int32_t second(Index e) const { return ends[2 * e + 1]; }
};

// Cliques of three nodes and more: clique q has the nodes starts[q] .. starts[q + 1] of `nodes`.
struct LargerCliques {
    Index count = 0;
    const Index* starts = nullptr;
    const std::int32_t* nodes = nullptr;

    Index size(Index q) const { return starts[q + 1] - starts[q]; }
    const std::int32_t* first(Index q) const { return nodes + starts[q]; }
};

struct PairwisePotentials {
    PairwiseGraph graph;
    Index labels;                           // K
    const double* node;                     // nodes x K
    const double* edge;                     // K x K an edge, [label of its first node][label of its second]
    Index edge_stride;                      // from one edge's matrix to the next; 0 where all edges share one
    const double* const* larger = nullptr;  // a tensor for each larger clique; exact inference only

    const double* node_of(Index v) const { return node + v * labels; }
    const double* edge_of(Index e) const { return edge + e * edge_stride; }
};

}  // namespace dualfield
