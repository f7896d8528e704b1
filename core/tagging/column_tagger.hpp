// The lines of a column file again, each with its label: read, encode, score, decode and write, a chunk at a time.
//
// A chunk is some whole sentences. Nothing but the model outlives it, so a stream is labelled in bounded memory.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "fields/prediction.hpp"
#include "text/column_reader.hpp"
#include "text/encoder.hpp"

namespace dualfield {

// Which labellings there are, as masks that are true where allowed.
struct LabelMasks {
    std::unique_ptr<bool[]> transitions, begin, end;  // K x K, K, K
};

struct TaggedChunk {
    std::string text;
    std::size_t sentences;
    std::vector<text::Fault> faults;
};

class ColumnTagger {
   public:
    // Needs the weights as long as it lives, unless they are null: then it keeps those that it is given. `columns` are
    // those that the template sees. A label is put into the column `label_column`, or behind the line where that is
    // none. Without masks every labelling is allowed. There are no weights of bigrams.
    ColumnTagger(text::ColumnFormat format, std::vector<std::size_t> columns, text::Template source,
                 text::Numbering numbering, std::variant<AllPairs, ObservedPairs> rows, ChainShape shape,
                 const double* weights, std::vector<double> kept, std::optional<LabelMasks> masks,
                 std::vector<std::string> labels, std::optional<std::size_t> label_column)
        : format_(std::move(format)),
          columns_(std::move(columns)),
          template_(std::move(source)),
          numbering_(std::move(numbering)),
          rows_(std::move(rows)),
          shape_(std::move(shape)),
          kept_(std::move(kept)),
          weights_(weights ? weights : kept_.data()),
          masks_(std::move(masks)),
          labels_(std::move(labels)),
          label_column_(label_column) {}

    // `first_line` is the number of the chunk's first line in the file, from 1.
    TaggedChunk tag(std::string_view chunk, std::int64_t first_line) const {
        text::ColumnReader reader(format_, first_line);
        const text::Tokens tokens = reader.read(chunk);
        std::vector<std::int32_t> path(tokens.size());
        if (tokens.sentences() > 0)
            std::visit([&](const auto& rows) { decode(rows, selected(tokens), path.data()); }, rows_);
        return {labelled(chunk, first_line, tokens.lines, path), tokens.sentences(), reader.faults()};
    }

   private:
    text::Tokens selected(const text::Tokens& tokens) const {
        text::Tokens some{{}, tokens.offsets, tokens.lines};
        for (const std::size_t column : columns_) some.columns.push_back(tokens.columns[column]);
        return some;
    }

    template <class Rows>
    void decode(const Rows& rows, const text::Tokens& tokens, std::int32_t* path) const {
        const text::EncodedTokens encoded = text::Encoder(template_, tokens, false, numbering_).encode(1);
        const Attributes data{static_cast<Index>(tokens.sentences()),
                              tokens.offsets.data(),
                              encoded.indptr.data(),
                              encoded.indices.data(),
                              encoded.values.empty() ? nullptr : encoded.values.data(),
                              rows.attributes()};
        const ErasedChain<Rows> chain(data, rows, shape_, nullptr, nullptr, 1.0);
        if (!masks_) return decode_blocks(chain.field(), weights_, 0, chain.blocks(), path);
        const AllowedLabels allowed{masks_->transitions.get(), masks_->begin.get(), masks_->end.get(), nullptr};
        decode_blocks(ConstrainedChain(chain, allowed), weights_, 0, chain.blocks(), path);
    }

    // `lines` are the numbers of those lines that have a label. The last line of a file may lack its end.
    std::string labelled(std::string_view chunk, std::int64_t first_line, const std::vector<std::int64_t>& lines,
                         const std::vector<std::int32_t>& path) const {
        std::string out;
        out.reserve(chunk.size() + 12 * path.size());
        std::size_t next = 0;
        for (std::int64_t number = first_line; !chunk.empty(); ++number) {
            const std::size_t newline = chunk.find('\n');
            std::string_view line = chunk.substr(0, newline);
            chunk.remove_prefix(newline == chunk.npos ? chunk.size() : newline + 1);
            if (next < lines.size() && lines[next] == number) {
                const bool carriage_return = line.ends_with('\r');
                line.remove_suffix(carriage_return);
                put(out, line, labels_[static_cast<std::size_t>(path[next++])]);
                if (carriage_return) out += '\r';
            } else {
                out += line;
            }
            out += '\n';
        }
        return out;
    }

    // The line with its label. Where columns are separated by any white space, the label follows a tab if the last
    // column does.
    void put(std::string& out, std::string_view line, std::string_view label) const {
        if (label_column_ && !format_.separator.empty()) {
            std::size_t begin = 0;
            for (std::size_t column = 0; column < *label_column_; ++column)
                begin = line.find(format_.separator, begin) + format_.separator.size();
            out += line.substr(0, begin);
            out += label;
            const std::size_t end = line.find(format_.separator, begin);
            if (end != line.npos) out += line.substr(end);
            return;
        }
        out += line;
        out += format_.separator.empty() ? between_last_columns(line) : format_.separator;
        out += label;
    }

    static std::string_view between_last_columns(std::string_view line) {
        constexpr std::string_view blanks = " \t\v\f\r";
        line = line.substr(0, line.find_last_not_of(blanks) + 1);
        const std::size_t last = line.find_last_of(blanks);
        if (last == line.npos) return " ";
        const std::size_t before = line.find_last_not_of(blanks, last);
        if (before == line.npos) return " ";  // white space before the first column separates nothing
        return line.substr(before + 1, last - before).find('\t') != line.npos ? "\t" : " ";
    }

    text::ColumnFormat format_;
    std::vector<std::size_t> columns_;
    text::Template template_;
    text::Numbering numbering_;
    std::variant<AllPairs, ObservedPairs> rows_;
    ChainShape shape_;
    std::vector<double> kept_;
    const double* weights_;
    std::optional<LabelMasks> masks_;
    std::vector<std::string> labels_;
    std::optional<std::size_t> label_column_;
};

}  // namespace dualfield
