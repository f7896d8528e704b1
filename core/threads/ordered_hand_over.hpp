// Items that one member of a team makes and every member takes, all members in the same order.
//
// A member makes the next item that nobody has begun, and takes finished items in between. It waits only when no item
// is finished and no place is free for another one. The order in which items are taken does not depend on timing. Work
// may stop early. Items that were begun by then are finished, so the items taken are always the first ones.
#pragma once

#include <algorithm>
#include <atomic>

#include "threads/counters.hpp"
#include "threads/team.hpp"

namespace dualfield {

class OrderedHandOver {
   public:
    // `places`: how many finished items may wait. Item k is at place k % places in make(k, place, member) and in
    // take(k, place, member).
    static Index places(const Team& team) { return team.size() == 1 ? 1 : kPlacesOfAMember * team.size(); }

    // The batch size: how many items to make before the clock is read again. At least the number of places.
    static Index batch(const Team& team) { return team.size() == 1 ? 1 : std::max(Index{128}, places(team)); }

    // Makes and takes the items 0 .. count - 1.
    // Makes and takes the items 0 .. count - 1. Ends earlier if stop() returns true; one thread calls it from time to
    // time. Returns the number of items taken.
    template <class Make, class Take, class Stop>
    Index run(Team& team, Index count, Make&& make, Take&& take, Stop&& stop) {
        if (team.size() == 1) {
            for (Index k = 0; k < count; ++k) {
                make(k, Index{0}, Index{0});
                take(k, Index{0}, Index{0});
                if (stop()) return k + 1;
            }
            return count;
        }
        const Index places = OrderedHandOver::places(team);
        std::atomic<Index> next{0}, end{count};
        made_.begin(places);
        taken_.begin(team.size());
        team.run([&](Index member) {
            Index taken = 0;
            // Waits for the item; false if there is no further item, or a member has failed.
            const auto take_one = [&] {
                const Index place = taken % places;
                const auto over = [&] { return taken >= end.load(std::memory_order_acquire); };
                if (!made_.wait_for_one(place, taken + 1, over)) return false;
                take(taken, place, member);
                taken_.reached(member, ++taken);
                return true;
            };
            try {
                for (Index k; (k = next.fetch_add(1, std::memory_order_relaxed)) < count;) {
                    while (taken <= k - places)
                        if (!take_one()) return;
                    if (!taken_.wait_for(k - places + 1)) return;
                    make(k, k % places, member);
                    made_.reached(k % places, k + 1);
                    while (taken < count && made_.has_reached(taken % places, taken + 1)) take_one();
                    if (member == 0 && stop())
                        end.store(std::min(count, next.exchange(count)), std::memory_order_release);
                }
                while (take_one()) {
                }
            } catch (...) {
                made_.give_up();
                taken_.give_up();
                throw;
            }
        });
        return end.load(std::memory_order_relaxed);
    }
    template <class Make, class Take>
    void run(Team& team, Index count, Make&& make, Take&& take) {
        run(team, count, make, take, [] { return false; });
    }

   private:
    static constexpr Index kPlacesOfAMember = 4;

    Counters made_;   // the last item made at each place
    Counters taken_;  // by each member
};

}  // namespace dualfield
