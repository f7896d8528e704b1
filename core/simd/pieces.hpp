// Eight doubles at a time, as sums that stay in registers while many rows are added to them.
#pragma once

#ifdef __AVX__
#include <immintrin.h>
#endif

#include "base/compiler.hpp"
#include "simd/piece.hpp"

namespace dualfield {

template <std::size_t B>
DUALFIELD_INLINE inline void clear(Piece (&sums)[B]) {
    for_each_piece<B>([&](Index p) DUALFIELD_INLINE { sums[p] = Piece{}; });
}

inline double total(const Piece& piece) {
    return ((piece[0] + piece[4]) + (piece[2] + piece[6])) + ((piece[1] + piece[5]) + (piece[3] + piece[7]));
}

// y = max(x, y) and y = min(x, y), entry by entry.
DUALFIELD_INLINE inline void raise(const Piece& x, Piece& y) {
    for_each_piece<kParts>(
        [&](Index n) DUALFIELD_INLINE { lanes(y, n) = lanes(x, n) > lanes(y, n) ? lanes(x, n) : lanes(y, n); });
}
DUALFIELD_INLINE inline void lower(const Piece& x, Piece& y) {
    for_each_piece<kParts>(
        [&](Index n) DUALFIELD_INLINE { lanes(y, n) = lanes(x, n) < lanes(y, n) ? lanes(x, n) : lanes(y, n); });
}

// Whether an entry of x is below that of y.
DUALFIELD_INLINE inline bool any_below(const Piece& x, const Piece& y) {
#ifdef __AVX512F__
    return _mm512_cmp_pd_mask((__m512d)x, (__m512d)y, _CMP_LT_OQ) != 0;
#else
    bool below = false;
    for_each_piece<8>([&](Index k) DUALFIELD_INLINE { below |= x[k] < y[k]; });
    return below;
#endif
}

DUALFIELD_INLINE inline double largest(const Piece& piece) {
#ifdef __AVX512F__
    Piece tops = piece;
    raise(DUALFIELD_SHUFFLE(tops, tops, 4, 5, 6, 7, 0, 1, 2, 3), tops);
    raise(DUALFIELD_SHUFFLE(tops, tops, 2, 3, 0, 1, 6, 7, 4, 5), tops);
    raise(DUALFIELD_SHUFFLE(tops, tops, 1, 0, 3, 2, 5, 4, 7, 6), tops);
    return tops[0];
#else
    Lanes tops = lanes(piece, 0);
    for_each_piece<kParts - 1>(
        [&](Index n) DUALFIELD_INLINE { tops = lanes(piece, n + 1) > tops ? lanes(piece, n + 1) : tops; });
    double top = tops[0];
    for_each_piece<kLanes - 1>([&](Index k) DUALFIELD_INLINE { top = tops[k + 1] > top ? tops[k + 1] : top; });
    return top;
#endif
}

// The first n <= 8 of x, and beyond them `rest`.
DUALFIELD_INLINE inline void load_first(Index n, const double* x, double rest, Piece& piece) {
#ifdef __AVX512F__
    piece = (Piece)_mm512_mask_loadu_pd(_mm512_set1_pd(rest), static_cast<__mmask8>((1u << n) - 1u), x);
#elif defined(__AVX__)
    for_each_piece<kParts>([&](Index p) DUALFIELD_INLINE {
        const auto there = Lanes{0.0, 1.0, 2.0, 3.0} < static_cast<double>(n - p * kLanes);
        const Lanes loaded = (Lanes)_mm256_maskload_pd(x + p * kLanes, (__m256i)there);
        lanes(piece, p) = there ? loaded : Lanes{} + rest;
    });
#else
    double all[8] = {rest, rest, rest, rest, rest, rest, rest, rest};
    for (Index k = 0; k < n; ++k) all[k] = x[k];
    load(all, piece);
#endif
}

DUALFIELD_INLINE inline void store_first(Index n, const Piece& piece, double* x) {
#ifdef __AVX512F__
    _mm512_mask_storeu_pd(x, static_cast<__mmask8>((1u << n) - 1u), (__m512d)piece);
#else
    if (n == 8) return store(piece, x);
    double all[8];
    store(piece, all);
    for (Index k = 0; k < n; ++k) x[k] = all[k];
#endif
}

// Zeros from the n-th on.
DUALFIELD_INLINE inline void keep_first(Index n, Piece& piece) {
    static constexpr double kCounting[8] = {0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0};
    Piece places;
    load(kCounting, places);
    for_each_piece<kParts>([&](Index p) DUALFIELD_INLINE {
        lanes(piece, p) = lanes(places, p) < static_cast<double>(n) ? lanes(piece, p) : Lanes{};
    });
}

// body(piece, k) for k = 0, 8, ... below n: the numbers of x from k on, the last piece filled up by x[0].
template <class Body>
DUALFIELD_INLINE inline void for_pieces_of(Index n, const double* x, Body&& body) {
    Piece piece;
    Index k = 0;
    for (; k + 8 <= n; k += 8) {
        load(x + k, piece);
        body(piece, k);
    }
    if (k == n) return;
    load_first(n - k, x + k, x[0], piece);
    body(piece, k);
}

// exp, see elementary.hpp.
DUALFIELD_INLINE inline void exponentiate(Piece& piece) {
    using Bits = DUALFIELD_VECTOR(std::uint64_t, kLanes);
    for_each_piece<kParts>([&](Index n) DUALFIELD_INLINE { exp_to<Lanes, Bits>(lanes(piece, n), lanes(piece, n)); });
}

// sum += a * x[0..8)
inline void add_product(double a, const double* x, Piece& sum) {
    Piece loaded;
    load(x, loaded);
    sum += a * loaded;
}

// sums += x[0..8) * y[0..8), entry by entry
inline void add_products(const double* x, const double* y, Piece& sums) {
    Piece first, second;
    load(x, first);
    load(y, second);
    sums += first * second;
}

// y += a * x over n numbers: B pieces, the last of which may not be whole.
template <Index B>
DUALFIELD_INLINE inline void add_pieces(Index n, double a, const double* x, double* y) {
    for_each_piece<B - 1>([&](Index p) DUALFIELD_INLINE {
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
    using Counts = DUALFIELD_VECTOR(std::uint8_t, kLanes);
    Piece squares = {};
    Index k = 0;
    for (; k + 8 <= n; k += 8) {
        Piece loaded;
        load(x + k, loaded);
        for_each_piece<kParts>([&](Index p) DUALFIELD_INLINE {
            Counts here;
            std::memcpy(&here, counts + k + p * kLanes, sizeof here);
            lanes(squares, p) += DUALFIELD_CONVERT(here, Lanes) * lanes(loaded, p) * lanes(loaded, p);
        });
    }
    double rest = 0.0;
    for (; k < n; ++k) rest += static_cast<double>(counts[k]) * x[k] * x[k];
    return total(squares) + rest;
}

constexpr Index kMostPieces = 8;  // of a group

// body.operator()<B>(first) over `pieces` in groups of B pieces, Most at most.
template <Index Most = kMostPieces, class Body>
void for_each_group(Index pieces, Body&& body) {
    Index first = 0;
    for (; pieces - first >= Most; first += Most) body.template operator()<Most>(first);
    const Index rest = pieces - first;
    [&]<Index... B>(std::integer_sequence<Index, B...>) {
        ((rest == B + 1 ? body.template operator()<B + 1>(first) : void()), ...);
    }(std::make_integer_sequence<Index, Most - 1>());
}

}  // namespace dualfield
