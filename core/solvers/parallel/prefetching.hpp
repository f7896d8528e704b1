// What is kept of each block, brought into the cache before the block's turn.
#pragma once

#include "base/compiler.hpp"
#include "base/index.hpp"
#include "simd/vector.hpp"

namespace dualfield {

// Step 0: where the numbers of block i are, and those of arrays with one number a block; step 1: the numbers
// themselves.
template <int Step, class Kept>
DUALFIELD_INLINE inline void prefetch_kept(const Kept& kept, Index i) {
    if constexpr (requires { kept.template prefetch<Step>(i); }) {
        kept.template prefetch<Step>(i);
    } else if (Step == 0) {
        prefetch_to_write(&kept[i]);
    }
}

}  // namespace dualfield
