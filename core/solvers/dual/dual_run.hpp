// What the block-coordinate methods on the dual share: which block comes next, the weights that go with the marginals,
// the recorded gaps, the certificate, and working in slices.
//
// Updates come in *windows* of different blocks. All blocks of a window look at the same weights, each on whatever thread
// is free, and find their steps, which are recorded in the order of the draws; then the weights take all the directions,
// each thread for a part of the weights, and where the field allows it finds, from that part, its share of the next
// window's potentials: so most weights stay in the cache of one core. Nothing depends on the timing of threads, and on
// their number only by rounding; it does on the length of the window: one, for one thread, is the method as published.
// Steps of one window do not know of each other: see crowding.hpp.
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
#include <atomic>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "fields/field.hpp"
#include "solvers/dual/acceleration.hpp"
#include "solvers/dual/confirmation.hpp"
#include "solvers/parallel/crowding.hpp"
#include "solvers/parallel/shared_weights.hpp"
#include "solvers/parallel/upcoming_blocks.hpp"
#include "threads/counters.hpp"

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
        if (start_cursor_ == 0) {
            Team team(threads_);
            write_zeros(team, weights_);
            if (acceleration_.active()) acceleration_.begin(mean_radius(), team);
        }
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
        if (!std::isfinite(seen_.conjugate_norm)) {  // the start itself is beyond floating point
            diverged_ = true;
            std::fill(weights_.begin(), weights_.end(), 0.0);
        }
        return true;
    }

    // Runs updates until there were `max_updates` or the time is over, and then to the end of the window; returns how many
    // there were. A window ends with the pass.
    Index run(Index max_updates, double seconds) {
        const Deadline deadline(seconds);
        Team team(threads_);
        if (shared_.divide(team.size())) make_slots();  // it may be smaller than asked for
        confirmation_.discard();
        Index done = 0, drawn = kNone;
        while ((done < max_updates || drawn != kNone) && !diverged_) {
            const Index in_pass = updates_ % draws_per_pass();
            if (acceleration_.active() && in_pass == 0 && updates_ > 0) {
                take_pending(team);
                look(team);
                acceleration_.end_pass(sampler_.recorded_total(), seen_, weights_, team);
            }
            up_to_date_ = false;
            const Index size = fill_window(std::min(crowding_.window(), draws_per_pass() - in_pass), drawn);
            update_window(size, team);
            done += size;
            updates_ += size;
            if (drawn == kNone && deadline.passed()) break;
        }
        take_pending(team);
        return done;
    }

    // The certificate, by a full pass that changes nothing in the run. In slices; true when it is complete.
    bool confirm(double seconds) {
        Team team(threads_);
        return confirmation_.run(
            Deadline(seconds), team, shared_.own_parts(),
            [&](Index i, double* m, Index member) { return method().stored(i, m, workers_[member]); },
            [&](Zeros<double>& w) { acceleration_.shift(w, team); });
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
    const Zeros<double>& confirmed_weights() const { return confirmed() ? confirmation_.weights() : weights_; }
    const Zeros<double>& weights() const { return weights_; }
    const Certificate& certificate() const { return confirmation_.certificate(); }
    // Of the problem asked for. With acceleration they take a look at all weights, once after each run().
    double dual() {
        look();
        return dual_;
    }
    double gap_estimate() {
        look();
        return remaining_total_ + seen_.excess;
    }
    double chi() const { return sampler_.non_uniformity_of_gaps(); }
    double epsilon() const { return epsilon_; }
    double kappa() const { return acceleration_.kappa(); }  // 0 without acceleration
    Index draws_per_pass() const { return sampler_.draws_per_pass(); }
    Index left_in_pass() const { return draws_per_pass() - updates_ % draws_per_pass(); }
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
        updates_ = adopted_at_ = idle_ = oracle_calls_ = evaluations_ = 0;
        crowding_.begin_again();
        step_total_ = 0.0;
        restore_dual();
    }

    // Only after start().
    void archive(Archive& archive) {
        method().archive_duals(archive);
        archive.array("entropies", entropy_);
        archive.span("weights", weights_.data(), field_.dimension());
        archive.array("remaining", remaining_);
        sampler_.archive(archive);
        upcoming_.archive(archive, sampler_.order());
        acceleration_.archive(archive);
        archive.generator("random", random_);
        Index calls = oracle_calls();
        archive.counters("counters", {&updates_, &calls, &evaluations_, &adopted_at_, &idle_});
        dual();
        archive.scalars("numbers", {&step_total_, &dual_, &epsilon_, &remaining_total_});
        crowding_.archive(archive);
        archive.scalars("look", {&seen_.excess, &seen_.conjugate_norm, &seen_.turn});
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
    struct Slot : SharedWeights<F>::Exchange {
        Step step;
        double along, norm;  // <w, direction> when the step was found; |direction|^2
        Index oracle_calls, evaluations;
        double length;                                      // |nu - mu|_1, where the sampler needs it
        double epsilon;                                     // of OEG: the next first step's
        double search_seconds = 0.0, update_seconds = 0.0;  // of SDCA
    };

    DualRun(const F& field, const SamplingOptions& sampling, const Concurrency& concurrency, bool accelerate)
        : threads_(concurrency.threads),
          window_(concurrency.window),
          field_(field),
          shared_(field, concurrency.threads),
          acceleration_(accelerate, field.l2(), field.dimension()),
          random_(sampling.seed),
          sampler_(sampling, active_blocks(field), field.blocks()),
          crowding_(concurrency.window, sampler_.draws_per_pass()),
          weights_(field.dimension()),
          entropy_(field.blocks(), 0.0),
          remaining_(field.blocks(), 0.0),
          upcoming_(sampler_),
          confirmation_(field) {}

    // Where block i begins in an array that keeps size_of(i) numbers for each block of positive weight.
    template <class SizeOf>
    static std::vector<Index> offsets_by(const F& field, SizeOf&& size_of) {
        std::vector<Index> offsets{0};
        for (Index i = 0; i < field.blocks(); ++i)
            offsets.push_back(offsets.back() + (field.sample_weight(i) > 0.0 ? size_of(i) : 0));
        return offsets;
    }

    // weights += -a c_i / l2 (E_m F - F_i), the part of block i in w(mu); overwrites m.
    void add_weights(Index i, double* m, double a, Zeros<double>& weights) {
        typename F::Direction& direction = slots_[0].direction;
        field_.subtract_truth(i, m);
        field_.pull(i, m, direction);
        field_.apply(weights.data(), -a * field_.sample_weight(i) / l2(), direction);
    }

    // Of the problem that the updates work on.
    double l2() const { return field_.l2() + acceleration_.kappa(); }

    Index threads_, window_;
    std::vector<Worker> workers_;  // one a thread
    std::vector<Slot> slots_;      // one an update of a window
    std::vector<Slot> pending_;    // those of the window before, which the weights have not taken yet
    const F& field_;
    SharedWeights<F> shared_;
    Acceleration acceleration_;
    Random random_;
    BlockSampler sampler_;
    Crowding crowding_;
    Zeros<double> weights_;          // w(mu)
    std::vector<double> entropy_;    // H(mu_i)
    std::vector<double> remaining_;  // what the last step of each block left of its gap, times c_i
    double dual_ = 0.0, epsilon_ = 0.0;
    Index oracle_calls_ = 0, evaluations_ = 0;

   private:
    static constexpr Index kNone = -1;

    Method& method() { return static_cast<Method&>(*this); }
    const Method& method() const { return static_cast<const Method&>(*this); }

    void make_slots() {
        for (auto* slots : {&slots_, &pending_}) {
            slots->resize(window_);
            for (Slot& slot : *slots) shared_.make_room(slot);
        }
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
        products_.assign(team.size(), 0.0);
        scored_.begin(team.size());
        std::atomic<Index> next{0};
        team.run([&](Index member) {
            try {
                take_all(size, {member, team.size()});
            } catch (...) {
                scored_.give_up();
                throw;
            }
            for (Index k; (k = next.fetch_add(1, std::memory_order_relaxed)) < size;) {
                if (!scored_.wait_for(k + 1)) return;
                if (team.size() > 1) prefetch_proposal(k + team.size(), size);
                Slot& slot = slots_[schedule_[k]];
                slot.oracle_calls = slot.evaluations = 0;
                slot.step = {0.0, entropy_[slot.block], 0.0, 0.0};
                method().propose(slot.block, workers_[member], slot);
            }
        });
        end_pending();
        crowding_.end_window();
        for (Index k = 0; k < size; ++k) {
            record(slots_[k]);
            method().committed(slots_[k]);
        }
        measured_ = crowding_.due(size);
        pending_size_ = size;
        slots_.swap(pending_);
    }

    // The weights take what the last window left, with no other to follow.
    void take_pending(Team& team) {
        products_.assign(team.size(), 0.0);
        team.run([&](Index member) { take_all(0, {member, team.size()}); });
        end_pending();
    }

    void end_pending() {
        if (pending_size_ > 0 && measured_) measure_crowding(std::accumulate(products_.begin(), products_.end(), 0.0));
        pending_size_ = 0;
    }

    // A part of the weights takes what the last window left; then its share of the potentials of the next `size` blocks is found.
    void take_all(Index size, const Part& part) {
        prefetch_part<1>(0, size, part);
        prefetch_part<1>(1, size, part);
        if (part.count > 1) prefetch_proposal(part.index, size);
        for (Index k = 0; k < pending_size_; ++k) {
            if (k + 1 < pending_size_ && pending_[k + 1].step.size > 0.0) shared_.prefetch_change(pending_[k + 1]);
            if (!(pending_[k].step.size > 0.0)) continue;
            if (measured_)
                products_[part.index] +=
                    shared_.product(pending_[k], weights_.data(), part, workers_[part.index].potentials);
            shared_.take(pending_[k], weights_.data(), part);
        }
        prefetch_part<2>(0, size, part);
        for (Index k = 0; k < size; ++k) {
            prefetch_part<2>(k + 1, size, part);
            prefetch_part<1>(k + 2, size, part);
            shared_.score_part(slots_[schedule_[k]], weights_.data(), part);
            scored_.reached(part.index, k + 1);
        }
    }

    // What the share and the proposal of slot k of the schedule will need, where there is one.
    template <int Step>
    [[gnu::always_inline]] void prefetch_part(Index k, Index size, const Part& part) {
        if (k < size) shared_.template prefetch_part<Step>(slots_[schedule_[k]].block, part);
    }
    [[gnu::always_inline]] void prefetch_proposal(Index k, Index size) const {
        if (k >= size) return;
        method().template prefetch<1>(slots_[schedule_[k]].block);
        shared_.prefetch_counts(slots_[schedule_[k]].block);
    }

    // `products` sums <w, direction> at the weights that earlier blocks of the window had already changed; at the weights
    // that the steps were found for it was `along`. What is between them is the products of directions with each other. Not
    // inlined: whether or not a run is cut in two, sums are to be rounded alike.
    [[gnu::noinline]] void measure_crowding(double products) {
        double squares = 0.0;
        for (Index k = 0; k < pending_size_; ++k) {
            const Slot& slot = pending_[k];
            if (!(slot.step.size > 0.0)) continue;
            products -= slot.factor * slot.along;
            squares += slot.factor * slot.factor * slot.norm;
        }
        crowding_.measured(products, squares);
    }

    // A step whose gap is no number, or that is longer than weights can take, ends the run: they stay as they were before it.
    void record(Slot& slot) {
        constexpr double kLongest = 1e100;
        const Index i = slot.block;
        Step& step = slot.step;
        const bool taken = step.size > 0.0;
        if (!std::isfinite(step.gap) || (taken && !(std::abs(slot.factor) * std::sqrt(slot.norm) < kLongest))) {
            diverged_ = true;
            step.size = 0.0;
        }
        const double c = field_.sample_weight(i);
        entropy_[i] = step.entropy;
        dual_ += c * step.ascent;  // of the proximal problem, where there is one
        sampler_.record(i, c * step.gap);
        remaining_[i] = c * non_negative(step.gap - step.ascent);
        step_total_ += step.size;
        idle_ = step.size > 0.0 ? 0 : idle_ + 1;
        oracle_calls_ += slot.oracle_calls;
        evaluations_ += slot.evaluations;
    }

    // The dual value of the problem asked for, from the weights and the entropies. Where every step was taken alone and
    // without acceleration, it is the sum of ascents.
    void look(Team& team) {
        if (up_to_date_) return;
        up_to_date_ = true;
        remaining_total_ = std::accumulate(remaining_.begin(), remaining_.end(), 0.0);
        if (!acceleration_.active() && window_ == 1 && !moved_) return;
        moved_ = false;
        seen_ = acceleration_.look(weights_, team);
        dual_ = -0.5 * field_.l2() * seen_.conjugate_norm;
        for (Index i = 0; i < field_.blocks(); ++i) dual_ += field_.sample_weight(i) * entropy_[i];
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
    Acceleration::Look seen_;
    double remaining_total_ = 0.0;
    bool up_to_date_ = true;  // dual_, seen_ and remaining_total_
    bool moved_ = false;      // the marginals, otherwise than by steps
    Index updates_ = 0, adopted_at_ = 0;
    Index start_cursor_ = 0;
    Index idle_ = 0;  // updates since a block last moved
    bool diverged_ = false;
    Index pending_size_ = 0;
    bool measured_ = false;  // whether the pending window is to tell of crowding
    std::vector<Index> schedule_;
    UpcomingBlocks upcoming_;
    std::vector<double> products_;  // of the pending directions with the weights, by thread
    Counters scored_;               // of the members in finding potentials
    Confirmation<F> confirmation_;
};

}  // namespace dualfield
