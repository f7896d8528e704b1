// Sizes that come from outside: a product that does not fit is refused, where it would otherwise wrap around.
#pragma once

#include <initializer_list>
#include <limits>
#include <new>
#include <string>

#include "base/index.hpp"

namespace dualfield {

// Python sees a MemoryError with this sentence.
class TooLarge : public std::bad_alloc {
   public:
    explicit TooLarge(std::string sentence) : sentence_(std::move(sentence)) {}
    const char* what() const noexcept override { return sentence_.c_str(); }

   private:
    std::string sentence_;
};

// The number of items in an array of these extents, each of `bytes` bytes.
template <class Extents = std::initializer_list<std::size_t>>
std::size_t checked_size(const Extents& extents, std::size_t bytes) {
    constexpr auto kMost = static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max());
    std::size_t size = 1;
    bool fits = true;
    for (const std::size_t extent : extents) {
        if (extent == 0) return 0;
        fits = fits && size <= kMost / bytes / extent;
        size *= extent;
    }
    if (fits) return size;
    std::string shown;
    for (const std::size_t extent : extents) shown += (shown.empty() ? "" : " x ") + std::to_string(extent);
    throw TooLarge("an array of " + shown + " numbers is larger than any memory; ask for fewer");
}

}  // namespace dualfield
