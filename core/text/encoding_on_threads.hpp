// Attributes of many sentences, on several threads, with the result of one Encoder over all of them.
//
// Each thread encodes a part of the sentences with tables of its own. Where attributes are numbered newly, every part
// has its own numbers, which are then brought together: each thread takes those strings whose hash is its own, and
// finds for each the first part that has it. An attribute's number is that of its first appearance, so those of a part
// follow those of the parts before, in the part's own order.
#pragma once

#include <cstring>

#include "text/encoder.hpp"
#include "threads/team.hpp"

namespace dualfield::text {

class EncodingOnThreads {
   public:
    // min_count: attributes that occur at fewer tokens are left out; only where they are numbered newly.
    EncodingOnThreads(const Template& source, const Tokens& tokens, bool bigrams, const Numbering& numbering,
                      std::int64_t min_count, Team& team)
        : team_(team), min_count_(min_count), parts_(static_cast<std::size_t>(team.size())) {
        const Encoder all(source, tokens, bigrams, numbering);
        const bool newly = !numbering.given && numbering.hash_bits == 0;
        const auto bounds = parts_of(tokens);
        team.run([&](Index member) {
            const auto m = static_cast<std::size_t>(member);
            Encoder encoder = all.part(bounds[m], bounds[m + 1]);
            Part& part = parts_[m];
            if (newly) {
                part.tokens = encoder.list();
                look_at_names(part);
            } else {
                part.tokens = encoder.encode(1);
            }
        });
        if (newly) {
            team.run([&](Index member) { find_first(static_cast<std::uint64_t>(member)); });
            number();
        }
        for (Part& part : parts_) {
            part.first_token = tokens_;
            part.first_entry = entries_;
            tokens_ += part.tokens.indptr.size() - 1;
            entries_ += part.tokens.indices.size();
            valued_ = valued_ || !part.tokens.values.empty();
        }
    }

    std::size_t tokens() const { return tokens_; }
    std::size_t entries() const { return entries_; }
    bool valued() const { return valued_; }  // whether some value is not one
    std::shared_ptr<StringTable> names() const { return names_; }

    // As in EncodedTokens: tokens() + 1 starts, and for each entry its attribute and, unless `values` is null, its
    // value. Only once: the parts are given up.
    void write(std::int64_t* indptr, Code* indices, double* values) {
        indptr[0] = 0;
        team_.run([&](Index member) {
            const Part part = std::move(parts_[static_cast<std::size_t>(member)]);
            const EncodedTokens& from = part.tokens;
            const auto entry = static_cast<std::int64_t>(part.first_entry);
            for (std::size_t t = 1; t < from.indptr.size(); ++t) indptr[part.first_token + t] = entry + from.indptr[t];
            std::copy(from.indices.begin(), from.indices.end(), indices + entry);
            if (!values) return;
            if (from.values.empty()) {
                std::fill_n(values + entry, from.indices.size(), 1.0);
            } else {
                std::copy(from.values.begin(), from.values.end(), values + entry);
            }
        });
    }

   private:
    // Where a string appears first: a part and its number there.
    struct First {
        std::uint32_t part;
        Code code;
    };

    struct Part {
        EncodedTokens tokens;
        std::vector<std::uint64_t> hashes;  // of its names
        std::vector<First> firsts;
        std::vector<std::int64_t> counts;  // at how many tokens; of a first appearance, in all parts
        std::vector<Code> numbers;
        std::size_t first_token = 0, first_entry = 0;
        std::size_t new_names = 0, new_bytes = 0;  // that no part before has
    };

    // Sentences so that parts have about equally many tokens.
    std::vector<std::size_t> parts_of(const Tokens& tokens) const {
        std::vector<std::size_t> bounds{0};
        for (std::size_t m = 1; m < parts_.size(); ++m) {
            const auto token = static_cast<std::int64_t>(tokens.size() * m / parts_.size());
            const auto at = std::lower_bound(tokens.offsets.begin(), tokens.offsets.end() - 1, token);
            bounds.push_back(static_cast<std::size_t>(at - tokens.offsets.begin()));
        }
        bounds.push_back(tokens.sentences());
        return bounds;
    }

    void look_at_names(Part& part) const {
        const StringTable& names = *part.tokens.names;
        part.hashes.resize(names.size());
        for (std::size_t n = 0; n < names.size(); ++n) part.hashes[n] = hash_bytes(names[static_cast<Code>(n)]);
        part.firsts.resize(names.size());
        part.numbers.resize(names.size());
        part.counts.assign(names.size(), 0);
        if (min_count_ == 1) return;
        MergedCodes merged;
        for (std::size_t t = 0; t + 1 < part.tokens.indptr.size(); ++t) {
            merged.take(part.tokens.token(t));
            for (const Code code : merged.codes()) ++part.counts[static_cast<std::size_t>(code)];
        }
    }

    // Of the strings whose hashes belong to a member.
    void find_first(std::uint64_t member) {
        const auto mine = [&](std::uint64_t hash) { return (hash >> 32) % parts_.size() == member; };
        std::size_t count = 0;
        for (const Part& part : parts_)
            for (const std::uint64_t hash : part.hashes) count += mine(hash);
        struct Slot {
            std::uint64_t hash = 0;
            First first{0, kNone};
        };
        std::vector<Slot> slots(std::bit_ceil(2 * count + 1));
        for (std::uint32_t p = 0; p < parts_.size(); ++p) {
            Part& part = parts_[p];
            const StringTable& names = *part.tokens.names;
            for (std::size_t n = 0; n < part.hashes.size(); ++n) {
                const std::uint64_t hash = part.hashes[n];
                if (!mine(hash)) continue;
                const Code code = static_cast<Code>(n);
                std::size_t at = hash & (slots.size() - 1);
                while (slots[at].first.code != kNone &&
                       !(slots[at].hash == hash && name_of(slots[at].first) == names[code]))
                    at = (at + 1) & (slots.size() - 1);
                if (slots[at].first.code == kNone) slots[at] = {hash, {p, code}};
                const First first = part.firsts[n] = slots[at].first;
                if (first.part != p) parts_[first.part].counts[static_cast<std::size_t>(first.code)] += part.counts[n];
            }
        }
    }

    std::string_view name_of(const First& first) const { return (*parts_[first.part].tokens.names)[first.code]; }

    // Numbers, names and entries of all parts.
    void number() {
        std::size_t names = 0, bytes = 0;
        team_.run([&](Index member) { number_new_names(static_cast<std::uint32_t>(member)); });
        std::vector<std::size_t> first_name, first_byte;
        for (const Part& part : parts_) {
            first_name.push_back(names), first_byte.push_back(bytes);
            names += part.new_names, bytes += part.new_bytes;
        }
        checked_code(names);
        std::vector<char> text(bytes);
        std::vector<std::int64_t> ends(names + 1, 0);
        std::vector<std::uint64_t> hashes(names);
        team_.run([&](Index member) {
            const auto p = static_cast<std::uint32_t>(member);
            Part& part = parts_[p];
            std::size_t byte = first_byte[p];
            for (std::size_t n = 0; n < part.numbers.size(); ++n) {
                if (part.firsts[n].part != p || part.numbers[n] == kNone) continue;
                part.numbers[n] += static_cast<Code>(first_name[p]);
                const auto number = static_cast<std::size_t>(part.numbers[n]);
                const std::string_view name = name_of(part.firsts[n]);
                if (!name.empty()) std::memcpy(text.data() + byte, name.data(), name.size());
                byte += name.size();
                ends[number + 1] = static_cast<std::int64_t>(byte);
                hashes[number] = part.hashes[n];
            }
        });
        team_.run([&](Index member) { renumber(static_cast<std::uint32_t>(member)); });
        names_ = std::make_shared<StringTable>(std::move(text), std::move(ends), hashes, team_);
    }

    // Those that appear first in a part, from 0 on; kNone for those that are too rare.
    void number_new_names(std::uint32_t p) {
        Part& part = parts_[p];
        for (std::size_t n = 0; n < part.numbers.size(); ++n) {
            part.numbers[n] = kNone;
            if (part.firsts[n].part != p || (min_count_ > 1 && part.counts[n] < min_count_)) continue;
            part.numbers[n] = static_cast<Code>(part.new_names++);
            part.new_bytes += name_of(part.firsts[n]).size();
        }
    }

    void renumber(std::uint32_t p) {
        Part& part = parts_[p];
        for (std::size_t n = 0; n < part.numbers.size(); ++n)
            if (const First first = part.firsts[n]; first.part != p)
                part.numbers[n] = parts_[first.part].numbers[static_cast<std::size_t>(first.code)];
        MergedCodes merged;
        EncodedTokens numbered;
        numbered.indices.reserve(part.tokens.indices.size());
        numbered.indptr.reserve(part.tokens.indptr.size());
        std::vector<Code> here;
        for (std::size_t t = 0; t + 1 < part.tokens.indptr.size(); ++t) {
            here.clear();
            for (const Code code : part.tokens.token(t))
                if (const Code number = part.numbers[static_cast<std::size_t>(code)]; number != kNone)
                    here.push_back(number);
            merged.take(here);
            append(merged, true, numbered);
        }
        part.tokens.indices = std::move(numbered.indices);
        part.tokens.indptr = std::move(numbered.indptr);
        part.tokens.values = std::move(numbered.values);
    }

    Team& team_;
    std::int64_t min_count_;
    std::vector<Part> parts_;
    std::size_t tokens_ = 0, entries_ = 0;
    bool valued_ = false;
    std::shared_ptr<StringTable> names_;
};

}  // namespace dualfield::text
