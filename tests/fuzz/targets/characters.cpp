// UTF-8, lower case, shapes and affixes. A vocabulary may hold bytes that are not UTF-8, so all functions take any
// bytes.
#include "text/characters.hpp"

#include "choices.hpp"

using namespace dualfield::text;

namespace {

std::string encoded(const std::u32string& points) {
    std::string bytes;
    for (const CodePoint point : points) append_code_point(point, bytes);
    return bytes;
}

void check_valid(std::string_view text, std::size_t n) {
    const std::u32string points = decoded(text);
    fuzz::claim(encoded(points) == text, "valid text is decoded and encoded without loss");
    for (const CodePoint point : points)
        fuzz::claim(point <= 0x10FFFF && !(point >= 0xD800 && point < 0xE000), "a code point is one of Unicode's");
    const std::size_t length = std::min(n, points.size());
    fuzz::claim(prefix_of(text, n) == encoded(points.substr(0, length)), "a prefix is the first code points");
    fuzz::claim(suffix_of(text, n) == encoded(points.substr(points.size() - length)), "a suffix is the last ones");
    std::string lowered, twice;
    append_lower(text, lowered);
    fuzz::claim(valid_length(lowered) == lowered.size(), "lower case is valid UTF-8");
    append_lower(lowered, twice);
    fuzz::claim(twice == lowered, "lower case stays as it is");
    std::string shape;
    append_shape(text, n, false, shape);
    fuzz::claim(decoded(shape).size() == length, "a shape has as many characters as the text, up to the limit");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::Choices choices(data, size);
    const std::size_t n = choices.any_size();
    const fuzz::Choices::Rest rest(choices);
    const std::string_view text = rest.text();
    const std::size_t valid = valid_length(text);
    fuzz::claim(valid <= text.size(), "the valid part is a part");
    check_valid(text.substr(0, valid), n);
    std::string out;
    append_lower(text, out);
    append_shape(text, n, choices.flag(), out);
    append_shape(text, n, true, out);
    fuzz::claim(text.starts_with(prefix_of(text, n)) && text.ends_with(suffix_of(text, n)), "affixes are affixes");
    for (const CodePoint point : decoded(text))
        fuzz::claim(character_of(point).kind <= Kind::punctuation, "a kind is one");
    if (valid < text.size()) fuzz::claim(!not_utf8(text[valid]).empty(), "a wrong byte has its sentence");
    return 0;
}
