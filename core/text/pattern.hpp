// Wapiti's regular expressions: a dialect small enough to be explained in one breath.
//
//   .           any character                   \d \l \u \a \w \p \s   digit, lower, upper, letter, letter or digit,
//   x           the character x                                        punctuation, white space; in upper case the rest
//   \x          x itself, where x names no class
//   x*          any number of x, as few as the rest allows            x?   x or nothing, x preferred
//   ^ first     only at the beginning of the text                     $ last   only at its end
//
// A character is a code point and classes are Unicode's; on ASCII text that is what Wapiti does in the C locale. A
// failed (item, place) is remembered, so matching takes at most items x length steps and no pattern is slow.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "text/characters.hpp"

namespace dualfield::text {

class Pattern {
   public:
    struct Match {
        std::size_t begin, end;  // code points
    };

    explicit Pattern(std::string_view source) {
        const std::u32string points = decoded(source);
        std::size_t at = 0, end = points.size();
        if (end > kLongest) refuse(source, "is longer than 1000 characters");
        if (at < end && points[at] == U'^') anchored_ = true, ++at;
        while (at < end) {
            if (points[at] == U'$' && at + 1 == end) {
                at_end_ = true;
                break;
            }
            Item item;
            item.character = points[at];
            if (points[at] == U'*' || points[at] == U'?')
                refuse(source,
                       "has a * or ? with nothing before it to repeat; write \\* or \\? for the character itself");
            if (points[at] == U'.') item.what = What::any;
            if (points[at] == U'\\') {
                if (++at == end) refuse(source, "ends in a backslash; write \\\\ for the character itself");
                item = escaped(points[at]);
            }
            ++at;
            if (at < end && (points[at] == U'*' || points[at] == U'?'))
                item.times = points[at++] == U'*' ? Times::any : Times::optional;
            items_.push_back(item);
        }
    }

    // The first match: the leftmost place at which the pattern matches, and there the way it prefers.
    std::optional<Match> search(const std::u32string& text) const {
        std::vector<bool> failed((items_.size() + 1) * (text.size() + 1), false);
        for (std::size_t begin = 0; begin <= (anchored_ ? 0 : text.size()); ++begin)
            if (const auto end = match(text, 0, begin, failed)) return Match{begin, *end};
        return std::nullopt;
    }

   private:
    enum class What { character, any, digit, lower, upper, letter, alphanumeric, punctuation, space };
    enum class Times { once, any, optional };
    struct Item {
        What what = What::character;
        bool negated = false;
        CodePoint character = 0;
        Times times = Times::once;
    };

    static constexpr std::size_t kLongest = 1000;  // bounds the recursion

    [[noreturn]] static void refuse(std::string_view source, const char* reason) {
        throw std::invalid_argument("the regular expression \"" + std::string(source) + "\" " + reason + ".");
    }

    static Item escaped(CodePoint c) {
        constexpr std::u32string_view letters = U"dluawps";
        constexpr What classes[] = {What::digit,        What::lower,       What::upper, What::letter,
                                    What::alphanumeric, What::punctuation, What::space};
        const bool upper = c >= U'A' && c <= U'Z';
        const std::size_t n = letters.find(upper ? c + 32 : c);
        if (n == letters.npos) return {What::character, false, c, Times::once};
        return {classes[n], upper, c, Times::once};
    }

    static bool fits(const Item& item, CodePoint c) {
        if (item.what == What::character) return c == item.character;
        if (item.what == What::any) return true;
        const Kind kind = character_of(c).kind;
        bool inside = false;
        switch (item.what) {
            case What::digit:
                inside = kind == Kind::digit;
                break;
            case What::lower:
                inside = kind == Kind::lower;
                break;
            case What::upper:
                inside = kind == Kind::upper;
                break;
            case What::letter:
                inside = is_letter(kind);
                break;
            case What::alphanumeric:
                inside = is_letter(kind) || kind == Kind::digit;
                break;
            case What::punctuation:
                inside = kind == Kind::punctuation;
                break;
            default:
                inside = kind == Kind::space;
        }
        return inside != item.negated;
    }

    // Where a match of the items from n on, begun at the given place, ends.
    std::optional<std::size_t> match(const std::u32string& text, std::size_t n, std::size_t at,
                                     std::vector<bool>& failed) const {
        if (n == items_.size()) return at_end_ && at != text.size() ? std::nullopt : std::optional(at);
        if (failed[n * (text.size() + 1) + at]) return std::nullopt;
        const Item& item = items_[n];
        const auto fits_here = [&](std::size_t place) { return place < text.size() && fits(item, text[place]); };
        std::optional<std::size_t> end;
        switch (item.times) {
            case Times::once:
                if (fits_here(at)) end = match(text, n + 1, at + 1, failed);
                break;
            case Times::optional:
                if (fits_here(at)) end = match(text, n + 1, at + 1, failed);
                if (!end) end = match(text, n + 1, at, failed);
                break;
            case Times::any:
                for (std::size_t place = at;; ++place) {
                    end = match(text, n + 1, place, failed);
                    if (end || !fits_here(place)) break;
                }
        }
        if (!end) failed[n * (text.size() + 1) + at] = true;
        return end;
    }

    std::vector<Item> items_;
    bool anchored_ = false, at_end_ = false;
};

}  // namespace dualfield::text
