// The full pass behind the certificate of a dual solver.
//
// Nothing of the run's own bookkeeping is trusted: from the stored marginals alone it computes v(mu) and w(mu) afresh,
// then at that w every log-partition, entropy and block gap. It changes nothing in the run, and works in slices.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "base/deadline.hpp"
#include "fields/field.hpp"
#include "fields/own_parts.hpp"
#include "simd/vector.hpp"
#include "solvers/dual/confirmed_sums.hpp"
#include "threads/ordered_hand_over.hpp"

namespace dualfield {

template <Field F>
class Confirmation {
   public:
    Confirmation(const F& field, const Penalty& penalty)
        : field_(field), order_(active_blocks(field)), sums_(penalty, field.l2()) {}

    // Goes through the blocks twice; true when complete. marginals_of(i, m, member) writes the compact marginals
    // of block i, which must be those of a distribution to the last digit, and returns their entropy; `member` of the
    // team calls it. shift(unit, weights) makes of raw weights v(mu) / unit those that are to be certified. The steps
    // say who adds up counts: the threads, each for its part of the weights, or the owners of blocks.
    template <class Steps, class MarginalsOf, class Shift>
    bool run(const Deadline& deadline, Team& team, Steps& steps, MarginalsOf&& marginals_of, Shift&& shift) {
        if (cursor_ == 0 && !counting_) sums_.begin(field_.dimension(), team);
        if (!gathered()) {
            if (!gather(deadline, team, steps, marginals_of, sums_)) return false;
            sums_.look_at_conjugate(team);
            shift(sums_.unit(), sums_.weights());
            if (deadline.passed()) return false;
        }
        if (!judge(deadline, team, marginals_of, sums_)) return false;
        certificate_ = sums_.certificate(team);
        return true;
    }

    // The two passes one by one, where the sums are also those of blocks elsewhere; each true when complete. First
    //     w(mu) = 1/l2 sum_i c_i (F_i - E_mu F)
    template <class Steps, class MarginalsOf>
    bool gather(const Deadline& deadline, Team& team, Steps& steps, MarginalsOf&& marginals_of, ConfirmedSums& sums) {
        make_room(team);
        const auto less_truth = [&](Index i, Index member) {
            double* m = room(workers_[member].marginals, field_.compact_size(i));
            marginals_of(i, m, member);
            field_.subtract_truth(i, m);
            return m;
        };
        if (!steps.working()) return gather_in_order(deadline, team, steps.own_parts(), less_truth, sums);
        counting_ = !steps.count(deadline, team, sums.weights().raw(), -1.0 / sums.unit(), less_truth);
        if (!counting_) cursor_ = std::ssize(order_);
        return !counting_;
    }

    // and then, at the weights of the sums, losses, entropies and gaps.
    template <class MarginalsOf>
    bool judge(const Deadline& deadline, Team& team, MarginalsOf&& marginals_of, ConfirmedSums& sums) {
        const Index blocks = static_cast<Index>(order_.size());
        make_room(team);
        if (cursor_ <= blocks) {
            cursor_ = blocks;
            entropies_of_blocks_.assign(field_.blocks(), 0.0);
            gaps_.assign(field_.blocks(), 0.0);
        }
        while (cursor_ < 2 * blocks) {
            const Index size = std::min(OrderedHandOver::batch(team), 2 * blocks - cursor_);
            team.for_each(size, [&](Index k, Index member) {
                const Index i = order_[cursor_ + k - blocks];
                double* m = room(workers_[member].marginals, field_.compact_size(i));
                const double entropy = marginals_of(i, m, member);
                look_at(i, m, entropy, sums.weights(), workers_[member], slots_[k]);
            });
            for (Index k = 0; k < size; ++k) add(order_[cursor_ + k - blocks], slots_[k], sums);
            cursor_ += size;
            if (deadline.passed() && cursor_ < 2 * blocks) return false;
        }
        cursor_ = 0;
        return true;
    }

    // Forgets everything: the marginals have moved.
    void discard() {
        cursor_ = 0;
        counting_ = false;
        sums_.discard();
        entropies_of_blocks_ = gaps_ = {};
    }

    // The same, and the certificate: another state has been loaded.
    void reset() {
        discard();
        certificate_ = Certificate();
        oracle_calls_ = 0;
    }

    bool judged() const { return cursor_ == 0 && !gaps_.empty(); }
    bool complete() const { return cursor_ == 0 && !weights().empty(); }
    const Certificate& certificate() const { return certificate_; }
    Index oracle_calls() const { return oracle_calls_; }
    // What a complete run found; empty otherwise. Gaps: times the sample weight.
    PenalisedWeights& weights() { return sums_.weights(); }
    const PenalisedWeights& weights() const { return sums_.weights(); }
    std::vector<double>& entropies() { return entropies_of_blocks_; }
    const std::vector<double>& gaps() const { return gaps_; }

   private:
    struct Worker {
        typename F::Workspace oracle;
        std::vector<double> potentials, marginals;
    };

    struct Slot {
        typename OwnParts<F>::Counts counts;
        double loss, entropy, gap, magnitude;
    };

    // One block after the other makes its counts, and each thread takes those of its part of the weights.
    template <class LessTruth>
    bool gather_in_order(const Deadline& deadline, Team& team, OwnParts<F>& own_parts, LessTruth&& less_truth,
                         ConfirmedSums& sums) {
        const Index blocks = static_cast<Index>(order_.size());
        own_parts.divide(team.size());
        while (!gathered()) {
            const Index size = std::min(OrderedHandOver::batch(team), blocks - cursor_);
            hand_over_.run(
                team, size,
                [&](Index k, Index place, Index member) {
                    const Index i = order_[cursor_ + k];
                    own_parts.hand_over(i, less_truth(i, member), slots_[place].counts);
                },
                [&](Index k, Index place, Index member) {
                    const Index i = order_[cursor_ + k];
                    const double a = -field_.sample_weight(i) / sums.unit();
                    own_parts.take(i, slots_[place].counts, a, sums.weights().raw().data(), member);
                });
            cursor_ += size;
            if (deadline.passed()) return gathered();
        }
        return true;
    }

    bool gathered() const { return cursor_ >= static_cast<Index>(order_.size()); }

    void make_room(Team& team) {
        workers_.resize(team.size());
        slots_.resize(OrderedHandOver::batch(team));
    }

    void look_at(Index i, const double* m, double entropy, const PenalisedWeights& weights, Worker& worker,
                 Slot& slot) const {
        const Index size = field_.compact_size(i);
        const double c = field_.sample_weight(i);
        double* theta = room(worker.potentials, size);
        field_.score(i, weights.point().data(), theta);
        slot.magnitude = c * field_.magnitude(i, theta) * rounding_growth(size);
        field_.center(i, theta);
        const double log_z = field_.log_partition(i, theta, worker.oracle);
        const double true_score = field_.true_score(i, theta);
        slot.loss = c * (log_z - true_score);
        slot.entropy = entropy;
        slot.magnitude += c * (std::abs(log_z) + std::abs(true_score) + std::abs(entropy));
        slot.gap = c * non_negative(log_z - dot(size, theta, m) - entropy);
    }

    void add(Index i, const Slot& slot, ConfirmedSums& sums) {
        sums.add(slot.loss, field_.sample_weight(i) * slot.entropy, slot.magnitude);
        entropies_of_blocks_[i] = slot.entropy;
        gaps_[i] = slot.gap;
        ++oracle_calls_;
    }

    const F& field_;
    std::vector<Index> order_;  // as they lie in memory
    Index cursor_ = 0;
    bool counting_ = false;  // the owners of blocks are at it
    Index oracle_calls_ = 0;
    Certificate certificate_;
    ConfirmedSums sums_;
    std::vector<double> entropies_of_blocks_, gaps_;
    std::vector<Worker> workers_;
    std::vector<Slot> slots_;
    OrderedHandOver hand_over_;
};

}  // namespace dualfield
