// Dense vector kernels: short loops over contiguous doubles that the compiler turns into vector instructions.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/compiler.hpp"
#include "simd/pieces.hpp"

namespace dualfield {

// Rows of scratch matrices are padded to a multiple of eight doubles, one 512-bit vector: loops over whole vectors have
// no remainder, which for rows of a few dozen labels is much of the work.
inline Index padded(Index n) { return (n + 7) / 8 * 8; }

// x[0] to x[n - 1] are needed soon: they are fetched as far as the second cache. Always inlined, as a call of what does
// nothing but fetch is removed.
template <class Number>
DUALFIELD_INLINE inline void prefetch_all(Index n, const Number* x) {
    constexpr Index kALine = 64 / sizeof(Number);
    for (Index k = 0; k < n; k += kALine) prefetch_line_to_second_level(x + k);
}

template <class Number>
DUALFIELD_INLINE inline void prefetch_to_write(const Number* x) {
    prefetch_line_to_write(x);
}

inline double dot(Index n, const double* x, const double* y) {
    double sum = 0.0;
#pragma omp simd reduction(+ : sum)
    for (Index k = 0; k < n; ++k) sum += x[k] * y[k];
    return sum;
}

inline double sum(Index n, const double* x) {
    double total = 0.0;
#pragma omp simd reduction(+ : total)
    for (Index k = 0; k < n; ++k) total += x[k];
    return total;
}

inline double absolute_sum(Index n, const double* x) {
    double total = 0.0;
#pragma omp simd reduction(+ : total)
    for (Index k = 0; k < n; ++k) total += std::abs(x[k]);
    return total;
}

inline double squared_norm(Index n, const double* x) { return dot(n, x, x); }

// y += a x, where either may be kept in single precision
template <class X, class Y>
inline void axpy(Index n, double a, const X* x, Y* y) {
#pragma omp simd
    for (Index k = 0; k < n; ++k) y[k] = static_cast<Y>(static_cast<double>(y[k]) + a * static_cast<double>(x[k]));
}

// z = x + a (y - x)
inline void mix(Index n, double a, const double* x, const double* y, double* z) {
#pragma omp simd
    for (Index k = 0; k < n; ++k) z[k] = x[k] + a * (y[k] - x[k]);
}

// x moved towards zero by at most t
inline double soft_threshold(double x, double t) { return x - (x < -t ? -t : (x > t ? t : x)); }
inline void soft_threshold(Index n, double t, const double* x, double* out) {
#pragma omp simd
    for (Index k = 0; k < n; ++k) out[k] = soft_threshold(x[k], t);
}

// z = x + y
inline void add(Index n, const double* x, const double* y, double* z) {
#pragma omp simd
    for (Index k = 0; k < n; ++k) z[k] = x[k] + y[k];
}

// y += a * x over whole vectors of eight: n is padded, and x and y can be read and written that far.
inline void padded_axpy(Index n, double a, const double* x, double* y) {
    for (Index k = 0; k < n; k += 8) {
#pragma omp simd
        for (Index j = k; j < k + 8; ++j) y[j] += a * x[j];
    }
}

inline void scale(Index n, double a, double* x) {
#pragma omp simd
    for (Index k = 0; k < n; ++k) x[k] *= a;
}

inline double maximum(Index n, const double* x) {
    Piece tops = Piece{} + x[0];
    for_pieces_of(n, x, [&](const Piece& piece, Index) DUALFIELD_INLINE { raise(piece, tops); });
    return largest(tops);
}

inline double minimum(Index n, const double* x) {
    double bottom = x[0];
#pragma omp simd reduction(min : bottom)
    for (Index k = 1; k < n; ++k) bottom = x[k] < bottom ? x[k] : bottom;
    return bottom;
}

// x -= max x
inline void subtract_maximum(Index n, double* x) {
    const double top = maximum(n, x);
#pragma omp simd
    for (Index k = 0; k < n; ++k) x[k] -= top;
}

// The largest |x_k|.
inline double largest_magnitude(Index n, const double* x) {
    return std::max(std::abs(maximum(n, x)), std::abs(minimum(n, x)));
}

inline Index argmax(Index n, const double* x) { return std::max_element(x, x + n) - x; }

// out = exp(x - shift)
inline void exp_shifted(Index n, const double* x, double shift, double* out) {
    for_pieces_of(n, x, [&](Piece& piece, Index k) DUALFIELD_INLINE {
        piece -= shift;
        exponentiate(piece);
        store_first(std::min<Index>(8, n - k), piece, out + k);
    });
}

// log(sum_k exp(x_k)) = top + rest with top = max x_k. Apart, they say what x - log(sum) is also where x is so large
// that the rest would be lost in their sum. -inf entries count as impossible.
struct LogSum {
    double top, rest;
    double value() const { return top + rest; }
};

inline LogSum log_sum(Index n, const double* x) {
    const double top = maximum(n, x);
    if (!(top > -std::numeric_limits<double>::infinity())) return {top, 0.0};
    double total = 0.0;
#pragma omp simd reduction(+ : total)
    for (Index k = 0; k < n; ++k) total += fast_exp(x[k] - top);
    return {top, std::log(total)};
}

inline double log_sum_exp(Index n, const double* x) { return log_sum(n, x).value(); }

// x -= log(sum_k exp(x_k)), which is returned.
inline LogSum normalise_logarithms(Index n, double* x) {
    const LogSum total = log_sum(n, x);
#pragma omp simd
    for (Index k = 0; k < n; ++k) x[k] = (x[k] - total.top) - total.rest;
    return total;
}

}  // namespace dualfield
