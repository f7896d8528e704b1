// How a method on the dual takes its steps: in windows, or by workers that own blocks. The options say which.
#pragma once

#include <memory>
#include <type_traits>

#include "solvers/parallel/windows.hpp"
#include "solvers/parallel/workers.hpp"

namespace dualfield {

// Who may own blocks of a field.
template <Field F, class Note>
struct WorkersOf {
    struct Type {};
};
template <SharedOutField F, class Note>
struct WorkersOf<F, Note> {
    using Type = Workers<F, Note>;
};

template <Field F, class Note>
class Steps {
    static constexpr bool kMayWork = SharedOutField<F>;

   public:
    Steps(const F& field, const Concurrency& concurrency, const BlockSamplers& samplers, std::uint64_t seed)
        : samplers_(samplers), windows_(field, concurrency, samplers[0]) {
        if constexpr (kMayWork)
            if (samplers.workers() > 1) workers_ = std::make_unique<Workers<F, Note>>(field, samplers, seed);
    }

    // The bounds of workers' blocks, or of one sampler for all.
    static std::vector<Index> bounds(const F& field, const Concurrency& concurrency) {
        Index workers = 1;
        if constexpr (kMayWork)
            if (field.may_be_shared_out()) workers = std::max(concurrency.workers, workers);
        return equal_ranges(field.blocks(), workers, [&](Index i) {
            return field.sample_weight(i) > 0.0 ? static_cast<double>(field.compact_size(i)) : 0.0;
        });
    }

    // From now on this process has one worker, and the others are elsewhere: see workers.hpp. False where blocks of the
    // field cannot be shared out.
    bool join([[maybe_unused]] const F& field, [[maybe_unused]] std::uint64_t seed, [[maybe_unused]] Index rounds,
              [[maybe_unused]] Elsewhere elsewhere) {
        if constexpr (kMayWork) {
            if (!field.may_be_shared_out() || samplers_.workers() > 1) return false;
            workers_ = std::make_unique<Workers<F, Note>>(field, seed, rounds, std::move(elsewhere));
            return true;
        }
        return false;
    }
    // work(workers), for workers of which others are elsewhere.
    template <class Work>
    void with_workers([[maybe_unused]] Work&& work) {
        if constexpr (kMayWork) work(*workers_);
    }

    OwnParts<F>& own_parts() { return windows_.own_parts(); }
    bool one_by_one() const { return !working() && windows_.one_by_one(); }

    // Whether blocks have owners, who can add up counts as Workers::count() says.
    bool working() const { return workers_ != nullptr; }
    template <class Counted>
    bool count(const Deadline& deadline, Team& team, Zeros<double>& sums, double unit, Counted&& counted) {
        if constexpr (kMayWork) return workers_->count(deadline, team, samplers_, sums, unit, counted);
        return true;
    }

    void begin() { windows_.begin(); }
    void begin_slice(const Team& team) {
        if (!working()) windows_.begin_slice(team);
    }

    // Whether a block has been drawn that must be updated before the run may stop.
    bool block_left() const { return !working() && windows_.block_left(); }

    // The weights have been changed otherwise than by steps.
    void weights_moved() {
        if constexpr (kMayWork)
            if (workers_) workers_->weights_moved();
    }

    // Some steps, `most` or fewer being left of the pass; returns how many. See windows.hpp and workers.hpp.
    template <class Weights, class Fetch, class Propose, class Record, class Commit>
    Index advance(Team& team, Index most, Weights& weights, double l2, BlockSamplers& samplers, Random& random,
                  Fetch&& fetch, Propose&& propose, Record&& record, Commit&& commit) {
        if constexpr (kMayWork)
            if (workers_) return workers_->advance(team, weights, l2, samplers, fetch, propose, record, commit);
        return windows_.advance(team, most, weights, l2, samplers[0], random, fetch, propose,
                                [&](const Found<Note>& found) {
                                    record(found, Index{0});
                                    commit(found.block, found.note);
                                });
    }

    // The weights take all steps.
    template <class Weights>
    void take_pending(Team& team, Weights& weights) {
        if constexpr (kMayWork)
            if (workers_) return workers_->store(team, weights);
        windows_.take_pending(team, weights);
    }

    void begin_again() {
        windows_.begin_again();
        if constexpr (kMayWork)
            if (workers_) workers_->begin_again();
    }

    // After the samplers.
    void archive(Archive& archive, const BlockSamplers& samplers) {
        windows_.archive(archive, samplers[0].order());
        if constexpr (kMayWork)
            if (workers_) return workers_->archive(archive, samplers);
        std::vector<double> no_workers, no_damping;
        archive_numbers(archive, no_workers, no_damping);
    }

   private:
    const BlockSamplers& samplers_;
    Windows<F, Note> windows_;
    std::unique_ptr<typename WorkersOf<F, Note>::Type> workers_;  // none: windows
};

}  // namespace dualfield
