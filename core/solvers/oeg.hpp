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
// The memory is O(T K + K^2) a block where SDCA needs O(T K^2).
#pragma once

#include <vector>

#include "solvers/best_epsilon.hpp"
#include "solvers/dual_run.hpp"

namespace dualfield {

template <PotentialField F>
class OEG : public DualRun<F, OEG<F>> {
    using Base = DualRun<F, OEG<F>>;
    friend Base;

   public:
    // secant: steer eta by the slope of the dual along the step; otherwise grow it by 1.05 after each success.
    // epsilon: the share of mass off the true label of each node at the start; 0 takes the best one.
    OEG(const F& field, const SamplingOptions& sampling, bool accelerate, bool secant, double epsilon)
        : Base(field, sampling, accelerate),
          secant_(secant),
          given_epsilon_(epsilon),
          offsets_(Base::offsets_by(field, [&](Index i) { return field.packed_size(i); })),
          varthetas_(offsets_.back(), 0.0),
          means_(offsets_.back(), 0.0),
          etas_(field.blocks(), 0.5) {}

   private:
    using Base::candidate_, Base::marginals_, Base::potentials_;
    using Base::direction_, Base::entropy_, Base::epsilon_, Base::field_, Base::oracle_, Base::weights_;

    void update(Index i) {
        constexpr int kMaxTrials = 12;
        const Index size = field_.compact_size(i);
        const double c = field_.sample_weight(i);
        double* theta = room(potentials_, size);
        double* trial = room(candidate_, size);
        double* change = room(marginals_, size);  // m', then m' - m
        double* vartheta = field_.unpack_potentials(i, varthetas_.data() + offsets_[i], room(unpacked_[0], size));
        double* m = field_.unpack_marginals(i, means_.data() + offsets_[i], room(unpacked_[1], size));

        field_.score(i, weights_.data(), theta);
        field_.center(i, theta);

        typename Base::Step step{0.0, entropy_[i], 0.0, 0.0};
        double& eta = etas_[i];
        for (int attempt = 0; attempt < kMaxTrials; ++attempt) {
#pragma omp simd
            for (Index k = 0; k < size; ++k) trial[k] = vartheta[k] + eta * (theta[k] - vartheta[k]);
            const double log_z = field_.infer(i, trial, change, oracle_);
            const double entropy = log_z - dot(size, trial, change);
            const double divergence = log_z - dot(size, trial, m) - entropy_[i];
            ++Base::oracle_calls_;
            ++Base::evaluations_;
#pragma omp simd
            for (Index k = 0; k < size; ++k) change[k] -= m[k];
            const double along = dot(size, theta, change);
            const double first_slope = along - dot(size, vartheta, change);
            const double quadratic = c / Base::l2() * field_.pull(i, change, direction_);
            const double rise = entropy - entropy_[i] + along - 0.5 * quadratic;
            step.gap = gap_beyond(eta, divergence, first_slope);
            if (!(step.gap > 0.0)) break;  // nothing to gain, or not a number
            if (!(rise >= -1e-13 * (1.0 + std::abs(entropy)))) {
                eta *= 0.5;
                continue;
            }
            step = {step.gap, entropy, rise, eta};
            const double last_slope = along - quadratic - dot(size, trial, change);
            std::copy(trial, trial + size, vartheta);
            axpy(size, 1.0, change, m);
            field_.pack_potentials(i, vartheta, varthetas_.data() + offsets_[i]);
            field_.pack_marginals(i, m, means_.data() + offsets_[i]);
            field_.apply(weights_.data(), -c / Base::l2(), direction_);
            eta = std::min(1.0, eta * (secant_ ? secant_factor(first_slope, last_slope) : 1.05));
            break;
        }
        Base::record_step(i, step);
    }

    // The gap of a block from what one step of it showed. Along the step A(t) = log Z(vartheta + t (theta - vartheta)) is
    // convex, and the gap is g(1) of g(t) = A(t) - A(0) - t A'(0) = KL(alpha || trial at t). Known are g(eta), the
    // `divergence`, and the slope g'(eta): so g is taken to be the cubic t^2 (a + b t) through them. By convexity it is not
    // below the tangent. Exact for eta = 1; elsewhere good enough to draw blocks by, and to tell when to confirm.
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

    // The direction in which w leaves zero as epsilon grows, by a start so close to the truth that it is linear.
    void prepare(Index i) {
        constexpr double kClose = 1e-6;
        const Index size = field_.compact_size(i);
        double* m = room(marginals_, size);
        field_.independent_marginals(i, kClose, m);
        Base::add_weights(i, m, 1.0 / kClose, weights_);
    }

    void choose_start() {
        const double norm = squared_norm(field_.dimension(), weights_.data());
        const auto penalty_at = [&](double epsilon) { return 0.5 * Base::l2() * epsilon * epsilon * norm; };
        const auto entropy_at = [&](Index i, double epsilon) { return field_.independent_entropy(i, epsilon); };
        epsilon_ = given_epsilon_ > 0.0 ? given_epsilon_
                                        : best_epsilon(field_, Base::sampler_.order(), penalty_at, entropy_at);
        std::fill(weights_.begin(), weights_.end(), 0.0);
    }

    void initialise(Index i) {
        const Index size = field_.compact_size(i);
        double* vartheta = varthetas_.data() + offsets_[i];
        double* m = means_.data() + offsets_[i];
        if (field_.packed_size(i) < size) vartheta = room(unpacked_[0], size), m = room(unpacked_[1], size);
        field_.initial_potentials(i, epsilon_, vartheta);
        entropy_[i] = field_.independent_marginals(i, epsilon_, m);
        field_.pack_potentials(i, vartheta, varthetas_.data() + offsets_[i]);
        field_.pack_marginals(i, m, means_.data() + offsets_[i]);
        std::copy(m, m + size, room(marginals_, size));
        Base::add_weights(i, marginals_.data(), 1.0, weights_);
    }

    void change_l2(double) {}

    // The marginals of alpha_i afresh from its potentials.
    void stored(Index i, double* m) {
        const Index size = field_.compact_size(i);
        const double* vartheta = field_.unpack_potentials(i, varthetas_.data() + offsets_[i], room(unpacked_[0], size));
        double* centred = room(candidate_, size);
        std::copy(vartheta, vartheta + size, centred);
        field_.center(i, centred);
        stored_entropy_ = field_.infer(i, centred, m, oracle_) - dot(size, centred, m);
    }
    double stored_entropy(Index) const { return stored_entropy_; }
    void archive_duals(Archive& archive) {
        archive.array("duals", varthetas_);
        archive.array("means", means_);
        archive.array("etas", etas_);
    }
    void repair(Index i) {
        double* m = room(marginals_, field_.compact_size(i));
        stored(i, m);
        if (field_.packed_size(i) < field_.compact_size(i)) {
            field_.pack_marginals(i, m, means_.data() + offsets_[i]);
        } else {
            std::copy(m, m + field_.compact_size(i), means_.data() + offsets_[i]);
        }
    }

    bool secant_;
    double given_epsilon_;
    double stored_entropy_ = 0.0;
    std::vector<Index> offsets_;
    std::vector<double> varthetas_, means_;  // packed, block after block; none for blocks of sample weight zero
    std::vector<double> unpacked_[2];        // scratch
    std::vector<double> etas_;               // the step of each block's next update
};

}  // namespace dualfield
