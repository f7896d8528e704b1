// Eight doubles at a time, as sums that stay in registers while many rows are added to them.
#pragma once

#ifdef __AVX__
#include <immintrin.h>
#endif

#include "simd/piece.hpp"

namespace dualfield {

template <std::size_t B>
[[gnu::always_inline]] inline void clear(Piece (&sums)[B]) {
    for_each_piece<B>([&](Index p) __attribute__((always_inline)) { sums[p] = Piece{}; });
}

inline double total(const Piece& piece) {
    return ((piece[0] + piece[4]) + (piece[2] + piece[6])) + ((piece[1] + piece[5]) + (piece[3] + piece[7]));
}

// y = max(x, y) and y = min(x, y), entry by entry.
[[gnu::always_inline]] inline void raise(const Piece& x, Piece& y) {
    for_each_piece<kParts>([&](Index n) __attribute__((always_inline)) {
        lanes(y, n) = lanes(x, n) > lanes(y, n) ? lanes(x, n) : lanes(y, n);
    });
}
[[gnu::always_inline]] inline void lower(const Piece& x, Piece& y) {
    for_each_piece<kParts>([&](Index n) __attribute__((always_inline)) {
        lanes(y, n) = lanes(x, n) < lanes(y, n) ? lanes(x, n) : lanes(y, n);
    });
}

[[gnu::always_inline]] inline double largest(const Piece& piece) {
#ifdef __AVX512F__
    Piece tops = piece;
    raise(__builtin_shufflevector(tops, tops, 4, 5, 6, 7, 0, 1, 2, 3), tops);
    raise(__builtin_shufflevector(tops, tops, 2, 3, 0, 1, 6, 7, 4, 5), tops);
    raise(__builtin_shufflevector(tops, tops, 1, 0, 3, 2, 5, 4, 7, 6), tops);
    return tops[0];
#else
    Lanes tops = lanes(piece, 0);
    for_each_piece<kParts - 1>([&](Index n) __attribute__((always_inline)) {
        tops = lanes(piece, n + 1) > tops ? lanes(piece, n + 1) : tops;
    });
    double top = tops[0];
    for_each_piece<kLanes - 1>([&](Index k)
                                   __attribute__((always_inline)) { top = tops[k + 1] > top ? tops[k + 1] : top; });
    return top;
#endif
}

// The first n <= 8 of x, and beyond them `rest`.
[[gnu::always_inline]] inline void load_first(Index n, const double* x, double rest, Piece& piece) {
#ifdef __AVX512F__
    piece = (Piece)_mm512_mask_loadu_pd(_mm512_set1_pd(rest), static_cast<__mmask8>((1u << n) - 1u), x);
#elif defined(__AVX__)
    for_each_piece<kParts>([&](Index p) __attribute__((always_inline)) {
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

[[gnu::always_inline]] inline void store_first(Index n, const Piece& piece, double* x) {
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
[[gnu::always_inline]] inline void keep_first(Index n, Piece& piece) {
    static constexpr double kCounting[8] = {0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0};
    Piece places;
    load(kCounting, places);
    for_each_piece<kParts>([&](Index p) __attribute__((always_inline)) {
        lanes(piece, p) = lanes(places, p) < static_cast<double>(n) ? lanes(piece, p) : Lanes{};
    });
}

// body(piece, k) for k = 0, 8, ... below n: the numbers of x from k on, the last piece filled up by x[0].
template <class Body>
[[gnu::always_inline]] inline void for_pieces_of(Index n, const double* x, Body&& body) {
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
[[gnu::always_inline]] inline void exponentiate(Piece& piece) {
    using Bits = std::uint64_t __attribute__((vector_size(8 * kLanes)));
    for_each_piece<kParts>(
        [&](Index n) __attribute__((always_inline)) { exp_to<Lanes, Bits>(lanes(piece, n), lanes(piece, n)); });
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
    using Counts = std::uint8_t __attribute__((vector_size(kLanes)));
    Piece squares = {};
    Index k = 0;
    for (; k + 8 <= n; k += 8) {
        Piece loaded;
        load(x + k, loaded);
        for_each_piece<kParts>([&](Index p) __attribute__((always_inline)) {
            Counts here;
            std::memcpy(&here, counts + k + p * kLanes, sizeof here);
            lanes(squares, p) += __builtin_convertvector(here, Lanes) * lanes(loaded, p) * lanes(loaded, p);
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
