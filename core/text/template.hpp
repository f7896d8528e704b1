// Feature templates, compiled: what an attribute looks at, and how its string is put together.
//
// A *view* is a column after some transforms (lower case, a suffix, a test ...). A *cell* is a view at an offset. A
// *rule* is literals with cells between them; at every token it makes one string, or none. CRF++'s templates, Wapiti's
// patterns and the Python form all come down to this.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "text/pattern.hpp"
#include "text/string_table.hpp"

namespace dualfield::text {

enum class Operation { lower, shape, brief_shape, prefix, suffix, test, match, gazetteer };

struct Transform {
    Operation operation;
    std::size_t length = 0;                         // of an affix; at most, of a shape
    std::shared_ptr<const Pattern> pattern;         // of a test or a match
    std::vector<std::vector<std::string>> entries;  // of a gazetteer: the words of every name
};

struct View {
    std::size_t column;
    std::vector<Transform> transforms;  // a gazetteer stands last
};

struct Cell {
    std::size_t view;
    std::int64_t offset;
    bool absolute;  // from the first token, counted from 1, or from behind the last if negative
};

enum class Where { anywhere, first, last };

struct Rule {
    std::vector<std::string> literals;  // one more than cells
    std::vector<Cell> cells;
    bool unigram, bigram;  // with a label, with a pair of labels
    Where where;
};

// What stands outside the sentence: nothing, so that no attribute is made; _B-1, _B-2 ...; or _x-1 ... _x-4, _x-#.
enum class Outside { nothing, crfpp, wapiti };

constexpr std::int64_t kWapitiMarkers = 5;

inline std::string marker(Outside outside, bool before, std::int64_t distance) {
    const std::string sign = before ? "-" : "+";
    if (outside == Outside::crfpp) return "_B" + sign + std::to_string(distance);
    return "_x" + sign + (distance < kWapitiMarkers ? std::to_string(distance) : "#");
}

struct Template {
    std::vector<View> views;
    std::vector<Rule> rules;
    Outside outside;
};

// A text after the transforms of a view but for a gazetteer; the result is valid while text and buffer are.
inline std::string_view transformed(std::string_view text, const View& view, std::string& buffer) {
    std::string made;
    for (const Transform& transform : view.transforms) {
        made.clear();
        switch (transform.operation) {
            case Operation::lower:
                append_lower(text, made);
                break;
            case Operation::shape:
            case Operation::brief_shape:
                append_shape(text, transform.length, transform.operation == Operation::brief_shape, made);
                break;
            case Operation::prefix:
                made = prefix_of(text, transform.length);
                break;
            case Operation::suffix:
                made = suffix_of(text, transform.length);
                break;
            case Operation::test:
                made = transform.pattern->search(decoded(text)) ? "true" : "false";
                break;
            case Operation::match: {
                const std::u32string points = decoded(text);
                if (const auto match = transform.pattern->search(points))
                    for (std::size_t n = match->begin; n < match->end; ++n) append_code_point(points[n], made);
                break;
            }
            case Operation::gazetteer:
                return text;
        }
        std::swap(made, buffer);
        text = buffer;
    }
    return text;
}

}  // namespace dualfield::text
