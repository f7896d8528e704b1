// A piece: eight doubles that live in registers. With 512-bit vectors it is one of them. Elsewhere it is made of as
// many as the processor has for eight: a vector type wider than the registers would be kept in memory.
#pragma once

#include <cstddef>
#include <cstring>
#include <utility>

#include "simd/elementary.hpp"

namespace dualfield {

// body(p) for p = 0 .. B - 1, each known when compiling: a loop would be unrolled too late for an array of sums to
// become registers.
template <Index B, class Body>
[[gnu::always_inline]] inline void for_each_piece(Body&& body) {
    [&]<Index... P>(std::integer_sequence<Index, P...>)
        __attribute__((always_inline)) { (body(P), ...); }(std::make_integer_sequence<Index, B>());
}

#ifdef __AVX512F__

using Lanes = double __attribute__((vector_size(64)));
using Piece = Lanes;
constexpr Index kLanes = 8, kParts = 1;
[[gnu::always_inline]] inline Lanes& lanes(Piece& piece, Index) { return piece; }
[[gnu::always_inline]] inline const Lanes& lanes(const Piece& piece, Index) { return piece; }

#else

#ifdef __AVX__
constexpr Index kLanes = 4;
#else
constexpr Index kLanes = 2;
#endif
constexpr Index kParts = 8 / kLanes;
using Lanes = double __attribute__((vector_size(8 * kLanes)));

struct Piece {
    Lanes parts[kParts];

    double operator[](Index k) const { return parts[k / kLanes][k % kLanes]; }
    double& operator[](Index k) { return reinterpret_cast<double*>(parts)[k]; }
};
[[gnu::always_inline]] inline Lanes& lanes(Piece& piece, Index n) { return piece.parts[n]; }
[[gnu::always_inline]] inline const Lanes& lanes(const Piece& piece, Index n) { return piece.parts[n]; }

// y += x, and so on; x - y, and so on, where x or y may be one number for all eight.
[[gnu::always_inline]] inline Piece& operator+=(Piece& y, const Piece& x) {
    for_each_piece<kParts>([&](Index n) __attribute__((always_inline)) { y.parts[n] += x.parts[n]; });
    return y;
}
[[gnu::always_inline]] inline Piece& operator-=(Piece& y, const Piece& x) {
    for_each_piece<kParts>([&](Index n) __attribute__((always_inline)) { y.parts[n] -= x.parts[n]; });
    return y;
}
[[gnu::always_inline]] inline Piece& operator*=(Piece& y, const Piece& x) {
    for_each_piece<kParts>([&](Index n) __attribute__((always_inline)) { y.parts[n] *= x.parts[n]; });
    return y;
}
[[gnu::always_inline]] inline Piece eight_of(double a) {
    Piece piece;
    for_each_piece<kParts>([&](Index n) __attribute__((always_inline)) { piece.parts[n] = Lanes{} + a; });
    return piece;
}
[[gnu::always_inline]] inline Piece& operator-=(Piece& y, double a) { return y -= eight_of(a); }
[[gnu::always_inline]] inline Piece& operator*=(Piece& y, double a) { return y *= eight_of(a); }
[[gnu::always_inline]] inline Piece operator+(Piece x, const Piece& y) { return x += y; }
[[gnu::always_inline]] inline Piece operator+(Piece x, double a) { return x += eight_of(a); }
[[gnu::always_inline]] inline Piece operator+(double a, Piece x) { return x += eight_of(a); }
[[gnu::always_inline]] inline Piece operator-(Piece x, double a) { return x -= a; }
[[gnu::always_inline]] inline Piece operator-(Piece x) { return x *= -1.0; }
[[gnu::always_inline]] inline Piece operator*(Piece x, const Piece& y) { return x *= y; }
[[gnu::always_inline]] inline Piece operator*(Piece x, double a) { return x *= a; }
[[gnu::always_inline]] inline Piece operator*(double a, Piece x) { return x *= a; }

#endif

// Vector by vector, as a copy of the whole would go through memory.
[[gnu::always_inline]] inline void load(const double* x, Piece& piece) {
    for_each_piece<kParts>(
        [&](Index n) __attribute__((always_inline)) { std::memcpy(&lanes(piece, n), x + n * kLanes, sizeof(Lanes)); });
}
[[gnu::always_inline]] inline void store(const Piece& piece, double* x) {
    for_each_piece<kParts>(
        [&](Index n) __attribute__((always_inline)) { std::memcpy(x + n * kLanes, &lanes(piece, n), sizeof(Lanes)); });
}

}  // namespace dualfield
