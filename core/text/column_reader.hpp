// Column files: one token a line, a blank line between sentences.
//
// White space is ASCII's, so a word may hold a no-break space. What is wrong with a line is said with its number. In a
// stream that must go on, the sentence at fault is left out and the fault kept.
#pragma once

#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "text/characters.hpp"
#include "text/tokens.hpp"
#include "text/watch.hpp"

namespace dualfield::text {

struct ColumnFormat {
    std::string separator;       // empty: any run of white space
    std::string comment;         // lines that begin so are skipped; empty: none are
    bool conllu = false;         // skip ranges of words (1-2) and empty nodes (1.1); ten columns
    bool drop_docstart = false;  // skip lines whose first column is -DOCSTART-
    std::size_t fewest = 0;      // columns of a line; 0: as many as the first has
    std::size_t most = 0;
    std::size_t keep = 0;   // columns to keep, from the first; 0: those of every line
    bool tolerant = false;  // leave out sentences with a fault
};

struct Fault {
    std::int64_t line;
    std::string message;
};

class ColumnReader {
   public:
    ColumnReader(ColumnFormat format, std::int64_t first_line) : format_(std::move(format)), line_(first_line - 1) {}

    Tokens read(std::string_view text, const Watch& watch = {}) {
        Watched watched(watch, text.size());
        while (!text.empty()) {
            const void* newline = std::memchr(text.data(), '\n', text.size());
            const std::size_t length =
                newline ? static_cast<std::size_t>(static_cast<const char*>(newline) - text.data()) : text.size();
            ++line_;
            take(text.substr(0, length));
            text.remove_prefix(newline ? length + 1 : length);
            watched.left(text.size());
        }
        end_sentence();
        for (auto& building : columns_) {
            auto column = std::make_shared<Column>();
            column->values = std::make_shared<const StringTable>(std::move(building.values));
            column->codes = std::move(building.codes);
            tokens_.columns.push_back(std::move(column));
        }
        return std::move(tokens_);
    }

    // At most one a sentence: the first.
    const std::vector<Fault>& faults() const { return faults_; }

   private:
    struct Building {
        StringTable values;
        std::vector<Code> codes;
    };

    static bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

    void take(std::string_view line) {
        if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
        const std::size_t valid = valid_length(line);
        if (valid < line.size()) return fault(not_utf8(line[valid]));
        split(line);
        if (fields_.empty()) {
            end_sentence();
        } else if (!skipped(line)) {
            add();
        }
    }

    void split(std::string_view line) {
        fields_.clear();
        std::size_t at = 0;
        while (at < line.size() && is_blank(line[at])) ++at;
        if (at == line.size()) return;
        if (format_.separator.empty()) {
            while (at < line.size()) {
                const std::size_t begin = at;
                while (at < line.size() && !is_blank(line[at])) ++at;
                fields_.push_back(line.substr(begin, at - begin));
                while (at < line.size() && is_blank(line[at])) ++at;
            }
            return;
        }
        for (at = 0;;) {
            const std::size_t end = line.find(format_.separator, at);
            fields_.push_back(line.substr(at, end == line.npos ? line.npos : end - at));
            if (end == line.npos) return;
            at = end + format_.separator.size();
        }
    }

    bool skipped(std::string_view line) const {
        if (!format_.comment.empty() && line.starts_with(format_.comment)) return true;
        if (format_.drop_docstart && fields_[0] == "-DOCSTART-") return true;
        return format_.conllu && fields_.size() == 10 && fields_[0].find_first_of("-.") != std::string_view::npos;
    }

    void add() {
        const std::size_t found = fields_.size();
        if (format_.fewest == 0) {
            format_.fewest = format_.most = found;
            width_from_ = line_;
        }
        const std::size_t in_sentence = begun_ ? width_ : found;
        if (found < format_.fewest || found > format_.most || found != in_sentence) {
            fault(expected() + ", found " + std::to_string(found) + "; mend the line or give the separator");
            return;
        }
        begun_ = true;
        width_ = found;
        const std::size_t kept = format_.keep == 0 ? format_.fewest : std::min(format_.fewest, format_.keep);
        if (columns_.empty()) columns_.resize(kept);
        for (std::size_t c = 0; c < columns_.size(); ++c)
            columns_[c].codes.push_back(columns_[c].values.intern(fields_[c]));
        tokens_.lines.push_back(line_);
    }

    static std::string columns(std::size_t count) {
        return std::to_string(count) + (count == 1 ? " column" : " columns");
    }

    std::string expected() const {
        const std::string fewest = std::to_string(format_.fewest), most = std::to_string(format_.most);
        if (format_.conllu) return "expected the 10 columns of CoNLL-U with tabs between them";
        const std::string enough = "expected " + columns(format_.fewest);
        if (width_from_ > 0) return enough + " as on line " + std::to_string(width_from_);
        if (fewest == most) return enough;
        const bool wrong_here = begun_ && fields_.size() >= format_.fewest && fields_.size() <= format_.most;
        if (wrong_here) return "expected " + columns(width_) + " as on the lines before";
        const bool adjacent = format_.most - format_.fewest == 1;
        return "expected " + fewest + (adjacent ? " or " : " to ") + most + " columns";
    }

    void fault(const std::string& message) {
        if (!format_.tolerant) throw std::invalid_argument("line " + std::to_string(line_) + ": " + message + ".");
        if (!at_fault_) faults_.push_back({line_, message + "."});
        at_fault_ = begun_ = true;
    }

    void end_sentence() {
        const auto begin = static_cast<std::size_t>(tokens_.offsets.back());
        if (at_fault_) {
            for (Building& column : columns_) column.codes.resize(begin);
            tokens_.lines.resize(begin);
        }
        if (tokens_.lines.size() > begin) tokens_.offsets.push_back(static_cast<std::int64_t>(tokens_.lines.size()));
        begun_ = at_fault_ = false;
    }

    ColumnFormat format_;
    std::int64_t line_;
    std::int64_t width_from_ = 0;
    std::size_t width_ = 0;
    bool begun_ = false, at_fault_ = false;
    std::vector<std::string_view> fields_;
    std::vector<Building> columns_;
    Tokens tokens_;
    std::vector<Fault> faults_;
};

}  // namespace dualfield::text
