// How far several have come with their share of some work, for those who need what they make: they wait for one thing at a
// time, where a meeting of the team would wait for everything.
#pragma once

#include <atomic>
#include <memory>
#include <thread>

#include "math/elementary.hpp"
#include "threads/team.hpp"

namespace dualfield {

class Progress {
   public:
    // Of so many, none has done anything. Not while a team is at work.
    void begin(Index count) {
        if (count_ != count) places_ = std::make_unique<Place[]>(count);
        count_ = count;
        for (Index one = 0; one < count; ++one) places_[one].done.store(0, std::memory_order_relaxed);
        given_up_.store(false, std::memory_order_relaxed);
    }

    // One has come so far.
    void reached(Index one, Index done) { places_[one].done.store(done, std::memory_order_release); }
    bool has_reached(Index one, Index done) const { return places_[one].done.load(std::memory_order_acquire) >= done; }

    // Something has failed: nobody is to wait any more.
    void give_up() { given_up_.store(true, std::memory_order_relaxed); }

    // Waits until one, or all, have come so far; false where that will not be.
    bool wait_for_one(Index one, Index done) const {
        for (int looks = 0; !has_reached(one, done);) {
            if (given_up_.load(std::memory_order_relaxed)) return false;
            if (looks < Team::kLooks) {
                ++looks;
                Team::pause();
            } else {
                std::this_thread::yield();
            }
        }
        return true;
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
