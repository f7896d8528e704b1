// Sorts and removes duplicates, for short arrays.
//
// A token has some twenty attributes, too few for std::sort to be good at: it spends its time on mispredicted branches.
// Here the place of a number is the count of smaller numbers, found for all at once; equal numbers get the same place.
#pragma once

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "base/compiler.hpp"
#include "text/string_table.hpp"

namespace dualfield::text {

class MergedCodes {
   public:
    // Numbers from 0 on, less than the largest that there is.
    void take(std::span<const Code> given) {
        size_ = given.size();
        if (sorted_.size() < size_ + kLanes) sorted_.resize(size_ + kLanes), counts_.resize(size_ + kLanes);
        if (size_ <= kLanes) {
            rank<1>(given);
        } else if (size_ <= 2 * kLanes) {
            rank<2>(given);
        } else if (size_ <= 4 * kLanes) {
            rank<4>(given);
        } else {
            std::copy(given.begin(), given.end(), sorted_.begin());
            std::sort(sorted_.begin(), sorted_.begin() + static_cast<std::ptrdiff_t>(size_));
            std::fill_n(counts_.begin(), size_, 1);
            distinct_ = std::adjacent_find(sorted_.begin(), sorted_.begin() + static_cast<std::ptrdiff_t>(size_)) ==
                        sorted_.begin() + static_cast<std::ptrdiff_t>(size_);
        }
        if (!distinct_) merge();
    }

    std::span<const Code> codes() const { return {sorted_.data(), size_}; }
    bool distinct() const { return distinct_; }                                 // whether no number was given twice
    double count(std::size_t n) const { return distinct_ ? 1.0 : counts_[n]; }  // how often codes()[n] was given

   private:
    static constexpr std::size_t kLanes = 16;
    using Lanes = DUALFIELD_VECTOR(Code, kLanes);

    template <std::size_t Groups>
    void rank(std::span<const Code> given) {
        std::array<Code, Groups * kLanes> padded, ranks;
        padded.fill(std::numeric_limits<Code>::max());
        std::copy(given.begin(), given.end(), padded.begin());
        Lanes numbers[Groups], smaller[Groups] = {};
        std::memcpy(numbers, padded.data(), sizeof numbers);
        for (std::size_t n = 0; n < size_; ++n)
            for (std::size_t group = 0; group < Groups; ++group) smaller[group] -= padded[n] < numbers[group];
        std::memcpy(ranks.data(), smaller, sizeof smaller);
        const auto total = std::accumulate(ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(size_), Code{0});
        distinct_ = total == static_cast<Code>(size_ * (size_ - 1) / 2);  // equal numbers have less
        if (!distinct_) std::fill_n(counts_.begin(), size_, 0);
        for (std::size_t n = 0; n < size_; ++n) {
            const auto place = static_cast<std::size_t>(ranks[n]);
            sorted_[place] = padded[n];
            if (!distinct_) ++counts_[place];
        }
    }

    // Brings equal numbers together: they lie side by side, or in the first of the places that they would take.
    void merge() {
        std::size_t to = 0;
        for (std::size_t n = 0; n < size_; ++n) {
            if (counts_[n] == 0) continue;
            if (to > 0 && sorted_[to - 1] == sorted_[n]) {
                counts_[to - 1] += counts_[n];
            } else {
                sorted_[to] = sorted_[n];
                counts_[to++] = counts_[n];
            }
        }
        size_ = to;
    }

    std::size_t size_ = 0;
    bool distinct_ = true;
    std::vector<Code> sorted_, counts_;
};

}  // namespace dualfield::text
