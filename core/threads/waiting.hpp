// How a thread waits for a number that another one writes.
#pragma once

#include <atomic>

#include "base/compiler.hpp"

namespace dualfield {

// How many times a waiting thread reads the number, with a pause in between, before it lets other threads run.
inline constexpr int kLooks = 4000;

// Phases last some hundred microseconds: reading the number again for a while is cheaper than going to sleep.
template <class Condition>
void wait_until(const std::atomic<int>& value, Condition&& condition) {
    for (int look = 0; look < kLooks; ++look) {
        if (condition(value.load(std::memory_order_acquire))) return;
        pause_processor();
    }
    for (int now; !condition(now = value.load(std::memory_order_acquire));) value.wait(now, std::memory_order_acquire);
}

}  // namespace dualfield
