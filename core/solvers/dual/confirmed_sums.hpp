// What a confirming pass adds up over blocks, wherever they are, and the certificate that follows from it.
//
// First v(mu) = sum_i c_i (F_i - E_mu F) over all blocks. Then, at w(mu), losses and entropies, again over all blocks.
#pragma once

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <vector>

#include "duality/certificate.hpp"
#include "simd/vector.hpp"
#include "solvers/dual/penalised_weights.hpp"
#include "threads/chunks.hpp"

namespace dualfield {

class ConfirmedSums {
   public:
    // l2: of the problem asked for.
    ConfirmedSums(const Penalty& penalty, double l2) : l2_(l2), weights_(penalty, 0) {}

    void begin(Index dimension, Team& team) {
        weights_ = PenalisedWeights(weights_.penalty(), dimension);
        weights_.write_zeros(team);
        losses_ = entropies_ = CompensatedSum();
        magnitude_ = 0.0;
        scaled_.reset();
    }
    void discard() {
        weights_.release();
        scaled_.reset();
    }

    // Raw weights are v / l2, and where there is no l2, v itself: blocks add v / unit().
    double unit() const { return l2_ > 0.0 ? l2_ : 1.0; }
    PenalisedWeights& weights() { return weights_; }
    const PenalisedWeights& weights() const { return weights_; }

    // When v(mu) = unit() * the raw weights is complete: what the dual value takes of it.
    void look_at_conjugate(Team& team) {
        const std::vector<double>& centre = weights_.penalty().centre;
        const double* raw = weights_.raw().data();
        if (!weights_.plain()) scaled_.emplace(weights_.penalty().net, weights_.size());
        const auto sums = sum_over_chunks<2>(team, weights_.size(), [&](Index first, Index end) {
            std::array sum{squared_norm(end - first, raw + first), 0.0};
            if (!scaled_) return sum;
            for (Index k = first; k < end; ++k) {
                const double v = unit() * raw[k];
                scaled_->add(first / kChunk, v);
                if (!centre.empty()) sum[1] += centre[k] * v;
            }
            return sum;
        });
        conjugate_ = 0.5 * l2_ * sums[0];
        along_centre_ = sums[1];
    }

    // A block's loss and entropy, times its sample weight, and what rounding can act on in them.
    void add(double loss, double entropy, double magnitude) {
        losses_.add(loss);
        entropies_.add(entropy);
        magnitude_ += magnitude;
    }

    // What has been added, and what all processes have added together.
    std::array<double, 3> added() const { return {losses_.value(), entropies_.value(), magnitude_}; }
    void set_added(const std::array<double, 3>& sums) {
        losses_ = entropies_ = CompensatedSum();
        magnitude_ = 0.0;
        add(sums[0], sums[1], sums[2]);
    }

    // When all blocks have been added.
    Certificate certificate(Team& team) {
        const double penalty = penalty_of_weights(team), primal = losses_.value() + penalty;
        double allowance = rounding_allowance(magnitude_ + penalty + conjugate_),
               dual = entropies_.value() - conjugate_;
        if (scaled_) {
            const double rise = entropies_.value() - along_centre_;
            allowance = rounding_allowance(magnitude_ + penalty + std::abs(rise) + std::abs(along_centre_));
            dual = scaled_->best(rise, std::numeric_limits<double>::quiet_NaN(), allowance, team);
        }
        Certificate found;
        if (!(dual <= primal + allowance)) return found;  // not a number, or a defect: then nothing is certified
        found.primal = primal;
        found.dual = std::min(primal, dual) - allowance;
        found.gap = found.primal - found.dual + allowance;
        return found;
    }

   private:
    double penalty_of_weights(Team& team) const {
        const auto& net = weights_.penalty().net;
        const double* raw = weights_.raw().data();
        return sum_over_chunks<1>(team, weights_.size(), [&](Index first, Index end) {
            if (weights_.plain()) return std::array{0.5 * net.l2 * squared_norm(end - first, raw + first)};
            double total = 0.0;
            for (Index k = first; k < end; ++k) total += net.value(weights_.change(k));
            return std::array{total};
        })[0];
    }

    double l2_;
    PenalisedWeights weights_;
    CompensatedSum losses_, entropies_;
    double magnitude_ = 0.0;
    double conjugate_ = 0.0, along_centre_ = 0.0;  // R*(v) where the penalty is plain; <a, v>
    std::optional<ScaledDual> scaled_;             // otherwise
};

}  // namespace dualfield
