// A small pseudo-random generator, xoshiro256++ (Blackman and Vigna, 2018), seeded by splitmix64.
//
// Written here so that a seed gives the same run on every platform and standard library, and so that its four
// words of state can be saved with a solver.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

#include "base/index.hpp"

namespace dualfield {

class Random {
   public:
    using State = std::array<std::uint64_t, 4>;

    explicit Random(std::uint64_t seed) {
        for (auto& word : state_) {
            seed += 0x9e3779b97f4a7c15ULL;
            std::uint64_t z = seed;
            z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
            z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
            word = z ^ (z >> 31);
        }
    }

    std::uint64_t next() {
        const std::uint64_t result = rotate(state_[0] + state_[3], 23) + state_[0];
        const std::uint64_t t = state_[1] << 17;
        state_[2] ^= state_[0];
        state_[3] ^= state_[1];
        state_[1] ^= state_[2];
        state_[0] ^= state_[3];
        state_[2] ^= t;
        state_[3] = rotate(state_[3], 45);
        return result;
    }

    // Uniform in [0, 1).
    double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

    // Uniform in {0, ..., n - 1}; the bias of the multiplication is below n / 2^53.
    Index below(Index n) { return static_cast<Index>(uniform() * static_cast<double>(n)); }

    // Exponential of mean 1, never zero.
    double exponential() {
        const double u = uniform();
        return -std::log1p(-(u > 0.0 ? u : 0x1.0p-54));
    }

    const State& state() const { return state_; }
    void set_state(const State& state) { state_ = state; }

   private:
    static std::uint64_t rotate(std::uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }
    State state_{};
};

}  // namespace dualfield
