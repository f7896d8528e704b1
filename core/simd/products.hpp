// Products of vectors with a square matrix whose rows, and whose number of rows, are padded to whole pieces by zeros.
//
// A matrix of few labels stays in the first cache, and sums stay in registers. A larger one is read from farther away
// more slowly than it is multiplied: so x^T E and E y are found together, by one reading of E.
#pragma once

#include "base/compiler.hpp"
#include "simd/pieces.hpp"

namespace dualfield {

// What fits the registers, 32 of 512 bits or 16 smaller ones: rows and pieces of them at once; the sums kept for each
// piece of a row of B; and up to how many pieces in a row a matrix counts as small.
#ifdef __AVX512F__
constexpr Index kRowsAtOnce = 8, kPiecesAtOnce = 4, kFewPieces = 5;
template <Index B>
constexpr Index kWays = B == 1 ? 4 : (B <= 4 ? 2 : 1);
#else
constexpr Index kRowsAtOnce = 4, kPiecesAtOnce = 1, kFewPieces = 4;
template <Index B>
constexpr Index kWays = B == 1 ? 2 : 1;
#endif

// out[p] = piece p of x^T E, for B pieces in a row, in kWays sums each so that they wait less for each other.
template <Index B>
DUALFIELD_INLINE inline void multiply_left(const double* x, const double* E, Piece (&out)[B]) {
    constexpr Index W = kWays<B>, P = 8 * B;
    Piece sums[W * B];
    clear(sums);
    for (Index i = 0; i < P; i += W)
        for_each_piece<W * B>(
            [&](Index s) DUALFIELD_INLINE { add_product(x[i + s / B], E + (i + s / B) * P + 8 * (s % B), sums[s]); });
    for_each_piece<B>([&](Index p) DUALFIELD_INLINE {
        out[p] = sums[p];
        for_each_piece<W - 1>([&](Index w) DUALFIELD_INLINE { out[p] += sums[(w + 1) * B + p]; });
    });
}

// out[r] = the total of sums[r].
DUALFIELD_INLINE inline void store_totals(const Piece (&sums)[kRowsAtOnce], double* out) {
#ifdef __AVX512F__
    Piece pairs[4], fours[2];
    for_each_piece<4>([&](Index r) DUALFIELD_INLINE {
        const Piece &a = sums[2 * r], &b = sums[2 * r + 1];
        pairs[r] =
            DUALFIELD_SHUFFLE(a, b, 0, 8, 2, 10, 4, 12, 6, 14) + DUALFIELD_SHUFFLE(a, b, 1, 9, 3, 11, 5, 13, 7, 15);
    });
    for_each_piece<2>([&](Index r) DUALFIELD_INLINE {
        const Piece &a = pairs[2 * r], &b = pairs[2 * r + 1];
        fours[r] =
            DUALFIELD_SHUFFLE(a, b, 0, 1, 8, 9, 4, 5, 12, 13) + DUALFIELD_SHUFFLE(a, b, 2, 3, 10, 11, 6, 7, 14, 15);
    });
    store(DUALFIELD_SHUFFLE(fours[0], fours[1], 0, 1, 2, 3, 8, 9, 10, 11) +
              DUALFIELD_SHUFFLE(fours[0], fours[1], 4, 5, 6, 7, 12, 13, 14, 15),
          out);
#else
    for_each_piece<kRowsAtOnce>([&](Index r) DUALFIELD_INLINE { out[r] = total(sums[r]); });
#endif
}

// left = x^T E where kLeft, right = E y where kRight; E is P x P. Every other reading should go `upwards`, to begin
// with what the last one has left in the cache.
template <bool kLeft, bool kRight>
void multiply(Index P, const double* E, const double* x, double* left, const double* y, double* right, bool upwards) {
    constexpr Index R = kRowsAtOnce;
    if (kLeft) std::memset(left, 0, P * sizeof(double));
    for (Index block = 0; block < P; block += R) {
        const Index i = upwards ? P - R - block : block;
        const double* rows = E + i * P;
        Piece factors[R], sums[R];
        for_each_piece<R>([&](Index r) DUALFIELD_INLINE { factors[r] = Piece{} + (kLeft ? x[i + r] : 0.0); });
        clear(sums);
        for (Index j = 0; j < P; j += 8) {
            Piece column{}, row{};
            if (kRight) load(y + j, column);
            if (kLeft) load(left + j, row);
            for_each_piece<R>([&](Index r) DUALFIELD_INLINE {
                Piece entries;
                load(rows + r * P + j, entries);
                if (kLeft) row += factors[r] * entries;
                if (kRight) sums[r] += entries * column;
            });
            if (kLeft) store(row, left + j);
        }
        if (kRight) store_totals(sums, right + i);
    }
}

// Entry k of piece r becomes entry r of piece k. With wide vectors entries, then pairs of them, then fours change
// places.
DUALFIELD_INLINE inline void transpose(Piece (&rows)[8]) {
#ifdef __AVX512F__
    Piece pairs[8], fours[8];
    for_each_piece<4>([&](Index r) DUALFIELD_INLINE {
        const Piece &a = rows[2 * r], &b = rows[2 * r + 1];
        pairs[2 * r] = DUALFIELD_SHUFFLE(a, b, 0, 8, 2, 10, 4, 12, 6, 14);
        pairs[2 * r + 1] = DUALFIELD_SHUFFLE(a, b, 1, 9, 3, 11, 5, 13, 7, 15);
    });
    for_each_piece<4>([&](Index r) DUALFIELD_INLINE {
        const Index first = r / 2 * 4 + r % 2;
        const Piece &a = pairs[first], &b = pairs[first + 2];
        fours[first] = DUALFIELD_SHUFFLE(a, b, 0, 1, 8, 9, 4, 5, 12, 13);
        fours[first + 2] = DUALFIELD_SHUFFLE(a, b, 2, 3, 10, 11, 6, 7, 14, 15);
    });
    for_each_piece<4>([&](Index r) DUALFIELD_INLINE {
        const Piece &a = fours[r], &b = fours[r + 4];
        rows[r] = DUALFIELD_SHUFFLE(a, b, 0, 1, 2, 3, 8, 9, 10, 11);
        rows[r + 4] = DUALFIELD_SHUFFLE(a, b, 4, 5, 6, 7, 12, 13, 14, 15);
    });
#else
    double all[64];
    for_each_piece<8>([&](Index r) DUALFIELD_INLINE { store(rows[r], all + 8 * r); });
    for (Index r = 0; r < 8; ++r)
        for (Index k = 0; k < r; ++k) std::swap(all[8 * r + k], all[8 * k + r]);
    for_each_piece<8>([&](Index r) DUALFIELD_INLINE { load(all + 8 * r, rows[r]); });
#endif
}

// out = E^T for a matrix of P x P.
inline void transpose(Index P, const double* E, double* out) {
#ifdef __AVX512F__
    for (Index i = 0; i < P; i += 8)
        for (Index j = 0; j < P; j += 8) {
            Piece rows[8];
            for_each_piece<8>([&](Index r) DUALFIELD_INLINE { load(E + (i + r) * P + j, rows[r]); });
            transpose(rows);
            for_each_piece<8>([&](Index r) DUALFIELD_INLINE { store(rows[r], out + (j + r) * P + i); });
        }
#else
    for (Index i = 0; i < P; ++i)
        for (Index j = 0; j < P; ++j) out[j * P + i] = E[i * P + j];
#endif
}

}  // namespace dualfield
