// Column files, with every option of their reader: what comes out is whole, whatever the bytes are.
#include <stdexcept>

#include "choices.hpp"
#include "column_options.hpp"

using namespace dualfield::text;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::Choices choices(data, size);
    const ColumnFormat format = fuzz::column_format(choices);
    const auto first_line = choices.flag() ? choices.number(1, std::numeric_limits<std::int32_t>::max()) : 1;
    const fuzz::Choices::Rest rest(choices);
    ColumnReader reader(format, first_line);
    try {
        const Tokens tokens = reader.read(rest.text());
        fuzz::check_tokens(tokens);
        fuzz::claim(format.tolerant || reader.faults().empty(), "a strict reader throws its fault");
        if (format.keep > 0) fuzz::claim(tokens.columns.size() <= format.keep, "only columns to keep are kept");
        std::vector<std::int64_t> backwards;
        for (std::size_t s = tokens.sentences(); s > 0; --s) backwards.push_back(static_cast<std::int64_t>(s) - 1);
        fuzz::check_tokens(tokens.select(backwards));
    } catch (const std::invalid_argument&) {
        fuzz::claim(!format.tolerant, "a tolerant reader throws nothing");
    }
    return 0;
}
