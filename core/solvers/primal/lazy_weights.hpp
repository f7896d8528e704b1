// Weights that shrink, and drift along a vector d, as a whole at every step, at the cost of only the coordinates that
// one block touches:
//     w = s (v - a d).
// A step w <- q w - x d changes two numbers, s <- q s and a <- a + x / s. Where d itself changes by Delta, v changes by
// a Delta, and w stays. The sum of all w so far, for averages, is likewise A v - u: counting w once more adds s to A,
// and a change of v by Delta changes u by A Delta. (Weights that drift are not averaged.)
//
// Several threads may change v and d together: s and a follow the steps at once, in their order, and what a step adds to v
// and d is kept until catch_up(), where each thread writes its part. In between nothing is read.
#pragma once

#include <utility>
#include <vector>

#include "base/archive.hpp"
#include "fields/field.hpp"
#include "simd/vector.hpp"
#include "threads/team.hpp"

namespace dualfield {

enum class Lazy { shrinking, drifting, averaging };

template <Field F>
class LazyWeights {
   public:
    using Direction = typename F::Direction;

    LazyWeights(const F& field, Lazy kind)
        : field_(field),
          v_(field.dimension(), 0.0),
          d_(kind == Lazy::drifting ? field.dimension() : 0, 0.0),
          u_(kind == Lazy::averaging ? field.dimension() : 0, 0.0) {}

    // The potentials of block i under w.
    void score(Index i, double* theta) { score(i, theta, scratch_); }
    void score(Index i, double* theta, std::vector<double>& scratch) const {
        const Index size = field_.compact_size(i);
        field_.score(i, v_.data(), theta);
        if (a_ != 0.0) {
            double* drift = room(scratch, size);
            field_.score(i, d_.data(), drift);
#pragma omp simd
            for (Index k = 0; k < size; ++k) theta[k] = s_ * (theta[k] - a_ * drift[k]);
        } else if (s_ != 1.0) {
            scale(size, s_, theta);
        }
    }

    // w <- decay * w - step * d
    void shrink(double decay, double step) {
        Team alone(1);
        shrink(decay, step, alone);
    }
    void shrink(double decay, double step, Team& team) {
        constexpr double kSmallest = 1e-6, kLargest = 1e6;
        const double s = decay * s_;
        if (std::abs(s) > kSmallest && std::abs(s) < kLargest) {
            s_ = s;
            a_ += step / s;
            return;
        }
        catch_up(team);
        settle(team);
        team.over_ranges(field_.dimension(), [&](Index first, Index end) {
            scale(end - first, decay, v_.data() + first);
            if (step != 0.0) axpy(end - first, -step, d_.data() + first, v_.data() + first);
        });
    }

    // w += x * direction
    void add(double x, const Direction& direction) {
        field_.apply(v_.data(), x / s_, direction);
        if (!u_.empty() && total_ != 0.0) field_.apply(u_.data(), total_ * x / s_, direction);
    }

    // d += x * direction; w stays.
    void add_to_drift(double x, const Direction& direction) {
        field_.apply(d_.data(), x, direction);
        if (a_ != 0.0) field_.apply(v_.data(), a_ * x, direction);
    }

    // The same for weights that drift, at the next catch_up(); the direction must be there until then.
    void add_later(double x, const Direction& direction) { later_.push_back({&direction, x / s_, 0.0}); }
    void add_to_drift_later(double x, const Direction& direction) { later_.push_back({&direction, a_ * x, x}); }

    void catch_up(Team& team) {
        team.run([&](Index member) {
            for (const Change& change : later_) make(change, {member, team.size()});
        });
        later_.clear();
    }

    // The same, and <d, direction> of each change of d, as earlier ones have made d.
    std::vector<double> catch_up_and_measure(Team& team) {
        std::vector<std::vector<double>> of_members(team.size());
        team.run([&](Index member) {
            const Part part{member, team.size()};
            for (const Change& change : later_) {
                if (change.of_d != 0.0)
                    of_members[member].push_back(field_.product(d_.data(), *change.direction, part));
                make(change, part);
            }
        });
        later_.clear();
        for (Index member = 1; member < team.size(); ++member)
            axpy(static_cast<Index>(of_members[0].size()), 1.0, of_members[member].data(), of_members[0].data());
        return std::move(of_members[0]);
    }

    Index settlings() const { return settlings_; }  // how often w was made plain, by shrink() too

    // <d, direction>, as of the last catch_up().
    double product_with_drift(const Direction& direction) const { return field_.product(d_.data(), direction, Part{}); }

    // Counts w once more in the average.
    void count() {
        total_ += s_;
        counted_ += 1.0;
    }

    // Makes w plain again, s = 1 and a = 0; done now and then, before rounding tells.
    void settle() {
        Team alone(1);
        settle(alone);
    }
    void settle(Team& team) {
        team.over_ranges(field_.dimension(), [&](Index first, Index end) {
            if (!u_.empty()) axpy(end - first, -total_, v_.data() + first, u_.data() + first);
            read(first, end, v_.data());
        });
        ++settlings_;
        total_ = 0.0;
        s_ = 1.0;
        a_ = 0.0;
    }

    void read(double* w) const { read(0, field_.dimension(), w); }

    // The weights first .. end - 1, to where they are in w.
    void read(Index first, Index end, double* w) const {
        if (a_ != 0.0) {
#pragma omp simd
            for (Index k = first; k < end; ++k) w[k] = s_ * (v_[k] - a_ * d_[k]);
        } else {
#pragma omp simd
            for (Index k = first; k < end; ++k) w[k] = s_ * v_[k];
        }
    }

    // The average of what was counted; w itself while nothing was.
    void read_average(double* w) const {
        if (counted_ == 0.0) return read(w);
        for (Index k = 0; k < field_.dimension(); ++k) w[k] = (total_ * v_[k] - u_[k]) / counted_;
    }

    // Starts from given weights; d stays.
    void set(const double* w) {
        settle();
        std::copy(w, w + v_.size(), v_.begin());
    }

    std::vector<double>& drift() { return d_; }
    const std::vector<double>& drift() const { return d_; }

    void archive(Archive& archive) {
        archive.array("lazy_v", v_);
        archive.array("lazy_d", d_);
        archive.array("lazy_u", u_);
        archive.scalars("lazy_scale", {&s_});
        if (!d_.empty()) archive.scalars("lazy_drift", {&a_});
        if (!u_.empty()) archive.scalars("lazy_average", {&total_, &counted_});
    }

   private:
    struct Change {
        const Direction* direction;
        double of_v, of_d;  // v += of_v * direction, d += of_d * direction
    };

    void make(const Change& change, const Part& part) {
        if (change.of_d != 0.0) field_.apply(d_.data(), change.of_d, *change.direction, part);
        if (change.of_v != 0.0) field_.apply(v_.data(), change.of_v, *change.direction, part);
    }

    const F& field_;
    std::vector<double> v_, d_, u_;
    double s_ = 1.0, a_ = 0.0;
    double total_ = 0.0, counted_ = 0.0;  // A, and how many w it stands for
    Index settlings_ = 0;
    std::vector<Change> later_;
    std::vector<double> scratch_;
};

}  // namespace dualfield
