// The primal objective in sum units and its gradient, block by block:
//     P(w) = l2/2 |w|^2 + sum_i c_i (log Z_i(w) - <theta_i, truth_i>).
#pragma once

#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

#include "base/archive.hpp"
#include "base/deadline.hpp"
#include "duality/certificate.hpp"
#include "fields/field.hpp"
#include "fields/own_parts.hpp"
#include "simd/vector.hpp"
#include "threads/ordered_hand_over.hpp"

namespace dualfield {

class Objective {
   public:
    virtual ~Objective() = default;

    // Forgets the sums, for a new point.
    void reset() {
        losses_ = CompensatedSum();
        magnitude_ = 0.0;
    }

    // Adds the losses of some blocks and, where `gradient` is not null, their gradients c_i (E_w F - F_i), on the
    // threads of a team. Sums are taken in the order of the blocks, so that they do not depend on the threads. Stops
    // early when the time is over; returns how many blocks were added, at least one.
    virtual Index add(const Index* blocks, Index count, const double* w, double* gradient, Team& team,
                      const Deadline& deadline) = 0;
    void add(Index i, const double* w, double* gradient) {
        Team alone(1);
        add(&i, 1, w, gradient, alone, Deadline::never());
    }

    // Saves and loads the sums of an unfinished pass.
    void archive(Archive& archive) {
        losses_.archive(archive);
        archive.scalars("objective_magnitude", {&magnitude_});
    }

    double losses() const { return losses_.value(); }
    double magnitude() const { return magnitude_; }
    Index oracle_calls() const { return oracle_calls_; }

   protected:
    // The magnitude that rounding errors are relative to, for scores of this magnitude. If rounding changes a score by
    // more than a millionth, it changes probabilities by that share, and so the products of scores and probabilities.
    static double doubtful(double magnitude) {
        constexpr double kSound = 1e-6;
        const double share = rounding_allowance(magnitude);
        return share > kSound ? magnitude * (1.0 + std::min(share, 1.0) / rounding_allowance(1.0)) : magnitude;
    }

    CompensatedSum losses_;
    double magnitude_ = 0.0;
    Index oracle_calls_ = 0;
};

template <Field F>
class ObjectiveOn final : public Objective {
   public:
    explicit ObjectiveOn(const F& field) : field_(field), own_parts_(field) {}

    using Objective::add;
    Index add(const Index* blocks, Index count, const double* w, double* gradient, Team& team,
              const Deadline& deadline) override {
        if (static_cast<Index>(workers_.size()) < team.size()) workers_ = std::vector<Worker>(team.size());
        own_parts_.divide(team.size());
        if (static_cast<Index>(slots_.size()) < OrderedHandOver::places(team))
            slots_.resize(OrderedHandOver::places(team));
        const Index group = blocks_at_a_time(blocks, count, team.size());
        const auto end_of = [&](Index g) { return std::min(count, (g + 1) * group); };
        const Index groups = hand_over_.run(
            team, (count + group - 1) / group,
            [&](Index g, Index place, Index member) {
                std::vector<Slot>& slots = slots_[place];
                if (std::ssize(slots) < group) slots.resize(group);
                for (Index k = g * group; k < end_of(g); ++k)
                    look_at(blocks[k], w, gradient != nullptr, workers_[member], slots[k - g * group]);
            },
            [&](Index g, Index place, Index member) {
                for (Index k = g * group; k < end_of(g); ++k)
                    take(blocks[k], slots_[place][k - g * group], gradient, member);
            },
            [&] { return deadline.passed(); });
        return std::min(count, groups * group);
    }

   private:
    // Each has cache lines of its own, since each thread writes to its own all the time.
    struct alignas(64) Worker {
        typename F::Workspace oracle;
        std::vector<double> potentials, marginals;
    };
    struct alignas(64) Slot {
        typename OwnParts<F>::Counts counts;
        double weight, loss, magnitude;
    };

    // Small blocks are handed to threads in groups. A group is large enough that the work takes much longer than the
    // handing over, and small enough that no thread waits long for the last one.
    Index blocks_at_a_time(const Index* blocks, Index count, Index threads) const {
        constexpr Index kNumbers = 4096, kMost = 64, kLooks = 16, kGroupsOfAThread = 8;
        if (threads == 1) return 1;
        Index numbers = 0;
        const Index looks = std::min(count, kLooks);
        for (Index k = 0; k < looks; ++k) numbers += field_.compact_size(blocks[k * count / looks]);
        return std::clamp<Index>(
            std::min(kNumbers * looks / std::max(numbers, Index{1}), count / (kGroupsOfAThread * threads)), 1, kMost);
    }

    void take(Index i, const Slot& slot, double* gradient, Index member) {
        if (!(slot.weight > 0.0)) return;
        if (gradient) own_parts_.take(i, slot.counts, slot.weight, gradient, member);
        if (member > 0) return;
        losses_.add(slot.loss);
        magnitude_ += slot.magnitude;
        ++oracle_calls_;
    }

    void look_at(Index i, const double* w, bool with_gradient, Worker& worker, Slot& slot) const {
        const double c = slot.weight = field_.sample_weight(i);
        if (!(c > 0.0)) return;
        const Index size = field_.compact_size(i);
        double* theta = room(worker.potentials, size);
        double* m = room(worker.marginals, size);
        field_.score(i, w, theta);
        slot.magnitude = c * doubtful(field_.magnitude(i, theta) * rounding_growth(size));
        field_.center(i, theta);
        const double log_z =
            with_gradient ? field_.infer(i, theta, m, worker.oracle) : field_.log_partition(i, theta, worker.oracle);
        const double true_score = field_.true_score(i, theta);
        slot.loss = c * (log_z - true_score);
        slot.magnitude += c * (std::abs(log_z) + std::abs(true_score));
        if (!with_gradient) return;
        field_.subtract_truth(i, m);
        own_parts_.hand_over(i, m, slot.counts);
    }

    const F& field_;
    OwnParts<F> own_parts_;
    std::vector<Worker> workers_;
    std::vector<std::vector<Slot>> slots_;  // of the blocks that are handed over together
    OrderedHandOver hand_over_;
};

// How many of these threads a pass over all blocks can use. To wake a thread and wait for it takes as long as inference
// on some thousands of potentials, so each thread must have more than that to do.
template <Field F>
Index worthwhile_threads(const F& field, Index threads) {
    constexpr Index kNumbersOfAThread = 4096;
    Index numbers = 0;
    for (Index i = 0; i < field.blocks() && numbers < threads * kNumbersOfAThread; ++i)
        numbers += field.compact_size(i);
    return std::clamp<Index>(numbers / kNumbersOfAThread, 1, threads);
}

// The objective of a field: the field's own way to compute it, if it has one, or else block by block.
template <Field F>
std::unique_ptr<Objective> make_objective(const F& field) {
    if constexpr (requires { field.objective(); })
        if (auto own = field.objective()) return own;
    return std::make_unique<ObjectiveOn<F>>(field);
}

template <Field F>
double penalty(const F& field, const double* w) {
    return 0.5 * field.l2() * squared_norm(field.dimension(), w);
}

// P(w), and its gradient where `gradient` is not null.
template <Field F>
double evaluate_primal(const F& field, const double* w, double* gradient) {
    const auto objective = make_objective(field);
    if (gradient)
        for (Index k = 0; k < field.dimension(); ++k) gradient[k] = field.l2() * w[k];
    std::vector<Index> blocks(field.blocks());
    std::iota(blocks.begin(), blocks.end(), Index{0});
    Team alone(1);
    for (Index done = 0; done < field.blocks();)
        done += objective->add(blocks.data() + done, field.blocks() - done, w, gradient, alone, Deadline::never());
    return objective->losses() + penalty(field, w);
}

struct PrimalBound {
    double value, magnitude;
};

// An upper bound on P(w), even where inference has not converged, and the magnitude of its rounding errors.
template <Field F>
PrimalBound bound_primal(const F& field, const double* w) {
    typename F::Workspace oracle;
    std::vector<double> theta;
    CompensatedSum losses;
    double magnitude = 0.0;
    for (Index i : active_blocks(field)) {
        const Index size = field.compact_size(i);
        const double c = field.sample_weight(i);
        field.score(i, w, room(theta, size));
        magnitude += c * field.magnitude(i, theta.data()) * rounding_growth(size);
        field.center(i, theta.data());
        double log_z = 0.0;
        if constexpr (requires { field.upper_log_partition(i, theta.data(), oracle); }) {
            log_z = field.upper_log_partition(i, theta.data(), oracle);
        } else {
            log_z = field.log_partition(i, theta.data(), oracle);
        }
        const double true_score = field.true_score(i, theta.data());
        losses.add(c * (log_z - true_score));
        magnitude += c * (std::abs(log_z) + std::abs(true_score));
    }
    const double of_weights = penalty(field, w);
    return {losses.value() + of_weights, magnitude + of_weights};
}

// P(w) on a sample of the blocks: their losses, and their share of the penalty.
template <Field F>
double evaluate_sample(const F& field, const double* w, const Index* blocks, Index count, double l1) {
    const auto objective = make_objective(field);
    double total = 0.0, sampled = 0.0;
    for (Index i = 0; i < field.blocks(); ++i) total += field.sample_weight(i);
    for (Index k = 0; k < count; ++k) sampled += field.sample_weight(blocks[k]);
    Team alone(1);
    for (Index done = 0; done < count;)
        done += objective->add(blocks + done, count - done, w, nullptr, alone, Deadline::never());
    return objective->losses() + sampled / total * (penalty(field, w) + l1 * absolute_sum(field.dimension(), w));
}

// The product of the Hessian of P at w with v: l2 v + sum_i c_i Cov_w(F) v.
template <TangentField F>
void evaluate_hessian_product(const F& field, const double* w, const double* v, double* product) {
    typename F::Workspace oracle;
    typename F::Direction direction;
    std::vector<double> theta, tangent, m, table, scratch;
    for (Index k = 0; k < field.dimension(); ++k) product[k] = field.l2() * v[k];
    for (Index i : active_blocks(field)) {
        const Index size = field.compact_size(i);
        field.score(i, w, room(theta, size));
        field.center(i, theta.data());
        field.infer_table(i, theta.data(), room(table, field.table_size(i)), room(m, size), oracle);
        field.score(i, v, room(tangent, size));
        field.differentiate(i, table.data(), tangent.data(), m.data(), scratch);
        field.pull(i, m.data(), direction);
        field.apply(product, field.sample_weight(i), direction);
    }
}

}  // namespace dualfield
