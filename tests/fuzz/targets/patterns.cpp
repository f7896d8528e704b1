// Patterns, each searched for in a text: a match lies inside the text, and a match from its own beginning is found
// again.
#include <stdexcept>

#include "choices.hpp"
#include "text/pattern.hpp"

using namespace dualfield::text;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::Choices choices(data, size);
    const std::string source = choices.string(1100);
    const fuzz::Choices::Rest rest(choices);
    const std::u32string text = decoded(rest.text());
    try {
        const auto match = Pattern(source).search(text);
        if (!match) return 0;
        fuzz::claim(match->begin <= match->end && match->end <= text.size(), "a match lies inside the text");
        const bool anchored = source.starts_with('^');
        fuzz::claim(!anchored || match->begin == 0, "an anchored pattern matches at the beginning");
        if (anchored) return 0;
        const auto again = Pattern(source).search(text.substr(match->begin));
        fuzz::claim(again && again->begin == 0 && again->end == match->end - match->begin,
                    "the text from the match on matches in the same way");
    } catch (const std::invalid_argument&) {  // a pattern at fault
    }
    return 0;
}
