// CRFsuite's attribute files: LABEL, then attributes with tabs between them, a blank line between sequences.
//
// An attribute may have a value after a colon; \: and \\ stand for the two characters themselves. A line @weight:2
// gives its sequence a weight. CRFsuite (0.12, frontend/reader.c) lets a colon in a label and words after a number pass
// in silence; here they are refused with the line's number.
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "text/characters.hpp"
#include "text/encoder.hpp"
#include "text/watch.hpp"

namespace dualfield::text {

struct AttributeFile {
    EncodedTokens attributes;
    std::vector<std::int64_t> offsets{0};
    StringTable label_names;
    std::vector<Code> labels;
    std::vector<double> weights;  // of every sequence; empty: all are 1
};

class AttributeReader {
   public:
    // Attributes that a given table does not have are left out; without one they are numbered as they appear.
    AttributeReader(std::shared_ptr<const StringTable> given, std::int64_t first_line)
        : given_(std::move(given)), line_(first_line - 1) {
        if (!given_) file_.attributes.names = std::make_shared<StringTable>();
    }

    AttributeFile read(std::string_view text, const Watch& watch = {}) {
        Watched watched(watch, text.size());
        while (!text.empty()) {
            const std::size_t newline = text.find('\n');
            ++line_;
            take(text.substr(0, newline));
            text.remove_prefix(newline == text.npos ? text.size() : newline + 1);
            watched.left(text.size());
        }
        end_sequence();
        return std::move(file_);
    }

   private:
    struct Entry {
        Code attribute;
        double value;
    };

    [[noreturn]] void fault(const std::string& message) const {
        throw std::invalid_argument("line " + std::to_string(line_) + ": " + message + ".");
    }

    void take(std::string_view line) {
        if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
        const std::size_t valid = valid_length(line);
        if (valid < line.size()) fault(not_utf8(line[valid]));
        if (line.find_first_not_of(" \t\r\f\v") == line.npos) return end_sequence();
        if (line.front() == '\t') fault("expected a label before the first tab, found none");
        if (line.front() == '@') return declaration(line);
        const std::size_t tab = line.find('\t');
        if (has_value(line.substr(0, tab)))
            fault("the label '" + brief(line.substr(0, tab)) + "' has a colon; write \\: for a colon in a name");
        file_.labels.push_back(file_.label_names.intern(name_));
        here_.clear();
        while (!line.empty()) {
            const std::size_t end = std::min(line.find('\t'), line.size());
            line.remove_prefix(std::min(end + 1, line.size()));
            attribute(line.substr(0, line.find('\t')));
        }
        append_merged();
    }

    // Empty fields, as between two tabs, are none.
    void attribute(std::string_view field) {
        if (field.empty()) return;
        const double value = has_value(field) ? number(value_, field) : 1.0;
        if (name_.empty()) fault("expected an attribute before the colon of '" + brief(field) + "', found none");
        const Code code = given_ ? given_->find(name_) : file_.attributes.names->intern(name_);
        if (code != kNone) here_.push_back({code, value});
    }

    void declaration(std::string_view line) {
        const std::size_t end = line.find_last_not_of("\t ") + 1;
        const bool weight = has_value(line.substr(0, end)) && name_ == "@weight" && !value_.empty();
        if (!weight)
            fault("expected a label, or a declaration such as @weight:2, found '" + brief(line.substr(0, end)) + "'");
        if (declared_) fault("the sequence has two weights; keep one");
        weight_ = number(value_, line);
        if (weight_ < 0) fault("the weight of a sequence must not be negative, found " + brief(value_));
        declared_ = true;
    }

    // Splits a field at its colon into name_, with escapes resolved, and value_; false if there is no colon.
    bool has_value(std::string_view field) {
        name_.clear();
        value_ = {};
        for (std::size_t at = 0; at < field.size(); ++at) {
            const char next = at + 1 < field.size() ? field[at + 1] : '\0';
            if (field[at] == ':') {
                value_ = field.substr(at + 1);
                return true;
            }
            if (field[at] == '\\' && (next == '\\' || next == ':')) ++at;
            name_ += field[at];
        }
        return false;
    }

    double number(std::string_view text, std::string_view field) const {
        if (text.empty()) return 1.0;  // CRFsuite's reading of "attribute:"
        const std::string_view digits = text.front() == '+' ? text.substr(1) : text;
        double value = 0.0;
        const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
        if (error != std::errc() || end != digits.data() + digits.size() || !std::isfinite(value))
            fault("expected a finite number after the colon of '" + brief(field) + "', found '" + brief(text) +
                  "'; write \\: for a colon in a name");
        return value;
    }

    // Attributes distinct and increasing; values of one that is named twice are added up, zeros left out.
    void append_merged() {
        EncodedTokens& out = file_.attributes;
        std::stable_sort(here_.begin(), here_.end(),
                         [](const Entry& a, const Entry& b) { return a.attribute < b.attribute; });
        for (std::size_t n = 0; n < here_.size();) {
            const Code attribute = here_[n].attribute;
            double value = 0.0;
            for (; n < here_.size() && here_[n].attribute == attribute; ++n) value += here_[n].value;
            if (!std::isfinite(value)) fault("the values of an attribute that is named twice add up to infinity");
            if (value == 0.0) continue;
            if (value != 1.0 && out.values.empty()) out.values.assign(out.indices.size(), 1.0);
            valued_ = valued_ || value != 1.0;
            out.indices.push_back(attribute);
            if (valued_) out.values.push_back(value);
        }
        out.indptr.push_back(static_cast<std::int64_t>(out.indices.size()));
    }

    void end_sequence() {
        const auto n = static_cast<std::int64_t>(file_.labels.size());
        if (n == file_.offsets.back()) {
            if (declared_) fault("a weight without a sequence; put it on the line before the first token");
            return;
        }
        if (declared_ && weight_ != 1.0 && file_.weights.empty()) file_.weights.assign(file_.offsets.size() - 1, 1.0);
        weighted_ = weighted_ || (declared_ && weight_ != 1.0);
        if (weighted_) file_.weights.push_back(declared_ ? weight_ : 1.0);
        file_.offsets.push_back(n);
        declared_ = false;
    }

    std::shared_ptr<const StringTable> given_;
    std::int64_t line_;
    AttributeFile file_;
    std::vector<Entry> here_;
    std::string name_;
    std::string_view value_;
    double weight_ = 1.0;
    bool declared_ = false, weighted_ = false, valued_ = false;
};

}  // namespace dualfield::text
