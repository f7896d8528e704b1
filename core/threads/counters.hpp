// A counter per worker: how many of its items it has done. Another worker waits on the counter of the one item that it
// needs, where a barrier would wait for all items.
#pragma once

#include <atomic>
#include <memory>
#include <thread>

#include "base/index.hpp"
#include "threads/waiting.hpp"

namespace dualfield {

class Counters {
   public:
    // Sets `count` counters to zero. Not while a team is at work.
    void begin(Index count) {
        if (count_ != count) places_ = std::make_unique<Place[]>(count);
        count_ = count;
        for (Index one = 0; one < count; ++one) places_[one].done.store(0, std::memory_order_relaxed);
        given_up_.store(false, std::memory_order_relaxed);
    }

    // The counter of one worker.
    void reached(Index one, Index done) { places_[one].done.store(done, std::memory_order_release); }
    bool has_reached(Index one, Index done) const { return places_[one].done.load(std::memory_order_acquire) >= done; }

    // A worker has failed: all waiting ends.
    void give_up() { given_up_.store(true, std::memory_order_relaxed); }

    // Waits until one counter, or all of them, are at `done`; false after give_up(), or once over() is true and `done`
    // is not reached.
    template <class Over>
    bool wait_for_one(Index one, Index done, Over&& over) const {
        for (int looks = 0;;) {
            const bool ends = given_up_.load(std::memory_order_relaxed) || over();
            if (has_reached(one, done)) return true;
            if (ends) return false;
            if (looks < kLooks) {
                ++looks;
                pause_processor();
            } else {
                std::this_thread::yield();
            }
        }
    }
    bool wait_for_one(Index one, Index done) const {
        return wait_for_one(one, done, [] { return false; });
    }
    bool wait_for(Index done) const {
        for (Index one = 0; one < count_; ++one)
            if (!wait_for_one(one, done)) return false;
        return true;
    }

   private:
    // A cache line each: one thread writes it, and the others look.
    struct alignas(64) Place {
        std::atomic<Index> done{0};
    };

    Index count_ = 0;
    std::atomic<bool> given_up_{false};
    std::unique_ptr<Place[]> places_;
};

}  // namespace dualfield
