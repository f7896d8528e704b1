// Products of matrices, C += a A B, where sums of a block of C stay in registers.
//
// B and C have rows of K numbers next to each other. A is read number by number, so its rows may as well be its
// columns: X W and X^T M are the same product.
#pragma once

#include "base/compiler.hpp"
#include "simd/pieces.hpp"

namespace dualfield {

// A's entry (i, j) is at i * row + j * column.
struct Strided {
    const double* x;
    Index row, column;
};

// What fits the registers: rows of C, and pieces of each row.
#ifdef __AVX512F__
constexpr Index kBlockRows = 6, kBlockPieces = 4;
#elif defined(__AVX__)
constexpr Index kBlockRows = 6, kBlockPieces = 1;
#else
constexpr Index kBlockRows = 2, kBlockPieces = 1;
#endif

// P pieces of R rows of C, for `inner` columns of A. The last piece has `rest` numbers.
template <Index R, Index P>
DUALFIELD_INLINE inline void add_block_product(Index inner, Index K, double a, const Strided& A, const double* B,
                                               Index rest, double* C) {
    Piece sums[R * P];
    clear(sums);
    const double* x = A.x;
    const Index row = A.row;
    for (Index j = 0; j < inner; ++j, x += A.column, B += K) {
        Piece factors[P];
        for_each_piece<P - 1>([&](Index p) DUALFIELD_INLINE { load(B + 8 * p, factors[p]); });
        load_first(rest, B + 8 * (P - 1), 0.0, factors[P - 1]);
        for_each_piece<R>([&](Index r) DUALFIELD_INLINE {
            const double factor = x[r * row];
            for_each_piece<P>([&](Index p) DUALFIELD_INLINE { sums[r * P + p] += factor * factors[p]; });
        });
    }
    for_each_piece<R>([&](Index r) DUALFIELD_INLINE {
        double* out = C + r * K;
        for_each_piece<P - 1>([&](Index p) DUALFIELD_INLINE {
            Piece old;
            load(out + 8 * p, old);
            old += a * sums[r * P + p];
            store(old, out + 8 * p);
        });
        Piece old;
        load_first(rest, out + 8 * (P - 1), 0.0, old);
        old += a * sums[r * P + P - 1];
        store_first(rest, old, out + 8 * (P - 1));
    });
}

// C += a A B for A of rows x inner, B of inner x K.
inline void add_matrix_product(Index rows, Index inner, Index K, double a, const Strided& A, const double* B,
                               double* C) {
    const Index pieces = (K + 7) / 8;
    for_each_group<kBlockPieces>(pieces, [&]<Index P>(Index first) {
        const Index rest = std::min<Index>(8, K - 8 * (first + P - 1));
        for_each_group<kBlockRows>(rows, [&]<Index R>(Index i) {
            add_block_product<R, P>(inner, K, a, {A.x + i * A.row, A.row, A.column}, B + 8 * first, rest,
                                    C + i * K + 8 * first);
        });
    });
}

}  // namespace dualfield
