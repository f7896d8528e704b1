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
    static Deadline never() { return Deadline(std::chrono::steady_clock::time_point::max()); }

   private:
    explicit Deadline(std::chrono::steady_clock::time_point end) : end_(end) {}

    std::chrono::steady_clock::time_point end_;
};

// The seconds since it was made. A stopwatch that is off costs nothing and reads zero.
class Stopwatch {
   public:
    explicit Stopwatch(bool runs) : runs_(runs) {
        if (runs) start_ = std::chrono::steady_clock::now();
    }
    double seconds() const {
        if (!runs_) return 0.0;
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    }

   private:
    bool runs_;
    std::chrono::steady_clock::time_point start_;
};

}  // namespace dualfield
