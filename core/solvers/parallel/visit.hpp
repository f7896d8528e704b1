// What a method does on one block, and what it finds there.
#pragma once

#include "base/index.hpp"

namespace dualfield {

struct Concurrency {
    Index threads, window;
    Index workers;  // that own blocks, in place of windows; 0: none
};

// What a method finds for one block.
struct Step {
    double gap;      // of the block before the step
    double entropy;  // of the block after it
    double ascent;   // of the dual, per unit of sample weight
    double size;     // gamma, eta: zero where the block did not move
    double share;    // the marginals moved by share * change
};

// A method at work on one block. Note: what it wants to remember of the step until it is recorded.
template <class Note>
class Visit {
   public:
    Visit(Index block, bool is_first, Step& step, Note& note, Index& oracle_calls, Index& evaluations)
        : step(step),
          note(note),
          oracle_calls(oracle_calls),
          evaluations(evaluations),
          block_(block),
          is_first_(is_first) {}
    virtual ~Visit() = default;

    Index block() const { return block_; }
    bool is_first() const { return is_first_; }  // of the steps that go on at the same time

    // The potentials of the block under the weights.
    virtual void score(double* theta) = 0;

    // What the quadratic term of the dual is for a change of the block's marginals, c_i / l2 |E_change F|^2, damped.
    // The last change given is the one that the weights will take; along: <theta, change>.
    virtual double quadratic(const double* change, double along) = 0;

    Step& step;
    Note& note;
    Index &oracle_calls, &evaluations;

   private:
    Index block_;
    bool is_first_;
};

// A step that is to be recorded.
template <class Note>
struct Found {
    Index block;
    Step& step;
    double length;  // of the change of the weights
    const Note& note;
    Index oracle_calls, evaluations;
};

}  // namespace dualfield
