// The tagger of column files. Arrays may be any buffers, so that a model file is used where it lies, without NumPy.
// What is checked here keeps the tagger within its arrays; what a model has to be, the reader of model files says.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>

#include "bindings/field_arrays.hpp"
#include "tagging/column_tagger.hpp"

namespace dualfield {
namespace {

using namespace nb::literals;
using Weights = std::variant<Vector<double>, Vector<float>>;  // as a model file has them
using Masks = std::tuple<Vector<std::uint8_t>, Vector<std::uint8_t>, Vector<std::uint8_t>>;

std::unique_ptr<bool[]> mask_of(const Vector<std::uint8_t>& given, Index size) {
    require(static_cast<Index>(given.shape(0)) == size, "its masks of constraints are damaged");
    auto mask = std::make_unique<bool[]>(static_cast<std::size_t>(size));
    for (Index k = 0; k < size; ++k) mask[static_cast<std::size_t>(k)] = given.data()[k] != 0;
    return mask;
}

std::optional<LabelMasks> masks_of(const std::optional<Masks>& given, Index K) {
    if (!given) return std::nullopt;
    const auto& [transitions, begin, end] = *given;
    return LabelMasks{mask_of(transitions, K * K), mask_of(begin, K), mask_of(end, K)};
}

ChainShape shape_of(Index K, const Vector<std::int32_t>& transitions, bool bias, bool begin, bool end) {
    ChainShape shape{K, {}, bias, begin, end};
    shape.transitions.assign(transitions.data(), transitions.data() + transitions.shape(0));
    for (std::size_t s = 0; s < shape.transitions.size(); ++s)
        require(shape.transitions[s] >= 0 && shape.transitions[s] < K * K &&
                    (s == 0 || shape.transitions[s - 1] < shape.transitions[s]),
                "its transitions are damaged");
    return shape;
}

void make_tagger(ColumnTagger* self, const text::Template& source, const std::vector<std::size_t>& columns,
                 const std::string& separator, const std::string& comment, bool conllu, bool drop_docstart,
                 std::size_t fewest, std::size_t most, bool tolerant, std::shared_ptr<text::StringTable> names,
                 int hash_bits, const Weights& weights, Vector<std::int32_t> transitions, bool bias, bool begin,
                 bool end, const ObservedPairs* pairs, std::optional<Masks> masks,
                 const std::vector<std::string>& labels, std::optional<std::size_t> label_column) {
    require(fewest >= 1 && fewest <= most, "expected at least one column, and fewest <= most");
    for (const std::size_t column : columns) require(column < fewest, "a column is beyond those that every line has");
    require(!label_column || (!separator.empty() && *label_column < fewest),
            "the label's column is beyond those that every line has");
    for (const text::View& view : source.views)
        require(view.column < columns.size(), "the template refers to a column that it does not see");
    for (const text::Rule& rule : source.rules)
        require(!rule.bigram || rule.cells.empty(), "the template makes bigrams, which this tagger does not know");
    require(names ? hash_bits == 0 : hash_bits >= 1 && hash_bits <= 30, "expected names, or hash_bits from 1 to 30");
    const Index K = static_cast<Index>(labels.size());
    const Index attributes = names ? static_cast<Index>(names->size()) : Index{1} << hash_bits;
    require(K >= 1, "there must be at least one label");
    require(!pairs || (pairs->attributes() == attributes && pairs->label_count() == K),
            "its table of observed pairs is damaged");
    ChainShape shape = shape_of(K, transitions, bias, begin, end);
    const Index dense = static_cast<Index>(shape.transitions.size()) + K * (bias + begin + end);
    const Index dimension = (pairs ? pairs->size() : attributes * K) + dense;
    std::visit([&](const auto& given) { require(Index(given.shape(0)) == dimension, "weights of another number"); },
               weights);
    std::vector<double> widened;
    if (const auto* single = std::get_if<Vector<float>>(&weights))
        widened.assign(single->data(), single->data() + dimension);
    const auto* given = std::get_if<Vector<double>>(&weights);
    std::variant<AllPairs, ObservedPairs> rows = AllPairs(attributes, K);
    if (pairs) rows = *pairs;
    new (self) ColumnTagger({separator, comment, conllu, drop_docstart, fewest, most, fewest, tolerant}, columns,
                            source, {names, hash_bits}, rows, std::move(shape), given ? given->data() : nullptr,
                            std::move(widened), masks_of(masks, K), labels, label_column);
}

auto tag(const ColumnTagger& tagger, nb::bytes chunk, std::int64_t first_line) {
    const std::string_view bytes(chunk.c_str(), chunk.size());
    TaggedChunk tagged;
    {
        nb::gil_scoped_release release;
        tagged = tagger.tag(bytes, first_line);
    }
    std::vector<std::pair<std::int64_t, std::string>> faults;
    for (const text::Fault& fault : tagged.faults) faults.emplace_back(fault.line, fault.message);
    return std::make_tuple(nb::bytes(tagged.text.data(), tagged.text.size()), tagged.sentences, std::move(faults));
}

}  // namespace

void bind_tagging(nb::module_& m) {
    nb::class_<ColumnTagger>(m, "ColumnTagger", "A model that labels the lines of column files.")
        .def("__init__", &make_tagger, "template"_a, "columns"_a, "separator"_a, "comment"_a, "conllu"_a,
             "drop_docstart"_a, "fewest"_a, "most"_a, "tolerant"_a, "names"_a.none(), "hash_bits"_a,
             "weights"_a.noconvert(), "transitions"_a.noconvert(), "bias"_a, "begin"_a, "end"_a, "pairs"_a.none(),
             "masks"_a.none(), "labels"_a, "label_column"_a.none(), nb::keep_alive<1, 13>())
        .def("tag", &tag, "chunk"_a, "first_line"_a, "(the lines with their labels, number of sentences, faults)");
}

}  // namespace dualfield
