// Online exponentiated gradient on the dual: Collins, Globerson, Koo, Carreras and Bartlett (2008), with any rule of
// block_sampler.hpp but `residual`.
//
// The state is one compact vector of potentials per block, alpha_i ~ exp(vartheta_i), with its marginals m_i, and
// w = w(alpha) always. One update of block i mixes potentials where SDCA mixes marginals:
//     theta     = potentials of block i under w
//     vartheta' = (1 - eta) vartheta + eta theta               (the step; m' by the oracle)
//     H'        = log Z(vartheta') - <vartheta', m'>           (no logarithms)
//     g_i       = log Z(theta) - <theta, m_i> - H_i            (the block's duality gap, extrapolated from the step)
//     rise      = H' - H_i + <theta, m' - m_i> - c_i / (2 l2) |F(m' - m_i)|^2      (of the dual; halve eta if negative)
// Where nearly all mass of alpha_i is on one labelling, as it may be while w is still wild, short steps change nothing
// that rounding would show, however far theta is from vartheta: then longer ones are tried, up to eta = 1.
// The memory is O(T K + K^2) a block where SDCA needs O(T K^2). Where potentials and marginals are kept as float, the
// trial is rounded before the oracle sees it and m' before the weights do: then w goes with the m_i that are kept, and
// the entropy with the kept vartheta_i, whatever the number of updates.
//
// A block begins at its truth, where it adds nothing to w and nothing to the dual. Its first update takes it to
//     vartheta = theta + the potentials of independent nodes, each wrong with probability epsilon,
// so that the first pass learns from block to block; epsilon is steered by the slope at which steps end.
//
// Where the truth of a block follows its potentials (expected_chain.hpp), a step changes the weights by F(d' - d) for
// d = m - truth. With this change in its quadratic term, `rise` is below the rise of the dual for the new truth.
#pragma once

#include <vector>

#include "base/compiler.hpp"
#include "simd/step_products.hpp"
#include "solvers/dual/block_store.hpp"
#include "solvers/dual/dual_options.hpp"
#include "solvers/dual/dual_run.hpp"

namespace dualfield {

struct OEGOptions : DualOptions {
    bool secant;  // steer eta by the slope of the dual along the step; otherwise grow it by 1.05 after each success

    void each(auto&& option) {
        DualOptions::each(option);
        option("secant", secant);
    }
    void check(const auto& field) const {
        DualOptions::check(field);
        check_option(sampling.rule != SamplingRule::kResidual, "OEG has no residuals");
    }
};

// What a step leaves behind until the run records it.
struct OEGNote {
    double epsilon;  // at which the next block leaves its truth
};

template <PotentialField F>
class OEG : public DualRun<F, OEG<F>, OEGNote> {
    using Base = DualRun<F, OEG<F>, OEGNote>;
    using Base::entropy_, Base::epsilon_, Base::field_;

   public:
    using Options = OEGOptions;

    OEG(const F& field, const Options& options)
        : Base(field, options),
          secant_(options.secant),
          duals_(packed_offsets(field), kRows, options.precision),
          etas_(field.blocks(), kAtTruth) {
        epsilon_ = 0.05;
    }

    // How many numbers the duals of a field take.
    static Index kept_numbers(const F& field) { return kRows * packed_offsets(field).back(); }

    // The functions that DualMethod requires.
    using typename Base::Visit, typename Base::Worker;

    void prepare(Index) {}
    void choose_start() {}
    void initialise(Index) {}

    void propose(Index i, Worker& worker, Visit& visit) {
        visit.note.epsilon = epsilon_;
        if (at_truth(i)) return leave_truth(i, worker, visit);
        constexpr int kMaxTrials = 12;
        constexpr double kFar = 1.0;
        const Index size = field_.compact_size(i);
        double* theta = room(worker.potentials, size);
        double* trial = room(worker.candidate, size);
        double* change = room(worker.marginals, size);  // m', then m' - m
        double* vartheta = room(worker.kept[0], size);
        double* m = room(worker.kept[1], size);
        kept_potentials(i, vartheta);
        duals_.read(i, kMarginals, m);
        field_.unpack_marginals(i, m);

        visit.score(theta);
        field_.center(i, theta);

        double& eta = etas_[i];
        double first_gap = 0.0;
        double too_short = 0.0, too_long = 2.0;  // steps end at 1
        for (int attempt = 0; attempt < kMaxTrials; ++attempt) {
            mix(size, eta, vartheta, theta, trial);
            duals_.round(size, trial);
            const double log_z = field_.infer(i, trial, change, worker.oracle);
            ++visit.oracle_calls;
            ++visit.evaluations;
            const double entropy = log_z - dot(size, trial, change);
            duals_.round(size, change);
            const auto [trial_before, along, along_vartheta, farthest] =
                take_step_products(size, theta, vartheta, trial, m, change);
            const double divergence = log_z - trial_before - entropy_[i];
            const double rounding = slack() * (1.0 + std::abs(entropy) + std::abs(trial_before));
            if (divergence <= rounding && farthest > kFar && eta < 1.0) {  // the mass has not moved
                too_short = eta;
                eta = std::min(1.0, 0.5 * (too_short + too_long));
                continue;
            }
            const double first_slope = along - along_vartheta;
            const bool follows = take_truth(i, trial, change, worker);
            const double quadratic = visit.quadratic(change, follows ? dot(size, theta, change) : along);
            const double rise = entropy - entropy_[i] + along - 0.5 * quadratic;
            visit.step.gap = gap_beyond(eta, divergence, first_slope);
            if (!(visit.step.gap > 0.0)) break;  // nothing to gain, or not a number
            if (!(first_gap > 0.0)) first_gap = visit.step.gap;
            if (!(rise >= -rounding)) {
                too_long = eta;
                eta = 0.5 * (too_short + too_long);
                continue;
            }
            visit.step = {visit.step.gap, entropy, rise, eta, 1.0};
            const double last_slope = (1.0 - eta) * first_slope - quadratic;  // <trial, change> by linearity
            axpy(size, 1.0, change, m);
            if (follows) keep_truth(i, m, worker);
            keep(i, trial, m);
            eta = std::clamp(eta * (secant_ ? secant_factor(first_slope, last_slope) : 1.05), least_eta(), 1.0);
            return;
        }
        eta = std::max(eta, least_eta());
        if (std::isfinite(visit.step.gap)) visit.step.gap = first_gap;
    }

    // A window may hold several first updates. The last of them sets the epsilon of the next window.
    void committed(Index, const OEGNote& note) { epsilon_ = note.epsilon; }

    // Computes the marginals of alpha_i from its stored potentials.
    double stored(Index i, double* m, Worker& worker) {
        const Index size = field_.compact_size(i);
        if (at_truth(i)) {
            std::fill(m, m + size, 0.0);
            field_.subtract_truth(i, m);
            scale(size, -1.0, m);
            return 0.0;
        }
        double* centred = room(worker.candidate, size);
        kept_potentials(i, centred);
        field_.center(i, centred);
        const double log_z = field_.infer(i, centred, m, worker.oracle);
        return log_z - dot(size, centred, m);
    }

    void repair(Index i, Worker& worker) {
        if (at_truth(i)) return;
        double* m = room(worker.marginals, field_.compact_size(i));
        stored(i, m, worker);
        keep_marginals(i, m);
    }

    void change_l2(double) {}
    void widen_duals() { duals_.widen(); }

    void archive_duals(Archive& archive) {
        duals_.archive(archive, "duals");
        archive.array("etas", etas_);
    }

    // Where the duals of each block begin in a saved state.
    std::vector<Index> dual_offsets() const {
        std::vector<Index> offsets = packed_offsets(field_);
        for (Index& offset : offsets) offset *= kRows;
        return offsets;
    }

    template <class See>
    DUALFIELD_INLINE void for_each_kept(See&& see) const {
        see(duals_);
        see(etas_);
    }

   private:
    enum Row : Index { kPotentials, kMarginals, kRows };  // of duals_
    static constexpr double kAtTruth = 0.0, kFirstEta = 0.5;

    static std::vector<Index> packed_offsets(const F& field) {
        return Base::offsets_by(field, [&](Index i) { return field.packed_size(i); });
    }

    // The gap of a block from what one step of it showed. Along the step A(t) = log Z(vartheta + t (theta - vartheta))
    // is convex, and the gap is g(1) of g(t) = A(t) - A(0) - t A'(0) = KL(alpha || trial at t). Known are g(eta), the
    // `divergence`, and the slope g'(eta): so g is taken to be the cubic t^2 (a + b t) through them. By convexity it is
    // not below the tangent. Exact for eta = 1; elsewhere good enough to draw blocks by, and to tell when to confirm.
    static double gap_beyond(double eta, double divergence, double slope) {
        const double tangent = divergence + (1.0 - eta) * slope;
        const double square = divergence / (eta * eta);
        const double cubic = 3.0 * square - slope / eta + (slope * eta - 2.0 * divergence) / (eta * eta * eta);
        return non_negative(std::clamp(cubic, std::min(tangent, 4.0 * square), std::max(tangent, 4.0 * square)));
    }

    // How much longer the next step should be. Along the segment of marginals from m to m' the dual is concave, with
    // these slopes at its ends; were it a parabola, its top would be at first / (first - last) of the way. The square
    // root and the bounds keep one block's estimate from swinging.
    static double secant_factor(double first, double last) {
        constexpr double kShortest = 0.5, kLongest = 1.25;
        if (!(first > 0.0)) return kShortest;
        const double top = last < first ? first / (first - last) : kLongest * kLongest;
        return std::clamp(std::sqrt(top), kShortest, kLongest);
    }

    // The first update. Where the dual would fall, epsilon and the part of theta are halved: near the truth it rises,
    // since there the entropy has infinite slope.
    void leave_truth(Index i, Worker& worker, Visit& visit) {
        constexpr int kMaxTrials = 60;
        constexpr double kLeast = 1e-8, kMost = 0.5, kGain = 0.5;
        const Index size = field_.compact_size(i);
        double* theta = room(worker.potentials, size);
        double* trial = room(worker.candidate, size);
        double* change = room(worker.marginals, size);
        double* m = room(worker.kept[1], size);
        visit.score(theta);
        field_.center(i, theta);
        if (truth_follows(i)) begin_truth(i, theta, worker);
        visit.step.gap = field_.log_partition(i, theta, worker.oracle) - field_.true_score(i, theta);
        double epsilon = epsilon_, part = 1.0;
        for (int attempt = 0; attempt < kMaxTrials && std::isfinite(visit.step.gap); ++attempt) {
            field_.initial_potentials(i, epsilon, trial);
            axpy(size, part, theta, trial);
            field_.center(i, trial);
            duals_.round(size, trial);
            const double log_z = field_.infer(i, trial, m, worker.oracle);
            const double entropy = log_z - dot(size, trial, m);
            ++visit.oracle_calls;
            ++visit.evaluations;
            duals_.round(size, m);
            std::copy(m, m + size, change);
            field_.subtract_truth(i, change);
            const bool follows = take_truth(i, trial, change, worker);
            const double along = dot(size, theta, change);
            const double quadratic = visit.quadratic(change, along);
            const double rise = entropy + along - 0.5 * quadratic;
            if (rise > 0.0) {
                const double last_slope = along - quadratic - dot(size, trial, change);
                const double longer = std::clamp(1.0 + kGain * last_slope / (quadratic + entropy), 0.8, 1.25);
                visit.note.epsilon = std::clamp(epsilon * longer, kLeast, kMost);
                visit.step = {visit.step.gap, entropy, rise, kFirstEta, 1.0};
                etas_[i] = kFirstEta;
                if (follows) set_truth(i, worker);
                keep(i, trial, m);
                return;
            }
            epsilon *= 0.5;
            part *= 0.5;
        }
    }

    // Where the truth of a block follows potentials, in worker.truth the one that belongs to `theta`, and its entropy.
    // change: of the marginals; becomes that of the marginals less the truth.
    bool truth_follows(Index i) const {
        if constexpr (FollowingField<F>) return field_.truth_follows(i);
        return false;
    }
    bool take_truth(Index i, const double* theta, double* change, Worker& worker) {
        if (!truth_follows(i)) return false;
        find_truth(i, theta, worker);
        if constexpr (FollowingField<F>) field_.move_truth(i, worker.truth.data(), -1.0, change);
        return true;
    }
    void find_truth(Index i, const double* theta, Worker& worker) {
        if constexpr (FollowingField<F>) {
            double* t = room(worker.truth, field_.compact_size(i));
            worker.truth_entropy = field_.truth_under(i, theta, t, worker.truth_oracle);
        }
    }
    void set_truth(Index i, const Worker& worker) {
        if constexpr (FollowingField<F>) field_.set_truth(i, worker.truth.data(), worker.truth_entropy);
    }
    void begin_truth(Index i, const double* theta, Worker& worker) {
        find_truth(i, theta, worker);
        set_truth(i, worker);
    }
    // m is short of the move of the truth, which is set.
    void keep_truth(Index i, double* m, Worker& worker) {
        if constexpr (FollowingField<F>) field_.move_truth(i, worker.truth.data(), 1.0, m);
        set_truth(i, worker);
    }

    // Stores the potentials and marginals of a block. Both arguments are overwritten.
    void keep(Index i, double* vartheta, double* m) {
        field_.pack_potentials(i, vartheta);
        duals_.write(i, kPotentials, vartheta);
        keep_marginals(i, m);
    }

    void keep_marginals(Index i, double* m) {
        field_.pack_marginals(i, m);
        duals_.write(i, kMarginals, m);
    }

    void kept_potentials(Index i, double* vartheta) const {
        duals_.read(i, kPotentials, vartheta);
        field_.unpack_potentials(i, vartheta);
    }

    // Rounding may make a rise negative by this much, relative to the sizes of its terms.
    double slack() const { return duals_.single() ? 0x1p-23 : 1e-13; }

    // With shorter steps the rise would be rounding alone.
    double least_eta() const { return duals_.single() ? 1e-3 : 1e-7; }

    bool at_truth(Index i) const { return etas_[i] == kAtTruth; }

    bool secant_;
    BlockStore duals_;          // packed; none for blocks of sample weight zero
    std::vector<double> etas_;  // the step of each block's next update; kAtTruth before the first
};

}  // namespace dualfield
