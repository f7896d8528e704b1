// Rows of numbers for each block, side by side, kept as float or as double; one reads and writes doubles. Where they
// are kept as float, a method that accounts for what it keeps works with the rounded numbers from the start: see
// round().
#pragma once

#include <algorithm>
#include <vector>

#include "base/archive.hpp"
#include "base/compiler.hpp"
#include "base/zeros.hpp"
#include "simd/vector.hpp"

namespace dualfield {

enum class Precision { kSingle, kDouble };

class BlockStore {
   public:
    // A row of block i has offsets[i + 1] - offsets[i] numbers. All are zero at first.
    BlockStore(std::vector<Index> offsets, Index rows, Precision precision)
        : offsets_(std::move(offsets)), rows_(rows), single_(precision == Precision::kSingle) {
        if (single_) {
            floats_ = Zeros<float>(count());
        } else {
            doubles_ = Zeros<double>(count());
        }
    }

    bool single() const { return single_; }

    // From now on as double.
    void widen() {
        if (!single_) return;
        doubles_ = Zeros<double>(count());
        convert(count(), floats_.data(), doubles_.data());
        floats_ = {};
        single_ = false;
    }

    Index size(Index i) const { return offsets_[i + 1] - offsets_[i]; }

    void read(Index i, Index row, double* numbers) const {
        if (single_) {
            convert(size(i), floats_.data() + start(i, row), numbers);
        } else {
            std::copy_n(doubles_.data() + start(i, row), size(i), numbers);
        }
    }

    // The rows of block i are needed soon: step 0, where they are; step 1, themselves, as far as the processor would
    // not see by itself that they are read to their end.
    template <int Step>
    DUALFIELD_INLINE void prefetch(Index i) const {
        constexpr Index kMost = 2048;
        if (Step == 0) prefetch_line(&offsets_[i]);
        if (Step != 1) return;
        const Index n = std::min(rows_ * size(i), kMost);
        if (single_) {
            prefetch_all(n, floats_.data() + start(i, 0));
        } else {
            prefetch_all(n, doubles_.data() + start(i, 0));
        }
    }

    void write(Index i, Index row, const double* numbers) {
        if (single_) {
            convert(size(i), numbers, floats_.data() + start(i, row));
        } else {
            std::copy_n(numbers, size(i), doubles_.data() + start(i, row));
        }
    }

    // A row as it is kept, for one who can work with floats and doubles alike: calls work(float*) or work(double*).
    template <class Work>
    void with_row(Index i, Index row, const Work& work) {
        if (single_) {
            work(floats_.data() + start(i, row));
        } else {
            work(doubles_.data() + start(i, row));
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
            archive.span(name, floats_.data(), count());
        } else {
            archive.span(name, doubles_.data(), count());
        }
    }

   private:
    Index count() const { return rows_ * offsets_.back(); }
    Index start(Index i, Index row) const { return rows_ * offsets_[i] + row * size(i); }

    template <class From, class To>
    static void convert(Index size, const From* from, To* to) {
#pragma omp simd
        for (Index k = 0; k < size; ++k) to[k] = static_cast<To>(from[k]);
    }

    std::vector<Index> offsets_;
    Index rows_;
    bool single_;
    Zeros<float> floats_;
    Zeros<double> doubles_;
};

}  // namespace dualfield
