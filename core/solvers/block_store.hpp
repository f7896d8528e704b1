// A row of numbers for each block, kept as float or as double; one reads and writes doubles. Where they are kept as float,
// a method that accounts for what it keeps works with the rounded numbers from the start: see round().
#pragma once

#include <algorithm>
#include <vector>

#include "math/vector.hpp"
#include "math/zeros.hpp"
#include "solvers/archive.hpp"

namespace dualfield {

enum class Precision { kSingle, kDouble };

class BlockStore {
   public:
    // Row i is offsets[i] .. offsets[i + 1). All numbers are zero at first.
    BlockStore(std::vector<Index> offsets, Precision precision)
        : offsets_(std::move(offsets)), single_(precision == Precision::kSingle) {
        if (single_) {
            floats_ = Zeros<float>(offsets_.back());
        } else {
            doubles_ = Zeros<double>(offsets_.back());
        }
    }

    bool single() const { return single_; }

    // From now on as double.
    void widen() {
        if (!single_) return;
        doubles_ = Zeros<double>(offsets_.back());
        convert(offsets_.back(), floats_.data(), doubles_.data());
        floats_ = {};
        single_ = false;
    }

    Index size(Index i) const { return offsets_[i + 1] - offsets_[i]; }

    void read(Index i, double* row) const {
        if (single_) {
            convert(size(i), floats_.data() + offsets_[i], row);
        } else {
            std::copy_n(doubles_.data() + offsets_[i], size(i), row);
        }
    }

    // Row i is needed soon: step 0, where it is; step 1, itself, as far as the processor would not see by itself that it is
    // read to its end.
    template <int Step>
    [[gnu::always_inline]] void prefetch(Index i) const {
        constexpr Index kMost = 2048;
        if (Step == 0) __builtin_prefetch(&offsets_[i]);
        if (Step != 1) return;
        const Index n = std::min(size(i), kMost);
        if (single_) {
            prefetch_all(n, floats_.data() + offsets_[i]);
        } else {
            prefetch_all(n, doubles_.data() + offsets_[i]);
        }
    }

    void write(Index i, const double* row) {
        if (single_) {
            convert(size(i), row, floats_.data() + offsets_[i]);
        } else {
            std::copy_n(row, size(i), doubles_.data() + offsets_[i]);
        }
    }

    // The row as it is kept, for one who can work with floats and doubles alike: calls work(float*) or work(double*).
    template <class Work>
    void with_row(Index i, const Work& work) {
        if (single_) {
            work(floats_.data() + offsets_[i]);
        } else {
            work(doubles_.data() + offsets_[i]);
        }
    }

    // To the numbers that would be read after writing these.
    void round(Index size, double* numbers) const {
        if (!single_) return;
#pragma omp simd
        for (Index k = 0; k < size; ++k) numbers[k] = static_cast<double>(static_cast<float>(numbers[k]));
    }

    void archive(Archive& archive, const char* name) {
        if (single_) {
            archive.span(name, floats_.data(), offsets_.back());
        } else {
            archive.span(name, doubles_.data(), offsets_.back());
        }
    }

   private:
    template <class From, class To>
    static void convert(Index size, const From* from, To* to) {
#pragma omp simd
        for (Index k = 0; k < size; ++k) to[k] = static_cast<To>(from[k]);
    }

    std::vector<Index> offsets_;
    bool single_;
    Zeros<float> floats_;
    Zeros<double> doubles_;
};

}  // namespace dualfield
