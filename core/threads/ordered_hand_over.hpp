// Items that one member of a team makes and every member takes, all members in the same order.
//
// A member makes the next item that nobody has begun, and takes finished items in between. It waits only when no item
// is finished and no place is free for another one. The order in which items are taken does not depend on timing.
#pragma once

#include <algorithm>
#include <atomic>

#include "threads/counters.hpp"

namespace dualfield {

class OrderedHandOver {
   public:
    // How many items can wait to be taken: make(k, place, member) and take(k, place, member) find item k at place
    // k % places.
    static Index places(const Team& team) { return team.size() == 1 ? 1 : kPlacesOfAMember * team.size(); }

    // The batch size: how many items to make before the clock is read again. At least the number of places.
    static Index batch(const Team& team) { return team.size() == 1 ? 1 : std::max(Index{128}, places(team)); }

    // Makes and takes the items 0 .. count - 1.
    template <class Make, class Take>
    void run(Team& team, Index count, Make&& make, Take&& take) {
        if (team.size() == 1) {
            for (Index k = 0; k < count; ++k) {
                make(k, Index{0}, Index{0});
                take(k, Index{0}, Index{0});
            }
            return;
        }
        const Index places = OrderedHandOver::places(team);
        std::atomic<Index> next{0};
        made_.begin(places);
        taken_.begin(team.size());
        team.run([&](Index member) {
            Index taken = 0;
            const auto take_one = [&] {  // where it has been made, or once it has
                if (!made_.wait_for_one(taken % places, taken + 1)) return false;
                take(taken, taken % places, member);
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
                }
                while (taken < count)
                    if (!take_one()) return;
            } catch (...) {
                made_.give_up();
                taken_.give_up();
                throw;
            }
        });
    }

   private:
    static constexpr Index kPlacesOfAMember = 4;

    Counters made_;   // the last item made at each place
    Counters taken_;  // by each member
};

}  // namespace dualfield
