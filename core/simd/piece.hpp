// A piece: eight doubles that live in registers. With 512-bit vectors it is one of them. Elsewhere it is made of as
// many as the processor has for eight: a vector type wider than the registers would be kept in memory.
#pragma once

#include <cstddef>
#include <cstring>
#include <utility>

#include "base/compiler.hpp"
#include "simd/elementary.hpp"

namespace dualfield {

// body(p) for p = 0 .. B - 1, each known when compiling: a loop would be unrolled too late for an array of sums to
// become registers.
template <Index B, class Body>
DUALFIELD_INLINE inline void for_each_piece(Body&& body) {
    [&]<Index... P>(std::integer_sequence<Index, P...>)
        DUALFIELD_INLINE { (body(P), ...); }(std::make_integer_sequence<Index, B>());
}

#ifdef __AVX512F__

using Lanes = DUALFIELD_VECTOR(double, 8);
using Piece = Lanes;
constexpr Index kLanes = 8, kParts = 1;
DUALFIELD_INLINE inline Lanes& lanes(Piece& piece, Index) { return piece; }
DUALFIELD_INLINE inline const Lanes& lanes(const Piece& piece, Index) { return piece; }

#else

#ifdef __AVX__
constexpr Index kLanes = 4;
#else
constexpr Index kLanes = 2;
#endif
constexpr Index kParts = 8 / kLanes;
using Lanes = DUALFIELD_VECTOR(double, kLanes);

struct Piece {
    Lanes parts[kParts];

    double operator[](Index k) const { return parts[k / kLanes][k % kLanes]; }
    double& operator[](Index k) { return reinterpret_cast<double*>(parts)[k]; }
};
DUALFIELD_INLINE inline Lanes& lanes(Piece& piece, Index n) { return piece.parts[n]; }
DUALFIELD_INLINE inline const Lanes& lanes(const Piece& piece, Index n) { return piece.parts[n]; }

// y += x, and so on; x - y, and so on, where x or y may be one number for all eight.
DUALFIELD_INLINE inline Piece& operator+=(Piece& y, const Piece& x) {
    for_each_piece<kParts>([&](Index n) DUALFIELD_INLINE { y.parts[n] += x.parts[n]; });
    return y;
}
DUALFIELD_INLINE inline Piece& operator-=(Piece& y, const Piece& x) {
    for_each_piece<kParts>([&](Index n) DUALFIELD_INLINE { y.parts[n] -= x.parts[n]; });
    return y;
}
DUALFIELD_INLINE inline Piece& operator*=(Piece& y, const Piece& x) {
    for_each_piece<kParts>([&](Index n) DUALFIELD_INLINE { y.parts[n] *= x.parts[n]; });
    return y;
}
DUALFIELD_INLINE inline Piece eight_of(double a) {
    Piece piece;
    for_each_piece<kParts>([&](Index n) DUALFIELD_INLINE { piece.parts[n] = Lanes{} + a; });
    return piece;
}
DUALFIELD_INLINE inline Piece& operator-=(Piece& y, double a) { return y -= eight_of(a); }
DUALFIELD_INLINE inline Piece& operator*=(Piece& y, double a) { return y *= eight_of(a); }
DUALFIELD_INLINE inline Piece operator+(Piece x, const Piece& y) { return x += y; }
DUALFIELD_INLINE inline Piece operator+(Piece x, double a) { return x += eight_of(a); }
DUALFIELD_INLINE inline Piece operator+(double a, Piece x) { return x += eight_of(a); }
DUALFIELD_INLINE inline Piece operator-(Piece x, double a) { return x -= a; }
DUALFIELD_INLINE inline Piece operator-(Piece x) { return x *= -1.0; }
DUALFIELD_INLINE inline Piece operator*(Piece x, const Piece& y) { return x *= y; }
DUALFIELD_INLINE inline Piece operator*(Piece x, double a) { return x *= a; }
DUALFIELD_INLINE inline Piece operator*(double a, Piece x) { return x *= a; }

#endif

// Vector by vector, as a copy of the whole would go through memory.
DUALFIELD_INLINE inline void load(const double* x, Piece& piece) {
    for_each_piece<kParts>([&](Index n)
                               DUALFIELD_INLINE { std::memcpy(&lanes(piece, n), x + n * kLanes, sizeof(Lanes)); });
}
DUALFIELD_INLINE inline void store(const Piece& piece, double* x) {
    for_each_piece<kParts>([&](Index n)
                               DUALFIELD_INLINE { std::memcpy(x + n * kLanes, &lanes(piece, n), sizeof(Lanes)); });
}

}  // namespace dualfield
