// The weights of a stochastic method on the primal, under steps that move all of them at the cost of those that a block
// touches. With d a vector that all weights drift along, where there is one, a step is
//     w <- soft(decay w - step d + change, step l1),      soft(x, t) = x moved towards zero by at most t.
//
// LazyWeights does it without l1, ThresholdedWeights with. A method sees this interface alone and never asks for l1.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/archive.hpp"
#include "fields/field.hpp"
#include "threads/team.hpp"

namespace dualfield {

// What the weights do between two visits of a block. No method has both drift and average.
enum class Lazy { shrinking, drifting, averaging };

// What a block adds to the weights: x times a direction, which has the counts of that block.
template <class Direction>
struct BlockChange {
    Index block;
    double x;
    const Direction* direction;
};

template <Field F>
class MovingWeights {
   public:
    using Direction = typename F::Direction;
    using Change = BlockChange<Direction>;

    virtual ~MovingWeights() = default;

    // Brings the weights of some blocks up to date. Until the next step several threads may score these blocks.
    virtual void prepare(std::span<const Index> blocks, Team& team) = 0;

    // The potentials of block i under w.
    virtual void score(Index i, double* theta, std::vector<double>& scratch) const = 0;

    // A step with the changes of a batch of blocks, at once.
    virtual void move(double decay, double step, std::span<const Change> changes) = 0;

    // For several threads. move_later: a step with the change of one block. change_drift_later: d += x * direction,
    // which leaves w as it is. Both are listed until catch_up(), where each thread writes its part. Until then the
    // directions must exist, and nothing reads the weights.
    virtual void move_later(double decay, double step, const Change& change, Team& team) = 0;
    virtual void change_drift_later(const Change& change) = 0;
    virtual void catch_up(Team& team) = 0;
    // The same. Returns <d, direction> for each change of d, with d as the changes before it have left it.
    virtual std::vector<double> catch_up_and_measure(Team& team) = 0;

    virtual void settle(Team& team) = 0;  // writes all weights out; done from time to time, before rounding errors grow
    virtual Index settlings() const = 0;  // how often that was done, also by steps
    virtual void count() = 0;             // adds the present w to the average
    virtual void read(double* w) const { read(0, field_.dimension(), w); }
    virtual void read(Index first, Index end,
                      double* w) const = 0;          // writes the weights first .. end - 1 to their places in w
    virtual void read_average(double* w) const = 0;  // the average of what was counted; w itself if nothing was
    virtual void set(const double* w) = 0;           // starts from given weights; d is kept
    virtual void archive(Archive& archive) = 0;

    // The same on one thread.
    void prepare(Index block) {
        Team alone(1);
        prepare({&block, 1}, alone);
    }
    void settle() {
        Team alone(1);
        settle(alone);
    }

    // <d, direction>, as of the last catch_up().
    double product_with_drift(const Direction& direction) const { return field_.product(d_.data(), direction, Part{}); }

    // d itself. To write to it, settle first.
    std::vector<double>& drift() { return d_; }
    const std::vector<double>& drift() const { return d_; }

   protected:
    MovingWeights(const F& field, Lazy kind) : field_(field), d_(kind == Lazy::drifting ? field.dimension() : 0, 0.0) {}

    // Adds up the products of d with directions, of which each thread has computed a part.
    static std::vector<double> added(std::vector<std::vector<double>>& of_members) {
        for (std::size_t member = 1; member < of_members.size(); ++member)
            axpy(static_cast<Index>(of_members[0].size()), 1.0, of_members[member].data(), of_members[0].data());
        return std::move(of_members[0]);
    }

    const F& field_;
    std::vector<double> d_;
};

}  // namespace dualfield
