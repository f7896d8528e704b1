// What the runs on the partitions of one problem have in common: the weights, the proximal centre, the random numbers,
// and what a confirming pass adds up.
//
// Blocks lie in partitions, each with a field and a run of its own over the same weights. A run takes the common state,
// works on its blocks, and gives it back; so one run works at a time, and nothing is copied. What belongs to blocks,
// their duals, entropies and recorded gaps, stays with the run, or is saved when the run goes: DualRun::archive_blocks.
//
// A run never works longer than a pass over its partition. A pass over all partitions ends here, by end_pass().
#pragma once

#include <utility>

#include "base/random.hpp"
#include "solvers/dual/acceleration.hpp"
#include "solvers/dual/confirmed_sums.hpp"
#include "threads/team.hpp"

namespace dualfield {

class CommonState {
   public:
    CommonState(Penalty penalty, Index dimension, bool accelerate, std::uint64_t seed, Index threads)
        : penalty_(std::move(penalty)),
          threads_(threads),
          weights(penalty_, dimension),
          acceleration(accelerate, penalty_.net.l2, dimension),
          random(seed),
          sums(penalty_, penalty_.net.l2) {}
    CommonState(const CommonState&) = delete;
    CommonState& operator=(const CommonState&) = delete;

    // The first weights, for runs that begin together: zero. Otherwise the first run sets them.
    void begin(double mean_radius, double times) {
        Team team(threads_);
        weights.write_zeros(team);
        if (acceleration.active()) acceleration.begin(mean_radius, team, times);
        weights.set_kappa(acceleration.kappa(), team);
        begun = true;
    }

    // The gap of the proximal problem is the sum of the recorded gaps of all partitions.
    void end_pass(double gaps, double entropies) {
        Team team(threads_);
        if (acceleration.active())
            acceleration.end_pass(gaps, acceleration.look(weights, entropies, team), weights, team);
    }

    // (what the gap has beyond the sum of the blocks' gaps, the dual value), given sum_i c_i H(mu_i).
    std::pair<double, double> look(double entropies) const {
        Team team(threads_);
        const Acceleration::Look found = acceleration.look(weights, entropies, team);
        return {found.excess, found.dual};
    }

    // What acceleration knows, for a run that goes on from saved duals; a confirming pass then finds the weights.
    void archive(Archive& archive) { acceleration.archive(archive); }

    // A confirming pass: the runs of all partitions gather, then judge, and then there is a certificate.
    void begin_confirmation() {
        Team team(threads_);
        sums.begin(weights.size(), team);
    }
    void end_gathering() {
        Team team(threads_);
        sums.look_at_conjugate(team);
        acceleration.shift(sums.unit(), sums.weights(), team);
    }
    Certificate certificate() {
        Team team(threads_);
        return sums.certificate(team);
    }
    // Goes on from the weights that were confirmed; the runs have adopted what they judged.
    void adopt() {
        weights.swap(sums.weights());
        sums.discard();
    }

   private:
    Penalty penalty_;
    Index threads_;

   public:
    PenalisedWeights weights;
    Acceleration acceleration;
    Random random;
    double epsilon = 0.0;  // where the next block's marginals begin, where a method steers that
    bool begun = false;    // whether a run has set the first weights
    ConfirmedSums sums;
};

}  // namespace dualfield
