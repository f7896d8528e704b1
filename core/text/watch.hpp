// Who is told how many bytes of a text have been read. It may throw, which ends the reading.
#pragma once

#include <cstddef>
#include <functional>

namespace dualfield::text {

using Watch = std::function<void(std::size_t)>;

// Tells a watch of every so many bytes.
class Watched {
   public:
    Watched(const Watch& watch, std::size_t total) : watch_(watch), total_(total) {}

    void left(std::size_t bytes) {
        const std::size_t done = total_ - bytes;
        if (done < next_) return;
        next_ = done + kEvery;
        if (watch_) watch_(done);
    }

   private:
    static constexpr std::size_t kEvery = 1 << 20;

    const Watch& watch_;
    std::size_t total_, next_ = kEvery;
};

}  // namespace dualfield::text
