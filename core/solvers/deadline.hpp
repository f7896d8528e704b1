// Work in slices: solvers run for a given time and return, so that the caller can report, stop or be
// interrupted.
#pragma once

#include <chrono>

namespace dualfield {

class Deadline {
   public:
    explicit Deadline(double seconds)
        : end_(std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                                      std::chrono::duration<double>(seconds))) {}
    bool passed() const { return std::chrono::steady_clock::now() >= end_; }

   private:
    std::chrono::steady_clock::time_point end_;
};

}  // namespace dualfield
