// The sentences of a column file: a token is a few numbers, one per column, and each different string is kept once.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "text/string_table.hpp"

namespace dualfield::text {

// The strings of one column: those that occur, and which of them every token has.
struct Column {
    std::shared_ptr<const StringTable> values;
    std::vector<Code> codes;
};

// Columns are shared: leaving some out copies nothing.
struct Tokens {
    std::vector<std::shared_ptr<const Column>> columns;
    std::vector<std::int64_t> offsets{0};  // sentence s has the tokens offsets[s] .. offsets[s + 1]
    std::vector<std::int64_t> lines;       // of every token, from 1; 0 where it is from no file

    std::size_t sentences() const { return offsets.size() - 1; }
    std::size_t size() const { return lines.size(); }

    // The given sentences, in the given order.
    Tokens select(const std::vector<std::int64_t>& chosen) const {
        Tokens some;
        const auto each_token = [&](auto&& take) {
            for (const std::int64_t s : chosen)
                for (auto t = offsets[static_cast<std::size_t>(s)]; t < offsets[static_cast<std::size_t>(s) + 1]; ++t)
                    take(static_cast<std::size_t>(t));
        };
        each_token([&](std::size_t t) { some.lines.push_back(lines[t]); });
        for (const std::int64_t s : chosen) {
            const auto at = static_cast<std::size_t>(s);
            some.offsets.push_back(some.offsets.back() + offsets[at + 1] - offsets[at]);
        }
        for (const auto& column : columns) {
            auto part = std::make_shared<Column>();
            part->values = column->values;
            part->codes.reserve(some.size());
            each_token([&](std::size_t t) { part->codes.push_back(column->codes[t]); });
            some.columns.push_back(std::move(part));
        }
        return some;
    }
};

}  // namespace dualfield::text
