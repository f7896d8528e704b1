// A barrier: the members of a team wait here until all have come.
#pragma once

#include <vector>

#include "threads/counters.hpp"

namespace dualfield {

class Barrier {
   public:
    // Call this before the threads start, with their number.
    void begin(Index members) {
        counters_.begin(members);
        phases_.assign(members, Phase{});
    }

    // Returns when all members have come; false where one of them has failed.
    bool wait(Index member) {
        const Index phase = ++phases_[member].count;
        counters_.reached(member, phase);
        return counters_.wait_for(phase);
    }

    void give_up() { counters_.give_up(); }

   private:
    struct alignas(64) Phase {
        Index count = 0;
    };

    Counters counters_;
    std::vector<Phase> phases_;
};

}  // namespace dualfield
