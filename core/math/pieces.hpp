// Eight doubles at a time, as sums that stay in registers while many rows are added to them.
#pragma once

#include <cstddef>
#include <cstring>
#include <utility>

#ifdef __AVX512F__
#include <immintrin.h>
#endif

#include "math/elementary.hpp"

namespace dualfield {

using Piece = double __attribute__((vector_size(64)));

inline void load(const double* x, Piece& piece) { std::memcpy(&piece, x, sizeof piece); }
inline void store(const Piece& piece, double* x) { std::memcpy(x, &piece, sizeof piece); }

// body(p) for p = 0 .. B - 1, each known when compiling: a loop would be unrolled too late for an array of sums to become
// registers.
template <Index B, class Body>
[[gnu::always_inline]] inline void for_each_piece(Body&& body) {
    [&]<Index... P>(std::integer_sequence<Index, P...>)
        __attribute__((always_inline)) { (body(P), ...); }(std::make_integer_sequence<Index, B>());
}

template <std::size_t B>
[[gnu::always_inline]] inline void clear(Piece (&sums)[B]) {
    for_each_piece<B>([&](Index p) __attribute__((always_inline)) { sums[p] = Piece{}; });
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

// y += a * x over n numbers: B pieces, the last of which may not be whole.
template <Index B>
[[gnu::always_inline]] inline void add_pieces(Index n, double a, const double* x, double* y) {
    for_each_piece<B - 1>([&](Index p) __attribute__((always_inline)) {
        Piece sum;
        load(y + 8 * p, sum);
        add_product(a, x + 8 * p, sum);
        store(sum, y + 8 * p);
    });
    x += 8 * (B - 1);
    y += 8 * (B - 1);
    const Index rest = n - 8 * (B - 1);
#ifdef __AVX512F__
    const auto there = static_cast<__mmask8>((1u << rest) - 1u);
    const __m512d old = _mm512_maskz_loadu_pd(there, y), more = _mm512_maskz_loadu_pd(there, x);
    _mm512_mask_storeu_pd(y, there, _mm512_fmadd_pd(_mm512_set1_pd(a), more, old));
#else
    for (Index k = 0; k < rest; ++k) y[k] += a * x[k];
#endif
}

// sum_k counts[k] x[k]^2
inline double counted_squares(Index n, const std::uint8_t* counts, const double* x) {
    using Counts = std::uint8_t __attribute__((vector_size(8)));
    Piece squares = {};
    Index k = 0;
    for (; k + 8 <= n; k += 8) {
        Counts here;
        std::memcpy(&here, counts + k, sizeof here);
        Piece loaded;
        load(x + k, loaded);
        squares += __builtin_convertvector(here, Piece) * loaded * loaded;
    }
    double rest = 0.0;
    for (; k < n; ++k) rest += static_cast<double>(counts[k]) * x[k] * x[k];
    return total(squares) + rest;
}

constexpr Index kMostPieces = 8;  // of a group

// body.operator()<B>(first) over `pieces` in groups of B pieces.
template <class Body>
void for_each_group(Index pieces, Body&& body) {
    Index first = 0;
    for (; pieces - first >= kMostPieces; first += kMostPieces) body.template operator()<kMostPieces>(first);
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
