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

#include <limits>
#include <vector>

#include "base/compiler.hpp"
#include "base/numbers.hpp"
#include "duality/line_search.hpp"
#include "solvers/dual/best_epsilon.hpp"
#include "solvers/dual/block_store.hpp"
#include "solvers/dual/dual_options.hpp"
#include "solvers/dual/dual_run.hpp"

namespace dualfield {

// Where mu begins. Truth and uniform stand for the distributions; epsilon may be chosen (best_epsilon.hpp).
enum class StartRule {
    kMixture,  // epsilon * uniform + (1 - epsilon) * truth, equation (21)
    kProduct,  // independent nodes, each the same mixture
    kPeaked,   // potentials 10 on true labels and true pairs
    kRandom,   // potentials log E with E exponential: on one node, uniform over all distributions
};

inline RuleNames<StartRule> names_of(StartRule) {
    return {{"mixture", StartRule::kMixture},
            {"product", StartRule::kProduct},
            {"peaked", StartRule::kPeaked},
            {"random", StartRule::kRandom}};
}

struct StartOptions {
    StartRule rule;
    double epsilon;  // of kMixture and kProduct; 0 takes the best one
};

struct SDCAOptions : DualOptions {
    StepOptions step;
    StartOptions start;

    void each(auto&& option) {
        DualOptions::each(option);
        step.each(option);
        option("init", start.rule);
        option("epsilon", start.epsilon);
    }
    void check(const auto& field) const {
        DualOptions::check(field);
        check_option(sampling.rule != SamplingRule::kResidual || field.one_node(),
                     "only a one-node field has residuals");
    }
};

// What a step leaves behind until the run records it.
struct SDCANote {
    double length;                                      // |nu - mu|_1, if the sampling rule uses it
    double search_seconds = 0.0, update_seconds = 0.0;  // zero unless the step is timed
};

template <TableField F>
class SDCA : public DualRun<F, SDCA<F>, SDCANote> {
    using Base = DualRun<F, SDCA<F>, SDCANote>;
    using Base::entropy_, Base::epsilon_, Base::field_, Base::weights_;

   public:
    using Options = SDCAOptions;

    SDCA(const F& field, const Options& options)
        : Base(field, options),
          step_(options.step),
          start_(options.start),
          tables_(offsets(field), 1, options.precision) {}

    // How many numbers the duals of a field take.
    static Index kept_numbers(const F& field) { return offsets(field).back(); }

    // Seconds spent in the line search and in whole updates. One update in kTimedEvery is timed.
    Numbers numbers() const { return {{"search_seconds", search_seconds_}, {"update_seconds", update_seconds_}}; }

    // The functions that DualMethod requires.
    using typename Base::Visit, typename Base::Worker;

    // Along the mixture, w(epsilon) = epsilon w(1). Along the product, p_t = y_t + epsilon (u - y_t) at each node, so
    // edges add a square: w(epsilon) = epsilon a + epsilon^2 b. Its values at 1 and 1/2 give a and b.
    void prepare(Index i) {
        if (guaranteed()) largest_radius_ = std::max(largest_radius_, field_.sample_weight(i) * field_.radius_bound(i));
        double* m = room(worker().marginals, field_.compact_size(i));
        if (start_.rule == StartRule::kMixture || start_.rule == StartRule::kProduct) {
            field_.uniform(i, m);
            Base::add_weights(i, m, 1.0, weights_.raw());
        }
        if (start_.rule == StartRule::kProduct) {
            if (halfway_.empty()) halfway_ = Zeros<double>(field_.dimension());
            field_.product_table(i, 0.5, room(worker().candidate, field_.table_size(i)));
            field_.compact(i, worker().candidate.data(), m);
            Base::add_weights(i, m, 1.0, halfway_);
        }
    }

    void choose_start() {
        if (guaranteed()) set_guaranteed_step();
        epsilon_ = std::numeric_limits<double>::quiet_NaN();
        if (start_.rule == StartRule::kMixture) choose_mixture();
        if (start_.rule == StartRule::kProduct) choose_product();
    }

    void initialise(Index i) {
        double* mu = room(worker().kept[0], field_.table_size(i));
        if (start_.rule == StartRule::kMixture) {
            field_.initial_table(i, epsilon_, mu);
            entropy_[i] = field_.initial_entropy(i, epsilon_);
        } else if (start_.rule == StartRule::kProduct) {
            field_.product_table(i, epsilon_, mu);
            entropy_[i] = field_.product_entropy(i, epsilon_);
        } else {
            initialise_by_potentials(i, mu);
        }
        tables_.write(i, 0, mu);
    }

    void propose(Index i, Worker& worker, Visit& visit) {
        tables_.with_row(i, 0, [&](auto* mu) { propose(i, mu, worker, visit); });
    }

    void committed(Index i, const SDCANote& note) {
        if (Base::samplers_.needs_length()) Base::samplers_.record_length(i, note.length);
        search_seconds_ += note.search_seconds;
        update_seconds_ += note.update_seconds;
    }

    double stored(Index i, double* m, Worker& worker) {
        const double* repaired = repaired_table(i, worker);
        field_.compact(i, repaired, m);
        return entropy(field_.segments(i), repaired);
    }

    void repair(Index i, Worker& worker) { tables_.write(i, 0, repaired_table(i, worker)); }

    void change_l2(double old_l2) {
        largest_radius_ = old_l2 * (1.0 / step_.size - 1.0);
        if (guaranteed()) set_guaranteed_step();
    }

    void widen_duals() { tables_.widen(); }

    void archive_duals(Archive& archive) {
        tables_.archive(archive, "duals");
        archive.scalars("step_size", {&step_.size});
    }

    template <class See>
    DUALFIELD_INLINE void for_each_kept(See&& see) const {
        see(tables_);
    }

   private:
    static constexpr Index kTimedEvery = 16;

    static std::vector<Index> offsets(const F& field) {
        return Base::offsets_by(field, [&](Index i) { return field.table_size(i); });
    }

    // One update of Algorithm 2, in the place where mu is stored.
    template <class Number>
    void propose(Index i, Number* mu, Worker& worker, Visit& visit) {
        const Index size = field_.table_size(i), compact_size = field_.compact_size(i);
        double* theta = room(worker.potentials, compact_size);
        double* m = room(worker.marginals, compact_size);
        double* delta = room(worker.candidate, size);
        const Stopwatch watch(visit.is_first() && Base::oracle_calls() % kTimedEvery == 0);

        visit.score(theta);
        field_.center(i, theta);
        const double log_z = field_.infer_table(i, theta, delta, m, worker.oracle);  // delta holds nu here
        const double entropy_of_nu = log_z - dot(compact_size, theta, m);
        visit.oracle_calls = 1;
        axpy(size, -1.0, mu, delta);
        field_.compact(i, delta, m);
        const double residual = dot(compact_size, theta, m);
        const double gap = non_negative(entropy_of_nu + residual - entropy_[i]);
        visit.step.gap = gap;
        if (!std::isfinite(gap)) return;  // nothing has moved yet
        if (Base::samplers_.needs_length()) visit.note.length = absolute_sum(size, delta);

        const double quadratic = visit.quadratic(m, residual);
        const double before = watch.seconds();
        const LineSearchResult found =
            find_step(step_, DualAlong{field_.segments(i), mu, delta, gap, residual, quadratic, entropy_[i]});
        visit.note.search_seconds = watch.seconds() - before;
        axpy(size, found.step, delta, mu);
        visit.evaluations = found.evaluations;
        visit.step = {gap, found.entropy, found.ascent, found.step, found.step};
        visit.note.update_seconds = watch.seconds();
    }

    // The step gamma = l2 / (l2 + max_i c_i R_i), with bounds for the R_i, ascends on every block. Per unit of sample
    // weight
    //     H(mu + gamma delta) >= (1 - gamma) H(mu) + gamma H(nu) + gamma (1 - gamma) / 2 |delta|_1^2,
    // with the 1-norm over labellings: the entropy is strongly concave there (Pinsker), and of all distributions with
    // given clique marginals the table's is the one of largest entropy. The quadratic is c_i / l2 |E_delta F|^2, at
    // most c_i R_i / l2 |delta|_1^2, as delta sums to zero and so E_delta F = E_delta(F - F_i). With gap and residual
    // as in update(), H(nu) - H(mu) + residual = gap, hence
    //     f(gamma) - f(0) >= gamma gap + gamma / 2 (1 - gamma (l2 + c_i R_i) / l2) |delta|_1^2 >= gamma gap >= 0.
    // This is equation (22) of the paper, with sample weights.
    bool guaranteed() const { return step_.rule == StepRule::kGuaranteed; }

    void set_guaranteed_step() { step_.size = Base::l2() / (Base::l2() + largest_radius_); }

    void choose_mixture() {
        double* a = weights_.raw().data();
        const auto penalty_at = Base::conjugate_along(a, nullptr);
        const auto entropy_at = [&](Index i, double epsilon) { return field_.initial_entropy(i, epsilon); };
        choose_epsilon(penalty_at, entropy_at);
        scale(field_.dimension(), epsilon_, a);
    }

    void choose_product() {
        const Index d = field_.dimension();
        double* a = weights_.raw().data();  // w(1) = a + b
        double* b = halfway_.data();        // w(1/2) = a / 2 + b / 4
        for (Index k = 0; k < d; ++k) {
            const double whole = a[k], half = b[k];
            a[k] = 4.0 * half - whole;
            b[k] = 2.0 * whole - 4.0 * half;
        }
        const auto penalty_at = Base::conjugate_along(a, b);
        const auto entropy_at = [&](Index i, double epsilon) { return field_.product_entropy(i, epsilon); };
        choose_epsilon(penalty_at, entropy_at);
        scale(d, epsilon_, a);
        axpy(d, epsilon_ * epsilon_, b, a);
        halfway_ = {};
    }

    template <class PenaltyAt, class EntropyAt>
    void choose_epsilon(const PenaltyAt& penalty_at, const EntropyAt& entropy_at) {
        epsilon_ = start_.epsilon > 0.0 ? start_.epsilon
                                        : best_epsilon(field_, Base::samplers_.active(), penalty_at, entropy_at);
    }

    // Starts that are the marginals of some potentials, which have the layout of the table.
    void initialise_by_potentials(Index i, double* mu) {
        constexpr double kPeak = 10.0;
        const Index size = field_.table_size(i);
        double* theta = room(worker().candidate, size);
        if (start_.rule == StartRule::kPeaked) {
            field_.initial_table(i, 0.0, theta);  // the truth's indicators
            scale(size, kPeak, theta);
        } else {
            for (Index k = 0; k < size; ++k) theta[k] = std::log(Base::random_.exponential());
        }
        field_.infer_untied(i, theta, mu, worker().oracle);
        entropy_[i] = entropy(field_.segments(i), mu);
        double* m = room(worker().marginals, field_.compact_size(i));
        field_.compact(i, mu, m);
        Base::add_weights(i, m, 1.0, weights_.raw());
    }

    const double* repaired_table(Index i, Worker& worker) {
        double* table = room(worker.candidate, field_.table_size(i));
        tables_.read(i, 0, table);
        field_.repair_table(i, table);
        return table;
    }

    Worker& worker() { return Base::workers_[0]; }  // the one that computes the start

    StepOptions step_;
    double largest_radius_ = 0.0;  // max_i c_i R_i
    StartOptions start_;
    Zeros<double> halfway_;  // w(1/2) while the product start is chosen
    double search_seconds_ = 0.0, update_seconds_ = 0.0;
    BlockStore tables_;  // mu; none for blocks of sample weight zero
};

}  // namespace dualfield
