// Where the members of a team wait for each other in the middle of a run.
#pragma once

#include <vector>

#include "threads/counters.hpp"

namespace dualfield {

class Barrier {
   public:
    // Before a run of `members`.
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
