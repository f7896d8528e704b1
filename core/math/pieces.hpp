// Eight doubles at a time, as sums that stay in registers while many rows are added to them.
#pragma once

#include <cstddef>
#include <cstring>

#include "math/elementary.hpp"

namespace dualfield {

using Piece = double __attribute__((vector_size(64)));

inline void load(const double* x, Piece& piece) { std::memcpy(&piece, x, sizeof piece); }
inline void store(const Piece& piece, double* x) { std::memcpy(x, &piece, sizeof piece); }

// Sums begin at zero one by one: as the initialiser of a whole array it becomes a string instruction, slow to start.
template <std::size_t B>
[[gnu::always_inline]] inline void clear(Piece (&sums)[B]) {
#pragma GCC unroll 8
    for (std::size_t p = 0; p < B; ++p) sums[p] = Piece{};
}

inline double total(const Piece& piece) {
    return ((piece[0] + piece[4]) + (piece[2] + piece[6])) + ((piece[1] + piece[5]) + (piece[3] + piece[7]));
}

// sum += a * x[0..8)
inline void add_product(double a, const double* x, Piece& sum) {
    Piece loaded;
    load(x, loaded);
    sum += a * loaded;
}

// body.operator()<B>(first) over `pieces` in groups of B pieces, eight at most.
template <class Body>
void for_each_group(Index pieces, Body&& body) {
    Index first = 0;
    for (; pieces - first >= 8; first += 8) body.template operator()<8>(first);
    switch (pieces - first) {
        case 1:
            return body.template operator()<1>(first);
        case 2:
            return body.template operator()<2>(first);
        case 3:
            return body.template operator()<3>(first);
        case 4:
            return body.template operator()<4>(first);
        case 5:
            return body.template operator()<5>(first);
        case 6:
            return body.template operator()<6>(first);
        case 7:
            return body.template operator()<7>(first);
        default:
            return;
    }
}

}  // namespace dualfield
