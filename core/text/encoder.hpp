// From tokens to numbered attributes.
//
// An attribute is known by its rule and the numbers of its cells' strings long before it is known by its own string:
// the string is made once, when the combination appears first, and only then are equal strings of different rules seen
// to be one attribute. Combinations of few strings (tags, their pairs and triples) are looked up in an array, others in
// a hash table.
#pragma once

#include <array>
#include <bit>
#include <cstdlib>

#include "text/evaluated_view.hpp"
#include "text/merged_codes.hpp"

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

    std::span<const Code> token(std::size_t t) const {
        return {indices.data() + indptr[t], static_cast<std::size_t>(indptr[t + 1] - indptr[t])};
    }
};

// A token with the attributes found; `counted`: each with how often it was found as its value.
inline void append(const MergedCodes& merged, bool counted, EncodedTokens& out) {
    const auto codes = merged.codes();
    out.indices.insert(out.indices.end(), codes.begin(), codes.end());
    out.indptr.push_back(static_cast<std::int64_t>(out.indices.size()));
    if (!counted || (merged.distinct() && out.values.empty())) return;
    if (out.values.empty()) out.values.assign(out.indices.size() - codes.size(), 1.0);
    for (std::size_t n = 0; n < codes.size(); ++n) out.values.push_back(merged.count(n));
}

class Encoder {
   public:
    Encoder(const Template& source, const Tokens& tokens, bool bigrams, Numbering numbering)
        : tokens_(tokens), bigrams_(bigrams), numbering_(std::move(numbering)), last_(tokens.sentences()) {
        number_newly();
        std::int64_t markers = source.outside == Outside::wapiti ? kWapitiMarkers : 1;
        if (source.outside == Outside::crfpp)
            for (const Rule& rule : source.rules)
                for (const Cell& cell : rule.cells) markers = std::max(markers, std::abs(cell.offset));
        auto views = std::make_shared<std::vector<EvaluatedView>>();
        for (const View& view : source.views) views->emplace_back(view, tokens, source.outside, markers);
        views_ = std::move(views);
        for (const Rule& rule : source.rules)
            if (bigrams ? rule.bigram && !rule.cells.empty() : rule.unigram) rules_.push_back(lookup_of(rule));
    }

    // An encoder for the sentences first .. last - 1 alone, with numbers of its own. Several may work at the same time.
    Encoder part(std::size_t first, std::size_t last) const { return Encoder(*this, first, last); }

    // Attributes distinct and increasing at every token; one that is made n times there has the value n.
    EncodedTokens encode(std::int64_t min_count) {
        EncodedTokens out;
        out.indices.reserve(tokens_here() * rules_.size());
        out.indptr.reserve(tokens_here() + 1);
        MergedCodes merged;
        // If two attributes of a token have the same hash, they count once. That is rare, and values would triple the
        // memory of all entries.
        const bool counted = numbering_.hash_bits == 0;
        each_token([&](const std::vector<Code>& here) {
            merged.take(here);
            append(merged, counted, out);
        });
        out.names = names_;
        if (min_count > 1) drop_rare(min_count, out);
        return out;
    }

    // Attributes as the rules make them, in the order of the rules.
    EncodedTokens list() {
        EncodedTokens out;
        each_token([&](const std::vector<Code>& here) {
            out.indices.insert(out.indices.end(), here.begin(), here.end());
            out.indptr.push_back(static_cast<std::int64_t>(out.indices.size()));
        });
        out.names = names_;
        return out;
    }

   private:
    static constexpr Code kUnset = KeyTable::kUnset;
    static constexpr int kKeyBits = 64, kStageBits = 31;
    static constexpr std::int64_t kTogether = 32;  // tokens whose attributes are found together

    // Cells that share a key: their numbers side by side. A key that would be too long is cut into stages, each of
    // which numbers its combinations and hands the number on.
    struct Stage {
        std::size_t first, last;
        KeyTable numbers;
    };

    struct RuleLookup {
        const Rule* rule;
        std::uint64_t hash;  // of the first literal, for the rest to be added
        std::vector<int> bits;
        std::vector<Stage> stages;
        std::vector<Code> direct;  // by key, if keys are short
        KeyTable hashed;
        // Of the tokens at hand: by what the rule's attribute is known, and whether there is one.
        std::array<std::uint64_t, kTogether> keys = {};
        std::array<bool, kTogether> there = {};
    };

    // A stretch of the tokens of a sentence.
    struct Stretch {
        std::int64_t begin, length;  // of the sentence
        std::int64_t first, last;    // places in it
    };

    // An attribute whose number is not known yet: of which rule, at which place, and its string's hash.
    struct Pending {
        std::size_t rule;
        std::int64_t place;
        std::uint64_t hash;
    };

    Encoder(const Encoder& whole, std::size_t first, std::size_t last)
        : tokens_(whole.tokens_),
          bigrams_(whole.bigrams_),
          numbering_(whole.numbering_),
          views_(whole.views_),
          first_(first),
          last_(last) {
        number_newly();
        for (const RuleLookup& lookup : whole.rules_) rules_.push_back(lookup_of(*lookup.rule));
    }

    void number_newly() {
        if (!numbering_.given && numbering_.hash_bits == 0) names_ = std::make_shared<StringTable>();
    }

    std::size_t tokens_here() const {
        return static_cast<std::size_t>(tokens_.offsets[last_] - tokens_.offsets[first_]);
    }
    const std::vector<EvaluatedView>& views() const { return *views_; }

    RuleLookup lookup_of(const Rule& rule) const {
        RuleLookup lookup{&rule, fnv(rule.literals[0]), {}, {}, {}, {}};
        int total = 0;
        std::size_t first = 0;
        for (std::size_t n = 0; n < rule.cells.size(); ++n) {
            const int bits = std::bit_width(views()[rule.cells[n].view].size());
            if (total + bits > kKeyBits) {
                lookup.stages.push_back({first, n, {}});
                first = n;
                total = kStageBits;
            }
            lookup.bits.push_back(bits);
            total += bits;
        }
        lookup.stages.push_back({first, rule.cells.size(), {}});
        const bool few = total < 40 && std::size_t{1} << total <= std::max<std::size_t>(1024, 8 * tokens_here());
        if (few) lookup.direct.assign(std::size_t{1} << total, kUnset);
        return lookup;
    }

    // body(attributes of the token, in the order of the rules). Tables of attributes do not fit into caches, so the
    // tokens of a stretch go through their look-ups together: while memory brings what one asked for, the others ask
    // too.
    template <class Body>
    void each_token(Body&& body) {
        std::vector<Code> here;
        for (std::size_t s = first_; s < last_; ++s) {
            const std::int64_t begin = tokens_.offsets[s], length = tokens_.offsets[s + 1] - begin;
            for (std::int64_t t = 0; t < length; t += kTogether) {
                const Stretch stretch{begin, length, t, std::min(length, t + kTogether)};
                numbers_.resize(static_cast<std::size_t>(stretch.last - t) * rules_.size());
                for (std::size_t r = 0; r < rules_.size(); ++r) {
                    find_keys(rules_[r], stretch);
                    look_up(r, stretch);
                }
                number_pending(stretch);
                for (std::int64_t place = t; place < stretch.last; ++place) {  // without rules too
                    const Code* numbers = numbers_.data() + static_cast<std::size_t>(place - t) * rules_.size();
                    here.resize(rules_.size());
                    std::size_t size = 0;
                    for (std::size_t r = 0; r < rules_.size(); ++r) {
                        here[size] = numbers[r];
                        size += here[size] != kNone;
                    }
                    here.resize(size);
                    body(here);
                }
            }
        }
    }

    void find_keys(RuleLookup& lookup, const Stretch& at) {
        const Where where = lookup.rule->where;
        for (std::int64_t t = at.first; t < at.last; ++t)  // no bigrams at the first token: there is no pair of labels
            lookup.there[static_cast<std::size_t>(t - at.first)] = !(bigrams_ && t == 0) &&
                                                                   (where != Where::first || t == 0) &&
                                                                   (where != Where::last || t == at.length - 1);
        lookup.keys.fill(0);
        for (Stage& stage : lookup.stages) {
            for (std::size_t n = stage.first; n < stage.last; ++n) add_cell(lookup, n, at);
            if (&stage == &lookup.stages.back()) break;
            for (std::size_t k = 0; k < static_cast<std::size_t>(at.last - at.first); ++k) {
                if (!lookup.there[k]) continue;
                const Code next = checked_code(stage.numbers.size());
                Code& number = stage.numbers[lookup.keys[k]];
                if (number == kUnset) number = next;
                lookup.keys[k] = static_cast<std::uint64_t>(number);
            }
        }
    }

    void add_cell(RuleLookup& lookup, std::size_t n, const Stretch& at) const {
        const Cell& cell = lookup.rule->cells[n];
        const EvaluatedView& view = views()[cell.view];
        const int bits = lookup.bits[n];
        const auto add = [&](std::int64_t t, Code code) {
            const auto k = static_cast<std::size_t>(t - at.first);
            lookup.keys[k] = lookup.keys[k] << bits | static_cast<std::uint32_t>(code);
            lookup.there[k] &= code != kNone;
        };
        // Where a relative cell is within the sentence its numbers lie side by side.
        const std::int64_t inside = cell.absolute ? at.last : std::clamp(-cell.offset, at.first, at.last);
        const std::int64_t outside = cell.absolute ? at.last : std::clamp(at.length - cell.offset, inside, at.last);
        const auto look = [&](std::int64_t t) { return view.at(at.begin, at.length, place_of(cell, t, at.length)); };
        for (std::int64_t t = at.first; t < inside; ++t) add(t, look(t));
        const Code* codes = view.codes().data() + at.begin + cell.offset;
        for (std::int64_t t = inside; t < outside; ++t) add(t, codes[t]);
        for (std::int64_t t = outside; t < at.last; ++t) add(t, look(t));
    }

    static std::int64_t place_of(const Cell& cell, std::int64_t t, std::int64_t length) {
        if (!cell.absolute) return t + cell.offset;
        return cell.offset < 0 ? length + cell.offset : cell.offset - 1;
    }

    // The numbers of a rule's attributes at the tokens whose keys have been found: kNone where there is none, kUnset
    // where it is not known yet.
    void look_up(std::size_t r, const Stretch& at) {
        const RuleLookup& lookup = rules_[r];
        const auto size = static_cast<std::size_t>(at.last - at.first);
        Code* numbers = numbers_.data() + r;
        if (!lookup.direct.empty()) {
            for (std::size_t k = 0; k < size; ++k)
                numbers[k * rules_.size()] = lookup.there[k] ? lookup.direct[lookup.keys[k]] : kNone;
            return;
        }
        for (std::size_t k = 0; k < size; ++k)
            if (lookup.there[k]) lookup.hashed.prefetch(lookup.keys[k]);
        for (std::size_t k = 0; k < size; ++k) {
            const Code* number = lookup.there[k] ? lookup.hashed.find(lookup.keys[k]) : &kNone;
            numbers[k * rules_.size()] = number ? *number : kUnset;
        }
    }

    // Finds the numbers that are not known yet, token after token, so that new ones follow the text.
    void number_pending(const Stretch& at) {
        pending_.clear();
        for (std::size_t n = 0; n < numbers_.size(); ++n)
            if (numbers_[n] == kUnset)
                pending_.push_back({n % rules_.size(), at.first + static_cast<std::int64_t>(n / rules_.size()), 0});
        const StringTable* table = numbering_.given ? numbering_.given.get() : names_.get();
        for (Pending& pending : pending_) {
            pending.hash = rules_[pending.rule].hash;
            each_piece(pending, at, [&](std::string_view piece) { pending.hash = fnv(piece, pending.hash); });
            pending.hash = mix(pending.hash);
            if (table) table->prefetch(pending.hash);
        }
        if (table) {
            for (const Pending& pending : pending_) table->prefetch_bounds(pending.hash);
            for (const Pending& pending : pending_) table->prefetch_string(pending.hash);
        }
        for (const Pending& pending : pending_) {
            RuleLookup& lookup = rules_[pending.rule];
            const auto k = static_cast<std::size_t>(pending.place - at.first);
            Code& number = lookup.direct.empty() ? lookup.hashed[lookup.keys[k]] : lookup.direct[lookup.keys[k]];
            if (number == kUnset) number = number_of(pending, at);  // else a token before has the same
            numbers_[k * rules_.size() + pending.rule] = number;
        }
    }

    // body(piece) for the pieces of an attribute's string after the first literal.
    template <class Body>
    void each_piece(const Pending& pending, const Stretch& at, Body&& body) const {
        const Rule& rule = *rules_[pending.rule].rule;
        for (std::size_t n = 0; n < rule.cells.size(); ++n) {
            const EvaluatedView& view = views()[rule.cells[n].view];
            body(view[view.at(at.begin, at.length, place_of(rule.cells[n], pending.place, at.length))]);
            if (!rule.literals[n + 1].empty()) body(std::string_view(rule.literals[n + 1]));
        }
    }

    Code number_of(const Pending& pending, const Stretch& at) {
        if (numbering_.hash_bits > 0) return static_cast<Code>(pending.hash >> (64 - numbering_.hash_bits));
        const std::string& first = rules_[pending.rule].rule->literals[0];
        if (numbering_.given)
            return numbering_.given->find(pending.hash, [&](std::string_view name) {
                bool same = name.starts_with(first);
                if (same) name.remove_prefix(first.size());
                each_piece(pending, at, [&](std::string_view piece) {
                    same = same && name.starts_with(piece);
                    if (same) name.remove_prefix(piece.size());
                });
                return same && name.empty();
            });
        string_ = first;
        each_piece(pending, at, [&](std::string_view piece) { string_ += piece; });
        return names_->intern(string_, pending.hash);
    }

    // Leaves out what occurs at fewer tokens; the others keep their order.
    void drop_rare(std::int64_t min_count, EncodedTokens& out) const {
        if (!names_) return drop_rare_hashes(min_count, out);
        std::vector<std::int64_t> counts(names_->size(), 0);
        for (const Code code : out.indices) ++counts[static_cast<std::size_t>(code)];
        std::vector<Code> numbers(names_->size(), kNone);
        auto kept = std::make_shared<StringTable>();
        for (std::size_t n = 0; n < numbers.size(); ++n)
            if (counts[n] >= min_count) numbers[n] = kept->intern((*names_)[static_cast<Code>(n)]);
        renumber(out, [&](Code code) { return numbers[static_cast<std::size_t>(code)]; });
        out.names = kept;
    }

    // There may be far more hashes than attributes in the data, so a table counts those that occur, and memory follows
    // the data.
    static void drop_rare_hashes(std::int64_t min_count, EncodedTokens& out) {
        const Code enough = static_cast<Code>(
            std::min<std::int64_t>(min_count, std::numeric_limits<Code>::max()));  // counted no further
        KeyTable counts;
        for (const Code code : out.indices) {
            Code& count = counts[static_cast<std::uint64_t>(code)];
            if (count == kUnset) count = 0;
            count += count < enough;
        }
        renumber(out,
                 [&](Code code) { return *counts.find(static_cast<std::uint64_t>(code)) == enough ? code : kNone; });
    }

    // number(code): what an attribute becomes, kNone to leave it out.
    template <class Number>
    static void renumber(EncodedTokens& out, Number&& number) {
        std::size_t to = 0;
        for (std::size_t t = 0, from = 0; t + 1 < out.indptr.size(); ++t) {
            for (; from < static_cast<std::size_t>(out.indptr[t + 1]); ++from) {
                const Code code = number(out.indices[from]);
                if (code == kNone) continue;
                out.indices[to] = code;
                if (!out.values.empty()) out.values[to] = out.values[from];
                ++to;
            }
            out.indptr[t + 1] = static_cast<std::int64_t>(to);
        }
        out.indices.resize(to);
        if (!out.values.empty()) out.values.resize(to);
    }

    const Tokens& tokens_;
    bool bigrams_;
    Numbering numbering_;
    std::shared_ptr<StringTable> names_;
    std::shared_ptr<const std::vector<EvaluatedView>> views_;
    std::size_t first_ = 0, last_;  // the sentences
    std::vector<RuleLookup> rules_;
    std::vector<Code> numbers_;  // of the tokens at hand, token after token
    std::vector<Pending> pending_;
    std::string string_;
};

}  // namespace dualfield::text
