// The tagger of column files: any model that the bindings accept (core/bindings/bind_tagging.cpp) on any chunk. The
// lines come back in their order, each as it was or with a label behind it.
#include "column_options.hpp"
#include "tagging/column_tagger.hpp"
#include "template_choices.hpp"

using namespace dualfield;

namespace {

std::shared_ptr<text::StringTable> names_of(fuzz::Choices& choices) {
    auto names = std::make_shared<text::StringTable>();
    for (std::size_t n = choices.size(12); n > 0; --n) names->intern(choices.string(8));
    return names;
}

// A row a attribute: some labels in increasing order.
ObservedPairs pairs_of(fuzz::Choices& choices, Index attributes, Index labels) {
    std::vector<Index> starts{0};
    std::vector<std::int32_t> row_labels;
    for (Index a = 0; a < attributes; ++a) {
        const std::uint8_t chosen = choices.byte();
        for (Index k = 0; k < labels; ++k)
            if (chosen >> (k % 8) & 1) row_labels.push_back(static_cast<std::int32_t>(k));
        starts.push_back(std::ssize(row_labels));
    }
    return ObservedPairs(attributes, labels, starts.data(), row_labels.data());
}

std::unique_ptr<bool[]> mask_of(fuzz::Choices& choices, Index size) {
    auto mask = std::make_unique<bool[]>(static_cast<std::size_t>(size));
    for (Index k = 0; k < size; ++k) mask[static_cast<std::size_t>(k)] = choices.byte() < 200;
    return mask;
}

// Whether a line came back with a label behind it or, with `within`, in place of a part of it.
bool is_labelled(std::string_view line, std::string_view found, std::string_view label, bool within) {
    for (std::size_t at = found.find(label); at != found.npos; at = found.find(label, at + 1)) {
        const std::string_view before = found.substr(0, at), after = found.substr(at + label.size());
        if (within && line.starts_with(before) && line.ends_with(after) && before.size() + after.size() <= line.size())
            return true;
        if (!within && after.empty() && before.size() > line.size() && before.starts_with(line)) return true;
    }
    return false;
}

void check(std::string_view chunk, std::string_view tagged, const std::vector<std::string>& labels, bool within) {
    while (!chunk.empty()) {
        const std::size_t end = chunk.find('\n'), end_tagged = tagged.find('\n');
        fuzz::claim(end_tagged != tagged.npos, "every line comes back");
        std::string_view line = chunk.substr(0, end), with_label = tagged.substr(0, end_tagged);
        bool known = with_label == line;
        if (line.ends_with('\r') && with_label.ends_with('\r')) line.remove_suffix(1), with_label.remove_suffix(1);
        for (const std::string& label : labels) known |= is_labelled(line, with_label, label, within);
        fuzz::claim(known, "a line comes back as it was, or with a label");
        chunk.remove_prefix(end == chunk.npos ? chunk.size() : end + 1);
        tagged.remove_prefix(end_tagged + 1);
    }
    fuzz::claim(tagged.empty(), "no line is added");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::Choices choices(data, size);
    try {
        text::ColumnFormat format = fuzz::column_format(choices);
        if (format.fewest == 0) format.fewest = format.most = 2;
        format.keep = format.fewest;
        std::vector<std::size_t> columns;
        for (std::size_t n = 1 + choices.size(2); n > 0; --n) columns.push_back(choices.size(format.fewest - 1));
        text::Template source = fuzz::random_template(choices, columns.size());
        for (text::Rule& rule : source.rules)
            if (!rule.cells.empty()) rule.unigram = true, rule.bigram = false;
        const int hash_bits = choices.flag() ? static_cast<int>(choices.number(1, 6)) : 0;
        const auto names = hash_bits > 0 ? nullptr : names_of(choices);
        const Index attributes = names ? static_cast<Index>(names->size()) : Index{1} << hash_bits;
        const Index K = choices.number(1, 20);
        ChainShape shape{K, {}, choices.flag(), choices.flag(), choices.flag()};
        for (std::int32_t k = 0; k < K * K; ++k)
            if (choices.byte() % 4 > 0) shape.transitions.push_back(k);
        std::variant<AllPairs, ObservedPairs> rows = AllPairs(attributes, K);
        if (choices.flag()) rows = pairs_of(choices, attributes, K);
        const Index of_rows = std::visit([](const auto& given) { return given.size(); }, rows);
        std::vector<double> weights;
        for (Index d = of_rows + std::ssize(shape.transitions) + K * (shape.bias + shape.begin + shape.end); d > 0; --d)
            weights.push_back(choices.finite_real());
        std::optional<LabelMasks> masks;
        if (choices.flag()) masks = LabelMasks{mask_of(choices, K * K), mask_of(choices, K), mask_of(choices, K)};
        std::vector<std::string> labels;
        for (Index k = 0; k < K; ++k) labels.push_back("L" + std::to_string(k));
        const bool viewed = choices.flag();
        std::optional<std::size_t> label_column;
        if (!format.separator.empty() && choices.flag()) label_column = choices.size(format.fewest - 1);
        const fuzz::Choices::Rest rest(choices);
        const ColumnTagger tagger(format, columns, source, {names, hash_bits}, rows, shape,
                                  viewed ? weights.data() : nullptr, viewed ? std::vector<double>() : weights,
                                  std::move(masks), labels, label_column);
        const TaggedChunk tagged = tagger.tag(rest.text(), 1);
        check(rest.text(), tagged.text, labels, label_column.has_value());
    } catch (const std::invalid_argument&) {  // a line or a pattern at fault, or masks that leave no labelling
    } catch (const std::domain_error&) {      // scores beyond floating point
    }
    return 0;
}
