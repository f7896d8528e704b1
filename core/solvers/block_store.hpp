// A row of numbers for each block, kept as float or as double; one reads and writes doubles. Where they are kept as float,
// a method that accounts for what it keeps works with the rounded numbers from the start: see round().
#pragma once

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#include "math/vector.hpp"
#include "solvers/archive.hpp"

namespace dualfield {

enum class Precision { kSingle, kDouble };

class BlockStore {
   public:
    // Row i is offsets[i] .. offsets[i + 1). All numbers are zero at first.
    BlockStore(std::vector<Index> offsets, Precision precision)
        : offsets_(std::move(offsets)), single_(precision == Precision::kSingle) {
        if (single_) {
            floats_ = zeros<float>(offsets_.back());
        } else {
            doubles_ = zeros<double>(offsets_.back());
        }
    }

    bool single() const { return single_; }

    // From now on as double.
    void widen() {
        if (!single_) return;
        doubles_ = zeros<double>(offsets_.back());
        convert(offsets_.back(), floats_.get(), doubles_.get());
        floats_.reset();
        single_ = false;
    }

    Index size(Index i) const { return offsets_[i + 1] - offsets_[i]; }

    void read(Index i, double* row) const {
        if (single_) {
            convert(size(i), floats_.get() + offsets_[i], row);
        } else {
            std::copy_n(doubles_.get() + offsets_[i], size(i), row);
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
            prefetch_all(n, floats_.get() + offsets_[i]);
        } else {
            prefetch_all(n, doubles_.get() + offsets_[i]);
        }
    }

    void write(Index i, const double* row) {
        if (single_) {
            convert(size(i), row, floats_.get() + offsets_[i]);
        } else {
            std::copy_n(row, size(i), doubles_.get() + offsets_[i]);
        }
    }

    // The row as it is kept, for one who can work with floats and doubles alike: calls work(float*) or work(double*).
    template <class Work>
    void with_row(Index i, const Work& work) {
        if (single_) {
            work(floats_.get() + offsets_[i]);
        } else {
            work(doubles_.get() + offsets_[i]);
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
            archive.span(name, floats_.get(), offsets_.back());
        } else {
            archive.span(name, doubles_.get(), offsets_.back());
        }
    }

   private:
    struct Free {
        void operator()(void* memory) const { std::free(memory); }
    };
    template <class T>
    using Array = std::unique_ptr<T[], Free>;

    // From the system, which gives zeros without writing them.
    template <class T>
    static Array<T> zeros(Index size) {
        void* memory = std::calloc(std::max<Index>(size, 1), sizeof(T));
        if (!memory) throw std::bad_alloc();
        return Array<T>(static_cast<T*>(memory));
    }

    template <class From, class To>
    static void convert(Index size, const From* from, To* to) {
#pragma omp simd
        for (Index k = 0; k < size; ++k) to[k] = static_cast<To>(from[k]);
    }

    std::vector<Index> offsets_;
    bool single_;
    Array<float> floats_;
    Array<double> doubles_;
};

}  // namespace dualfield
