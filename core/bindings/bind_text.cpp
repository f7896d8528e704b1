// Column files and feature templates: bytes in, arrays out.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include <array>

#include "bindings/arrays.hpp"
#include "bindings/reading_watch.hpp"
#include "tagging/name_index.hpp"
#include "text/column_reader.hpp"
#include "text/encoding_on_threads.hpp"

namespace dualfield {
namespace {

using text::Code;
using text::StringTable;
using text::Tokens;
using SharedTable = std::shared_ptr<StringTable>;

// An array that takes over the vector's memory.
template <class T>
Output<T, 1> owned(std::vector<T>&& values) {
    auto kept = std::make_unique<std::vector<T>>(std::move(values));
    T* data = kept->data();
    const std::size_t shape[] = {kept->size()};
    nb::capsule owner(kept.get(), [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    kept.release();
    return Output<T, 1>(data, 1, shape, owner);
}

// ---- names ------------------------------------------------------------------------------------------------------

// Names one after the other, and where each begins.
std::pair<std::string_view, std::span<const std::int64_t>> checked_names(Vector<std::uint8_t> bytes,
                                                                         Vector<std::int64_t> bounds) {
    const std::size_t n = bounds.shape(0);
    require(n >= 1 && bounds.data()[0] == 0, "bounds must begin with 0");
    bool ordered = true;
    for (std::size_t k = 1; k < n; ++k) ordered &= bounds.data()[k] >= bounds.data()[k - 1];
    require(ordered, "bounds must not decrease");
    require(bounds.data()[n - 1] == static_cast<std::int64_t>(bytes.shape(0)), "bounds must end where the bytes do");
    return {{reinterpret_cast<const char*>(bytes.data()), bytes.shape(0)}, std::span(bounds.data(), n)};
}

// A name that occurs twice is kept once, so the caller sees it in the length. The table is a view of the arrays.
SharedTable names_of(Vector<std::uint8_t> bytes, Vector<std::int64_t> bounds) {
    const auto [text, checked] = checked_names(bytes, bounds);
    return std::make_shared<StringTable>(text, checked);
}

auto index_of(Vector<std::uint8_t> bytes, Vector<std::int64_t> bounds) {
    const auto [text, checked] = checked_names(bytes, bounds);
    text::checked_code(checked.size() - 1);
    std::vector<std::int32_t> index;
    {
        nb::gil_scoped_release release;
        index = tagging::name_index(text, checked);
    }
    return owned(std::move(index));
}

auto names_arrays(const StringTable& table) {
    const std::string_view text = table.text();
    auto bytes = new_array<std::uint8_t, 1>({text.size()});
    auto bounds = new_array<std::int64_t, 1>({table.bounds().size()});
    std::copy(text.begin(), text.end(), bytes.data());
    std::copy(table.bounds().begin(), table.bounds().end(), bounds.data());
    return std::make_pair(bytes, bounds);
}

// Python strings; lone surrogates, which a vocabulary may hold, pass.
nb::list names_strings(const StringTable& table) {
    nb::list strings;
    for (std::size_t n = 0; n < table.size(); ++n) {
        const std::string_view name = table[static_cast<Code>(n)];
        PyObject* string = PyUnicode_DecodeUTF8(name.data(), static_cast<Py_ssize_t>(name.size()), "surrogatepass");
        if (!string) throw nb::python_error();
        strings.append(nb::steal<nb::object>(string));
    }
    return strings;
}

// ---- tokens -----------------------------------------------------------------------------------------------------

using NamedCodes = std::pair<SharedTable, Vector<Code>>;

Tokens tokens_of(const std::vector<NamedCodes>& columns, Vector<std::int64_t> offsets, Vector<std::int64_t> lines) {
    Tokens tokens;
    tokens.offsets.assign(offsets.data(), offsets.data() + offsets.shape(0));
    tokens.lines.assign(lines.data(), lines.data() + lines.shape(0));
    require(!tokens.offsets.empty() && tokens.offsets[0] == 0, "offsets must begin with 0");
    for (std::size_t s = 0; s < tokens.sentences(); ++s)
        require(tokens.offsets[s + 1] > tokens.offsets[s], "offsets must increase: no sentence is empty");
    require(tokens.offsets.back() == static_cast<std::int64_t>(tokens.size()),
            "offsets must end at the tokens' number");
    for (const auto& [table, codes] : columns) {
        require(codes.shape(0) == tokens.size(), "every column needs a code for each token");
        auto column = std::make_shared<text::Column>();
        column->values = table;
        column->codes.assign(codes.data(), codes.data() + codes.shape(0));
        for (const Code code : column->codes)
            require(code >= 0 && static_cast<std::size_t>(code) < table->size(),
                    "a code names no string of its column");
        tokens.columns.push_back(std::move(column));
    }
    return tokens;
}

const text::Column& column_at(const Tokens& tokens, std::size_t column) {
    require(column < tokens.columns.size(), "there is no such column");
    return *tokens.columns[column];
}

Tokens selected(const Tokens& tokens, Vector<std::int64_t> sentences) {
    std::vector<std::int64_t> chosen(sentences.data(), sentences.data() + sentences.shape(0));
    for (const std::int64_t s : chosen)
        require(s >= 0 && static_cast<std::size_t>(s) < tokens.sentences(), "there is no such sentence");
    return tokens.select(chosen);
}

Tokens with_columns(const Tokens& tokens, const std::vector<std::size_t>& columns) {
    Tokens some;
    some.offsets = tokens.offsets;
    some.lines = tokens.lines;
    for (const std::size_t column : columns) {
        require(column < tokens.columns.size(), "there is no such column");
        some.columns.push_back(tokens.columns[column]);
    }
    return some;
}

auto read_columns(nb::bytes data, const std::string& separator, const std::string& comment, bool conllu,
                  bool drop_docstart, std::size_t fewest, std::size_t most, std::size_t keep, bool tolerant,
                  std::int64_t first_line, const nb::object& progress) {
    require(fewest <= most && keep <= fewest, "expected keep <= fewest <= most");
    text::ColumnReader reader({separator, comment, conllu, drop_docstart, fewest, most, keep, tolerant}, first_line);
    const std::string_view bytes(data.c_str(), data.size());
    const text::Watch watch = reading_watch(progress, bytes.size());
    Tokens tokens;
    {
        nb::gil_scoped_release release;
        tokens = reader.read(bytes, watch);
    }
    std::vector<std::pair<std::int64_t, std::string>> faults;
    for (const text::Fault& fault : reader.faults()) faults.emplace_back(fault.line, fault.message);
    return std::make_pair(std::move(tokens), std::move(faults));
}

// ---- templates --------------------------------------------------------------------------------------------------

// (operation, length, pattern, entries)
using GivenTransform = std::tuple<std::string, std::size_t, std::string, std::vector<std::vector<std::string>>>;
using GivenView = std::pair<std::size_t, std::vector<GivenTransform>>;
// (literals, cells as (view, offset, absolute), unigram, bigram, where)
using GivenRule = std::tuple<std::vector<std::string>, std::vector<std::tuple<std::size_t, std::int64_t, bool>>, bool,
                             bool, std::string>;

template <class Value, std::size_t N>
Value one_of(const std::pair<const char*, Value> (&choices)[N], const std::string& name) {
    for (const auto& [known, value] : choices)
        if (name == known) return value;
    throw nb::value_error(("unknown word in a template: " + name).c_str());
}

text::Transform transform_of(const GivenTransform& given) {
    static constexpr std::pair<const char*, text::Operation> operations[] = {
        {"lower", text::Operation::lower},
        {"shape", text::Operation::shape},
        {"brief_shape", text::Operation::brief_shape},
        {"prefix", text::Operation::prefix},
        {"suffix", text::Operation::suffix},
        {"test", text::Operation::test},
        {"match", text::Operation::match},
        {"gazetteer", text::Operation::gazetteer}};
    const auto& [name, length, pattern, entries] = given;
    // A search for names looks so far ahead at every token.
    constexpr std::size_t most_words = 100;
    for (const auto& words : entries) require(words.size() <= most_words, "a name of a gazetteer has over 100 words");
    text::Transform transform{one_of(operations, name), length, nullptr, entries};
    if (transform.operation == text::Operation::test || transform.operation == text::Operation::match)
        transform.pattern = std::make_shared<text::Pattern>(pattern);
    return transform;
}

text::Template template_of(const std::vector<GivenView>& views, const std::vector<GivenRule>& rules,
                           const std::string& outside) {
    static constexpr std::pair<const char*, text::Where> places[] = {
        {"anywhere", text::Where::anywhere}, {"first", text::Where::first}, {"last", text::Where::last}};
    static constexpr std::pair<const char*, text::Outside> policies[] = {
        {"nothing", text::Outside::nothing}, {"crfpp", text::Outside::crfpp}, {"wapiti", text::Outside::wapiti}};
    text::Template made{{}, {}, one_of(policies, outside)};
    for (const auto& [column, transforms] : views) {
        text::View view{column, {}};
        for (const GivenTransform& given : transforms) {
            require(view.transforms.empty() || view.transforms.back().operation != text::Operation::gazetteer,
                    "a gazetteer must be the last transform of a cell");
            view.transforms.push_back(transform_of(given));
        }
        made.views.push_back(std::move(view));
    }
    constexpr std::int64_t furthest = 1000;
    for (const auto& [literals, cells, unigram, bigram, where] : rules) {
        require(literals.size() == cells.size() + 1, "a rule has one literal more than cells");
        text::Rule rule{literals, {}, unigram, bigram, one_of(places, where)};
        for (const auto& [view, offset, absolute] : cells) {
            require(view < made.views.size(), "a cell names no view");
            require(offset >= -furthest && offset <= furthest, "an offset is beyond 1000 tokens");
            rule.cells.push_back({view, offset, absolute});
        }
        made.rules.push_back(std::move(rule));
    }
    return made;
}

void check_columns(const text::Template& source, const Tokens& tokens) {
    for (const text::View& view : source.views)
        require(view.column < tokens.columns.size(), "the template refers to a column that the tokens do not have");
}

using Encoding = std::tuple<Output<std::int64_t, 1>, Output<Code, 1>, std::optional<Output<double, 1>>, SharedTable>;

Encoding encode_alone(const text::Template& source, const Tokens& tokens, bool bigrams,
                      const text::Numbering& numbering, std::int64_t min_count) {
    text::EncodedTokens out;
    {
        nb::gil_scoped_release release;
        out = text::Encoder(source, tokens, bigrams, numbering).encode(min_count);
    }
    std::optional<Output<double, 1>> values;
    if (!out.values.empty()) values = owned(std::move(out.values));
    return {owned(std::move(out.indptr)), owned(std::move(out.indices)), values, out.names};
}

Encoding encode(const text::Template& source, const Tokens& tokens, bool bigrams, SharedTable given, int hash_bits,
                std::int64_t min_count, Index threads) {
    constexpr Index tokens_of_a_thread = 500;  // they take about half a millisecond
    require(hash_bits >= 0 && hash_bits <= 30, "hash_bits must be between 0 and 30");
    require(min_count >= 1, "min_count must be at least 1");
    check_columns(source, tokens);
    const text::Numbering numbering{given, hash_bits};
    threads = std::min(threads, static_cast<Index>(tokens.size()) / tokens_of_a_thread);
    if (threads <= 1 || (hash_bits > 0 && min_count > 1))
        return encode_alone(source, tokens, bigrams, numbering, min_count);
    std::optional<Team> team;
    std::optional<text::EncodingOnThreads> encoding;
    {
        nb::gil_scoped_release release;
        team.emplace(threads);
        encoding.emplace(source, tokens, bigrams, numbering, min_count, *team);
    }
    auto indptr = new_array<std::int64_t, 1>({encoding->tokens() + 1});
    auto indices = new_array<Code, 1>({encoding->entries()});
    std::optional<Output<double, 1>> values;
    if (encoding->valued()) values = new_array<double, 1>({encoding->entries()});
    {
        nb::gil_scoped_release release;
        encoding->write(indptr.data(), indices.data(), values ? values->data() : nullptr);
    }
    return {indptr, indices, values, encoding->names()};
}

auto list_attributes(const text::Template& source, const Tokens& tokens, bool bigrams) {
    check_columns(source, tokens);
    text::EncodedTokens out;
    {
        nb::gil_scoped_release release;
        out = text::Encoder(source, tokens, bigrams, {}).list();
    }
    return std::make_tuple(owned(std::move(out.indptr)), owned(std::move(out.indices)), out.names);
}

std::string lower_case(const std::string& word) {
    std::string lowered;
    text::append_lower(word, lowered);
    return lowered;
}

std::optional<std::pair<std::size_t, std::size_t>> match_pattern(const std::string& pattern, const std::string& word) {
    const auto match = text::Pattern(pattern).search(text::decoded(word));
    if (!match) return std::nullopt;
    return std::make_pair(match->begin, match->end);
}

}  // namespace

void bind_text(nb::module_& m) {
    using namespace nb::literals;
    nb::class_<StringTable>(m, "Names", "Distinct strings and their numbers.")
        .def(
            "__init__",
            [](StringTable* self, Vector<std::uint8_t> bytes, Vector<std::int64_t> bounds) {
                new (self) StringTable(std::move(*names_of(bytes, bounds)));
            },
            "bytes"_a.noconvert(), "bounds"_a.noconvert(), nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>())
        .def("__len__", &StringTable::size)
        .def("arrays", &names_arrays, "(bytes, bounds)")
        .def("strings", &names_strings);
    m.def("name_index", &index_of, "bytes"_a.noconvert(), "bounds"_a.noconvert(),
          "The index of names that model files have; see tagging/name_index.hpp.");
    nb::class_<Tokens>(m, "Tokens", "The sentences of a column file.")
        .def(
            "__init__",
            [](Tokens* self, const std::vector<NamedCodes>& columns, Vector<std::int64_t> offsets,
               Vector<std::int64_t> lines) { new (self) Tokens(tokens_of(columns, offsets, lines)); },
            "columns"_a, "offsets"_a.noconvert(), "lines"_a.noconvert())
        .def_prop_ro("n_sentences", &Tokens::sentences)
        .def_prop_ro("n_tokens", &Tokens::size)
        .def_prop_ro("n_columns", [](const Tokens& tokens) { return tokens.columns.size(); })
        .def_prop_ro(
            "offsets", [](const Tokens& tokens) { return to_array(tokens.offsets); }, nb::rv_policy::move)
        .def_prop_ro(
            "lines", [](const Tokens& tokens) { return to_array(tokens.lines); }, nb::rv_policy::move)
        .def(
            "codes", [](const Tokens& tokens, std::size_t c) { return to_array(column_at(tokens, c).codes); },
            "column"_a)
        .def(
            "names",
            [](const Tokens& tokens, std::size_t c) {
                return std::const_pointer_cast<StringTable>(column_at(tokens, c).values);
            },
            "column"_a)
        .def("select", &selected, "sentences"_a.noconvert())
        .def("with_columns", &with_columns, "columns"_a);
    m.def("read_columns", &read_columns, "data"_a, "separator"_a, "comment"_a, "conllu"_a, "drop_docstart"_a,
          "fewest"_a, "most"_a, "keep"_a, "tolerant"_a, "first_line"_a, "progress"_a.none() = nb::none(),
          "(tokens, faults)");
    nb::class_<text::Template>(m, "CompiledTemplate", "Rules that make attributes of tokens.")
        .def(
            "__init__",
            [](text::Template* self, const std::vector<GivenView>& views, const std::vector<GivenRule>& rules,
               const std::string& outside) { new (self) text::Template(template_of(views, rules, outside)); },
            "views"_a, "rules"_a, "outside"_a)
        .def("encode", &encode, "tokens"_a, "bigrams"_a, "names"_a.none(), "hash_bits"_a, "min_count"_a,
             "threads"_a = 1, "(indptr, indices, values or None, new names or None)")
        .def("list", &list_attributes, "tokens"_a, "bigrams"_a, "(indptr, codes in the order of the rules, names)");
    m.def("lower_case", &lower_case, "word"_a);
    m.def("match_pattern", &match_pattern, "pattern"_a, "word"_a, "(begin, end) of the first match, or None");
}

}  // namespace dualfield
