// The options of a column file from choices, within what the bindings accept, and what holds of all tokens.
#pragma once

#include "choices.hpp"
#include "text/column_reader.hpp"

namespace fuzz {

using dualfield::text::Code;
using dualfield::text::ColumnFormat;
using dualfield::text::Tokens;

inline ColumnFormat column_format(Choices& choices) {
    const char* const separators[] = {"", "\t", " ", ",", "::", "\xC3\xA9"};
    const char* const comments[] = {"", "#", "# ", "-"};
    ColumnFormat format;
    format.separator = separators[choices.size(5)];
    format.comment = comments[choices.size(3)];
    format.conllu = choices.flag();
    format.drop_docstart = choices.flag();
    format.tolerant = choices.flag();
    if (choices.flag()) {
        format.fewest = 1 + choices.size(11);
        format.most = format.fewest + choices.size(2);
        format.keep = choices.size(format.fewest);
    }
    return format;
}

inline void check_tokens(const Tokens& tokens) {
    claim(!tokens.offsets.empty() && tokens.offsets.front() == 0, "offsets begin with 0");
    claim(tokens.offsets.back() == static_cast<std::int64_t>(tokens.size()), "offsets end at the tokens' number");
    for (std::size_t s = 0; s < tokens.sentences(); ++s)
        claim(tokens.offsets[s] < tokens.offsets[s + 1], "no sentence is empty");
    for (const auto& column : tokens.columns) {
        claim(column->codes.size() == tokens.size(), "every token has a code in each column");
        for (const Code code : column->codes)
            claim(code >= 0 && static_cast<std::size_t>(code) < column->values->size(), "a code names a string");
        for (std::size_t n = 0; n < column->values->size(); ++n) {
            const std::string_view value = (*column->values)[static_cast<Code>(n)];
            claim(dualfield::text::valid_length(value) == value.size(), "a word is valid UTF-8");
        }
    }
}

}  // namespace fuzz
