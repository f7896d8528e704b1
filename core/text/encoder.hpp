// From tokens to numbered attributes.
//
// An attribute is known by its rule and the numbers of its cells' strings long before it is known by its own string: the
// string is made once, when the combination appears first, and only then are equal strings of different rules seen to
// be one attribute. Combinations of few strings (tags, their pairs and triples) are looked up in an array, others in a
// hash table.
#pragma once

#include <array>
#include <bit>
#include <cstdlib>

#include "text/evaluated_view.hpp"

namespace dualfield::text {

// How attributes are numbered: newly, by a given table, or by their hash.
struct Numbering {
    std::shared_ptr<const StringTable> given;
    int hash_bits = 0;  // 0: not hashed
};

struct EncodedTokens {
    std::vector<std::int64_t> indptr{0};
    std::vector<Code> indices;
    std::vector<double> values;          // empty: all are 1
    std::shared_ptr<StringTable> names;  // where numbered newly
};

class Encoder {
   public:
    Encoder(const Template& source, const Tokens& tokens, bool bigrams, Numbering numbering)
        : tokens_(tokens), bigrams_(bigrams), numbering_(std::move(numbering)) {
        if (!numbering_.given && numbering_.hash_bits == 0) names_ = std::make_shared<StringTable>();
        std::int64_t markers = source.outside == Outside::wapiti ? kWapitiMarkers : 1;
        if (source.outside == Outside::crfpp)
            for (const Rule& rule : source.rules)
                for (const Cell& cell : rule.cells) markers = std::max(markers, std::abs(cell.offset));
        for (const View& view : source.views) views_.emplace_back(view, tokens, source.outside, markers);
        for (const Rule& rule : source.rules)
            if (bigrams ? rule.bigram && !rule.cells.empty() : rule.unigram) rules_.push_back(lookup_of(rule));
    }

    // Attributes distinct and increasing at every token; one that is made n times there has the value n.
    EncodedTokens encode(std::int64_t min_count) {
        EncodedTokens out;
        out.indices.reserve(tokens_.size() * rules_.size());
        std::vector<Code> here;
        each_token([&](std::int64_t begin, std::int64_t length, std::int64_t t) {
            here.clear();
            attributes(begin, length, t, here);
            std::sort(here.begin(), here.end());
            append_merged(here, out);
            out.indptr.push_back(static_cast<std::int64_t>(out.indices.size()));
        });
        out.names = names_;
        if (min_count > 1) drop_rare(min_count, out);
        return out;
    }

    // As the rules make them, in their order.
    EncodedTokens list() {
        EncodedTokens out;
        each_token([&](std::int64_t begin, std::int64_t length, std::int64_t t) {
            attributes(begin, length, t, out.indices);
            out.indptr.push_back(static_cast<std::int64_t>(out.indices.size()));
        });
        out.names = names_;
        return out;
    }

   private:
    static constexpr Code kUnset = KeyTable::kUnset;
    static constexpr int kKeyBits = 64, kStageBits = 31;
    static constexpr std::int64_t kTogether = 8;  // tokens whose keys are found together

    // Cells that share a key: their numbers side by side. A key that would be too long is cut into stages, each of which
    // numbers its combinations and hands the number on.
    struct Stage {
        std::size_t first, last;
        KeyTable numbers;
    };

    // By what a rule's attribute at a token is known, if there is one.
    struct Key {
        std::uint64_t key;
        bool there;
    };

    struct RuleLookup {
        const Rule* rule;
        std::vector<int> bits;
        std::vector<Stage> stages;
        std::vector<Code> direct;  // by key, if keys are short
        KeyTable hashed;
        std::vector<Code> codes;
        std::array<Key, kTogether> keys = {};
        // Of the token at hand: where the attribute's number is, or null if there is none; and where the number is not
        // known yet, the attribute's string and its hash.
        Code* number = nullptr;
        std::string string = {};
        std::uint64_t hash = 0;
    };

    RuleLookup lookup_of(const Rule& rule) const {
        RuleLookup lookup{&rule, {}, {}, {}, {}, std::vector<Code>(rule.cells.size())};
        int total = 0;
        std::size_t first = 0;
        for (std::size_t n = 0; n < rule.cells.size(); ++n) {
            const int bits = std::bit_width(views_[rule.cells[n].view].size());
            if (total + bits > kKeyBits) {
                lookup.stages.push_back({first, n, {}});
                first = n;
                total = kStageBits;
            }
            lookup.bits.push_back(bits);
            total += bits;
        }
        lookup.stages.push_back({first, rule.cells.size(), {}});
        const bool few = total < 40 && std::size_t{1} << total <= std::max<std::size_t>(1024, 8 * tokens_.size());
        if (few) lookup.direct.assign(std::size_t{1} << total, kUnset);
        return lookup;
    }

    // Keys are found for some tokens together, so that memory has brought their places when they are looked up.
    template <class Body>
    void each_token(Body&& body) {
        for (std::size_t s = 0; s < tokens_.sentences(); ++s) {
            const std::int64_t begin = tokens_.offsets[s], length = tokens_.offsets[s + 1] - begin;
            for (std::int64_t t = 0; t < length; ++t) {
                if (t % kTogether == 0)
                    for (std::int64_t u = t; u < std::min(length, t + kTogether); ++u) find_keys(begin, length, u);
                body(begin, length, t);
            }
        }
    }

    void find_keys(std::int64_t begin, std::int64_t length, std::int64_t t) {
        const bool first = t == 0, last = t == length - 1;
        for (RuleLookup& lookup : rules_) {
            const Where where = lookup.rule->where;
            Key& key = lookup.keys[static_cast<std::size_t>(t % kTogether)];
            key.there = !(bigrams_ && first) && (where != Where::first || first) && (where != Where::last || last) &&
                        look(lookup, begin, length, t);
            if (!key.there) continue;
            key.key = key_of(lookup);
            if (lookup.direct.empty()) {
                lookup.hashed.prefetch(key.key);
            } else {
                __builtin_prefetch(&lookup.direct[key.key]);
            }
        }
    }

    // Adds the attributes of token t of a sentence, whose keys have been found. Tables of attributes do not fit into caches,
    // so the rules go through their look-ups together: while memory brings what one of them asked for, the others ask too.
    void attributes(std::int64_t begin, std::int64_t length, std::int64_t t, std::vector<Code>& out) {
        for (RuleLookup& lookup : rules_) {
            const Key& key = lookup.keys[static_cast<std::size_t>(t % kTogether)];
            lookup.number = nullptr;
            if (!key.there) continue;  // bigrams at the first token, for one: there is no pair of labels
            lookup.number = lookup.direct.empty() ? &lookup.hashed[key.key] : &lookup.direct[key.key];
            if (*lookup.number == kUnset) {
                look(lookup, begin, length, t);
                make_string(lookup);
            }
        }
        if (const StringTable* table = numbering_.given ? numbering_.given.get() : names_.get()) {
            for (const RuleLookup& lookup : rules_)
                if (lookup.number && *lookup.number == kUnset) table->prefetch_bounds(lookup.hash);
            for (const RuleLookup& lookup : rules_)
                if (lookup.number && *lookup.number == kUnset) table->prefetch_string(lookup.hash);
        }
        for (RuleLookup& lookup : rules_) {
            if (!lookup.number) continue;
            if (*lookup.number == kUnset) *lookup.number = number_of(lookup);
            if (*lookup.number != kNone) out.push_back(*lookup.number);
        }
    }

    // The numbers of the cells; false if one has none.
    bool look(RuleLookup& lookup, std::int64_t begin, std::int64_t length, std::int64_t t) const {
        for (std::size_t n = 0; n < lookup.codes.size(); ++n) {
            const Cell& cell = lookup.rule->cells[n];
            std::int64_t place = t + cell.offset;
            if (cell.absolute) place = cell.offset < 0 ? length + cell.offset : cell.offset - 1;
            lookup.codes[n] = views_[cell.view].at(begin, length, place);
            if (lookup.codes[n] == kNone) return false;
        }
        return true;
    }

    static std::uint64_t key_of(RuleLookup& lookup) {
        std::uint64_t key = 0;
        for (Stage& stage : lookup.stages) {
            for (std::size_t n = stage.first; n < stage.last; ++n)
                key = key << lookup.bits[n] | static_cast<std::uint32_t>(lookup.codes[n]);
            if (&stage == &lookup.stages.back()) break;
            const Code next = checked_code(stage.numbers.size());
            Code& number = stage.numbers[key];
            if (number == kUnset) number = next;
            key = static_cast<std::uint64_t>(number);
        }
        return key;
    }

    // The string of the rule's attribute, and its hash.
    void make_string(RuleLookup& lookup) {
        lookup.string = lookup.rule->literals[0];
        for (std::size_t n = 0; n < lookup.codes.size(); ++n) {
            lookup.string += views_[lookup.rule->cells[n].view][lookup.codes[n]];
            lookup.string += lookup.rule->literals[n + 1];
        }
        lookup.hash = hash_bytes(lookup.string);
        if (numbering_.given) numbering_.given->prefetch(lookup.hash);
        if (names_) names_->prefetch(lookup.hash);
    }

    Code number_of(const RuleLookup& lookup) {
        if (numbering_.given) return numbering_.given->find(lookup.string, lookup.hash);
        if (numbering_.hash_bits > 0) return static_cast<Code>(lookup.hash >> (64 - numbering_.hash_bits));
        return names_->intern(lookup.string, lookup.hash);
    }

    static void append_merged(const std::vector<Code>& sorted, EncodedTokens& out) {
        for (std::size_t n = 0; n < sorted.size(); ++n) {
            if (n > 0 && sorted[n] == sorted[n - 1]) {
                if (out.values.empty()) out.values.assign(out.indices.size(), 1.0);
                out.values.back() += 1.0;
                continue;
            }
            out.indices.push_back(sorted[n]);
            if (!out.values.empty()) out.values.push_back(1.0);
        }
    }

    // Leaves out what occurs at fewer tokens; the others keep their order.
    void drop_rare(std::int64_t min_count, EncodedTokens& out) const {
        const std::size_t size = names_             ? names_->size()
                                 : numbering_.given ? numbering_.given->size()
                                                    : std::size_t{1} << numbering_.hash_bits;
        std::vector<std::int64_t> counts(size, 0);
        for (const Code code : out.indices) ++counts[static_cast<std::size_t>(code)];
        std::vector<Code> numbers(size, kNone);
        auto kept = std::make_shared<StringTable>();
        for (std::size_t n = 0; n < size; ++n)
            if (counts[n] >= min_count)
                numbers[n] = names_ ? kept->intern((*names_)[static_cast<Code>(n)]) : static_cast<Code>(n);
        std::size_t to = 0;
        for (std::size_t t = 0, from = 0; t + 1 < out.indptr.size(); ++t) {
            for (; from < static_cast<std::size_t>(out.indptr[t + 1]); ++from) {
                const Code number = numbers[static_cast<std::size_t>(out.indices[from])];
                if (number == kNone) continue;
                out.indices[to] = number;
                if (!out.values.empty()) out.values[to] = out.values[from];
                ++to;
            }
            out.indptr[t + 1] = static_cast<std::int64_t>(to);
        }
        out.indices.resize(to);
        if (!out.values.empty()) out.values.resize(to);
        if (names_) out.names = kept;
    }

    const Tokens& tokens_;
    bool bigrams_;
    Numbering numbering_;
    std::shared_ptr<StringTable> names_;
    std::vector<EvaluatedView> views_;
    std::vector<RuleLookup> rules_;
};

}  // namespace dualfield::text
