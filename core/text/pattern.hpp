// Wapiti's regular expressions: a dialect small enough to be explained in one breath.
//
//   .           any character                   \d \l \u \a \w \p \s   digit, lower, upper, letter, letter or digit,
//   x           the character x                                        punctuation, white space; in upper case the rest
//   \x          x itself, where x names no class
//   x*          any number of x, as few as the rest allows            x?   x or nothing, x preferred
//   ^ first     only at the beginning of the text                     $ last   only at its end
//
// A character is a code point and classes are Unicode's; on ASCII text that is what Wapiti does in the C locale.
//
// A search reads the text once, from left to right, and follows all partial matches at the same time. Two partial
// matches that wait at the same item go on alike, so only the preferred one is kept: a search takes at most
// items x length steps, and memory for the items alone.
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
        std::optional<Match> found;
        Partials now(items_.size()), next(items_.size());
        for (std::size_t at = 0;; ++at) {
            // A match that begins here comes after all that began before, and is not needed once one is found.
            if (!found && (at == 0 || !anchored_)) arrive(now, 0, at);
            next.clear();
            for (const Partial& partial : now.waiting) {
                if (partial.item == items_.size()) {
                    if (at_end_ && at != text.size()) continue;
                    found = Match{partial.begin, at};
                    break;  // the rest is less preferred
                }
                const Item& item = items_[partial.item];
                if (at < text.size() && fits(item, text[at]))
                    arrive(next, item.times == Times::any ? partial.item : partial.item + 1, partial.begin);
            }
            if (at == text.size() || (next.waiting.empty() && (found || anchored_))) return found;
            std::swap(now, next);
        }
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

    // A match that began at `begin` and waits for a character that fits the item; behind the last item it is whole.
    struct Partial {
        std::size_t item, begin;
    };

    // The partial matches at one place of the text, the preferred ones first, at most one for each item.
    struct Partials {
        explicit Partials(std::size_t items) : arrived(items + 1, false) { waiting.reserve(items + 1); }

        void clear() {
            waiting.clear();
            arrived.assign(arrived.size(), false);
        }

        std::vector<Partial> waiting;
        std::vector<bool> arrived;
    };

    static constexpr std::size_t kLongest = 1000;  // bounds the steps for a character of the text

    [[noreturn]] static void refuse(std::string_view source, const char* reason) {
        throw std::invalid_argument("the regular expression \"" + brief(source) + "\" " + reason + ".");
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

    // A partial match comes to an item, and to those behind it as long as items may be left out. Before it leaves an x?
    // out it takes x; it takes one more x for an x* only after all else.
    void arrive(Partials& partials, std::size_t item, std::size_t begin) const {
        const std::size_t first = item;
        for (; !partials.arrived[item]; ++item) {
            partials.arrived[item] = true;
            const bool last = item == items_.size() || items_[item].times == Times::once;
            if (last || items_[item].times == Times::optional) partials.waiting.push_back({item, begin});
            if (last) {
                ++item;
                break;
            }
        }
        while (item-- > first)
            if (item < items_.size() && items_[item].times == Times::any) partials.waiting.push_back({item, begin});
    }

    std::vector<Item> items_;
    bool anchored_ = false, at_end_ = false;
};

}  // namespace dualfield::text
