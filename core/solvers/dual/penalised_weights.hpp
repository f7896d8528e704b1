// The weights that belong to marginals mu, under an elastic net about weights a:
//     R(w) = l1 |w - a|_1 + l2/2 |w - a|^2,    v(mu) = sum_i c_i (F_i - E_mu F),    w(mu) = a + soft(v, l1) / l2.
//
// Steps change v by multiples of feature counts, so v / l2 is kept: the *raw* weights u. Blocks are scored with w, the
// *point*. Where l1 = 0 and a = 0 both are the same vector. With a proximal term kappa/2 |w - a - z|^2,
//     u = (v + kappa z) / (l2 + kappa),    w = a + soft(u, l1 / (l2 + kappa)).
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/zeros.hpp"
#include "duality/elastic_net.hpp"
#include "simd/vector.hpp"
#include "threads/chunks.hpp"

namespace dualfield {

// A penalty, and the weights that it is about; none: zero.
struct Penalty {
    ElasticNet net;
    std::vector<double> centre;

    bool plain() const { return net.plain() && centre.empty(); }
};

class PenalisedWeights {
   public:
    PenalisedWeights(const Penalty& penalty, Index dimension)
        : penalty_(&penalty), raw_(dimension), point_(penalty.plain() ? 0 : dimension) {}

    const Penalty& penalty() const { return *penalty_; }
    bool plain() const { return penalty_->plain(); }
    Index size() const { return static_cast<Index>(raw_.size()); }

    Zeros<double>& raw() { return raw_; }
    const Zeros<double>& raw() const { return raw_; }
    const Zeros<double>& point() const { return plain() ? raw_ : point_; }

    // w = a + soft(u, threshold).
    double threshold() const { return threshold_; }

    // soft(u_k), which is w_k - a_k.
    double change(Index k) const { return plain() ? raw_[k] : soft_threshold(raw_[k], threshold_); }

    // From now on under this kappa; the point follows.
    void set_kappa(double kappa, Team& team) {
        const ElasticNet& net = penalty_->net;
        threshold_ = net.l1 > 0.0 ? net.l1 / (net.l2 + kappa) : 0.0;
        settle(team);
    }

    // The point of some raw weights, or of all.
    void settle(Index start, Index length) {
        if (penalty_->centre.empty()) {
            soft_threshold(length, threshold_, raw_.data() + start, point_.data() + start);
        } else {
            for (Index k = start; k < start + length; ++k) point_[k] = penalty_->centre[k] + change(k);
        }
    }
    void settle(Team& team) {
        if (plain()) return;
        team.over_ranges(size(), [&](Index first, Index end) { settle(first, end - first); });
    }

    void write_zeros(Team& team) {
        dualfield::write_zeros(team, raw_);
        if (!plain()) dualfield::write_zeros(team, point_);
        settle(team);
    }

    void swap(PenalisedWeights& other) {
        raw_.swap(other.raw_);
        point_.swap(other.point_);
        std::swap(threshold_, other.threshold_);
    }

    // Nothing is kept any more.
    void release() {
        raw_ = {};
        point_ = {};
    }
    bool empty() const { return raw_.empty(); }

   private:
    const Penalty* penalty_;
    double threshold_ = 0.0;
    Zeros<double> raw_, point_;  // no point where it is the raw weights
};

}  // namespace dualfield
