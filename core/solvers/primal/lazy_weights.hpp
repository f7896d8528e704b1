// Weights that shrink, and drift along a vector d, as a whole at every step, at the cost of only the coordinates that
// one block touches:
//     w = s (v - a d).
// A step w <- q w - x d changes two numbers, s <- q s and a <- a + x / s. Where d itself changes by Delta, v changes by
// a Delta, and w stays. The sum of all w so far, for averages, is likewise A v - u: counting w once more adds s to A,
// and a change of v by Delta changes u by A Delta. (Weights that drift are not averaged.)
//
// Several threads may change v and d together. s and a are updated with each step, in order. What a step adds to v and
// d is put on a list until catch_up(), where each thread writes its own part of v and d. In between nothing reads them.
#pragma once

#include <utility>
#include <vector>

#include "simd/vector.hpp"
#include "solvers/primal/moving_weights.hpp"

namespace dualfield {

template <Field F>
class LazyWeights final : public MovingWeights<F> {
    using Base = MovingWeights<F>;
    using Base::d_;
    using Base::field_;

   public:
    using Base::prepare;
    using Base::read;
    using Base::settle;
    using typename Base::Change;
    using typename Base::Direction;

    LazyWeights(const F& field, Lazy kind)
        : Base(field, kind), v_(field.dimension(), 0.0), u_(kind == Lazy::averaging ? field.dimension() : 0, 0.0) {}

    void prepare(std::span<const Index>, Team&) override {}

    void score(Index i, double* theta) { score(i, theta, scratch_); }
    void score(Index i, double* theta, std::vector<double>& scratch) const override {
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

    void move(double decay, double step, std::span<const Change> changes) override {
        Team alone(1);
        shrink(decay, step, alone);
        for (const Change& change : changes) add(change.x, *change.direction);
    }

    void move_later(double decay, double step, const Change& change, Team& team) override {
        shrink(decay, step, team);
        if (change.direction) later_.push_back({change.direction, change.x / s_, 0.0});
    }
    void change_drift_later(const Change& change) override {
        later_.push_back({change.direction, a_ * change.x, change.x});
    }

    // w <- decay * w - step * d
    void shrink(double decay, double step, Team& team) {
        if (d_.empty()) step = 0.0;
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

    void catch_up(Team& team) override {
        team.run([&](Index member) {
            for (const Later& later : later_) make(later, {member, team.size()});
        });
        later_.clear();
    }

    std::vector<double> catch_up_and_measure(Team& team) override {
        std::vector<std::vector<double>> of_members(team.size());
        team.run([&](Index member) {
            const Part part{member, team.size()};
            for (const Later& later : later_) {
                if (later.of_d != 0.0) of_members[member].push_back(field_.product(d_.data(), *later.direction, part));
                make(later, part);
            }
        });
        later_.clear();
        return Base::added(of_members);
    }

    Index settlings() const override { return settlings_; }

    void count() override {
        total_ += s_;
        counted_ += 1.0;
    }

    // Makes w plain again, s = 1 and a = 0.
    void settle(Team& team) override {
        team.over_ranges(field_.dimension(), [&](Index first, Index end) {
            if (!u_.empty()) axpy(end - first, -total_, v_.data() + first, u_.data() + first);
            read(first, end, v_.data());
        });
        ++settlings_;
        total_ = 0.0;
        s_ = 1.0;
        a_ = 0.0;
    }

    void read(Index first, Index end, double* w) const override {
        if (a_ != 0.0) {
#pragma omp simd
            for (Index k = first; k < end; ++k) w[k] = s_ * (v_[k] - a_ * d_[k]);
        } else {
#pragma omp simd
            for (Index k = first; k < end; ++k) w[k] = s_ * v_[k];
        }
    }

    void read_average(double* w) const override {
        if (counted_ == 0.0) return read(w);
        for (Index k = 0; k < field_.dimension(); ++k) w[k] = (total_ * v_[k] - u_[k]) / counted_;
    }

    void set(const double* w) override {
        settle();
        std::copy(w, w + v_.size(), v_.begin());
    }

    void archive(Archive& archive) override {
        archive.array("lazy_v", v_);
        archive.array("lazy_d", d_);
        archive.array("lazy_u", u_);
        archive.scalars("lazy_scale", {&s_});
        if (!d_.empty()) archive.scalars("lazy_drift", {&a_});
        if (!u_.empty()) archive.scalars("lazy_average", {&total_, &counted_});
    }

   private:
    struct Later {
        const Direction* direction;
        double of_v, of_d;  // v += of_v * direction, d += of_d * direction
    };

    void make(const Later& later, const Part& part) {
        if (later.of_d != 0.0) field_.apply(d_.data(), later.of_d, *later.direction, part);
        if (later.of_v != 0.0) field_.apply(v_.data(), later.of_v, *later.direction, part);
    }

    std::vector<double> v_, u_;
    double s_ = 1.0, a_ = 0.0;
    double total_ = 0.0, counted_ = 0.0;  // A, and the number of w in the average
    Index settlings_ = 0;
    std::vector<Later> later_;
    std::vector<double> scratch_;
};

}  // namespace dualfield
