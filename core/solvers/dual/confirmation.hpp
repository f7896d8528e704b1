// The full pass behind the certificate of a dual solver.
//
// Nothing of the run's own bookkeeping is trusted: from the stored marginals alone it computes v(mu) and w(mu) afresh,
// then at that w every log-partition, entropy and block gap. It changes nothing in the run, and works in slices.
#pragma once

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "base/deadline.hpp"
#include "duality/certificate.hpp"
#include "fields/field.hpp"
#include "fields/own_parts.hpp"
#include "simd/vector.hpp"
#include "solvers/dual/penalised_weights.hpp"
#include "threads/chunks.hpp"
#include "threads/ordered_hand_over.hpp"

namespace dualfield {

template <Field F>
class Confirmation {
   public:
    Confirmation(const F& field, const Penalty& penalty)
        : field_(field), order_(active_blocks(field)), weights_(penalty, 0) {}

    // Goes through the blocks twice; true when complete. marginals_of(i, m, member) writes the compact marginals
    // of block i, which must be those of a distribution to the last digit, and returns their entropy; `member` of the
    // team calls it. shift(unit, weights) makes of raw weights v(mu) / unit those that are to be certified.
    template <class MarginalsOf, class Shift>
    bool run(const Deadline& deadline, Team& team, OwnParts<F>& own_parts, MarginalsOf&& marginals_of, Shift&& shift) {
        const Index blocks = static_cast<Index>(order_.size());
        if (cursor_ == 0) begin(team);
        workers_.resize(team.size());
        slots_.resize(OrderedHandOver::batch(team));
        own_parts.divide(team.size());
        while (cursor_ < blocks) {
            const Index size = std::min(OrderedHandOver::batch(team), blocks - cursor_);
            hand_over_.run(  // w(mu) = 1/l2 sum_i c_i (F_i - E_mu F)
                team, size,
                [&](Index k, Index place, Index member) {
                    const Index i = order_[cursor_ + k];
                    double* m = room(workers_[member].marginals, field_.compact_size(i));
                    marginals_of(i, m, member);
                    field_.subtract_truth(i, m);
                    own_parts.hand_over(i, m, slots_[place].counts);
                },
                [&](Index k, Index place, Index member) {
                    const Index i = order_[cursor_ + k];
                    const double a = -field_.sample_weight(i) / unit();
                    own_parts.take(i, slots_[place].counts, a, weights_.raw().data(), member);
                });
            cursor_ += size;
            if (cursor_ == blocks) {
                look_at_conjugate(team);
                shift(unit(), weights_);
            }
            if (deadline.passed()) return false;
        }
        while (cursor_ < 2 * blocks) {
            const Index size = std::min(OrderedHandOver::batch(team), 2 * blocks - cursor_);
            team.for_each(size, [&](Index k, Index member) {
                const Index i = order_[cursor_ + k - blocks];
                double* m = room(workers_[member].marginals, field_.compact_size(i));
                const double entropy = marginals_of(i, m, member);
                look_at(i, m, entropy, workers_[member], slots_[k]);
            });
            for (Index k = 0; k < size; ++k) add(order_[cursor_ + k - blocks], slots_[k]);
            cursor_ += size;
            if (deadline.passed() && cursor_ < 2 * blocks) return false;
        }
        end(team);
        return true;
    }

    // Forgets everything: the marginals have moved.
    void discard() {
        cursor_ = 0;
        weights_.release();
        scaled_.reset();
        entropies_of_blocks_ = gaps_ = {};
    }

    // The same, and the certificate: another state has been loaded.
    void reset() {
        discard();
        certificate_ = Certificate();
        oracle_calls_ = 0;
    }

    bool complete() const { return cursor_ == 0 && !weights_.empty(); }
    const Certificate& certificate() const { return certificate_; }
    Index oracle_calls() const { return oracle_calls_; }
    // What a complete run found; empty otherwise. Gaps: times the sample weight.
    PenalisedWeights& weights() { return weights_; }
    const PenalisedWeights& weights() const { return weights_; }
    std::vector<double>& entropies() { return entropies_of_blocks_; }
    const std::vector<double>& gaps() const { return gaps_; }

   private:
    void begin(Team& team) {
        weights_ = PenalisedWeights(weights_.penalty(), field_.dimension());
        weights_.write_zeros(team);
        entropies_of_blocks_.assign(field_.blocks(), 0.0);
        gaps_.assign(field_.blocks(), 0.0);
        losses_ = entropies_ = CompensatedSum();
        magnitude_ = 0.0;
    }

    // Raw weights are v / l2, and where there is no l2, v itself.
    double unit() const { return field_.l2() > 0.0 ? field_.l2() : 1.0; }

    // What the dual value takes of v(mu) = unit() * the raw weights.
    void look_at_conjugate(Team& team) {
        const std::vector<double>& centre = weights_.penalty().centre;
        const double* raw = weights_.raw().data();
        if (!weights_.plain()) scaled_.emplace(weights_.penalty().net, field_.dimension());
        const auto sums = sum_over_chunks<2>(team, field_.dimension(), [&](Index first, Index end) {
            std::array sum{squared_norm(end - first, raw + first), 0.0};
            if (!scaled_) return sum;
            for (Index k = first; k < end; ++k) {
                const double v = unit() * raw[k];
                scaled_->add(first / kChunk, v);
                if (!centre.empty()) sum[1] += centre[k] * v;
            }
            return sum;
        });
        conjugate_ = 0.5 * field_.l2() * sums[0];
        along_centre_ = sums[1];
    }

    double penalty_of_weights(Team& team) const {
        const auto& net = weights_.penalty().net;
        const double* raw = weights_.raw().data();
        return sum_over_chunks<1>(team, field_.dimension(), [&](Index first, Index end) {
            if (weights_.plain()) return std::array{0.5 * net.l2 * squared_norm(end - first, raw + first)};
            double total = 0.0;
            for (Index k = first; k < end; ++k) total += net.value(weights_.change(k));
            return std::array{total};
        })[0];
    }

    struct Worker {
        typename F::Workspace oracle;
        std::vector<double> potentials, marginals;
    };

    struct Slot {
        typename OwnParts<F>::Counts counts;
        double loss, entropy, gap, magnitude;
    };

    void look_at(Index i, const double* m, double entropy, Worker& worker, Slot& slot) const {
        const Index size = field_.compact_size(i);
        const double c = field_.sample_weight(i);
        double* theta = room(worker.potentials, size);
        field_.score(i, weights_.point().data(), theta);
        slot.magnitude = c * field_.magnitude(i, theta) * rounding_growth(size);
        field_.center(i, theta);
        const double log_z = field_.log_partition(i, theta, worker.oracle);
        const double true_score = field_.true_score(i, theta);
        slot.loss = c * (log_z - true_score);
        slot.entropy = entropy;
        slot.magnitude += c * (std::abs(log_z) + std::abs(true_score) + std::abs(entropy));
        slot.gap = c * non_negative(log_z - dot(size, theta, m) - entropy);
    }

    void add(Index i, const Slot& slot) {
        losses_.add(slot.loss);
        entropies_.add(field_.sample_weight(i) * slot.entropy);
        magnitude_ += slot.magnitude;
        entropies_of_blocks_[i] = slot.entropy;
        gaps_[i] = slot.gap;
        ++oracle_calls_;
    }

    void end(Team& team) {
        cursor_ = 0;
        const double penalty = penalty_of_weights(team), primal = losses_.value() + penalty;
        double allowance = rounding_allowance(magnitude_ + penalty + conjugate_),
               dual = entropies_.value() - conjugate_;
        if (scaled_) {
            const double rise = entropies_.value() - along_centre_;
            allowance = rounding_allowance(magnitude_ + penalty + std::abs(rise) + std::abs(along_centre_));
            dual = scaled_->best(rise, std::numeric_limits<double>::quiet_NaN(), allowance, team);
        }
        certificate_ = Certificate();
        if (!(dual <= primal + allowance)) return;  // not a number, or a defect: then nothing is certified
        certificate_.primal = primal;
        certificate_.dual = std::min(primal, dual) - allowance;
        certificate_.gap = certificate_.primal - certificate_.dual + allowance;
    }

    const F& field_;
    std::vector<Index> order_;  // as they lie in memory
    Index cursor_ = 0;
    Index oracle_calls_ = 0;
    Certificate certificate_;
    CompensatedSum losses_, entropies_;
    double magnitude_ = 0.0;
    double conjugate_ = 0.0, along_centre_ = 0.0;  // R*(v) where the penalty is plain; <a, v>
    std::optional<ScaledDual> scaled_;             // otherwise
    PenalisedWeights weights_;
    std::vector<double> entropies_of_blocks_, gaps_;
    std::vector<Worker> workers_;
    std::vector<Slot> slots_;
    OrderedHandOver hand_over_;
};

}  // namespace dualfield
