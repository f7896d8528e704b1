// CRFsuite's attribute files, written: what attribute_reader.hpp reads back as the same numbers.
#pragma once

#include <charconv>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "text/characters.hpp"
#include "text/string_table.hpp"

namespace dualfield::text {

struct AttributeArrays {
    std::span<const std::int64_t> offsets, indptr;
    std::span<const Code> indices;
    const double* values;  // null: all are 1
    std::span<const Code> labels;
    const double* weights;  // of every sequence; null: all are 1
};

inline std::string escaped_name(std::string_view name) {
    std::string escaped;
    for (const char c : name) {
        if (c == ':' || c == '\\') escaped += '\\';
        escaped += c;
    }
    return escaped;
}

// All names as they stand in a file; one that could not be read back is refused.
inline std::vector<std::string> escaped_names(const StringTable& names, const char* what, char not_first) {
    std::vector<std::string> escaped;
    for (std::size_t n = 0; n < names.size(); ++n) {
        const std::string_view name = names[static_cast<Code>(n)];
        const bool blank = name.find_first_not_of(" \t\r\f\v") == name.npos;
        if (blank || name.find_first_of("\t\n\r") != name.npos || name.front() == not_first)
            throw std::invalid_argument(std::string("the ") + what + " '" + brief(name) +
                                        "' cannot be written to an attribute file: it is blank, holds a tab or a line "
                                        "break, or is a label that begins with @; rename it.");
        escaped.push_back(escaped_name(name));
    }
    return escaped;
}

// The shortest decimal that reads back as the same number.
inline void append_number(double value, std::string& out) {
    char digits[32];
    const auto [end, error] = std::to_chars(digits, digits + sizeof digits, value);
    out.append(digits, error == std::errc() ? end : digits);
}

inline std::string written_attributes(const AttributeArrays& data, const StringTable& names,
                                      const StringTable& label_names) {
    const auto attributes = escaped_names(names, "attribute", '\0');
    const auto labels = escaped_names(label_names, "label", '@');
    const auto known = [](Code code, std::size_t size) {
        if (code < 0 || static_cast<std::size_t>(code) >= size) throw std::invalid_argument("a code names no string.");
        return static_cast<std::size_t>(code);
    };
    std::string out;
    for (std::size_t s = 0; s + 1 < data.offsets.size(); ++s) {
        if (data.weights && data.weights[s] != 1.0) {
            out += "@weight:";
            append_number(data.weights[s], out);
            out += '\n';
        }
        for (auto t = static_cast<std::size_t>(data.offsets[s]); t < static_cast<std::size_t>(data.offsets[s + 1]);
             ++t) {
            out += labels[known(data.labels[t], labels.size())];
            for (auto e = static_cast<std::size_t>(data.indptr[t]); e < static_cast<std::size_t>(data.indptr[t + 1]);
                 ++e) {
                out += '\t';
                out += attributes[known(data.indices[e], attributes.size())];
                if (data.values && data.values[e] != 1.0) {
                    out += ':';
                    append_number(data.values[e], out);
                }
            }
            out += '\n';
        }
        out += '\n';
    }
    return out;
}

}  // namespace dualfield::text
