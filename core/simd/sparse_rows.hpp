// Sparse rows over up to 32 places: which places hold a number is a word of bits, the numbers lie next to each other.
//
// With 512-bit vectors each kernel is a few instructions whatever the bits, where a loop over the bits is mispredicted
// once a row.
#pragma once

#include <bit>
#include <cstdint>

#ifdef __AVX512F__
#include <immintrin.h>
#endif

#include "base/compiler.hpp"
#include "simd/pieces.hpp"

namespace dualfield {

constexpr Index kPlaces = 32;

#ifdef __AVX512F__

// The bits of the piece-th eight places, and how many come before them.
inline __mmask8 piece_of(std::uint32_t bits, int piece) { return static_cast<__mmask8>(bits >> 8 * piece); }
inline int before(std::uint32_t bits, int piece) { return std::popcount(bits & ((1u << 8 * piece) - 1u)); }

// y[place of the n-th bit] += a x[n]. Where y can be read and written over n places, n whole pieces of eight, it is: a
// later load of what a masked store wrote would have to wait for the store.
inline void add_expanded(std::uint32_t bits, double a, const double* x, Index n, double* y) {
    if (n % 8 == 0) {
        for (int piece = 0; 8 * piece < n; ++piece) {
            const __m512d spread = _mm512_maskz_expandloadu_pd(piece_of(bits, piece), x + before(bits, piece));
            double* at = y + 8 * piece;
            _mm512_storeu_pd(at, _mm512_fmadd_pd(_mm512_set1_pd(a), spread, _mm512_loadu_pd(at)));
        }
        return;
    }
    for (std::uint32_t left = bits; left; left &= left - 1) y[std::countr_zero(left)] += a * *x++;
}

// The same for the piece-th eight places alone, y being those.
inline void add_expanded_piece(std::uint32_t bits, int piece, double a, const double* x, Piece& y) {
    const __m512d spread = _mm512_maskz_expandloadu_pd(piece_of(bits, piece), x + before(bits, piece));
    y += a * reinterpret_cast<const Piece&>(spread);
}

// y[n] += a x[place of the n-th bit], the places being N pieces. All loads come before the first store, as they overlap
// but for the masks.
template <Index N>
DUALFIELD_INLINE inline void add_compressed(std::uint32_t bits, double a, const double* x, double* y) {
    __m512d sums[N];
    for (int piece = 0; piece < N; ++piece) {
        const __mmask8 here = piece_of(bits, piece);
        const __m512d packed = _mm512_maskz_compress_pd(here, _mm512_maskz_loadu_pd(here, x + 8 * piece));
        const auto some = static_cast<__mmask8>((1u << std::popcount(here)) - 1u);
        const __m512d old = _mm512_maskz_loadu_pd(some, y + before(bits, piece));
        sums[piece] = _mm512_fmadd_pd(_mm512_set1_pd(a), packed, old);
    }
    for (int piece = 0; piece < N; ++piece) {
        const auto some = static_cast<__mmask8>((1u << std::popcount(piece_of(bits, piece))) - 1u);
        _mm512_mask_storeu_pd(y + before(bits, piece), some, sums[piece]);
    }
}

// squares += the squares of x at the places of the bits, each in one of the eight sums.
template <Index N>
inline void add_squares_at(std::uint32_t bits, const double* x, Piece& squares) {
    for (int piece = 0; piece < N; ++piece) {
        const __m512d some = _mm512_maskz_loadu_pd(piece_of(bits, piece), x + 8 * piece);
        squares += reinterpret_cast<const Piece&>(some) * reinterpret_cast<const Piece&>(some);
    }
}

#else

inline void add_expanded(std::uint32_t bits, double a, const double* x, Index, double* y) {
    for (std::uint32_t left = bits; left; left &= left - 1) y[std::countr_zero(left)] += a * *x++;
}

inline void add_expanded_piece(std::uint32_t bits, int piece, double a, const double* x, Piece& y) {
    x += std::popcount(bits & ((1u << 8 * piece) - 1u));
    for (std::uint32_t left = bits >> 8 * piece & 0xffu; left; left &= left - 1) y[std::countr_zero(left)] += a * *x++;
}

template <Index>
DUALFIELD_INLINE inline void add_compressed(std::uint32_t bits, double a, const double* x, double* y) {
    for (std::uint32_t left = bits; left; left &= left - 1) *y++ += a * x[std::countr_zero(left)];
}

template <Index>
inline void add_squares_at(std::uint32_t bits, const double* x, Piece& squares) {
    for (std::uint32_t left = bits; left; left &= left - 1)
        squares[std::countr_zero(left) % 8] += x[std::countr_zero(left)] * x[std::countr_zero(left)];
}

#endif

// Sets the first n of x to zero but for the places of the bits.
inline void clear_outside(std::uint32_t bits, Index n, double* x) {
    for (Index k = 0; k < n; ++k) x[k] = bits >> k & 1 ? x[k] : 0.0;
}

}  // namespace dualfield
