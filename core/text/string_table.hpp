// Strings and keys as numbers, each once, in the order of first appearance.
//
// All strings of a table lie one after the other in one arena, so a table of 300,000 attributes is a handful of
// allocations. Both tables probe linearly in a power of two of slots, at most half of them taken.
#pragma once

#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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
// machine.
inline std::uint64_t hash_bytes(std::string_view bytes) {
    std::uint64_t h = 14695981039346656037ull;
    for (const char byte : bytes) h = (h ^ static_cast<unsigned char>(byte)) * 1099511628211ull;
    return mix(h);
}

inline Code checked_code(std::size_t n) {
    if (n >= static_cast<std::size_t>(std::numeric_limits<Code>::max()))
        throw std::length_error("there are more than 2^31 - 2 different strings; 32-bit numbers do not name them all.");
    return static_cast<Code>(n);
}

class StringTable {
   public:
    std::size_t size() const { return bounds_.size() - 1; }

    // Valid until the next string is added.
    std::string_view operator[](Code code) const {
        const auto begin = static_cast<std::size_t>(bounds_[static_cast<std::size_t>(code)]);
        const auto end = static_cast<std::size_t>(bounds_[static_cast<std::size_t>(code) + 1]);
        return {arena_.data() + begin, end - begin};
    }

    const std::string& arena() const { return arena_; }
    const std::vector<std::int64_t>& bounds() const { return bounds_; }

    // The number of the string, new or known.
    Code intern(std::string_view string) {
        if (2 * (size() + 1) > slots_.size()) grow();
        const std::uint32_t tag = tag_of(string);
        std::size_t at = tag & (slots_.size() - 1);
        for (; slots_[at].code != kNone; at = (at + 1) & (slots_.size() - 1))
            if (slots_[at].tag == tag && (*this)[slots_[at].code] == string) return slots_[at].code;
        const Code code = checked_code(size());
        slots_[at] = {tag, code};
        arena_.append(string);
        bounds_.push_back(static_cast<std::int64_t>(arena_.size()));
        return code;
    }

    // The number of the string, or kNone.
    Code find(std::string_view string) const {
        if (slots_.empty()) return kNone;
        const std::uint32_t tag = tag_of(string);
        for (std::size_t at = tag & (slots_.size() - 1); slots_[at].code != kNone; at = (at + 1) & (slots_.size() - 1))
            if (slots_[at].tag == tag && (*this)[slots_[at].code] == string) return slots_[at].code;
        return kNone;
    }

   private:
    // Half of the hash: it says where to look, tells most different strings apart without touching the arena, and moves a
    // string to a wider table without reading it again.
    struct Slot {
        std::uint32_t tag = 0;
        Code code = kNone;
    };

    static std::uint32_t tag_of(std::string_view string) { return static_cast<std::uint32_t>(hash_bytes(string)); }

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

    std::string arena_;
    std::vector<std::int64_t> bounds_{0};
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
