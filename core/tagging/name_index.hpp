// The index of a model file's names: the number of a name, without reading the other names first.
//
// It is one array of pairs (hash, number), sorted by hash, with free places (-1, -1) among them. The hash is the upper
// half of that of text/string_table.hpp. With n names there are H = n + n / 2 + 1 homes; a name of hash h has its
// home at floor(h H / 2^32), and is at the first place from there on that no name before it in the order has. So the
// names of a hash are in the run that begins at its home, behind smaller hashes and before larger ones, and a free
// place, whose hash is the largest as an unsigned number, is behind them all. Behind the last home are as many places
// as names were pushed there.
//
// NameIndex trusts nothing that it reads: an index that lies loses names, but leads nowhere outside of the arrays.
#pragma once

#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

#include "tagging/attribute_model.hpp"
#include "text/string_table.hpp"

namespace dualfield::tagging {

inline std::size_t index_homes(std::size_t names) { return names + names / 2 + 1; }

inline std::uint32_t index_hash(std::string_view name) {
    return static_cast<std::uint32_t>(text::hash_bytes(name) >> 32);
}

inline std::size_t index_home(std::uint32_t hash, std::size_t homes) {
    return static_cast<std::size_t>((std::uint64_t{hash} * homes) >> 32);
}

// The index of the names that lie between the bounds, which must not decrease; two numbers a place.
inline std::vector<std::int32_t> name_index(std::string_view text, std::span<const std::int64_t> bounds) {
    const std::size_t count = bounds.size() - 1, homes = index_homes(count);
    std::vector<std::uint64_t> ordered(count);  // the hash, then the number: equal hashes in the order of numbers
    for (std::size_t n = 0; n < count; ++n) {
        const auto begin = static_cast<std::size_t>(bounds[n]), end = static_cast<std::size_t>(bounds[n + 1]);
        ordered[n] = std::uint64_t{index_hash(text.substr(begin, end - begin))} << 32 | n;
    }
    std::sort(ordered.begin(), ordered.end());
    std::vector<std::int32_t> index;
    index.reserve(2 * (homes + 64));
    const auto put = [&](std::uint32_t hash, std::int32_t number) {
        index.push_back(std::bit_cast<std::int32_t>(hash));
        index.push_back(number);
    };
    for (const std::uint64_t one : ordered) {
        const auto hash = static_cast<std::uint32_t>(one >> 32);
        while (index.size() / 2 < index_home(hash, homes)) put(0xffffffffU, -1);
        put(hash, static_cast<std::int32_t>(one & 0xffffffffU));
    }
    while (index.size() / 2 < homes) put(0xffffffffU, -1);
    return index;
}

// Names, their bounds and their index, used where they lie.
class NameIndex {
   public:
    static constexpr std::size_t kNotFound = static_cast<std::size_t>(-1);

    NameIndex() = default;

    // Looks at no name: whatever the size, this takes no time.
    NameIndex(std::span<const char> text, std::span<const std::int64_t> bounds, std::span<const std::int32_t> index)
        : text_(text), bounds_(bounds), index_(index), homes_(index_homes(bounds.size() - 1)) {
        if (index.size() % 2 != 0 || index.size() / 2 < homes_)
            throw Damage("its vocabulary_index has " + std::to_string(index.size()) + " numbers, too few for " +
                         std::to_string(bounds.size() - 1) + " names");
    }

    // The hash of a name. Asks for its home ahead.
    std::uint32_t expect(const char* name, std::size_t length) const {
        const std::uint32_t hash = index_hash({name, length});
        prefetch_line(&index_[2 * index_home(hash, homes_)]);
        return hash;
    }

    // The first place of this hash, whose name's bounds are asked for ahead, or kNotFound.
    std::size_t place_of(std::uint32_t hash) const {
        const std::size_t places = index_.size() / 2;
        std::size_t at = index_home(hash, homes_);
        // Most names are at one of four places: which one is counted, since a branch would often be guessed wrong.
        constexpr std::size_t kWindow = 4;
        for (std::size_t smaller = kWindow; smaller == kWindow && at + kWindow <= places; at += smaller) {
            smaller = 0;
            for (std::size_t i = 0; i < kWindow; ++i) smaller += hash_at(at + i) < hash;
        }
        while (at < places && hash_at(at) < hash) ++at;
        if (at == places || hash_at(at) != hash || index_[2 * at + 1] < 0) return kNotFound;
        prefetch_line(&bounds_[std::min(number_at(at), bounds_.size() - 1)]);
        return at;
    }

    // Asks for the text of the name at a place.
    void ask_for_text(std::size_t place) const {
        const std::size_t number = number_at(place);
        if (number + 1 >= bounds_.size()) return;
        const std::int64_t begin = bounds_[number];
        if (begin >= 0 && begin < static_cast<std::int64_t>(text_.size())) prefetch_line(&text_[begin]);
    }

    // The number of a name, or kNotFound; `place` is what place_of gave.
    std::size_t number_of(const char* name, std::size_t length, std::uint32_t hash, std::size_t place) const {
        for (; place < index_.size() / 2 && hash_at(place) == hash; ++place) {
            const std::int32_t number = index_[2 * place + 1];
            if (number < 0) break;
            if (is_name(static_cast<std::size_t>(number), name, length)) return static_cast<std::size_t>(number);
        }
        return kNotFound;
    }

   private:
    std::uint32_t hash_at(std::size_t place) const { return std::bit_cast<std::uint32_t>(index_[2 * place]); }
    std::size_t number_at(std::size_t place) const { return static_cast<std::uint32_t>(index_[2 * place + 1]); }

    bool is_name(std::size_t number, const char* name, std::size_t length) const {
        if (number >= bounds_.size() - 1) throw Damage("its vocabulary_index speaks of a name that is not there");
        const std::int64_t begin = bounds_[number], end = bounds_[number + 1];
        if (begin < 0 || end < begin || end > static_cast<std::int64_t>(text_.size()))
            throw Damage("its vocabulary_offsets are damaged");
        return static_cast<std::size_t>(end - begin) == length &&
               (length == 0 || std::memcmp(text_.data() + begin, name, length) == 0);
    }

    std::span<const char> text_;
    std::span<const std::int64_t> bounds_;
    std::span<const std::int32_t> index_;
    std::size_t homes_ = 1;
};

}  // namespace dualfield::tagging
