// Windows: steps on several blocks that are all found at the same weights, on one thread or on several.
//
// A window holds different blocks. Threads take its blocks in turn and find a step for each; the steps are recorded in
// the order of the draws. Then the weights take all the steps, each thread for its own part of the weights; where the
// field allows it, the thread at once computes what that part adds to the potentials of the next window's blocks, so
// that most weights stay in the cache of one core. The result does not depend on the timing of threads, and on their
// number only by rounding. It does depend on the length of the window: a window of one block is the method as
// published.
//
// The steps of one window do not know of each other, so each is damped: see crowding.hpp.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "base/compiler.hpp"
#include "fields/field.hpp"
#include "solvers/parallel/crowding.hpp"
#include "solvers/parallel/shared_weights.hpp"
#include "solvers/parallel/upcoming_blocks.hpp"
#include "solvers/parallel/visit.hpp"
#include "threads/counters.hpp"

namespace dualfield {

// Note: what a method wants to remember of a step until it is recorded.
template <Field F, class Note>
class Windows {
    struct Slot : SharedWeights<F>::Exchange {
        Step step;
        Note note;
        double along, norm;  // <w, direction> when the step was found; |direction|^2
        Index oracle_calls, evaluations;
    };

    // Scratch of one thread.
    struct Scratch {
        typename F::Direction direction;
        std::vector<double> potentials;
    };

    class OwnVisit final : public Visit<Note> {
       public:
        OwnVisit(Windows& windows, Slot& slot, const double* weights, double l2, Scratch& scratch)
            : Visit<Note>(slot.block, &slot == &windows.slots_[0], slot.step, slot.note, slot.oracle_calls,
                          slot.evaluations),
              windows_(windows),
              slot_(slot),
              weights_(weights),
              l2_(l2),
              scratch_(scratch) {}

        void score(double* theta) override { windows_.shared_.score(slot_, weights_, theta); }

        double quadratic(const double* change, double along) override {
            slot_.norm = windows_.shared_.pull(slot_, change, scratch_.direction);
            slot_.along = along;
            return windows_.crowding_.factor() * windows_.field_.sample_weight(slot_.block) / l2_ * slot_.norm;
        }

       private:
        Windows& windows_;
        Slot& slot_;
        const double* weights_;
        double l2_;
        Scratch& scratch_;
    };

   public:
    Windows(const F& field, const Concurrency& concurrency, const BlockSampler& sampler)
        : field_(field),
          threads_(concurrency.threads),
          longest_(concurrency.window),
          shared_(field, concurrency.threads),
          crowding_(concurrency.window, sampler.draws_per_pass()),
          upcoming_(sampler) {}

    Index threads() const { return threads_; }
    bool one_by_one() const { return longest_ == 1; }
    OwnParts<F>& own_parts() { return shared_.own_parts(); }

    // Before the first window.
    void begin() { make_slots(); }

    // Before windows of this team, which may be smaller than asked for.
    void begin_slice(const Team& team) {
        if (shared_.divide(team.size())) make_slots();
    }

    // Whether a block has been drawn that did not fit the window before: it must be updated before the run may stop.
    bool block_left() const { return drawn_ != kNone; }

    // One window of at most `most` steps; returns how many it had. Weights have raw(), which steps change, and point(),
    // with which blocks are scored; where the two differ, not plain(), settle(start, length) makes the point of some
    // raw weights.
    //     fetch.operator()<Step>(i)   brings what is kept of block i into the cache: see prefetching.hpp
    //     propose(visit, member)      finds a step
    //     record(found)               in the order of the draws
    template <class Weights, class Fetch, class Propose, class Record>
    Index advance(Team& team, Index most, Weights& weights, double l2, BlockSampler& sampler, Random& random,
                  Fetch&& fetch, Propose&& propose, Record&& record) {
        const Index size = fill(std::min(crowding_.window(), most), sampler, random, fetch);
        longest_first(field_, size, [&](Index k) { return slots_[k].block; }, schedule_);
        begin_phase(team);
        std::atomic<Index> next{0};
        team.run([&](Index member) {
            const Part part{member, team.size()};
            try {
                take_and_score(size, part, weights, fetch);
            } catch (...) {
                scored_.give_up();
                throw;
            }
            for (Index k; (k = next.fetch_add(1, std::memory_order_relaxed)) < size;) {
                if (!scored_.wait_for(k + 1)) return;
                if (team.size() > 1) prefetch_proposal(k + team.size(), size, fetch);
                Slot& slot = slots_[schedule_[k]];
                slot.oracle_calls = slot.evaluations = 0;
                OwnVisit visit(*this, slot, weights.point().data(), l2, scratch_[member]);
                propose(visit, member);
                slot.factor = -slot.step.share * field_.sample_weight(slot.block) / l2;
            }
        });
        end_pending();
        crowding_.end_window();
        for (Index k = 0; k < size; ++k) {
            Slot& slot = slots_[k];
            const double length = slot.step.size > 0.0 ? std::abs(slot.factor) * std::sqrt(slot.norm) : 0.0;
            record(Found<Note>{slot.block, slot.step, length, slot.note, slot.oracle_calls, slot.evaluations});
        }
        measured_ = crowding_.due(size);
        pending_size_ = size;
        slots_.swap(pending_);
        return size;
    }

    // The weights take what the last window left.
    template <class Weights>
    void take_pending(Team& team, Weights& weights) {
        begin_phase(team);
        team.run([&](Index member) { take_and_score(0, {member, team.size()}, weights, []<int>(Index) {}); });
        end_pending();
    }

    void begin_again() {
        upcoming_.clear();
        crowding_.begin_again();
    }

    void archive(Archive& archive, const std::vector<Index>& order) {
        upcoming_.archive(archive, order);
        crowding_.archive(archive);
        if (archive.loading()) make_slots();
    }

   private:
    static constexpr Index kNone = -1;

    void make_slots() {
        for (auto* slots : {&slots_, &pending_}) {
            slots->resize(longest_);
            for (Slot& slot : *slots) shared_.make_room(slot);
        }
        scratch_.resize(threads_);
    }

    // Draws up to `most` different blocks. A block that is there already is left for the next window.
    template <class Fetch>
    Index fill(Index most, BlockSampler& sampler, Random& random, Fetch&& fetch) {
        const auto fetch_all = [&]<int Step>(Index i) DUALFIELD_INLINE {
            if (threads_ > 1) return;  // each thread fetches what it will read itself
            if (Step == 0) sampler.prefetch(i);
            fetch.template operator()<Step>(i);
            if constexpr (FetchedField<F>) field_.template prefetch<Step>(i);
        };
        Index size = 0;
        while (size < most) {
            const Index i = drawn_ == kNone ? upcoming_.next(sampler, random, fetch_all) : std::exchange(drawn_, kNone);
            const auto is_block = [i](const Slot& slot) { return slot.block == i; };
            if (std::any_of(slots_.begin(), slots_.begin() + size, is_block)) {
                drawn_ = i;
                break;
            }
            slots_[size++].block = i;
        }
        return size;
    }

    void begin_phase(const Team& team) {
        products_.assign(team.size(), 0.0);
        scored_.begin(team.size());
    }

    void end_pending() {
        if (pending_size_ > 0 && measured_) measure_crowding(std::accumulate(products_.begin(), products_.end(), 0.0));
        pending_size_ = 0;
    }

    // A part of the weights takes the steps of the last window; then the thread computes what the part adds to the
    // potentials of the next `size` blocks.
    template <class Weights, class Fetch>
    void take_and_score(Index size, const Part& part, Weights& weights, Fetch&& fetch) {
        const double* point = weights.point().data();
        prefetch_part<1>(0, size, part);
        prefetch_part<1>(1, size, part);
        if (part.count > 1) prefetch_proposal(part.index, size, fetch);
        for (Index k = 0; k < pending_size_; ++k) {
            if (k + 1 < pending_size_ && pending_[k + 1].step.size > 0.0) shared_.prefetch_change(pending_[k + 1]);
            if (!(pending_[k].step.size > 0.0)) continue;
            if (measured_)
                products_[part.index] += shared_.product(pending_[k], point, part, scratch_[part.index].potentials);
            shared_.take(pending_[k], weights.raw().data(), part);
            if (!weights.plain())
                field_.for_each_range_of(
                    pending_[k].block, [&](Index start, Index length) { weights.settle(start, length); }, part);
        }
        prefetch_part<2>(0, size, part);
        for (Index k = 0; k < size; ++k) {
            prefetch_part<2>(k + 1, size, part);
            prefetch_part<1>(k + 2, size, part);
            shared_.score_part(slots_[schedule_[k]], point, part);
            scored_.reached(part.index, k + 1);
        }
    }

    // What the part and the proposal of slot k of the schedule will read, where there is such a slot.
    template <int Step>
    DUALFIELD_INLINE void prefetch_part(Index k, Index size, const Part& part) {
        if (k < size) shared_.template prefetch_part<Step>(slots_[schedule_[k]].block, part);
    }
    template <class Fetch>
    DUALFIELD_INLINE void prefetch_proposal(Index k, Index size, Fetch&& fetch) const {
        if (k >= size) return;
        const Index i = slots_[schedule_[k]].block;
        fetch.template operator()<1>(i);
        shared_.prefetch_counts(i);
    }

    // `products` sums <w, direction> at the weights that earlier steps of the window had already changed; at the
    // weights that the steps were found for, the product was `along`. The difference is the products of directions with
    // each other. Not inlined: sums must be rounded alike whether or not a run is cut in two.
    DUALFIELD_NOINLINE void measure_crowding(double products) {
        double squares = 0.0;
        for (Index k = 0; k < pending_size_; ++k) {
            const Slot& slot = pending_[k];
            if (!(slot.step.size > 0.0)) continue;
            products -= slot.factor * slot.along;
            squares += slot.factor * slot.factor * slot.norm;
        }
        crowding_.measured(products, squares);
    }

    const F& field_;
    Index threads_, longest_;
    SharedWeights<F> shared_;
    Crowding crowding_;
    UpcomingBlocks upcoming_;
    Index drawn_ = kNone;        // left by the window before
    std::vector<Slot> slots_;    // one a step of a window
    std::vector<Slot> pending_;  // those of the window before, which the weights have not taken yet
    Index pending_size_ = 0;
    bool measured_ = false;         // whether the pending window is to tell of crowding
    std::vector<Scratch> scratch_;  // one a thread
    std::vector<Index> schedule_;
    std::vector<double> products_;  // of the pending directions with the weights, by thread
    Counters scored_;               // how many blocks each thread has scored its part of
};

}  // namespace dualfield
