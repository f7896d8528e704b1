// Bob Jenkins' hash lookup3, the little-endian form: CRFsuite's files have their tables of strings by it.
//
// Three numbers a, b, c of 32 bits begin at 0xdeadbeef + length. Each twelve bytes are added to them as three numbers
// and mixed; the last one to twelve bytes are added with zeros behind them and mixed differently; c is the hash.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace dualfield::tagging {

// The 32-bit number at a place, which need not be aligned.
inline std::uint32_t little_endian(const char* place) {
    std::uint32_t number;
    std::memcpy(&number, place, 4);
    if constexpr (std::endian::native == std::endian::big)
        number = (number >> 24) | ((number >> 8) & 0xff00U) | ((number << 8) & 0xff0000U) | (number << 24);
    return number;
}

inline std::uint32_t lookup3(const char* text, std::size_t length) {
    using std::rotl;
    std::uint32_t a = 0xdeadbeefU + static_cast<std::uint32_t>(length), b = a, c = a;
    if (length == 0) return c;
    const auto add = [&](const char* twelve) {
        a += little_endian(twelve);
        b += little_endian(twelve + 4);
        c += little_endian(twelve + 8);
    };
    for (; length > 12; length -= 12, text += 12) {
        add(text);
        a = (a - c) ^ rotl(c, 4), c += b;
        b = (b - a) ^ rotl(a, 6), a += c;
        c = (c - b) ^ rotl(b, 8), b += a;
        a = (a - c) ^ rotl(c, 16), c += b;
        b = (b - a) ^ rotl(a, 19), a += c;
        c = (c - b) ^ rotl(b, 4), b += a;
    }
    char last[12] = {};
    std::memcpy(last, text, length);
    add(last);
    c = (c ^ b) - rotl(b, 14);
    a = (a ^ c) - rotl(c, 11);
    b = (b ^ a) - rotl(a, 25);
    c = (c ^ b) - rotl(b, 16);
    a = (a ^ c) - rotl(c, 4);
    b = (b ^ a) - rotl(a, 14);
    c = (c ^ b) - rotl(b, 24);
    return c;
}

}  // namespace dualfield::tagging
