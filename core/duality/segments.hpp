// How a table of clique marginals is laid out, as far as entropies are concerned.
//
// On a junction tree H(mu) = sum over cliques H(mu_C) - sum over separators H(mu_S). A table holds both kinds
// in contiguous runs; a segment names one run and its counting number, +1 for cliques and -1 for separators.
#pragma once

#include <array>

#include "simd/elementary.hpp"

namespace dualfield {

struct Segment {
    Index offset, length;
    double count;
};

// A chain or a single node needs at most two segments.
struct Segments {
    std::array<Segment, 2> items;
    int size;
    const Segment* begin() const { return items.data(); }
    const Segment* end() const { return items.data() + size; }
};

}  // namespace dualfield
