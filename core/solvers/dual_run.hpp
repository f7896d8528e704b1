// What the block-coordinate methods on the dual share: which block comes next, the weights that go with the marginals,
// the recorded gaps, the certificate, and working in slices.
//
// Updates come in *windows* of different blocks. All blocks of a window look at the same weights, each on whatever thread
// is free, and find their steps, which are recorded in the order of the draws; then the weights take all the directions,
// each thread for a part of the weights, and where the field allows it finds, from that part, its share of the next
// window's potentials: so most weights stay in the cache of one core. Nothing depends on the timing of threads, and on
// their number only by rounding; it does on the length of the window: one, for one thread, is the method as published.
// Steps of one window do not know of each other. Where their directions have a common part, the quadratic term of the
// dual is larger than the sum of theirs, so each step reckons with it `crowding` times:
//     crowding = |sum of directions|^2 / sum |direction|^2, as found in the windows before, and at least 1.
//
// A method M derives from DualRun<F, M> and says how its marginals are kept:
//     prepare(i)      a first visit to each block, before the start is chosen
//     choose_start()
//     initialise(i)   writes the start of block i
//     propose(i, worker, slot)   one step of the block's marginals; what it does to the weights is left in the slot
//     prefetch<Step>(i)          what propose() will need of block i is fetched into the cache: 0, where it is; 1, itself
//     committed(slot)            after it has been recorded
//     stored(i, m, worker)       the compact marginals of block i, those of a distribution to the last digit; returns
//                                their entropy
//     repair(i, worker)          makes what is kept agree with what stored() gave
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "fields/field.hpp"
#include "sampling/upcoming_blocks.hpp"
#include "solvers/acceleration.hpp"
#include "solvers/confirmation.hpp"
#include "solvers/own_parts.hpp"
#include "threads/team.hpp"

namespace dualfield {

struct Concurrency {
    Index threads, window;
};

template <DualField F, class Method>
class DualRun {
   public:
    // The start, in slices like run(); true when it is complete.
    bool start(double seconds) {
        const Deadline deadline(seconds);
        const Index active = draws_per_pass();
        workers_.resize(threads_);
        make_slots();
        if (acceleration_.active() && start_cursor_ == 0) acceleration_.begin(mean_radius());
        while (start_cursor_ < active) {
            const Index i = sampler_.order()[start_cursor_++];
            if (sampler_.needs_smoothness())
                sampler_.set_smoothness(i, field_.sample_weight(i), l2() + field_.sample_weight(i) * radius(i));
            method().prepare(i);
            if (start_cursor_ == active) method().choose_start();
            if (deadline.passed()) return false;
        }
        while (start_cursor_ < 2 * active) {
            method().initialise(sampler_.order()[start_cursor_++ - active]);
            if (deadline.passed() && start_cursor_ < 2 * active) return false;
        }
        restore_dual();
        return true;
    }

    // Runs updates until there were `max_updates` or the time is over, and then to the end of the window; returns how many
    // there were. A window ends with the pass.
    Index run(Index max_updates, double seconds) {
        const Deadline deadline(seconds);
        Team team(threads_);
        confirmation_.discard();
        Index done = 0, drawn = kNone;
        while ((done < max_updates || drawn != kNone) && !diverged_) {
            const Index in_pass = updates_ % draws_per_pass();
            if (acceleration_.active() && in_pass == 0 && updates_ > 0) {
                take_pending(0, team);
                look(team);
                acceleration_.end_pass(sampler_.recorded_total(), excess_, weights_, team);
            }
            up_to_date_ = false;
            const Index size = fill_window(std::min(window_, draws_per_pass() - in_pass), drawn);
            update_window(size, team);
            done += size;
            updates_ += size;
            if (drawn == kNone && deadline.passed()) break;
        }
        take_pending(0, team);
        return done;
    }

    // The certificate, by a full pass that changes nothing in the run. In slices; true when it is complete.
    bool confirm(double seconds) {
        Team team(threads_);
        return confirmation_.run(
            sampler_.order(), Deadline(seconds), team, own_parts_,
            [&](Index i, double* m, Index member) { return method().stored(i, m, workers_[member]); },
            [&](std::vector<double>& w) { acceleration_.shift(w); });
    }

    // Goes on from what the last complete confirm() found: weights without drift, every recorded gap exact.
    void adopt_confirmed() {
        weights_.swap(confirmation_.weights());
        entropy_.swap(confirmation_.entropies());
        const std::vector<Index>& order = sampler_.order();
        Team(threads_).for_each(draws_per_pass(),
                                [&](Index k, Index member) { method().repair(order[k], workers_[member]); });
        for (Index i : order) {
            sampler_.record(i, confirmation_.gaps()[i]);
            remaining_[i] = confirmation_.gaps()[i];
        }
        restore_dual();
        dual_ = confirmation_.certificate().dual;
        adopted_at_ = updates_;
        confirmation_.discard();
    }

    // Keeps the duals in double precision from now on.
    void widen() {
        method().widen_duals();
        idle_ = 0;
    }

    bool started() const { return start_cursor_ == 2 * draws_per_pass(); }
    bool confirmed() const { return confirmation_.complete(); }
    bool stalled() const { return idle_ >= 2 * draws_per_pass(); }  // no block moves any more
    bool diverged() const { return diverged_; }                     // the numbers have left floating point

    // The weights that the certificate speaks of, after a complete confirm(); the run's own otherwise.
    const std::vector<double>& confirmed_weights() const { return confirmed() ? confirmation_.weights() : weights_; }
    const std::vector<double>& weights() const { return weights_; }
    const Certificate& certificate() const { return confirmation_.certificate(); }
    // Of the problem asked for. With acceleration they take a look at all weights, once after each run().
    double dual() {
        look();
        return dual_;
    }
    double gap_estimate() {
        look();
        return remaining_total_ + excess_;
    }
    double chi() const { return sampler_.non_uniformity_of_gaps(); }
    double epsilon() const { return epsilon_; }
    double kappa() const { return acceleration_.kappa(); }  // 0 without acceleration
    Index draws_per_pass() const { return sampler_.draws_per_pass(); }
    Index updates() const { return updates_; }
    Index adopted_at() const { return adopted_at_; }  // after how many updates adopt_confirmed() was last called
    Index oracle_calls() const { return oracle_calls_ + confirmation_.oracle_calls(); }
    Index evaluations() const { return evaluations_; }
    double step_total() const { return step_total_; }

    // After the state of a run that differs in l2 alone has been loaded: a new run, from its marginals.
    void begin_again(double old_l2) {
        acceleration_.begin_again(old_l2, weights_);
        method().change_l2(old_l2);
        sampler_.begin_again();
        upcoming_.clear();
        updates_ = adopted_at_ = idle_ = oracle_calls_ = evaluations_ = windows_ = 0;
        step_total_ = 0.0;
        restore_dual();
    }

    // Only after start().
    void archive(Archive& archive) {
        method().archive_duals(archive);
        archive.array("entropies", entropy_);
        archive.array("weights", weights_);
        archive.array("remaining", remaining_);
        sampler_.archive(archive);
        upcoming_.archive(archive, sampler_.order());
        acceleration_.archive(archive);
        archive.generator("random", random_);
        Index calls = oracle_calls();
        archive.scalars("counters", {&updates_, &calls, &evaluations_, &adopted_at_, &idle_, &windows_});
        dual();
        archive.scalars("numbers", {&step_total_, &dual_, &epsilon_, &excess_, &remaining_total_, &crowding_});
        if (!archive.loading()) return;
        workers_.resize(threads_);
        make_slots();
        up_to_date_ = true;
        start_cursor_ = 2 * draws_per_pass();
        confirmation_.reset();
        oracle_calls_ = calls;
    }

   protected:
    // Scratch of one thread.
    struct Worker {
        typename F::Workspace oracle;
        std::vector<double> potentials, marginals, candidate, kept[2];
        typename F::Direction direction;
    };

    struct Step {
        double gap;      // of the block before the step
        double entropy;  // of the block after it
        double ascent;   // of the dual, per unit of sample weight
        double size;     // gamma, eta: zero where the block did not move
    };

    // What a step leaves behind.
    struct Slot {
        Index block;
        Step step;
        double factor;                           // weights += factor * direction, or the counts of change
        typename F::Direction direction;         // neither is looked at where the step is zero
        std::vector<double> change;              // in place of the direction, where threads have parts
        std::vector<std::vector<double>> parts;  // of the block's potentials, then: each thread has found its own
        double along, norm;                      // <w, direction> when the step was found; |direction|^2
        Index oracle_calls, evaluations;
        double length;                                      // |nu - mu|_1, where the sampler needs it
        double epsilon;                                     // of OEG: the next first step's
        double search_seconds = 0.0, update_seconds = 0.0;  // of SDCA
    };

    DualRun(const F& field, const SamplingOptions& sampling, const Concurrency& concurrency, bool accelerate)
        : threads_(concurrency.threads),
          window_(concurrency.window),
          field_(field),
          acceleration_(accelerate, field.l2(), field.dimension()),
          random_(sampling.seed),
          sampler_(sampling, active_blocks(field), field.blocks()),
          weights_(field.dimension(), 0.0),
          entropy_(field.blocks(), 0.0),
          remaining_(field.blocks(), 0.0),
          upcoming_(static_cast<Index>(sampler_.order().size())),
          own_parts_(field),
          confirmation_(field) {}

    // Where block i begins in an array that keeps size_of(i) numbers for each block of positive weight.
    template <class SizeOf>
    static std::vector<Index> offsets_by(const F& field, SizeOf&& size_of) {
        std::vector<Index> offsets{0};
        for (Index i = 0; i < field.blocks(); ++i)
            offsets.push_back(offsets.back() + (field.sample_weight(i) > 0.0 ? size_of(i) : 0));
        return offsets;
    }

    // The potentials of the slot's block.
    void score(const Slot& slot, double* theta) const {
        if constexpr (PartedField<F>) {
            if (in_parts()) return field_.join_parts(slot.block, weights_.data(), slot.parts, theta);
        }
        field_.score(slot.block, weights_.data(), theta);
    }

    // The squared norm of the counts of m, a change of the marginals of block i; what the weights will take is left in the
    // slot. Where threads have parts that is m itself: a direction is longer, and half of it would go from core to core.
    double pull(Index i, const double* m, Worker& worker, Slot& slot) const {
        if (!in_parts()) return field_.pull(i, m, slot.direction);
        const Index size = field_.compact_size(i);
        std::copy(m, m + size, room(slot.change, size));
        return field_.pull(i, m, worker.direction);
    }

    // weights += -a c_i / l2 (E_m F - F_i), the part of block i in w(mu); overwrites m.
    void add_weights(Index i, double* m, double a, std::vector<double>& weights) {
        typename F::Direction& direction = slots_[0].direction;
        field_.subtract_truth(i, m);
        field_.pull(i, m, direction);
        field_.apply(weights.data(), -a * field_.sample_weight(i) / l2(), direction);
    }

    // Of the problem that the updates work on.
    double l2() const { return field_.l2() + acceleration_.kappa(); }

    Index threads_, window_;
    double crowding_ = static_cast<double>(window_);  // at first as if all steps were alike
    std::vector<Worker> workers_;                     // one a thread
    std::vector<Slot> slots_;                         // one an update of a window
    std::vector<Slot> pending_;  // those of the window before, which the weights have not taken yet
    const F& field_;
    Acceleration acceleration_;
    Random random_;
    BlockSampler sampler_;
    std::vector<double> weights_;    // w(mu)
    std::vector<double> entropy_;    // H(mu_i)
    std::vector<double> remaining_;  // what the last step of each block left of its gap, times c_i
    double dual_ = 0.0, epsilon_ = 0.0;
    Index oracle_calls_ = 0, evaluations_ = 0;

   private:
    static constexpr Index kNone = -1;
    static constexpr double kCrowded = 1.5;      // from here on every window is measured,
    static constexpr Index kMeasuredEvery = 16;  // and below one in so many

    // Whether each thread has its part of the potentials and of the counts.
    bool in_parts() const { return PartedField<F> && threads_ > 1; }

    Method& method() { return static_cast<Method&>(*this); }

    void make_slots() {
        for (auto* slots : {&slots_, &pending_}) {
            slots->resize(window_);
            for (Slot& slot : *slots) slot.parts.resize(in_parts() ? threads_ : 0);
        }
        own_parts_.divide(threads_);
    }

    // Draws up to `most` different blocks; one that is there already is left, as `drawn`, for the next window.
    Index fill_window(Index most, Index& drawn) {
        Index size = 0;
        while (size < most) {
            const Index i = drawn == kNone ? next_block() : std::exchange(drawn, kNone);
            if (in_window(i, size)) {
                drawn = i;
                break;
            }
            slots_[size++].block = i;
        }
        return size;
    }

    Index next_block() {
        return upcoming_.next(sampler_, random_, [this]<int Step>(Index i) __attribute__((always_inline)) {
            if (threads_ > 1) return;  // each thread fetches what it will need itself
            if (Step == 0) {
                __builtin_prefetch(&entropy_[i], 1);
                __builtin_prefetch(&remaining_[i], 1);
                sampler_.prefetch(i);
            }
            method().template prefetch<Step>(i);
            if constexpr (FetchedField<F>) field_.template prefetch<Step>(i);
        });
    }

    bool in_window(Index i, Index size) const {
        return std::any_of(slots_.begin(), slots_.begin() + size, [i](const Slot& slot) { return slot.block == i; });
    }

    void update_window(Index size, Team& team) {
        longest_first(field_, size, [&](Index k) { return slots_[k].block; }, schedule_);
        take_pending(size, team);
        team.for_each(size, [&](Index k, Index member) {
            Slot& slot = slots_[schedule_[k]];
            slot.oracle_calls = slot.evaluations = 0;
            slot.step = {0.0, entropy_[slot.block], 0.0, 0.0};
            method().propose(slot.block, workers_[member], slot);
        });
        for (Index k = 0; k < size; ++k) {
            record(slots_[k]);
            method().committed(slots_[k]);
        }
        measured_ = size > 1 && (crowding_ > kCrowded || ++windows_ % kMeasuredEvery == 0);
        pending_size_ = size;
        slots_.swap(pending_);
    }

    // The weights take what the last window left; then the potentials of the next `size` blocks are found where threads share
    // that. Each thread looks at and writes its own part of the weights alone.
    void take_pending(Index size, Team& team) {
        products_.assign(team.size(), 0.0);
        team.run([&](Index member) {
            for (Index k = member; k < size && team.size() > 1; k += team.size())
                method().template prefetch<1>(slots_[schedule_[k]].block);
            for (Index k = 0; k < pending_size_; ++k) {
                if (in_parts() && k + 1 < pending_size_) prefetch_change(pending_[k + 1]);
                if (pending_[k].step.size > 0.0) take(pending_[k], {member, team.size()});
            }
            if (in_parts()) score_part(size, member);
        });
        if (pending_size_ > 0 && measured_) measure_crowding(std::accumulate(products_.begin(), products_.end(), 0.0));
        pending_size_ = 0;
    }

    // Half of the changes come from other cores.
    [[gnu::always_inline]] void prefetch_change(const Slot& slot) const {
        if (slot.step.size > 0.0) prefetch_all(field_.compact_size(slot.block), slot.change.data());
    }

    void take(const Slot& slot, const Part& part) {
        double& product = products_[part.index];
        if constexpr (PartedField<F>) {
            if (in_parts()) {
                const auto& own = own_parts_[part.index];
                const double* change = slot.change.data();
                std::vector<double>& scratch = workers_[part.index].potentials;
                if (measured_)
                    product += slot.factor * field_.product_part(own, slot.block, change, weights_.data(), scratch);
                return field_.add_part(own, slot.block, change, slot.factor, weights_.data());
            }
        }
        if (measured_) product += slot.factor * field_.product(weights_.data(), slot.direction, part);
        field_.apply(weights_.data(), slot.factor, slot.direction, part);
    }

    // What a member's weights give to the potentials of the next `size` blocks.
    void score_part(Index size, Index member) {
        if constexpr (PartedField<F>)
            for (Index k = 0; k < size; ++k) {
                const Index i = slots_[k].block;
                field_.score_part(own_parts_[member], i, weights_.data(),
                                  room(slots_[k].parts[member], field_.part_size(i)));
            }
    }

    // `products` sums <w, direction> at the weights that earlier blocks of the window had already changed; at the weights
    // that the steps were found for it was `along`. What is between them is the products of directions with each other.
    void measure_crowding(double products) {
        constexpr double kForget = 0.1;
        double squares = 0.0;
        for (Index k = 0; k < pending_size_; ++k) {
            const Slot& slot = pending_[k];
            if (!(slot.step.size > 0.0)) continue;
            products -= slot.factor * slot.along;
            squares += slot.factor * slot.factor * slot.norm;
        }
        if (!(squares > 0.0)) return;
        const double found = std::max(1.0, 1.0 + 2.0 * products / squares);
        crowding_ = found > crowding_ ? found : crowding_ + kForget * (found - crowding_);
    }

    void record(const Slot& slot) {
        const Index i = slot.block;
        const Step& step = slot.step;
        const double c = field_.sample_weight(i);
        entropy_[i] = step.entropy;
        dual_ += c * step.ascent;  // of the proximal problem, where there is one
        sampler_.record(i, c * step.gap);
        remaining_[i] = c * non_negative(step.gap - step.ascent);
        step_total_ += step.size;
        idle_ = step.size > 0.0 ? 0 : idle_ + 1;
        diverged_ = diverged_ || !std::isfinite(step.gap);
        oracle_calls_ += slot.oracle_calls;
        evaluations_ += slot.evaluations;
    }

    // The dual value of the problem asked for, from the weights and the entropies. Where every step was taken alone and
    // without acceleration, it is the sum of ascents.
    void look(Team& team) {
        if (up_to_date_) return;
        up_to_date_ = true;
        remaining_total_ = 0.0;
        for (Index i : sampler_.order()) remaining_total_ += remaining_[i];
        if (!acceleration_.active() && window_ == 1 && !moved_) return;
        moved_ = false;
        const Acceleration::Look found = acceleration_.look(weights_, team);
        excess_ = found.excess;
        dual_ = -0.5 * field_.l2() * found.conjugate_norm;
        for (Index i : sampler_.order()) dual_ += field_.sample_weight(i) * entropy_[i];
    }
    void look() {
        Team team(up_to_date_ ? 1 : threads_);
        look(team);
    }
    void restore_dual() {
        up_to_date_ = false;
        moved_ = true;
        look();
    }

    // R_i as far as the labelling rarest in y_i shows it.
    double radius(Index i) {
        double* m = room(workers_[0].marginals, field_.compact_size(i));
        field_.contrast(i, m);
        return field_.pull(i, m, slots_[0].direction);
    }

    // The mean of c_i R_i over some blocks.
    double mean_radius() {
        constexpr Index kEnough = 1000;
        const Index every = (draws_per_pass() + kEnough - 1) / kEnough;
        double total = 0.0, count = 0.0;
        for (Index k = 0; k < draws_per_pass(); k += every) {
            const Index i = sampler_.order()[k];
            total += field_.sample_weight(i) * radius(i);
            count += 1.0;
        }
        return total / count;
    }

    double step_total_ = 0.0;
    double excess_ = 0.0;  // of the gap over that of the proximal problem
    double remaining_total_ = 0.0;
    bool up_to_date_ = true;  // dual_, excess_ and remaining_total_
    bool moved_ = false;      // the marginals, otherwise than by steps
    Index updates_ = 0, adopted_at_ = 0, windows_ = 0;
    Index start_cursor_ = 0;
    Index idle_ = 0;  // updates since a block last moved
    bool diverged_ = false;
    Index pending_size_ = 0;
    bool measured_ = false;  // whether the pending window is to tell of crowding
    std::vector<Index> schedule_;
    UpcomingBlocks upcoming_;
    std::vector<double> products_;  // of the pending directions with the weights, by thread
    OwnParts<F> own_parts_;
    Confirmation<F> confirmation_;
};

}  // namespace dualfield
