// The objective of points with dense columns, a window of points at a time: the potentials of all points of a window
// are one product of matrices, and so are their counts.
#pragma once

#include <span>
#include <vector>

#include "fields/objective.hpp"

namespace dualfield {

template <class F>
class WindowedObjective final : public Objective {
   public:
    explicit WindowedObjective(const F& field) : field_(field) {}

    using Objective::add;
    Index add(const Index* blocks, Index count, const double* w, double* gradient, Team& team,
              const Deadline& deadline) override {
        if (static_cast<Index>(slots_.size()) < OrderedHandOver::places(team))
            slots_.resize(OrderedHandOver::places(team));
        const auto points_of = [&](Index k) {
            return std::span(blocks + k * kWindow, static_cast<std::size_t>(std::min(kWindow, count - k * kWindow)));
        };
        const Index windows = hand_over_.run(
            team, (count + kWindow - 1) / kWindow,
            [&](Index k, Index place, Index) { look_at(points_of(k), w, gradient != nullptr, slots_[place]); },
            [&](Index k, Index place, Index member) {
                const Slot& slot = slots_[place];
                if (gradient) field_.add_counts(points_of(k), slot.marginals.data(), {member, team.size()}, gradient);
                if (member > 0) return;
                for (std::size_t p = 0; p < points_of(k).size(); ++p) {
                    if (!(field_.sample_weight(points_of(k)[p]) > 0.0)) continue;
                    losses_.add(slot.losses[p]);
                    magnitude_ += slot.magnitudes[p];
                    ++oracle_calls_;
                }
            },
            [&] { return deadline.passed(); });
        return std::min(count, windows * kWindow);
    }

   private:
    static constexpr Index kWindow = 48;

    // The result of a window: marginals less the truth, times the sample weight.
    struct alignas(64) Slot {
        typename F::Workspace oracle;
        std::vector<double> potentials, marginals;
        double losses[kWindow], magnitudes[kWindow];
    };

    void look_at(std::span<const Index> points, const double* w, bool with_gradient, Slot& slot) const {
        const Index K = field_.labels(), count = std::ssize(points);
        double* potentials = room(slot.potentials, count * K);
        double* marginals = room(slot.marginals, count * K);
        field_.score(points, w, potentials);
        for (Index p = 0; p < count; ++p) {
            const Index i = points[p];
            const double c = field_.sample_weight(i);
            double* theta = potentials + p * K;
            double* m = marginals + p * K;
            if (!(c > 0.0)) {
                std::fill(m, m + K, 0.0);
                continue;
            }
            slot.magnitudes[p] = c * doubtful(field_.magnitude(i, theta) * rounding_growth(K));
            field_.center(i, theta);
            const double log_z =
                with_gradient ? field_.infer(i, theta, m, slot.oracle) : field_.log_partition(i, theta, slot.oracle);
            const double true_score = field_.true_score(i, theta);
            slot.losses[p] = c * (log_z - true_score);
            slot.magnitudes[p] += c * (std::abs(log_z) + std::abs(true_score));
            if (!with_gradient) continue;
            field_.subtract_truth(i, m);
            scale(K, c, m);
        }
    }

    const F& field_;
    std::vector<Slot> slots_;
    OrderedHandOver hand_over_;
};

}  // namespace dualfield
