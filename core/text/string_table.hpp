// Strings and keys as numbers, each once, in the order of first appearance.
//
// All strings of a table lie one after the other in one arena, so a table of 300,000 attributes is a handful of
// allocations. Both tables probe linearly in a power of two of slots: three quarters of them taken
// at most where eight share a cache line, half of them where four do.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/compiler.hpp"
#include "threads/team.hpp"

namespace dualfield::text {

using Code = std::int32_t;
constexpr Code kNone = -1;

// The finaliser of MurmurHash3 (Appleby, public domain): every bit of the result depends on every bit of the key.
inline std::uint64_t mix(std::uint64_t h) {
    h = (h ^ h >> 33) * 0xff51afd7ed558ccdull;
    h = (h ^ h >> 33) * 0xc4ceb9fe1a85ec53ull;
    return h ^ h >> 33;
}

// FNV-1a over the bytes, then mixed. Hashed attributes live in model files, so it must not change, nor depend on the
// machine. A string that comes in parts is hashed part after part.
constexpr std::uint64_t kFnvBegin = 14695981039346656037ull, kFnvPrime = 1099511628211ull;

inline std::uint64_t fnv(std::string_view bytes, std::uint64_t before = kFnvBegin) {
    for (const char byte : bytes) before = (before ^ static_cast<unsigned char>(byte)) * kFnvPrime;
    return before;
}

inline std::uint64_t hash_bytes(std::string_view bytes) { return mix(fnv(bytes)); }

// The hashes of eight strings at once: each byte of a string waits for the product of the one before, but not for other
// strings. Words of eight bytes are read whole, so after a string up to seven more bytes must be readable.
constexpr std::size_t kHashLanes = 8;

inline void hash_lanes(const std::array<std::string_view, kHashLanes>& strings, std::uint64_t* hashes) {
    std::array<std::uint64_t, kHashLanes> states, words = {};
    std::array<std::int64_t, kHashLanes> left;
    std::int64_t most = 0;
    states.fill(kFnvBegin);
    for (std::size_t n = 0; n < kHashLanes; ++n)
        most = std::max(most, left[n] = static_cast<std::int64_t>(strings[n].size()));
    for (std::int64_t at = 0; at < most; at += 8) {
        for (std::size_t n = 0; n < kHashLanes; ++n)
            if (left[n] > 0) std::memcpy(&words[n], strings[n].data() + at, 8);
        if constexpr (std::endian::native == std::endian::big)
            for (std::uint64_t& word : words) word = bytes_reversed(word);
        for (int byte = 0; byte < 8; ++byte) {
#pragma omp simd
            for (std::size_t n = 0; n < kHashLanes; ++n) {
                const std::uint64_t next = (states[n] ^ (words[n] & 0xff)) * kFnvPrime;
                states[n] = left[n] > byte ? next : states[n];
                words[n] >>= 8;
            }
        }
        for (std::int64_t& bytes : left) bytes -= 8;
    }
    for (std::size_t n = 0; n < kHashLanes; ++n) hashes[n] = mix(states[n]);
}

inline Code checked_code(std::size_t n) {
    if (n >= static_cast<std::size_t>(std::numeric_limits<Code>::max()))
        throw std::length_error("there are more than 2^31 - 2 different strings; 32-bit numbers do not name them all.");
    return static_cast<Code>(n);
}

// May be moved, not copied; of a table that has been moved from nothing may be asked.
class StringTable {
   public:
    StringTable() = default;
    StringTable(StringTable&&) = default;
    StringTable& operator=(StringTable&&) = default;

    // Many strings at once, one after the other in `text`, which must stay as long as the table: it is a view of them
    // until a string is added. One that occurs twice is kept once.
    StringTable(std::string_view text, std::span<const std::int64_t> bounds) {
        const std::size_t count = bounds.size() - 1;
        checked_code(count);
        slots_.resize(std::bit_ceil(std::max<std::size_t>(64, count + count / 3 + 2)));
        if (take(text, bounds)) return;
        *this = StringTable();
        for (std::size_t n = 0; n < count; ++n)
            intern(
                text.substr(static_cast<std::size_t>(bounds[n]), static_cast<std::size_t>(bounds[n + 1] - bounds[n])));
    }

    // Strings that are known to be distinct, with their hashes, on the threads of a team.
    StringTable(std::vector<char> text, std::vector<std::int64_t> bounds, std::span<const std::uint64_t> hashes,
                Team& team)
        : arena_(std::move(text)), owned_bounds_(std::move(bounds)) {
        text_ = arena_.data(), bounds_ = owned_bounds_;
        checked_code(hashes.size());
        slots_.resize(std::bit_ceil(std::max<std::size_t>(64, hashes.size() + hashes.size() / 3 + 2)));
        // Each member fills its own stretch of slots; what does not fit before its end is put in place afterwards.
        std::vector<std::vector<Code>> left(static_cast<std::size_t>(team.size()));
        team.run([&](Index member) {
            const auto bound = [&](Index m) {
                return slots_.size() * static_cast<std::size_t>(m) / static_cast<std::size_t>(team.size());
            };
            const std::size_t begin = bound(member), end = bound(member + 1);
            for (std::size_t n = 0; n < hashes.size(); ++n) {
                std::size_t at = first_place(hashes[n]);
                if (at < begin || at >= end) continue;
                while (at < end && slots_[at].code != kNone) ++at;
                if (at < end) {
                    slots_[at] = {static_cast<std::uint32_t>(hashes[n]), static_cast<Code>(n)};
                } else {
                    left[static_cast<std::size_t>(member)].push_back(static_cast<Code>(n));
                }
            }
        });
        for (const std::vector<Code>& codes : left)
            for (const Code code : codes) {
                const std::uint64_t hash = hashes[static_cast<std::size_t>(code)];
                std::size_t at = first_place(hash);
                while (slots_[at].code != kNone) at = (at + 1) & (slots_.size() - 1);
                slots_[at] = {static_cast<std::uint32_t>(hash), code};
            }
    }

    std::size_t size() const { return bounds_.size() - 1; }

    // Valid until the next string is added.
    std::string_view operator[](Code code) const {
        const auto begin = static_cast<std::size_t>(bounds_[static_cast<std::size_t>(code)]);
        const auto end = static_cast<std::size_t>(bounds_[static_cast<std::size_t>(code) + 1]);
        return {text_ + begin, end - begin};
    }

    std::string_view text() const { return {text_, static_cast<std::size_t>(bounds_.back())}; }
    std::span<const std::int64_t> bounds() const { return bounds_; }

    // The number of the string, new or known.
    Code intern(std::string_view string) { return intern(string, hash_bytes(string)); }

    // The same, of a string whose hash is known.
    Code intern(std::string_view string, std::uint64_t hash) {
        if (4 * (size() + 1) > 3 * slots_.size()) grow();
        Slot& slot = slots_[place(string, hash)];
        if (slot.code != kNone) return slot.code;
        slot = {static_cast<std::uint32_t>(hash), checked_code(size())};
        if (owned_bounds_.empty()) own();
        arena_.insert(arena_.end(), string.begin(), string.end());
        owned_bounds_.push_back(static_cast<std::int64_t>(arena_.size()));
        text_ = arena_.data(), bounds_ = owned_bounds_;
        return slot.code;
    }

    // The number of the string, or kNone.
    Code find(std::string_view string) const { return find(string, hash_bytes(string)); }
    Code find(std::string_view string, std::uint64_t hash) const {
        return find(hash, [&](std::string_view other) { return other == string; });
    }
    // The same, of a string that is not put together: `is_it` compares. Only strings of the same hash are compared.
    template <class Same>
    Code find(std::uint64_t hash, Same&& is_it) const {
        return slots_.empty() ? kNone : slots_[place(hash, is_it)].code;
    }

    // Ask memory for what find and intern look at: first where the hash leads, then where the string there begins, then
    // the string. Each reads what the one before has asked for.
    void prefetch(std::uint64_t hash) const {
        if (!slots_.empty()) prefetch_line(&slots_[first_place(hash)]);
    }
    void prefetch_bounds(std::uint64_t hash) const {
        if (const Code code = likely(hash); code != kNone) prefetch_line(&bounds_[static_cast<std::size_t>(code)]);
    }
    void prefetch_string(std::uint64_t hash) const {
        if (const Code code = likely(hash); code != kNone) prefetch_line((*this)[code].data());
    }

   private:
    // All strings as they lie; false if one occurs twice.
    bool take(std::string_view text, std::span<const std::int64_t> bounds) {
        text_ = text.data(), bounds_ = bounds;
        constexpr std::size_t kTogether = 2 * kHashLanes;  // so many wait for memory at a time
        std::array<std::uint64_t, kTogether> hashes;
        for (std::size_t first = 0; first < size(); first += kTogether) {
            const std::size_t last = std::min(size(), first + kTogether);
            hash_some(first, last, hashes.data());
            for (std::size_t n = first; n < last; ++n) prefetch(hashes[n - first]);
            for (std::size_t n = first; n < last; ++n) {
                Slot& slot = slots_[place((*this)[static_cast<Code>(n)], hashes[n - first])];
                if (slot.code != kNone) return false;
                slot = {static_cast<std::uint32_t>(hashes[n - first]), static_cast<Code>(n)};
            }
        }
        return true;
    }

    void hash_some(std::size_t first, std::size_t last, std::uint64_t* hashes) const {
        const auto code = [](std::size_t n) { return static_cast<Code>(n); };
        while (last - first >= kHashLanes && bounds_[first + kHashLanes] + 8 <= bounds_.back()) {
            std::array<std::string_view, kHashLanes> strings;
            for (std::size_t n = 0; n < kHashLanes; ++n) strings[n] = (*this)[code(first + n)];
            hash_lanes(strings, hashes);
            first += kHashLanes, hashes += kHashLanes;
        }
        for (; first < last; ++first) *hashes++ = hash_bytes((*this)[code(first)]);
    }

    // Copies what the table only views.
    void own() {
        const std::string_view viewed = text();
        arena_.assign(viewed.begin(), viewed.end());
        owned_bounds_.assign(bounds_.begin(), bounds_.end());
    }

    // Half of the hash: it says where to look, tells most different strings apart without touching the arena, and moves
    // a string to a wider table without reading it again.
    struct Slot {
        std::uint32_t tag = 0;
        Code code = kNone;
    };

    std::size_t first_place(std::uint64_t hash) const { return static_cast<std::uint32_t>(hash) & (slots_.size() - 1); }

    // The number of the string with this hash, if it is where it is looked for first.
    Code likely(std::uint64_t hash) const {
        if (slots_.empty()) return kNone;
        const Slot& slot = slots_[first_place(hash)];
        return slot.tag == static_cast<std::uint32_t>(hash) ? slot.code : kNone;
    }

    // Where the string is, or would be.
    template <class Same>
    std::size_t place(std::uint64_t hash, Same&& is_it) const {
        const auto tag = static_cast<std::uint32_t>(hash);
        std::size_t at = first_place(hash);
        for (; slots_[at].code != kNone; at = (at + 1) & (slots_.size() - 1))
            if (slots_[at].tag == tag && is_it((*this)[slots_[at].code])) break;
        return at;
    }
    std::size_t place(std::string_view string, std::uint64_t hash) const {
        return place(hash, [&](std::string_view other) { return other == string; });
    }

    void grow() {
        std::vector<Slot> wider(slots_.empty() ? 64 : 2 * slots_.size());
        for (const Slot& slot : slots_) {
            if (slot.code == kNone) continue;
            std::size_t at = slot.tag & (wider.size() - 1);
            while (wider[at].code != kNone) at = (at + 1) & (wider.size() - 1);
            wider[at] = slot;
        }
        slots_ = std::move(wider);
    }

    static constexpr std::int64_t kNoStrings[] = {0};

    const char* text_ = nullptr;
    std::span<const std::int64_t> bounds_ = kNoStrings;
    std::vector<char> arena_;  // what both view, once a string has been added
    std::vector<std::int64_t> owned_bounds_;
    std::vector<Slot> slots_;
};

// From 64-bit keys to numbers that the caller chooses.
class KeyTable {
   public:
    // The place of the key's number; kUnset at first. Valid until the next call.
    Code& operator[](std::uint64_t key) {
        if (2 * (used_ + 1) > slots_.size()) grow();
        Slot& slot = slots_[place(slots_, key)];
        if (!slot.taken) {
            slot.taken = true;
            slot.key = key;
            ++used_;
        }
        return slot.code;
    }

    // Asks memory for what the next call with this key looks at.
    void prefetch(std::uint64_t key) const {
        if (!slots_.empty()) prefetch_line(&slots_[mix(key) & (slots_.size() - 1)]);
    }

    // Where the key's number is, or null.
    const Code* find(std::uint64_t key) const {
        if (slots_.empty()) return nullptr;
        const Slot& slot = slots_[place(slots_, key)];
        return slot.taken ? &slot.code : nullptr;
    }

    std::size_t size() const { return used_; }

    static constexpr Code kUnset = -2;

   private:
    struct Slot {
        std::uint64_t key = 0;
        Code code = kUnset;
        bool taken = false;
    };

    static std::size_t place(const std::vector<Slot>& slots, std::uint64_t key) {
        std::size_t at = mix(key) & (slots.size() - 1);
        while (slots[at].taken && slots[at].key != key) at = (at + 1) & (slots.size() - 1);
        return at;
    }

    void grow() {
        std::vector<Slot> wider(slots_.empty() ? 64 : 2 * slots_.size());
        for (const Slot& slot : slots_)
            if (slot.taken) wider[place(wider, slot.key)] = slot;
        slots_ = std::move(wider);
    }

    std::vector<Slot> slots_;
    std::size_t used_ = 0;
};

}  // namespace dualfield::text
