// Elementary functions as branch-free scalar code that compilers vectorise.
//
// libm's exp and log are calls, and a call in a loop stops vectorisation. Written as plain arithmetic on the
// bits, the same functions run eight lanes at a time. Both are accurate to about one unit in the last place
// over the range that probabilities need; the tests compare them with libm.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>

#include "base/compiler.hpp"
#include "base/index.hpp"

namespace dualfield {

inline constexpr double kTiny = 0x1.0p-1020;  // below, a probability counts as zero

// max(0, x), but a NaN stays one.
inline double non_negative(double x) { return x < 0.0 ? 0.0 : x; }

// Unsigned, so that wrapping around is defined.
inline std::uint64_t bits_of(double x) {
    std::uint64_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    return bits;
}

inline double double_of(std::uint64_t bits) {
    double x;
    std::memcpy(&x, &bits, sizeof x);
    return x;
}

// exp(x) for x <= 709; 0 below -708. With x = k log 2 + r and |r| <= log(2) / 2, exp(x) = 2^k exp(r), and
// exp(r) is a polynomial of degree 11, (exp(r) - 1 - r) / r^2 being fitted at Chebyshev nodes: wrong by less than
// 2e-17. Real is double, or a vector of doubles with Bits the vector of as many words.
template <class Real, class Bits>
DUALFIELD_INLINE inline void exp_to(const Real& x, Real& out) {
    constexpr double kLog2High = 6.93147180369123816490e-01;
    constexpr double kLog2Low = 1.90821492927058770002e-10;
    constexpr double kInverseLog2 = 1.44269504088896338700;
    constexpr double kRound = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to an integer in the low bits
    constexpr std::uint64_t kRoundBits = std::bit_cast<std::uint64_t>(kRound);
    const Real clamped = x < -708.0 ? Real{} - 708.0 : x;
    const Real shifted = clamped * kInverseLog2 + kRound;
    const Bits exponent = std::bit_cast<Bits>(shifted) - kRoundBits;
    const Real k = shifted - kRound;
    const Real r = (clamped - k * kLog2High) - k * kLog2Low;
    Real p = r * 2.510038549551032e-08 + 2.7620088445409746e-07;
    p = p * r + 2.7557268459997064e-06;
    p = p * r + 2.4801521295954376e-05;
    p = p * r + 0.00019841269863053618;
    p = p * r + 0.0013888888917213717;
    p = p * r + 0.008333333333330062;
    p = p * r + 0.04166666666662413;
    p = p * r + 0.16666666666666669;
    p = p * r + 0.5000000000000001;
    p = p * r + 1.0;
    p = p * r + 1.0;
    const Real result = p * std::bit_cast<Real>((exponent + 1023u) << 52);
    out = x < -708.0 ? Real{} : result;
}

DUALFIELD_INLINE inline double fast_exp(double x) {
    double result;
    exp_to<double, std::uint64_t>(x, result);
    return result;
}

// x = 2^exponent * mantissa with mantissa in [sqrt(1/2), sqrt(2)), for finite normal x > 0.
struct BinaryParts {
    double mantissa, exponent;
    std::uint64_t exponent_bits;  // the exponent where a double keeps it, unbiased
};

DUALFIELD_INLINE inline BinaryParts binary_parts(double x) {
    constexpr std::uint64_t kSqrtHalf = 0x3fe6a09e667f3bcd;
    const std::uint64_t bits = bits_of(x);
    const std::uint64_t exponent_bits = (bits - kSqrtHalf) & 0xfff0000000000000ULL;
    // The exponent as a double without an integer conversion (which x86-64-v3 lacks for 64 bits): place it in the
    // low mantissa bits of 1.5 * 2^52 and subtract.
    constexpr double kRound = 6755399441055744.0;
    const std::uint64_t biased = (exponent_bits + 0x7ff0000000000000ULL) >> 52;
    return {double_of(bits - exponent_bits), double_of(biased + bits_of(kRound)) - (kRound + 2047.0), exponent_bits};
}

// exponent log 2 + log(mantissa), given s = (mantissa - 1) / (mantissa + 1): log(mantissa) = 2 artanh(s), and
// (2 artanh(s) - 2 s) / s^3 is the minimax polynomial of degree 6 in s^2 <= 0.0295, wrong by less than 4e-16.
DUALFIELD_INLINE inline double log_from_parts(double exponent, double s) {
    constexpr double kLog2High = 6.93147180369123816490e-01;
    constexpr double kLog2Low = 1.90821492927058770002e-10;
    const double z = s * s;
    double p = 0.14617733455628830587;
    p = p * z + 0.15331608236816523437;
    p = p * z + 0.18182892879144660731;
    p = p * z + 0.22222211077505224101;
    p = p * z + 0.28571428626370655469;
    p = p * z + 0.39999999999898507837;
    p = p * z + 0.66666666666666697268;
    return exponent * kLog2High + (2.0 * s + (s * z * p + exponent * kLog2Low));
}

// log(x) for finite normal x > 0.
DUALFIELD_INLINE inline double fast_log(double x) {
    const BinaryParts parts = binary_parts(x);
    return log_from_parts(parts.exponent, (parts.mantissa - 1.0) / (parts.mantissa + 1.0));
}

struct LogAndReciprocal {
    double log, reciprocal;
};

// log(x) and 1/x for normal x in [2^-1021, 2^1021] with a single division, q = 1 / (m (m + 1)): then 1/m = q (m + 1)
// and 1/(m + 1) = q m. Divisions are what a vector unit does slowest.
DUALFIELD_INLINE inline LogAndReciprocal fast_log_and_reciprocal(double x) {
    const BinaryParts parts = binary_parts(x);
    const double m = parts.mantissa;
    const double q = 1.0 / (m * (m + 1.0));
    const double power = double_of(0x3ff0000000000000ULL - parts.exponent_bits);  // 2^-exponent
    return {log_from_parts(parts.exponent, (m - 1.0) * (q * m)), q * (m + 1.0) * power};
}

}  // namespace dualfield
