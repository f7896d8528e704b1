// String tables, key tables and merged codes, against the containers of the standard library.
#include <map>
#include <unordered_map>

#include "choices.hpp"
#include "text/merged_codes.hpp"
#include "text/string_table.hpp"

using namespace dualfield::text;

namespace {

using Numbers = std::unordered_map<std::string, Code>;

void check(const StringTable& table, const Numbers& numbers) {
    fuzz::claim(table.size() == numbers.size(), "a table has each string once");
    for (const auto& [string, code] : numbers) {
        fuzz::claim(table.find(string) == code, "a string is found under its number");
        fuzz::claim(table[code] == string, "a number names its string");
        fuzz::claim(numbers.contains(string + "?") || table.find(string + "?") == kNone, "another string is not found");
    }
}

// As the bindings give the arrays of a model file: any bytes, bounds that do not decrease.
void check_viewed(const std::vector<std::string>& strings, const Numbers& numbers) {
    std::vector<std::int64_t> bounds{0};
    std::string joined;
    for (const std::string& string : strings) {
        joined += string;
        bounds.push_back(static_cast<std::int64_t>(joined.size()));
    }
    const std::vector<char> exact(joined.begin(), joined.end());  // no terminating NUL to read by mistake
    StringTable viewed({exact.data(), exact.size()}, bounds);
    check(viewed, numbers);
    viewed.intern("one more");
    fuzz::claim(viewed.find("one more") != kNone, "a viewed table takes a string");
    StringTable moved = std::move(viewed);
    for (const auto& [string, code] : numbers) fuzz::claim(moved.find(string) == code, "a moved table is the same");
}

void check_keys(const std::vector<std::string>& strings) {
    KeyTable table;
    std::map<std::uint64_t, Code> numbers;
    for (const std::string& string : strings) {
        std::uint64_t key = 0;
        std::memcpy(&key, string.data(), std::min<std::size_t>(string.size(), 8));
        Code& code = table[key];
        fuzz::claim((code == KeyTable::kUnset) == !numbers.contains(key), "a new key has no number");
        if (code == KeyTable::kUnset) numbers[key] = code = static_cast<Code>(numbers.size());
    }
    fuzz::claim(table.size() == numbers.size(), "a table has each key once");
    for (const auto& [key, code] : numbers)
        fuzz::claim(table.find(key) && *table.find(key) == code, "a key has its number");
}

void check_merged(const std::vector<std::string>& strings) {
    std::vector<Code> codes;
    std::map<Code, double> counts;
    for (const std::string& string : strings) {
        codes.push_back(string.empty() ? 0 : static_cast<unsigned char>(string[0]) << (string.size() % 20));
        ++counts[codes.back()];
    }
    MergedCodes merged;
    for (int twice = 0; twice < 2; ++twice) {
        merged.take(codes);
        fuzz::claim(merged.codes().size() == counts.size(), "equal codes are merged");
        std::size_t n = 0;
        for (const auto& [code, count] : counts) {
            fuzz::claim(merged.codes()[n] == code && merged.count(n) == count, "codes increase and are counted");
            ++n;
        }
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::Choices choices(data, size);
    std::vector<std::string> strings;
    while (!choices.empty()) strings.push_back(choices.string(choices.byte() < 250 ? 12 : 200));
    StringTable table;
    Numbers numbers;
    for (const std::string& string : strings) {
        const auto next = static_cast<Code>(numbers.size());
        const Code expected = numbers.try_emplace(string, next).first->second;
        fuzz::claim(table.intern(string) == expected, "strings are numbered as they appear");
    }
    check(table, numbers);
    check_viewed(strings, numbers);
    check_keys(strings);
    check_merged(strings);
    return 0;
}
