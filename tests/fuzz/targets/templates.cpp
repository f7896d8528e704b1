// Templates evaluated on tokens: every string is what its rule says, written out here in the plainest way, and the
// three ways to number attributes agree.
#include "column_options.hpp"
#include "template_choices.hpp"

using namespace dualfield::text;

namespace {

// The string that a cell reads; false where there is none.
bool read_cell(const Template& source, const Tokens& tokens, const Cell& cell, std::int64_t markers, std::size_t s,
               std::int64_t t, std::string& out) {
    const View& view = source.views[cell.view];
    const Column& column = *tokens.columns[view.column];
    const std::int64_t begin = tokens.offsets[s], length = tokens.offsets[s + 1] - begin;
    std::int64_t place = t + cell.offset;
    if (cell.absolute) place = cell.offset < 0 ? length + cell.offset : cell.offset - 1;
    std::string buffer;
    if (place >= 0 && place < length) {
        const Code code = column.codes[static_cast<std::size_t>(begin + place)];
        out += transformed((*column.values)[code], view, buffer);
        return true;
    }
    if (source.outside == Outside::nothing) return false;
    const std::int64_t distance = std::min(place < 0 ? -place : place - length + 1, markers);
    out += transformed(marker(source.outside, place < 0, distance), view, buffer);
    return true;
}

bool has_gazetteer(const Template& source, const Rule& rule) {
    return std::any_of(rule.cells.begin(), rule.cells.end(), [&](const Cell& cell) {
        const auto& steps = source.views[cell.view].transforms;
        return !steps.empty() && steps.back().operation == Operation::gazetteer;
    });
}

void check_strings(const Template& source, const Tokens& tokens, bool bigrams, const EncodedTokens& listed) {
    std::int64_t markers = source.outside == Outside::wapiti ? kWapitiMarkers : 1;
    if (source.outside == Outside::crfpp)
        for (const Rule& rule : source.rules)
            for (const Cell& cell : rule.cells) markers = std::max(markers, std::abs(cell.offset));
    for (const Rule& rule : source.rules)
        if (has_gazetteer(source, rule)) return;  // tested in tests/features/test_templates.py
    std::size_t at = 0, token = 0;
    for (std::size_t s = 0; s < tokens.sentences(); ++s) {
        const std::int64_t length = tokens.offsets[s + 1] - tokens.offsets[s];
        for (std::int64_t t = 0; t < length; ++t, ++token) {
            for (const Rule& rule : source.rules) {
                if (bigrams ? !rule.bigram || rule.cells.empty() : !rule.unigram) continue;
                if (bigrams && t == 0) continue;
                if ((rule.where == Where::first && t > 0) || (rule.where == Where::last && t < length - 1)) continue;
                std::string expected = rule.literals[0];
                bool there = true;
                for (std::size_t n = 0; there && n < rule.cells.size(); ++n) {
                    there = read_cell(source, tokens, rule.cells[n], markers, s, t, expected);
                    expected += rule.literals[n + 1];
                }
                if (!there) continue;
                fuzz::claim(at < listed.indices.size() && (*listed.names)[listed.indices[at]] == expected,
                            "a rule makes the string that it says");
                ++at;
            }
            fuzz::claim(listed.indptr[token + 1] == static_cast<std::int64_t>(at), "a token has what its rules make");
        }
    }
}

void check_encoded(const EncodedTokens& out, const Tokens& tokens, std::size_t names) {
    fuzz::claim(out.indptr.size() == tokens.size() + 1, "every token is encoded");
    fuzz::claim(out.indptr.back() == static_cast<std::int64_t>(out.indices.size()), "indptr ends at the entries");
    fuzz::claim(out.values.empty() || out.values.size() == out.indices.size(), "every entry has a value");
    for (std::size_t t = 0; t < tokens.size(); ++t)
        for (auto e = out.indptr[t]; e < out.indptr[t + 1]; ++e) {
            const auto n = static_cast<std::size_t>(e);
            fuzz::claim(out.indices[n] >= 0 && static_cast<std::size_t>(out.indices[n]) < names, "a code is known");
            fuzz::claim(e == out.indptr[t] || out.indices[n - 1] < out.indices[n], "codes increase");
        }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::Choices choices(data, size);
    try {
        const ColumnFormat format = fuzz::column_format(choices);
        const bool bigrams = choices.flag();
        const int hash_bits = static_cast<int>(choices.number(1, 30));
        const std::int64_t min_count = choices.number(1, 4);
        // The template is made for at least as many columns as it will see; fewer are refused by the bindings.
        const std::size_t columns = 1 + choices.size(3);
        const Template source = fuzz::random_template(choices, columns);
        const fuzz::Choices::Rest rest(choices);
        const Tokens tokens = ColumnReader(format, 1).read(rest.text());
        if (tokens.columns.size() < columns) return 0;
        const EncodedTokens listed = Encoder(source, tokens, bigrams, {}).list();
        check_strings(source, tokens, bigrams, listed);
        const EncodedTokens fresh = Encoder(source, tokens, bigrams, {}).encode(1);
        check_encoded(fresh, tokens, fresh.names->size());
        const EncodedTokens given = Encoder(source, tokens, bigrams, {fresh.names, 0}).encode(1);
        fuzz::claim(given.indices == fresh.indices && given.values == fresh.values && given.indptr == fresh.indptr,
                    "a given table gives the numbers that were new");
        const EncodedTokens hashed = Encoder(source, tokens, bigrams, {nullptr, hash_bits}).encode(1);
        check_encoded(hashed, tokens, std::size_t{1} << hash_bits);
        const EncodedTokens frequent = Encoder(source, tokens, bigrams, {}).encode(min_count);
        check_encoded(frequent, tokens, frequent.names->size());
        fuzz::claim(frequent.names->size() <= fresh.names->size(), "a minimum count adds no names");
    } catch (const std::invalid_argument&) {  // a line or a pattern at fault
    }
    return 0;
}
