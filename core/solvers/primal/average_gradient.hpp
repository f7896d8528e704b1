// What SAG and SAGA share: the last gradient of every block, kept as compact marginals, their sum d, which block comes
// next, and the Lipschitz constants that set the step.
//
//     d = sum_i g_i,   g_i = c_i (E_{m_i} F - F_i)
// with m_i the marginals at the block's last visit, at first the indicators of the truth, so that g_i = 0. The
// objective is in mean units here: 1/n sum_i c_i loss_i + lambda/2 |w|^2, lambda = l2/n.
//
// Updates come in *windows* of different blocks. The gradients of a window are all computed from the same weights, each
// on whatever thread is free. Then the method takes its steps in the order of the draws, and each thread writes its
// part of the weights. So nothing depends on the timing of threads. The price: a gradient does not see the earlier
// steps of its window. Where all blocks have curvature h along some direction, steps alpha on m of them follow
//     m w'' + (1 - alpha h t) w' + alpha h w = 0      (time in updates; a gradient is t late),
// which grows once alpha h t > 1. The step is about 1/L, and h at most about L times the root mean square of the cosine
// between changes of different blocks' gradients, as found in earlier windows: small on text, near one where attributes
// are dense. A window is kept as short as 1 + 1/cosine, and as m/8 where few have been seen.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "sampling/weighted_tree.hpp"
#include "solvers/primal/gap_estimate.hpp"
#include "solvers/primal/primal_run.hpp"
#include "solvers/primal/smoothness.hpp"
#include "solvers/primal/thresholded_weights.hpp"

namespace dualfield {

// uniform: one Lipschitz constant for all. nus, nus_star: one a block, and blocks that change fast are drawn more
// often.
enum class GradientSampling { uniform, nus, nus_star };

inline RuleNames<GradientSampling> names_of(GradientSampling) {
    return {
        {"uniform", GradientSampling::uniform}, {"nus", GradientSampling::nus}, {"nus*", GradientSampling::nus_star}};
}

struct AverageGradientOptions {
    GradientSampling sampling;
    Index threads, window;
    std::uint64_t seed;

    void each(auto&& option) {
        option("sampling", sampling);
        option("threads", threads);
        option("window", window);
        option("seed", seed);
    }
    void check(const auto&) const { check_option(threads >= 1 && window >= 1, "there must be a thread and a window"); }
};

template <Field F, class Method>
class AverageGradientRun : public PrimalRun<F, AverageGradientRun<F, Method>> {
    using Base = PrimalRun<F, AverageGradientRun<F, Method>>;
    friend Base;

   public:
    using Options = AverageGradientOptions;

    explicit AverageGradientRun(const F& field, const Options& options, double l1 = 0.0)
        : Base(field, options.seed, options.threads, l1),
          weights_(make_moving_weights(field, Lazy::drifting, l1)),
          sampling_(options.sampling),
          workers_(options.threads, Worker(field)),
          slots_(options.window),
          constants_(sampling_ == GradientSampling::uniform ? 0 : field.blocks()),
          visits_(field.blocks(), 0),
          quiet_(field.blocks(), 0),
          skip_(field.blocks(), 0),
          losses_(field.blocks(), 0.0),
          offsets_{0} {
        for (Index i = 0; i < field.blocks(); ++i)
            offsets_.push_back(offsets_.back() + (field.sample_weight(i) > 0.0 ? field.compact_size(i) : 0));
        marginals_.assign(offsets_.back(), 0.0);
        for (Index i : Base::active_) {
            field.subtract_truth(i, memory(i));
            scale(field.compact_size(i), -1.0, memory(i));
        }
        unseen_ = Base::active_;
    }

    Index per_pass() const { return Base::active_count(); }
    void read(double* w) const { weights_->read(w); }
    void set(const double* w) { weights_->set(w); }
    Index seen() const { return seen_; }
    auto numbers() const {
        return Base::numbers_with(
            {{"smoothness", sampling_ == GradientSampling::uniform ? constant_ : mean_constant()}});
    }

    // Estimates (gap, primal) from the kept gradients and the losses at the last visits. Without l1 the gap is
    // |d + l2 w|^2 / (2 l2).
    std::pair<double, double> estimate() {
        if (seen_ < Base::active_count()) return {std::numeric_limits<double>::infinity(), 1.0};
        std::vector<double> w(Base::field_.dimension());
        Team team(Base::threads_);
        team.over_ranges(Base::field_.dimension(),
                         [&](Index first, Index end) { weights_->read(first, end, w.data()); });
        double losses = 0.0;
        for (Index i : Base::active_) losses += Base::field_.sample_weight(i) * losses_[i];
        return estimate_gap(Base::penalty_, w, weights_->drift(), losses, team);
    }

   protected:
    using Direction = typename F::Direction;

    GradientSampling sampling() const { return sampling_; }
    double common_constant() const { return constant_; }
    double mean_constant() const { return seen_ > 0 ? constants_.total() / static_cast<double>(seen_) : 1.0; }
    double largest_constant() const { return largest_; }

    // n times the probability that a block with Lipschitz constant L is drawn.
    double relative_probability(double L) const {
        switch (sampling_) {
            case GradientSampling::uniform:
                return 1.0;
            case GradientSampling::nus:
                return seen_ < Base::active_count() ? 1.0 : (L + offset()) / (mean_constant() + offset());
            case GradientSampling::nus_star:
                return constants_.total() > 0.0 ? 0.5 + 0.5 * L / mean_constant() : 1.0;
        }
        return 1.0;
    }

    std::unique_ptr<MovingWeights<F>> weights_;

   private:
    static constexpr Index kNone = -1;
    static constexpr Index kMostTries = 1000;   // times n: draws until one hits a block that was seen
    static constexpr Index kSeenForEach = 8;    // blocks must have been seen for each block of a window
    static constexpr Index kMeasuredEvery = 4;  // the cosine is measured in one window of so many, after the first pass
    static constexpr double kLeastCosine = 1e-6;

    // Scratch of one thread.
    struct Worker {
        explicit Worker(const F& field) : search(field) {}
        typename F::Workspace oracle;
        SmoothnessSearch<F> search;
        std::vector<double> theta, fresh, drift;
    };

    struct Draw {
        Index block = kNone;
        double probability = 1.0;  // n times the probability of the draw
    };

    // The results of one visit of a block.
    struct Slot {
        Draw drawn;
        double along;         // <d, change> before the window, if the window is measured
        double loss, length;  // length: that of the change of c_i g_i
        double tried, found;  // L_i before and after the search
        Index oracle_calls;
        Direction change;  // of g_i / c_i
    };

    // Runs one window or more: a block that is drawn a second time ends its window and begins the next. A window also
    // ends with the pass. Returns the number of updates.
    Index advance(Team& team) {
        Index done = 0;
        Draw again;
        do {
            const Index size =
                fill_window(Base::active_count() - (Base::updates_ + done) % Base::active_count(), again);
            blocks_.resize(size);
            for (Index k = 0; k < size; ++k) blocks_[k] = slots_[k].drawn.block;
            weights_->prepare(blocks_, team);
            longest_first(Base::field_, size, [&](Index k) { return blocks_[k]; }, schedule_);
            const bool measured = size > 1 && (seen_ < Base::active_count() || ++windows_ % kMeasuredEvery == 0);
            team.for_each(size,
                          [&](Index k, Index member) { visit(slots_[schedule_[k]], workers_[member], measured); });
            done += take_steps(size, measured, team);
        } while (again.block != kNone && !Base::diverged_);
        return done;
    }

    Index fill_window(Index left_in_pass, Draw& again) {
        const Index window = static_cast<Index>(slots_.size());
        const Index most = std::min({window, left_in_pass, std::max(Index{1}, seen_ / kSeenForEach),
                                     static_cast<Index>(1.0 + 1.0 / std::max(kLeastCosine, cosine_))});
        Index size = 0, new_ones = 0;
        while (size < most) {
            const Draw drawn = again.block == kNone ? draw(new_ones) : std::exchange(again, Draw{});
            if (std::any_of(slots_.begin(), slots_.begin() + size,
                            [&](const Slot& slot) { return slot.drawn.block == drawn.block; })) {
                again = drawn;
                break;
            }
            new_ones += visits_[drawn.block] == 0;
            slots_[size++].drawn = drawn;
        }
        return size;
    }

    // Computes the gradient of a block at the weights of the window. It changes nothing in the run but the marginals
    // that are kept for the block.
    void visit(Slot& slot, Worker& worker, bool measured) {
        const Index i = slot.drawn.block;
        const F& field = Base::field_;
        const Index size = field.compact_size(i);
        double* theta = room(worker.theta, size);
        double* m = room(worker.fresh, size);
        weights_->score(i, theta, worker.drift);
        field.center(i, theta);
        const double log_z = field.infer(i, theta, m, worker.oracle);
        slot.loss = log_z - field.true_score(i, theta);
        slot.oracle_calls = 1;
        if (!std::isfinite(slot.loss)) return;
        slot.tried = slot.found = first_try(i);
        if (!skips(i)) slot.found = worker.search.search(i, theta, slot.loss, m, slot.tried);
        slot.oracle_calls += worker.search.take_oracle_calls();

        double* old = memory(i);
#pragma omp simd
        for (Index k = 0; k < size; ++k) {
            const double change = m[k] - old[k];
            old[k] = m[k];
            m[k] = change;
        }
        slot.length = field.sample_weight(i) * std::sqrt(field.pull(i, m, slot.change));
        if (measured) slot.along = weights_->product_with_drift(slot.change);
    }

    // Takes the steps of a window, in order, and stops at one that would leave floating point. Returns the number
    // taken.
    Index take_steps(Index size, bool measured, Team& team) {
        const Index settlings = weights_->settlings();
        Index done = 0;
        while (done < size && take_step(slots_[done], team)) ++done;
        if (measured && done == size && weights_->settlings() == settlings) {
            measure_cosine(size, weights_->catch_up_and_measure(team));
        } else {
            weights_->catch_up(team);
        }
        since_settled_ += done;
        if (since_settled_ >= 4 * Base::active_count()) {
            weights_->settle(team);
            since_settled_ = 0;
        }
        return done;
    }

    // Measures how similar the changes of different blocks are. products[k] is <d, change> of block k after the changes
    // of the blocks before it in the window, and `along` is the same before the window, so their difference is the
    // product of the change with the sum of the earlier ones. Changes may point either way along a common direction, so
    // squares are averaged. Their mean, divided by what orthogonal changes would give, estimates the squared cosine; it
    // is larger where all changes point one way.
    void measure_cosine(Index size, const std::vector<double>& products) {
        constexpr double kForget = 0.1;
        double earlier = 0.0, found = 0.0, largest = 0.0;
        for (Index k = 0; k < size; ++k) {
            const double c = Base::field_.sample_weight(slots_[k].drawn.block);
            const double square = slots_[k].length * slots_[k].length, product = c * (products[k] - slots_[k].along);
            found += product * product;
            largest += square * earlier;
            earlier += square;
        }
        const double cosine = std::sqrt(found / largest);
        if (!(cosine >= 0.0)) return;  // NaN: nothing has moved, or numbers have overflowed
        cosine_ += kForget * (std::min(cosine, 1.0) - cosine_);
    }

    bool take_step(const Slot& slot, Team& team) {
        const Index i = slot.drawn.block;
        losses_[i] = slot.loss;
        Base::oracle_calls_ += slot.oracle_calls;
        Base::diverged_ = !std::isfinite(slot.loss);
        if (Base::diverged_) return false;
        if (visits_[i]++ == 0) ++seen_;
        adapt(slot);
        Base::diverged_ = !Base::sane(slot.length);
        if (Base::diverged_) return false;
        static_cast<Method*>(this)->move(i, slot.change, slot.drawn.probability, team);
        return true;
    }

    // Draws the next block. `new_ones` is how many blocks of this window are visited for the first time.
    Draw draw(Index new_ones) {
        const Index i = draw_block(new_ones);
        return {i, relative_probability(sampling_ == GradientSampling::uniform ? 0.0 : constants_.weight(i))};
    }

    Index draw_block(Index new_ones) {
        const Index n = Base::active_count();
        if (sampling_ == GradientSampling::uniform) return Base::active_[Base::random_.below(n)];
        if (sampling_ == GradientSampling::nus_star) {
            if (Base::random_.uniform() < 0.5 || !(constants_.total() > 0.0))
                return Base::active_[Base::random_.below(n)];
            return constants_.find(Base::random_.uniform());
        }
        const Index unseen = n - seen_ - new_ones;
        if (Base::random_.below(n) < unseen) {  // an unseen block; they come in a random order
            std::swap(unseen_[Base::random_.below(unseen)], unseen_[unseen - 1]);
            return unseen_[unseen - 1];
        }
        // Among the seen blocks, p_i ~ L_i + L_mean + 2 lambda: a mixture of a draw by L_i and a uniform draw.
        const double flat = static_cast<double>(seen_) * offset();
        if (Base::random_.uniform() * (constants_.total() + flat) < constants_.total())
            return constants_.find(Base::random_.uniform());
        Index i = Base::active_[Base::random_.below(n)];
        for (Index tries = 0; visits_[i] == 0 && tries < kMostTries * n; ++tries)
            i = Base::active_[Base::random_.below(n)];
        return i;
    }

    double offset() const { return mean_constant() + 2.0 * Base::lambda(); }

    bool skips(Index i) const { return sampling_ == GradientSampling::nus_star && skip_[i] > 0; }

    // The Lipschitz constant with which the search for a block begins.
    double first_try(Index i) const {
        if (sampling_ == GradientSampling::uniform) return constant_;
        if (visits_[i] == 0) return first_constant();
        if (skips(i)) return constants_.weight(i);
        return (sampling_ == GradientSampling::nus ? 0.5 : 0.9) * constants_.weight(i);
    }

    // Updates the Lipschitz constants with the one that a visit has found.
    void adapt(const Slot& slot) {
        const Index i = slot.drawn.block;
        const double L = slot.found;
        if (sampling_ == GradientSampling::uniform) {
            if (L > slot.tried) constant_ = std::max(constant_, L);
            constant_ *= std::exp2(-1.0 / static_cast<double>(Base::active_count()));
            return;
        }
        if (skips(i)) {
            --skip_[i];
        } else if (sampling_ == GradientSampling::nus_star) {
            quiet_[i] = L == slot.tried ? quiet_[i] + 1 : 0;
            skip_[i] = quiet_[i] > 0 ? Index{1} << std::min<Index>(quiet_[i] - 1, 20) : 0;
        }
        const double before = constants_.weight(i);
        constants_.set(i, L);
        if (L >= largest_) {
            largest_ = L;
        } else if (before == largest_) {
            largest_ = 0.0;
            for (Index j : Base::active_) largest_ = std::max(largest_, constants_.weight(j));
        }
    }

    // The first constant of a block. As in Schmidt's code: 1, and for nus* the mean over the blocks seen so far.
    double first_constant() const {
        return sampling_ == GradientSampling::nus_star && seen_ > 0 ? constants_.total() / static_cast<double>(seen_)
                                                                    : 1.0;
    }

    double* memory(Index i) { return marginals_.data() + offsets_[i]; }

    void archive_method(Archive& archive) {
        weights_->archive(archive);
        archive.array("marginals", marginals_);
        archive.array("losses", losses_);
        archive.counters("visits", visits_);
        archive.counters("quiet", quiet_);
        archive.counters("skip", skip_);
        archive.scalars("smoothness", {&constant_, &largest_});
        archive.counters("since_settled", {&since_settled_, &windows_});
        archive.scalars("cosine", {&cosine_});
        seen_ = std::count_if(visits_.begin(), visits_.end(), [](Index visits) { return visits > 0; });
        std::vector<double> constants(sampling_ == GradientSampling::uniform ? 0 : visits_.size());
        for (std::size_t i = 0; i < constants.size(); ++i) constants[i] = constants_.weight(static_cast<Index>(i));
        archive.array("constants", constants);
        for (std::size_t i = 0; i < constants.size(); ++i) constants_.set(static_cast<Index>(i), constants[i]);
        archive.permutation("unseen", unseen_);
    }

    GradientSampling sampling_;
    std::vector<Worker> workers_;            // one for each thread
    std::vector<Slot> slots_;                // one for each update of a window
    std::vector<Index> blocks_;              // the blocks of the slots
    std::vector<Index> schedule_;            // the order in which threads take the slots
    double constant_ = 1.0, largest_ = 0.0;  // the common L; the largest L_i
    WeightedTree constants_;                 // L_i; zero for blocks not yet seen
    std::vector<Index> visits_;
    std::vector<Index> quiet_, skip_;  // searches in a row that changed nothing; visits that will not search
    std::vector<double> losses_;       // at the last visit
    std::vector<Index> unseen_;        // the first n - seen_ are the blocks that nus has not drawn
    Index seen_ = 0, since_settled_ = 0, windows_ = 0;
    double cosine_ = 1.0;  // between the changes of different blocks
    std::vector<Index> offsets_;
    std::vector<double> marginals_;  // m_i, block after block; none for blocks of sample weight zero
};

}  // namespace dualfield
