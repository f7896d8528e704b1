// Bytes of a fuzzer as choices: numbers in a range, strings, reals. Where the bytes end, every choice is the least one.
//
// A target asks for its options first and takes the rest as text, so that mutations of lines and words stay mutations
// of lines and words.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>

namespace fuzz {

// Ends the process where a promise of the library does not hold: the driver counts that as a crash.
inline void claim(bool holds, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "fuzz: expected that %s\n", what);
    std::abort();
}

class Choices {
   public:
    Choices(const std::uint8_t* data, std::size_t size) : at_(data), end_(data + size) {}

    bool empty() const { return at_ == end_; }
    std::uint8_t byte() { return at_ < end_ ? *at_++ : 0; }
    bool flag() { return byte() % 2 == 1; }

    // From `least` to `most`, of as few bytes as the range needs.
    std::int64_t number(std::int64_t least, std::int64_t most) {
        const std::uint64_t range = static_cast<std::uint64_t>(most) - static_cast<std::uint64_t>(least);
        std::uint64_t drawn = 0;
        for (std::uint64_t left = range; left > 0; left >>= 8) drawn = drawn << 8 | byte();
        if (range < std::numeric_limits<std::uint64_t>::max()) drawn %= range + 1;
        return static_cast<std::int64_t>(static_cast<std::uint64_t>(least) + drawn);
    }
    std::size_t size(std::size_t most) { return static_cast<std::size_t>(number(0, static_cast<std::int64_t>(most))); }

    // Any size at all, small ones often.
    std::size_t any_size() {
        const std::uint8_t first = byte();
        if (first < 240) return first % 16;
        std::uint64_t word = 0;
        for (int n = 0; n < 8; ++n) word = word << 8 | byte();
        return static_cast<std::size_t>(word);
    }

    // A real number, the awkward ones often.
    double real() {
        constexpr double awkward[] = {0.0,
                                      -0.0,
                                      1.0,
                                      -1.0,
                                      0.5,
                                      1e308,
                                      -1e308,
                                      1e-308,
                                      5e-324,
                                      1e16,
                                      -1e-16,
                                      1e-9,
                                      1e9,
                                      2.0,
                                      std::numeric_limits<double>::infinity(),
                                      -std::numeric_limits<double>::infinity(),
                                      std::numeric_limits<double>::quiet_NaN()};
        const std::uint8_t first = byte();
        if (first < 128) return awkward[first % std::size(awkward)];
        if (first < 224) return (static_cast<double>(byte()) - 128.0) / 16.0;
        std::uint64_t word = 0;
        for (int n = 0; n < 8; ++n) word = word << 8 | byte();
        return std::bit_cast<double>(word);
    }
    double finite_real() {
        const double drawn = real();
        return std::isfinite(drawn) ? drawn : 0.25;
    }

    // Bytes after their number. In memory of their own, of exactly their size, so that reading beyond them is seen.
    std::string string(std::size_t most) {
        const std::size_t wanted = size(most), length = std::min(wanted, static_cast<std::size_t>(end_ - at_));
        std::string drawn(reinterpret_cast<const char*>(at_), length);
        at_ += length;
        return drawn;
    }

   private:
    const std::uint8_t *at_, *end_;

   public:
    // All that is left.
    class Rest {
       public:
        explicit Rest(Choices& choices)
            : size_(static_cast<std::size_t>(choices.end_ - choices.at_)), bytes_(new char[size_]) {
            if (size_ > 0) std::memcpy(bytes_, choices.at_, size_);
            choices.at_ = choices.end_;
        }
        Rest(const Rest&) = delete;
        ~Rest() { delete[] bytes_; }
        std::string_view text() const { return {bytes_, size_}; }

       private:
        std::size_t size_;
        char* bytes_;
    };
};

}  // namespace fuzz
