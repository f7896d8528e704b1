// UTF-8 and what kind of character a code point is.
//
// Kinds and lower case are those of Unicode 14, from the table in character_runs.hpp: all scripts. Lower-casing is
// that of Python's str.lower() with one difference: a capital sigma becomes final by its two neighbours alone, without
// looking past apostrophes and accents.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "text/character_runs.hpp"

namespace dualfield::text {

using CodePoint = char32_t;

struct Character {
    Kind kind = Kind::other;
    CodePoint lower = 0;
};

inline Character character_of(CodePoint c) {
    if (c < 128) {
        if (c >= 'a' && c <= 'z') return {Kind::lower, c};
        if (c >= 'A' && c <= 'Z') return {Kind::upper, c + 32};
        if (c >= '0' && c <= '9') return {Kind::digit, c};
        if (c == ' ' || (c >= 9 && c <= 13)) return {Kind::space, c};
        return {c > 32 && c < 127 ? Kind::punctuation : Kind::other, c};
    }
    const auto after = std::upper_bound(std::begin(kCharacterRuns), std::end(kCharacterRuns), c,
                                        [](CodePoint x, const CharacterRun& run) { return x < run.first; });
    if (after == std::begin(kCharacterRuns) || c > (after - 1)->last) return {Kind::other, c};
    const CharacterRun& run = *(after - 1);
    if (run.kind == Kind::upper_lower || run.kind == Kind::lower_upper) {
        const bool even = (c - run.first) % 2 == 0;
        return even == (run.kind == Kind::upper_lower) ? Character{Kind::upper, c + 1} : Character{Kind::lower, c};
    }
    return {run.kind, static_cast<CodePoint>(static_cast<std::int32_t>(c) + run.to_lower)};
}

inline bool is_letter(Kind kind) { return kind == Kind::upper || kind == Kind::lower || kind == Kind::letter; }

inline bool continuation(std::string_view text, std::size_t at) {
    return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80;
}

// The code point that begins at the given byte of valid UTF-8; moves past it.
inline CodePoint next_code_point(std::string_view text, std::size_t& at) {
    const auto byte = [&](std::size_t n) { return static_cast<CodePoint>(static_cast<unsigned char>(text[n])); };
    const CodePoint first = byte(at++);
    if (first < 0x80) return first;
    CodePoint c = first & (first < 0xE0 ? 0x1F : first < 0xF0 ? 0x0F : 0x07);
    while (continuation(text, at)) c = c << 6 | (byte(at++) & 0x3F);
    return c;
}

inline void append_code_point(CodePoint c, std::string& out) {
    const auto put = [&](CodePoint byte) { out.push_back(static_cast<char>(static_cast<unsigned char>(byte))); };
    if (c < 0x80) {
        put(c);
    } else if (c < 0x800) {
        put(0xC0 | c >> 6), put(0x80 | (c & 0x3F));
    } else if (c < 0x10000) {
        put(0xE0 | c >> 12), put(0x80 | (c >> 6 & 0x3F)), put(0x80 | (c & 0x3F));
    } else {
        put(0xF0 | c >> 18), put(0x80 | (c >> 12 & 0x3F)), put(0x80 | (c >> 6 & 0x3F)), put(0x80 | (c & 0x3F));
    }
}

inline std::u32string decoded(std::string_view text) {
    std::u32string points;
    points.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) points.push_back(next_code_point(text, at));
    return points;
}

// Where the first byte stands that is not part of a well-formed code point (RFC 3629: shortest form, no surrogates, at
// most U+10FFFF), or the length of the text.
inline std::size_t valid_length(std::string_view text) {
    const auto byte = [&](std::size_t n) { return static_cast<unsigned char>(text[n]); };
    std::size_t at = 0;
    while (at < text.size()) {
        const unsigned char first = byte(at);
        if (first < 0x80) {
            ++at;
            continue;
        }
        const std::size_t length = first >= 0xC2 && first < 0xE0   ? 2
                                   : first >= 0xE0 && first < 0xF0 ? 3
                                   : first >= 0xF0 && first < 0xF5 ? 4
                                                                   : 0;
        if (length == 0 || at + length > text.size()) return at;
        for (std::size_t n = 1; n < length; ++n)
            if (!continuation(text, at + n)) return at;
        const unsigned char second = byte(at + 1);
        if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) || (first == 0xF0 && second < 0x90) ||
            (first == 0xF4 && second > 0x8F))
            return at;
        at += length;
    }
    return at;
}

// A text as messages quote it: not more than can be read at a glance, and without NUL, which would end the message.
inline std::string brief(std::string_view text) {
    constexpr std::size_t longest = 60;  // bytes
    std::size_t end = std::min(longest, text.size());
    while (end > 0 && end < text.size() && continuation(text, end)) --end;
    std::string shown;
    for (const char byte : text.substr(0, end)) {
        if (byte == '\0') {
            shown += "\\0";
        } else {
            shown += byte;
        }
    }
    return end < text.size() ? shown + "..." : shown;
}

// The message about a byte that is not part of a well-formed code point.
inline std::string not_utf8(char byte) {
    char hex[8];
    std::snprintf(hex, sizeof hex, "0x%02x", static_cast<unsigned char>(byte));
    return std::string("byte ") + hex +
           " is not valid utf-8; give the file's own encoding (on the command line --encoding, such as latin-1), "
           "from which it is converted";
}

inline void append_lower(std::string_view text, std::string& out) {
    constexpr CodePoint dotted_capital_i = 0x130, dot_above = 0x307, sigma = 0x3A3, final_sigma = 0x3C2;
    Kind before = Kind::other;
    for (std::size_t at = 0; at < text.size();) {
        const CodePoint c = next_code_point(text, at);
        const Character character = character_of(c);
        if (c == dotted_capital_i) {
            out.push_back('i');
            append_code_point(dot_above, out);
        } else if (c == sigma && (before == Kind::upper || before == Kind::lower)) {
            std::size_t ahead = at;
            const Kind after = at < text.size() ? character_of(next_code_point(text, ahead)).kind : Kind::other;
            append_code_point(after == Kind::upper || after == Kind::lower ? character.lower : final_sigma, out);
        } else {
            append_code_point(character.lower, out);
        }
        before = character.kind;
    }
}

// Letters as X or x, digits as d, everything else as it is; the first `limit` characters. In brief, a run of one mark
// is written once and counts as one character.
inline void append_shape(std::string_view text, std::size_t limit, bool brief, std::string& out) {
    std::size_t at = 0;
    std::string_view before;
    for (std::size_t n = 0; at < text.size();) {
        const std::size_t begin = at;
        const Kind kind = character_of(next_code_point(text, at)).kind;
        std::string_view mark = text.substr(begin, at - begin);
        if (kind == Kind::upper || kind == Kind::lower || kind == Kind::digit)
            mark = kind == Kind::upper ? "X" : kind == Kind::lower ? "x" : "d";
        if (brief && mark == before) continue;
        if (n++ == limit) return;
        out.append(mark);
        before = mark;
    }
}

// The first n code points, and the last n; all of a shorter text.
inline std::string_view prefix_of(std::string_view text, std::size_t n) {
    std::size_t at = 0;
    for (; n > 0 && at < text.size(); --n) next_code_point(text, at);
    return text.substr(0, at);
}

inline std::string_view suffix_of(std::string_view text, std::size_t n) {
    std::size_t at = text.size();
    for (; n > 0 && at > 0; --n) {
        --at;
        while (at > 0 && continuation(text, at)) --at;
    }
    return text.substr(at);
}

}  // namespace dualfield::text
