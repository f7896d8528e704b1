// Weights under steps with l1, each at the cost of the weights that one block touches:
//     w <- soft(q_t w - x_t d, x_t l1),      x_t, q_t > 0 the same for all weights.
//
// While a weight that no block touches stays on one side of zero, e = sign(w), the step is w <- q_t w - x_t (d + e l1),
// and with s_t = q_1 ... q_t and r_t = x_1/s_1 + ... + x_t/s_t, the *reach*,
//     w_t / s_t = w_0 / s_0 - (r_t - r_0) (d + e l1).
// The reach only grows, so a weight leaves its side once at most, at a moment that bisection finds. There it takes that
// one step as it is written. At zero it stays, where |d| <= l1; otherwise it goes on, away from zero for good. So any
// number of missed steps is made up for exactly, in constant time but for the bisection. Sums of w over moments t, for
// averages, follow from sums of s_t and of s_t r_t.
//
// The moments are kept until all weights have been brought up to date, which is done once there are many. A step with
// q_t <= 0, beyond all reason but the first ones of Pegasos, is taken by all weights at once.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "simd/vector.hpp"
#include "solvers/primal/lazy_weights.hpp"

namespace dualfield {

template <Field F>
class ThresholdedWeights final : public MovingWeights<F> {
    using Base = MovingWeights<F>;
    using Base::d_;
    using Base::field_;

   public:
    using Base::prepare;
    using Base::read;
    using Base::settle;
    using typename Base::Change;
    using typename Base::Direction;

    ThresholdedWeights(const F& field, Lazy kind, double l1)
        : Base(field, kind),
          l1_(l1),
          w_(field.dimension(), 0.0),
          sums_(kind == Lazy::averaging ? field.dimension() : 0, 0.0),
          seen_(field.dimension(), 0),
          past_{Moment()} {}

    void prepare(std::span<const Index> blocks, Team& team) override {
        team.run([&](Index member) {
            for (Index i : blocks)
                field_.for_each_range_of(
                    i, [&](Index start, Index length) { bring(start, length, now()); }, Part{member, team.size()});
        });
    }

    void score(Index i, double* theta, std::vector<double>&) const override { field_.score(i, w_.data(), theta); }

    void move(double decay, double step, std::span<const Change> changes) override {
        Team alone(1);
        if (!record(decay, step, alone)) return move_all(decay, step, changes);
        touched_.clear();
        for (const Change& change : changes)
            field_.for_each_range_of(change.block, [&](Index start, Index length) {
                if (seen_[start] == now()) return;  // another block of the batch has updated this range
                bring(start, length, now() - 1);
                shift(start, length, decay, step, now());
                touched_.emplace_back(start, length);
            });
        for (const Change& change : changes) field_.apply(w_.data(), change.x, *change.direction);
        for (const auto& [start, length] : touched_)
            soft_threshold(length, step * l1_, w_.data() + start, w_.data() + start);
        settle_in_time(alone);
    }

    void move_later(double decay, double step, const Change& change, Team& team) override {
        if (record(decay, step, team))
            later_.push_back({change, now(), decay, step, true});
        else
            move_all(decay, step, {&change, 1});
    }
    void change_drift_later(const Change& change) override { later_.push_back({change, now(), 1.0, 0.0, false}); }

    void catch_up(Team& team) override {
        team.run([&](Index member) {
            for (const Later& later : later_) make(later, {member, team.size()});
        });
        later_.clear();
        settle_in_time(team);
    }

    std::vector<double> catch_up_and_measure(Team& team) override {
        std::vector<std::vector<double>> of_members(team.size());
        team.run([&](Index member) {
            const Part part{member, team.size()};
            for (const Later& later : later_) {
                if (!later.moves)
                    of_members[member].push_back(field_.product(d_.data(), *later.change.direction, part));
                make(later, part);
            }
        });
        later_.clear();
        settle_in_time(team);
        return Base::added(of_members);
    }

    void settle(Team& team) override {
        team.over_ranges(field_.dimension(), [&](Index first, Index end) {
            bring(first, end - first, now());
            std::fill(seen_.begin() + first, seen_.begin() + end, 0);
        });
        Moment first;
        first.counted = past_.back().counted;
        past_.assign(1, first);
        ++settlings_;
    }
    Index settlings() const override { return settlings_; }

    void count() override {
        past_.back().counted = true;
        counted_ += 1.0;
    }

    void read(Index first, Index end, double* w) const override {
        double sum = 0.0;
        for (Index k = first; k < end; ++k) w[k] = at(k, now(), sum);
    }

    void read_average(double* w) const override {
        if (counted_ == 0.0) return read(w);
        for (Index k = 0; k < field_.dimension(); ++k) {
            double sum = sums_[k];
            const double last = at(k, now(), sum);
            w[k] = (past_.back().counted ? sum + last : sum) / counted_;
        }
    }

    void set(const double* w) override {
        settle();
        std::copy(w, w + w_.size(), w_.begin());
    }

    void archive(Archive& archive) override {
        archive.array("thresholded_w", w_);
        archive.array("thresholded_d", d_);
        archive.array("thresholded_sums", sums_);
        std::vector<double> past;
        for (const Moment& m : past_)
            past.insert(past.end(), {m.scale, m.reach, m.scales, m.reaches, m.counted ? 1.0 : 0.0});
        archive.flexible("thresholded_past", past, 5, Index{1} << 40);
        past_.assign(std::max<std::size_t>(1, past.size() / 5), Moment());
        for (std::size_t t = 0; t < past.size() / 5; ++t) {
            const double* m = past.data() + 5 * t;
            past_[t] = {m[0], m[1], m[2], m[3], m[4] != 0.0};
        }
        archive.counters("thresholded_seen", seen_);
        for (Index& moment : seen_) moment = std::min(moment, now());  // a state may come from anywhere
        archive.scalars("thresholded_counted", {&counted_});
    }

   private:
    struct Moment {
        double scale = 1.0, reach = 0.0;     // s_t, r_t
        double scales = 0.0, reaches = 0.0;  // the sums of s and of s r over the counted moments before this one
        bool counted = false;                // whether w of this moment is part of the average
    };

    struct Later {
        Change change;
        Index moment;  // of a step: the moment after it; of a change of d: the moment at which it happens
        double decay, step;
        bool moves;
    };

    Index now() const { return static_cast<Index>(past_.size()) - 1; }

    // Adds the moment after a step. Returns false if the step has not the form above; then all weights are up to date.
    bool record(double decay, double step, Team& team) {
        constexpr double kSmallest = 1e-6;
        if (!(decay * past_.back().scale > kSmallest)) {
            catch_up(team);
            settle(team);
        }
        if (!(decay > 0.0)) return false;
        const Moment& last = past_.back();
        Moment next;
        next.scale = decay * last.scale;
        next.reach = last.reach + step / next.scale;
        next.scales = last.scales + (last.counted ? last.scale : 0.0);
        next.reaches = last.reaches + (last.counted ? last.scale * last.reach : 0.0);
        past_.push_back(next);
        return true;
    }

    void settle_in_time(Team& team) {
        if (now() > std::max<Index>(kLeastMoments, field_.dimension() / kWeightsOfAMoment)) settle(team);
    }

    // Takes a step with every weight at once. All weights must be up to date.
    void move_all(double decay, double step, std::span<const Change> changes) {
        shift(0, field_.dimension(), decay, step, 0);
        for (const Change& change : changes) field_.apply(w_.data(), change.x, *change.direction);
        soft_threshold(field_.dimension(), step * l1_, w_.data(), w_.data());
        past_.back().counted = false;
    }

    void make(const Later& later, const Part& part) {
        const auto for_each_range = [&](auto&& body) { field_.for_each_range_of(later.change.block, body, part); };
        if (!later.moves) {
            for_each_range([&](Index start, Index length) { bring(start, length, later.moment); });
            field_.apply(d_.data(), later.change.x, *later.change.direction, part);
            return;
        }
        for_each_range([&](Index start, Index length) {
            bring(start, length, later.moment - 1);
            shift(start, length, later.decay, later.step, later.moment);
        });
        field_.apply(w_.data(), later.change.x, *later.change.direction, part);
        for_each_range([&](Index start, Index length) {
            soft_threshold(length, later.step * l1_, w_.data() + start, w_.data() + start);
        });
    }

    // w <- decay w - step d, the part of a step before a block's change is added. `to` is the moment after the step.
    void shift(Index start, Index length, double decay, double step, Index to) {
        const bool counted = past_[std::max<Index>(0, to - 1)].counted;
        for (Index k = start; k < start + length; ++k) {
            if (counted && !sums_.empty()) sums_[k] += w_[k];
            w_[k] = decay * w_[k] - (d_.empty() ? 0.0 : step * d_[k]);
            seen_[k] = to;
        }
    }

    // Brings a range of weights up to a moment: takes the steps that they have missed.
    void bring(Index start, Index length, Index to) {
        double none = 0.0;
        for (Index k = start; k < start + length; ++k) {
            if (seen_[k] >= to) continue;
            w_[k] = at(k, to, sums_.empty() ? none : sums_[k]);
            seen_[k] = to;
        }
    }

    // Returns weight k at a moment, and adds its values at the counted moments before to `sum`.
    double at(Index k, Index to, double& sum) const {
        double w = w_[k];
        const double drift = d_.empty() ? 0.0 : d_[k];
        Index from = seen_[k];
        while (from < to) {
            const Moment& begin = past_[from];
            double side = w > 0.0 ? 1.0 : -1.0;
            if (w == 0.0) {
                if (std::abs(drift) <= l1_) return 0.0;
                side = drift < 0.0 ? 1.0 : -1.0;
            }
            const double slope = drift + side * l1_, scaled = w / begin.scale;
            const auto rest = [&](Index t) { return scaled - (past_[t].reach - begin.reach) * slope; };  // w_t / s_t
            const auto add = [&](Index t) {
                sum += (scaled + begin.reach * slope) * (past_[t].scales - begin.scales) -
                       slope * (past_[t].reaches - begin.reaches);
            };
            if (w == 0.0 || side * rest(to) > 0.0) {
                add(to);
                return past_[to].scale * rest(to);
            }
            Index last = from, cross = to;  // still on this side; not any more
            while (cross - last > 1) {
                const Index middle = last + (cross - last) / 2;
                (side * rest(middle) > 0.0 ? last : cross) = middle;
            }
            add(cross);
            const double decay = past_[cross].scale / past_[last].scale;
            const double step = (past_[cross].reach - past_[last].reach) * past_[cross].scale;
            w = soft_threshold(decay * past_[last].scale * rest(last) - step * drift, step * l1_);
            if (side * w > 0.0) w = 0.0;  // by rounding
            from = cross;
        }
        return w;
    }

    static constexpr Index kLeastMoments = 1024, kWeightsOfAMoment = 8;

    double l1_;
    std::vector<double> w_, sums_;  // at the moments seen_; sums over the counted moments before them
    std::vector<Index> seen_;
    std::vector<Moment> past_;  // since all weights were last brought up to date
    double counted_ = 0.0;
    Index settlings_ = 0;
    std::vector<Later> later_;
    std::vector<std::pair<Index, Index>> touched_;  // scratch
};

template <Field F>
std::unique_ptr<MovingWeights<F>> make_moving_weights(const F& field, Lazy kind, double l1) {
    if (l1 > 0.0) return std::make_unique<ThresholdedWeights<F>>(field, kind, l1);
    return std::make_unique<LazyWeights<F>>(field, kind);
}

}  // namespace dualfield
