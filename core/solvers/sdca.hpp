// Stochastic dual coordinate ascent for conditional random fields: Le Priol, Piche and Lacoste-Julien (2018),
// Algorithm 2, with any of the rules of block_sampler.hpp.
//
// The state is one table of clique marginals mu_i per block, and w = w(mu) always. One update of block i:
//     nu    = marginals of block i under w                      (one call of the oracle)
//     g_i   = log Z - <theta, mu_i> - H(mu_i) = KL(mu_i || nu)  (the block's duality gap; no logarithms needed)
//     delta = nu - mu_i,   v = -(c_i / l2) E_delta F            (ascent direction, and its image in the weights)
//     gamma = argmax of the dual along (delta, v)               (line_search.hpp, which has other rules too)
//     mu_i += gamma delta,   w += gamma v
#pragma once

#include <memory>
#include <vector>

#include "duality/line_search.hpp"
#include "solvers/best_epsilon.hpp"
#include "solvers/dual_run.hpp"

namespace dualfield {

template <TableField F>
class SDCA : public DualRun<F, SDCA<F>> {
    using Base = DualRun<F, SDCA<F>>;
    friend Base;

   public:
    // epsilon: the start epsilon * uniform + (1 - epsilon) * truth; 0 takes the best one.
    SDCA(const F& field, const SamplingOptions& sampling, const StepOptions& step, double epsilon)
        : Base(field, sampling),
          step_(step),
          given_epsilon_(epsilon),
          offsets_(Base::offsets_by(field, [&](Index i) { return field.table_size(i); })),
          tables_(std::make_unique_for_overwrite<double[]>(offsets_.back())) {}

    // The arrays that a saved run needs beside those of DualRun.
    std::vector<std::pair<double*, Index>> kept() {
        return {{tables_.get(), offsets_.back()}, {&step_.size, guaranteed() ? 1 : 0}};
    }

    // Seconds in the line search and in whole updates, of those updates that were timed: one in kTimedEvery.
    std::pair<double, double> timings() const { return {search_seconds_, update_seconds_}; }

   private:
    static constexpr Index kTimedEvery = 16;

    using Base::candidate_, Base::marginals_, Base::potentials_;
    using Base::direction_, Base::entropy_, Base::epsilon_, Base::field_, Base::oracle_, Base::weights_;

    // Algorithm 2.
    void update(Index i) {
        const Index size = field_.table_size(i), compact_size = field_.compact_size(i);
        const double c = field_.sample_weight(i);
        double* theta = room(potentials_, compact_size);
        double* m = room(marginals_, compact_size);
        double* delta = room(candidate_, size);
        double* mu = table(i);
        Stopwatch watch(Base::oracle_calls_ % kTimedEvery == 0);

        field_.score(i, weights_.data(), theta);
        field_.center(i, theta);
        const double log_z = field_.infer_table(i, theta, delta, m, oracle_);  // delta holds nu here
        const double entropy_of_nu = log_z - dot(compact_size, theta, m);
#pragma omp simd
        for (Index k = 0; k < size; ++k) delta[k] -= mu[k];
        field_.compact(i, delta, m);
        const double residual = dot(compact_size, theta, m);
        const double gap = non_negative(entropy_of_nu + residual - entropy_[i]);
        if (Base::sampler_.needs_length()) Base::sampler_.record_length(i, absolute_sum(size, delta));

        const double quadratic = c / field_.l2() * field_.pull(i, m, direction_);
        const double before = watch.seconds();
        const LineSearchResult found =
            find_step(step_, DualAlong{field_.segments(i), mu, delta, gap, residual, quadratic, entropy_[i]});
        search_seconds_ += watch.seconds() - before;
        axpy(size, found.step, delta, mu);
        field_.apply(weights_.data(), -found.step * c / field_.l2(), direction_);

        ++Base::oracle_calls_;
        Base::evaluations_ += found.evaluations;
        Base::record_step(i, {gap, found.entropy, found.ascent, found.step});
        update_seconds_ += watch.seconds();
    }

    // The step gamma = l2 / (l2 + max_i c_i R_i), with bounds for the R_i, ascends on every block. Per unit of sample weight
    //     H(mu + gamma delta) >= (1 - gamma) H(mu) + gamma H(nu) + gamma (1 - gamma) / 2 |delta|_1^2,
    // with the 1-norm over labellings: the entropy is strongly concave there (Pinsker), and of all distributions with
    // given clique marginals the table's is the one of largest entropy. The quadratic is c_i / l2 |E_delta F|^2, at most
    // c_i R_i / l2 |delta|_1^2, as delta sums to zero and so E_delta F = E_delta(F - F_i). With gap and residual as in
    // update(), H(nu) - H(mu) + residual = gap, hence
    //     f(gamma) - f(0) >= gamma gap + gamma / 2 (1 - gamma (l2 + c_i R_i) / l2) |delta|_1^2 >= gamma gap >= 0.
    // This is equation (22) of the paper, with sample weights.
    bool guaranteed() const { return step_.rule == StepRule::kGuaranteed; }
    void set_guaranteed_step() { step_.size = field_.l2() / (field_.l2() + largest_radius_); }

    // The start: along epsilon * uniform + (1 - epsilon) * truth, w is epsilon times its value at the uniform end.
    void prepare(Index i) {
        if (guaranteed()) largest_radius_ = std::max(largest_radius_, field_.sample_weight(i) * field_.radius_bound(i));
        double* m = room(marginals_, field_.compact_size(i));
        field_.uniform(i, m);
        field_.subtract_truth(i, m);
        field_.pull(i, m, direction_);
        field_.apply(weights_.data(), -field_.sample_weight(i) / field_.l2(), direction_);
    }

    void choose_start() {
        if (guaranteed()) set_guaranteed_step();
        const double norm = squared_norm(field_.dimension(), weights_.data());
        const auto entropy_at = [&](Index i, double epsilon) { return field_.initial_entropy(i, epsilon); };
        epsilon_ =
            given_epsilon_ > 0.0 ? given_epsilon_ : best_epsilon(field_, Base::sampler_.order(), norm, entropy_at);
        scale(field_.dimension(), epsilon_, weights_.data());
    }

    void initialise(Index i) {
        field_.initial_table(i, epsilon_, table(i));
        entropy_[i] = field_.initial_entropy(i, epsilon_);
    }

    void stored(Index i, double* m) {
        double* repaired = room(candidate_, field_.table_size(i));
        std::copy(table(i), table(i) + field_.table_size(i), repaired);
        field_.repair_table(i, repaired);
        field_.compact(i, repaired, m);
    }
    double stored_entropy(Index i) const { return entropy(field_.segments(i), candidate_.data()); }
    void repair(Index i) { field_.repair_table(i, table(i)); }

    double* table(Index i) { return tables_.get() + offsets_[i]; }

    StepOptions step_;
    double largest_radius_ = 0.0;  // max_i c_i R_i
    double given_epsilon_;
    double search_seconds_ = 0.0, update_seconds_ = 0.0;
    std::vector<Index> offsets_;
    std::unique_ptr<double[]> tables_;  // mu, block after block; none for blocks of sample weight zero
};

}  // namespace dualfield
