// What the block-coordinate methods on the dual share: which block comes next, the weights that go with the marginals,
// the recorded gaps, the certificate, and working in slices.
//
// Steps may be found on several threads: see solvers/parallel/steps.hpp. One after the other they are the method as
// published.
//
// A method M derives from DualRun<F, M, Note>, where Note is what it remembers of a step until the step is
// recorded. DualMethod (dual_method.hpp) names what the method must have.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "base/compiler.hpp"
#include "fields/field.hpp"
#include "solvers/dual/acceleration.hpp"
#include "solvers/dual/common_state.hpp"
#include "solvers/dual/confirmation.hpp"
#include "solvers/dual/dual_method.hpp"
#include "solvers/dual/dual_options.hpp"
#include "solvers/parallel/prefetching.hpp"
#include "solvers/parallel/steps.hpp"

namespace dualfield {

template <DualField F, class Method, class NoteOfMethod>
class DualRun {
   public:
    using Note = NoteOfMethod;
    using Visit = dualfield::Visit<Note>;

    // Scratch of one thread.
    struct Worker {
        typename F::Workspace oracle, truth_oracle;
        std::vector<double> potentials, marginals, candidate, kept[2], truth;
        double truth_entropy = 0.0;
    };

    // The start, in slices like run(); true when it is complete.
    bool start(double seconds) {
        const Deadline deadline(seconds);
        const Index active = draws_per_pass();
        workers_.resize(threads_);
        steps_.begin();
        if (!begun_) {
            begun_ = true;
            Team team(threads_);
            weights_.write_zeros(team);
            if (acceleration_.active()) acceleration_.begin(mean_radius(), team);
            weights_.set_kappa(acceleration_.kappa(), team);
        }
        const std::vector<Index>& blocks = samplers_.active();
        while (start_cursor_ < active) {
            const Index i = blocks[start_cursor_++];
            if (samplers_.needs_smoothness())
                samplers_.set_smoothness(i, field_.sample_weight(i), l2() + field_.sample_weight(i) * radius(i));
            method().prepare(i);
            if (start_cursor_ == active) method().choose_start();
            if (deadline.passed()) return false;
        }
        while (start_cursor_ < 2 * active) {
            method().initialise(blocks[start_cursor_++ - active]);
            if (deadline.passed() && start_cursor_ < 2 * active) return false;
        }
        Team team(threads_);
        weights_.settle(team);
        restore_dual();
        if (!std::isfinite(dual_)) {  // the start itself is beyond floating point
            diverged_ = true;
            weights_.write_zeros(team);
        }
        return true;
    }

    // Runs updates until there were `max_updates` or the time is over, and then to the end of the window or of the
    // workers' period; returns how many there were. Both end with the pass.
    Index run(Index max_updates, double seconds) {
        static_assert(DualMethod<Method>);
        const Deadline deadline(seconds);
        Team team(threads_);
        steps_.begin_slice(team);
        tallies_.resize(samplers_.workers());
        confirmation_.discard();
        Index done = 0;
        while ((done < max_updates || steps_.block_left()) && !diverged_) {
            const Index in_pass = updates_ % draws_per_pass();
            if (acceleration_.active() && in_pass == 0 && updates_ > 0) {
                steps_.take_pending(team, weights_);
                look(team);
                if (acceleration_.end_pass(samplers_.recorded_total(), seen_, weights_, team)) steps_.weights_moved();
            }
            done += take_steps([&](auto&&... told) {
                return steps_.advance(team, draws_per_pass() - in_pass, weights_, l2(), samplers_, random_, told...);
            });
            if (!steps_.block_left() && deadline.passed()) break;
        }
        steps_.take_pending(team, weights_);
        return done;
    }

    // The certificate, by a full pass that changes nothing in the run. In slices; true when it is complete.
    bool confirm(double seconds) {
        Team team(threads_);
        return confirmation_.run(
            Deadline(seconds), team, steps_,
            [&](Index i, double* m, Index member) { return method().stored(i, m, workers_[member]); },
            [&](double unit, PenalisedWeights& w) { acceleration_.shift(unit, w, team); });
    }

    // Goes on from what the last complete confirm() found: weights without drift, every recorded gap exact.
    void adopt_confirmed() {
        weights_.swap(confirmation_.weights());
        adopt_judged();
        restore_dual();
        dual_ = confirmation_.certificate().dual;
        adopted_at_ = updates_;
        confirmation_.discard();
    }

    // Of a run on one of several partitions, see common_state.hpp: it starts and runs between take() and give_back(),
    // for a pass at most; gathers and judges at any time, in slices; and adopts when it has judged all its blocks.
    void take(CommonState& common) {
        exchange(common);
        if (common.epsilon > 0.0) epsilon_ = common.epsilon;
    }
    void give_back(CommonState& common) {
        common.epsilon = epsilon_;
        exchange(common);
    }
    bool gather(double seconds, CommonState& common) {
        Team team(threads_);
        return confirmation_.gather(
            Deadline(seconds), team, steps_,
            [&](Index i, double* m, Index member) { return method().stored(i, m, workers_[member]); }, common.sums);
    }
    bool judge(double seconds, CommonState& common) {
        Team team(threads_);
        return confirmation_.judge(
            Deadline(seconds), team,
            [&](Index i, double* m, Index member) { return method().stored(i, m, workers_[member]); }, common.sums);
    }
    bool judged() const { return confirmation_.judged(); }
    // The blocks have the gaps and entropies that were found, and marginals without drift.
    void adopt_judged() {
        entropy_.swap(confirmation_.entropies());
        steps_.weights_moved();
        const std::vector<Index>& blocks = samplers_.active();
        Team(threads_).for_each(draws_per_pass(),
                                [&](Index k, Index member) { method().repair(blocks[k], workers_[member]); });
        for (Index i : blocks) {
            samplers_.record(i, confirmation_.gaps()[i]);
            remaining_[i] = confirmation_.gaps()[i];
        }
    }
    // Of a run whose other workers are in other processes; see workers.hpp, which says what the numbers are. Before the
    // start; false where blocks of the field cannot be shared out. A pass is so many rounds, each with its exchange,
    // and then the exchange of private weights; the run has the common state meanwhile.
    bool join(std::uint64_t seed, Index rounds, Elsewhere elsewhere) {
        joined_ = steps_.join(field_, seed, rounds, std::move(elsewhere));
        return joined_;
    }
    bool joined() const { return joined_; }
    bool took_a_round() {
        bool took = false;
        steps_.with_workers([&](auto& workers) { took = workers.took_a_round(); });
        return took;
    }
    Index advance_a_round() {
        Team team(threads_);
        tallies_.resize(samplers_.workers());
        confirmation_.discard();
        return take_steps([&](auto&&... told) {
            Index size = 0;
            steps_.with_workers(
                [&](auto& workers) { size = workers.advance_a_round(team, weights_, l2(), samplers_, told...); });
            return size;
        });
    }
    Index collected_size() {
        Index size = 0;
        steps_.with_workers([&](auto& workers) { size = workers.collected_size(); });
        return size;
    }
    template <class Real>
    void collect(Real* changes) {
        steps_.with_workers([&](auto& workers) { workers.collect(weights_.raw().data(), changes); });
    }
    template <class Real>
    void spread(const Real* changes) {
        steps_.with_workers([&](auto& workers) { workers.spread(changes, weights_); });
    }
    // As many numbers as weights; zeros at first.
    template <class Real>
    void collect_private(Real* changes) {
        steps_.with_workers([&](auto& workers) { workers.collect_private(weights_.raw().data(), changes); });
    }
    template <class Real>
    void spread_private(const Real* changes) {
        Team team(threads_);
        steps_.with_workers([&](auto& workers) { workers.spread_private(team, changes, weights_); });
    }
    Index rounds_of_a_pass() {
        Index rounds = 0;
        steps_.with_workers([&](auto& workers) { rounds = workers.rounds_of_a_pass(); });
        return rounds;
    }
    // The mean of c_i R_i over some blocks, by which acceleration begins.
    double first_radius() {
        workers_.resize(threads_);
        return mean_radius();
    }

    // Sums over the blocks, each times its weight.
    struct Totals {
        double entropies, recorded, remaining;  // the gaps as recorded, and what the last steps left of them
    };
    Totals totals() const {
        double entropies = 0.0;
        for (Index i = 0; i < field_.blocks(); ++i) entropies += field_.sample_weight(i) * entropy_[i];
        return {entropies, samplers_.recorded_total(), std::accumulate(remaining_.begin(), remaining_.end(), 0.0)};
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
    const Zeros<double>& confirmed_weights() const { return confirmed() ? confirmation_.weights().point() : weights(); }
    const Zeros<double>& weights() const { return weights_.point(); }
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
    double chi() const { return samplers_.non_uniformity_of_gaps(); }
    double epsilon() const { return epsilon_; }
    double kappa() const { return acceleration_.kappa(); }  // 0 without acceleration
    Index draws_per_pass() const { return samplers_.draws_per_pass(); }
    Index updates_per_pass() const { return draws_per_pass(); }
    Index left_in_pass() const { return draws_per_pass() - updates_ % draws_per_pass(); }
    Index updates() const { return updates_; }
    Index adopted_at() const { return adopted_at_; }  // after how many updates adopt_confirmed() was last called
    Index oracle_calls() const { return oracle_calls_ + confirmation_.oracle_calls(); }
    Index evaluations() const { return evaluations_; }
    double step_total() const { return step_total_; }

    // After the state of a run that differs in l1 and l2 alone has been loaded: a new run, from its marginals.
    void begin_again(double old_l2, double old_l1) {
        Team team(threads_);
        acceleration_.begin_again({old_l1, old_l2}, weights_, team);
        method().change_l2(old_l2);
        samplers_.begin_again();
        steps_.begin_again();
        updates_ = adopted_at_ = idle_ = oracle_calls_ = evaluations_ = 0;
        step_total_ = 0.0;
        restore_dual();
    }

    // What belongs to the blocks. Only after start().
    void archive_blocks(Archive& archive) {
        method().archive_duals(archive);
        archive.array("entropies", entropy_);
        archive.array("remaining", remaining_);
        samplers_.archive(archive);
        steps_.archive(archive, samplers_);
        if (!archive.loading()) return;
        workers_.resize(threads_);
        start_cursor_ = 2 * draws_per_pass();
        confirmation_.reset();
    }

    // All of it. Only after start().
    void archive(Archive& archive) {
        archive_blocks(archive);
        archive.span("weights", weights_.raw().data(), field_.dimension());
        acceleration_.archive(archive);
        archive.generator("random", random_);
        Index calls = oracle_calls();
        archive.counters("counters", {&updates_, &calls, &evaluations_, &adopted_at_, &idle_});
        dual();
        archive.scalars("numbers", {&step_total_, &dual_, &epsilon_, &remaining_total_});
        archive.scalars("look", {&seen_.excess, &seen_.near, &seen_.turn});
        if (!archive.loading()) return;
        Team team(threads_);
        weights_.set_kappa(acceleration_.kappa(), team);
        up_to_date_ = true;
        oracle_calls_ = calls;
    }

   protected:
    DualRun(const F& field, const DualOptions& options)
        : threads_(options.concurrency.threads),
          field_(field),
          penalty_{{options.l1, field.l2()}, options.centre},
          acceleration_(options.accelerate, field.l2(), field.dimension()),
          random_(options.sampling.seed),
          samplers_(options.sampling, active_blocks(field), Steps<F, Note>::bounds(field, options.concurrency)),
          weights_(penalty_, field.dimension()),
          entropy_(field.blocks(), 0.0),
          remaining_(field.blocks(), 0.0),
          steps_(field, options.concurrency, samplers_, options.sampling.seed),
          confirmation_(field, penalty_) {}

    // Where block i begins in an array that keeps size_of(i) numbers for each block of positive weight.
    template <class SizeOf>
    static std::vector<Index> offsets_by(const F& field, SizeOf&& size_of) {
        std::vector<Index> offsets{0};
        for (Index i = 0; i < field.blocks(); ++i)
            offsets.push_back(offsets.back() + (field.sample_weight(i) > 0.0 ? size_of(i) : 0));
        return offsets;
    }

    // weights += -a c_i / l2 (E_m F - F_i), the part of block i in the raw weights; overwrites m.
    void add_weights(Index i, double* m, double a, Zeros<double>& weights) {
        field_.subtract_truth(i, m);
        field_.pull(i, m, direction_);
        field_.apply(weights.data(), -a * field_.sample_weight(i) / l2(), direction_);
    }

    // R*(v(epsilon)) as a function of epsilon, for raw weights epsilon a + epsilon^2 b; b may be null. Before any step.
    auto conjugate_along(const double* a, const double* b) const {
        const Index d = field_.dimension();
        const double aa = squared_norm(d, a), ab = b ? dot(d, a, b) : 0.0, bb = b ? squared_norm(d, b) : 0.0;
        return [=, this](double epsilon) {
            if (penalty_.plain()) return 0.5 * l2() * epsilon * epsilon * (aa + epsilon * (2.0 * ab + epsilon * bb));
            const double threshold = penalty_.net.l1 / l2();
            double total = 0.0;
            for (Index k = 0; k < d; ++k) {
                const double u = epsilon * (a[k] + (b ? epsilon * b[k] : 0.0)), s = soft_threshold(u, threshold);
                total += 0.5 * s * s + (penalty_.centre.empty() ? 0.0 : penalty_.centre[k] * u);
            }
            return l2() * total;
        };
    }

    // Of the problem that the updates work on.
    double l2() const { return field_.l2() + acceleration_.kappa(); }

    Index threads_;
    std::vector<Worker> workers_;  // one a thread
    const F& field_;
    Penalty penalty_;
    Acceleration acceleration_;
    Random random_;
    BlockSamplers samplers_;
    PenalisedWeights weights_;       // w(mu)
    std::vector<double> entropy_;    // H(mu_i)
    std::vector<double> remaining_;  // what the last step of each block left of its gap, times c_i
    double dual_ = 0.0, epsilon_ = 0.0;
    Index oracle_calls_ = 0, evaluations_ = 0;

   private:
    void exchange(CommonState& common) {
        weights_.swap(common.weights);
        std::swap(acceleration_, common.acceleration);
        std::swap(random_, common.random);
        std::swap(begun_, common.begun);
        steps_.weights_moved();
    }

    Method& method() { return static_cast<Method&>(*this); }
    const Method& method() const { return static_cast<const Method&>(*this); }

    // What is kept of block i, into the cache.
    template <int Step>
    DUALFIELD_INLINE void prefetch(Index i) const {
        prefetch_kept<Step>(entropy_, i);
        prefetch_kept<Step>(remaining_, i);
        method().for_each_kept([i](const auto& kept) DUALFIELD_INLINE { prefetch_kept<Step>(kept, i); });
    }

    // What the steps of one worker add up to.
    struct alignas(64) Tally {
        double ascent = 0.0, step_total = 0.0;
        Index oracle_calls = 0, evaluations = 0;
        Index updates = 0, idle = 0;  // idle: the last ones, in which no block moved
        bool diverged = false;
    };

    // A step whose gap is no number, or that is longer than weights can take, ends the run: they stay as they were
    // before it.
    void record(const Found<Note>& found, Tally& tally) {
        constexpr double kLongest = 1e100;
        const Index i = found.block;
        Step& step = found.step;
        if (!std::isfinite(step.gap) || !(found.length < kLongest)) {
            tally.diverged = true;
            step.size = 0.0;
        }
        const double c = field_.sample_weight(i);
        entropy_[i] = step.entropy;
        tally.ascent += c * step.ascent;  // of the proximal problem, where there is one
        samplers_.record(i, c * step.gap);
        remaining_[i] = c * non_negative(step.gap - step.ascent);
        tally.step_total += step.size;
        ++tally.updates;
        tally.idle = step.size > 0.0 ? 0 : tally.idle + 1;
        tally.oracle_calls += found.oracle_calls;
        tally.evaluations += found.evaluations;
    }
    void take_tallies() {
        for (Tally& tally : tallies_) {
            dual_ += tally.ascent;
            step_total_ += tally.step_total;
            oracle_calls_ += tally.oracle_calls;
            evaluations_ += tally.evaluations;
            idle_ = tally.idle < tally.updates ? tally.idle : idle_ + tally.updates;
            diverged_ = diverged_ || tally.diverged;
            tally = Tally();
        }
    }

    // The dual value of the problem asked for, from the weights and the entropies. Where every step was taken alone,
    // without acceleration and l1, on a field whose truth stays, it is the sum of ascents.
    void look(Team& team) {
        if (up_to_date_) return;
        up_to_date_ = true;
        remaining_total_ = std::accumulate(remaining_.begin(), remaining_.end(), 0.0);
        const bool sums_ascents = steps_.one_by_one() && penalty_.net.plain() && !FollowingField<F>;
        if (!acceleration_.active() && sums_ascents && !moved_) return;
        moved_ = false;
        double entropies = 0.0;
        for (Index i = 0; i < field_.blocks(); ++i) entropies += field_.sample_weight(i) * entropy_[i];
        seen_ = acceleration_.look(weights_, entropies, team);
        dual_ = seen_.dual;
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

    // work(fetch, propose, record, commit) takes steps and returns how many: see Steps::advance.
    template <class Work>
    Index take_steps(Work&& work) {
        up_to_date_ = false;
        const Index size = work([this]<int Step>(Index i) DUALFIELD_INLINE { this->template prefetch<Step>(i); },
                                [this](Visit& visit, Index member) {
                                    visit.step = {0.0, entropy_[visit.block()], 0.0, 0.0, 0.0};
                                    method().propose(visit.block(), workers_[member], visit);
                                },
                                [this](const Found<Note>& found, Index worker) { record(found, tallies_[worker]); },
                                [this](Index block, const Note& note) { method().committed(block, note); });
        take_tallies();
        updates_ += size;
        return size;
    }

    // R_i as far as the labelling rarest in y_i shows it.
    double radius(Index i) {
        double* m = room(workers_[0].marginals, field_.compact_size(i));
        field_.contrast(i, m);
        return field_.pull(i, m, direction_);
    }

    // The mean of c_i R_i over some blocks.
    double mean_radius() {
        constexpr Index kEnough = 1000;
        const Index every = (draws_per_pass() + kEnough - 1) / kEnough;
        double total = 0.0, count = 0.0;
        for (Index k = 0; k < draws_per_pass(); k += every) {
            const Index i = samplers_.active()[k];
            total += field_.sample_weight(i) * radius(i);
            count += 1.0;
        }
        return total / count;
    }

    Steps<F, Note> steps_;
    std::vector<Tally> tallies_;       // one a worker
    typename F::Direction direction_;  // scratch of the start
    double step_total_ = 0.0;
    Acceleration::Look seen_;
    double remaining_total_ = 0.0;
    bool up_to_date_ = true;  // dual_, seen_ and remaining_total_
    bool moved_ = false;      // the marginals, otherwise than by steps
    Index updates_ = 0, adopted_at_ = 0;
    bool begun_ = false;  // the first weights are there
    Index start_cursor_ = 0;
    Index idle_ = 0;  // updates since a block last moved
    bool diverged_ = false;
    bool joined_ = false;  // other workers are elsewhere
    Confirmation<F> confirmation_;
};

}  // namespace dualfield
