// A view on given tokens: the number of its string at every token, and the strings outside the sentence.
#pragma once

#include <algorithm>

#include "text/template.hpp"
#include "text/tokens.hpp"

namespace dualfield::text {

class EvaluatedView {
   public:
    // markers: how far outside a sentence cells may look.
    EvaluatedView(const View& view, const Tokens& tokens, Outside outside, std::int64_t markers)
        : column_(tokens.columns[view.column]) {
        const bool named = !view.transforms.empty() && view.transforms.back().operation == Operation::gazetteer;
        if (!view.transforms.empty()) transform(view);
        if (named) find_names(view.transforms.back(), tokens);
        if (outside == Outside::nothing) return;
        std::string buffer;
        for (const bool before : {true, false}) {
            std::vector<Code>& codes = before ? before_ : after_;
            for (std::int64_t distance = 1; distance <= markers; ++distance) {
                // In a gazetteer there is nothing outside.
                codes.push_back(named ? kNone : checked_code(values().size() + markers_.size()));
                markers_.emplace_back(transformed(marker(outside, before, distance), view, buffer));
            }
        }
    }

    // Copies would keep pointing at the original's strings.
    EvaluatedView(const EvaluatedView&) = delete;
    EvaluatedView(EvaluatedView&&) = default;

    // The number at place p of the sentence that begins at token `begin` and has `length` tokens.
    Code at(std::int64_t begin, std::int64_t length, std::int64_t p) const {
        if (p >= 0 && p < length) return codes()[static_cast<std::size_t>(begin + p)];
        const std::vector<Code>& outside = p < 0 ? before_ : after_;
        if (outside.empty()) return kNone;
        const std::int64_t distance = p < 0 ? -p : p - length + 1;
        return outside[static_cast<std::size_t>(std::min(distance, static_cast<std::int64_t>(outside.size())) - 1)];
    }

    std::size_t size() const { return values().size() + markers_.size(); }

    std::string_view operator[](Code code) const {
        const auto n = static_cast<std::size_t>(code);
        return n < values().size() ? values()[code] : markers_[n - values().size()];
    }

    // At every token of all sentences.
    const std::vector<Code>& codes() const { return plain_ ? column_->codes : codes_; }

   private:
    const StringTable& values() const { return plain_ ? *column_->values : values_; }

    // Each different string once, and only those that occur: a slice may share the table of a large file.
    void transform(const View& view) {
        constexpr Code unknown = -2;
        std::vector<Code> made(column_->values->size(), unknown);
        std::string buffer;
        codes_.reserve(column_->codes.size());
        for (const Code code : column_->codes) {
            Code& number = made[static_cast<std::size_t>(code)];
            if (number == unknown) number = values_.intern(transformed((*column_->values)[code], view, buffer));
            codes_.push_back(number);
        }
        plain_ = false;
    }

    // The longest names of the gazetteer, from left to right: B for a first word, I for the others.
    void find_names(const Transform& gazetteer, const Tokens& tokens) {
        KeyTable next;  // (node, word) -> node of the tree of names
        Code nodes = 1;
        std::vector<bool> is_end(1, false);
        const auto key = [](Code node, Code word) {
            return static_cast<std::uint64_t>(node) << 32 | static_cast<std::uint32_t>(word);
        };
        for (const auto& words : gazetteer.entries) {
            std::vector<Code> path;
            for (const std::string& word : words) path.push_back(values_.find(word));
            if (path.empty() || std::find(path.begin(), path.end(), kNone) != path.end()) continue;
            Code node = 0;
            for (const Code word : path) {
                Code& child = next[key(node, word)];
                if (child == KeyTable::kUnset) {
                    child = nodes++;
                    is_end.push_back(false);
                }
                node = child;
            }
            is_end[static_cast<std::size_t>(node)] = true;
        }
        const std::vector<Code> words = std::move(codes_);
        codes_.assign(words.size(), kNone);
        values_ = StringTable();
        const Code first = values_.intern("B"), inside = values_.intern("I");
        for (std::size_t s = 0; s < tokens.sentences(); ++s) {
            const auto end = static_cast<std::size_t>(tokens.offsets[s + 1]);
            for (auto t = static_cast<std::size_t>(tokens.offsets[s]); t < end;) {
                std::size_t longest = 0;
                Code node = 0;
                for (std::size_t u = t; u < end; ++u) {
                    const Code* child = next.find(key(node, words[u]));
                    if (!child) break;
                    node = *child;
                    if (is_end[static_cast<std::size_t>(node)]) longest = u + 1 - t;
                }
                for (std::size_t n = 0; n < longest; ++n) codes_[t + n] = n == 0 ? first : inside;
                t += std::max<std::size_t>(longest, 1);
            }
        }
    }

    std::shared_ptr<const Column> column_;
    bool plain_ = true;
    StringTable values_;
    std::vector<Code> codes_;
    std::vector<std::string> markers_;
    std::vector<Code> before_, after_;
};

}  // namespace dualfield::text
