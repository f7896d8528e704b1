// How far each member of a team has come in a list of things to do, for those who need what others make: they wait for
// one thing at a time, where a meeting of the team would wait for everything.
#pragma once

#include <atomic>
#include <memory>
#include <thread>

#include "math/elementary.hpp"
#include "threads/team.hpp"

namespace dualfield {

class Progress {
   public:
    // Nobody has done anything. Not while members are at work.
    void begin(Index members) {
        if (members_ != members) places_ = std::make_unique<Place[]>(members);
        members_ = members;
        for (Index member = 0; member < members; ++member) places_[member].done.store(0, std::memory_order_relaxed);
    }

    // A member has done its share of the first `count` things.
    void reached(Index member, Index count) { places_[member].done.store(count, std::memory_order_release); }

    // It will do no more.
    void give_up(Index member) { places_[member].done.store(kGivenUp, std::memory_order_release); }

    // Waits until every member has done its share of the first `count`; false where one has given up.
    bool wait_for(Index count) const {
        for (Index member = 0; member < members_; ++member) {
            const std::atomic<Index>& done = places_[member].done;
            Index now;
            for (int look = 0; (now = done.load(std::memory_order_acquire)) < count && now != kGivenUp; ++look) {
                if (look < Team::kLooks) {
                    Team::pause();
                } else {
                    std::this_thread::yield();
                }
            }
            if (now == kGivenUp) return false;
        }
        return true;
    }

   private:
    static constexpr Index kGivenUp = -1;

    // A cache line each: one member writes it, and the others look.
    struct alignas(64) Place {
        std::atomic<Index> done{0};
    };

    Index members_ = 0;
    std::unique_ptr<Place[]> places_;
};

}  // namespace dualfield
