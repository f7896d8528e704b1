// Stochastic dual coordinate ascent for conditional random fields: Le Priol, Piche and Lacoste-Julien (2018),
// Algorithm 2, with sampling by duality gaps.
//
// The state is one table of clique marginals mu_i per block, and w = w(mu) always. One update of block i:
//     nu    = marginals of block i under w                      (one call of the oracle)
//     g_i   = log Z - <theta, mu_i> - H(mu_i) = KL(mu_i || nu)  (the block's duality gap; no logarithms needed)
//     delta = nu - mu_i,   v = -(c_i / l2) E_delta F            (ascent direction, and its image in the weights)
//     gamma = argmax of the dual along (delta, v)               (line_search.hpp)
//     mu_i += gamma delta,   w += gamma v
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "duality/line_search.hpp"
#include "fields/field.hpp"
#include "sampling/block_sampler.hpp"
#include "solvers/confirmation.hpp"

namespace dualfield {

struct SDCAOptions {
    double non_uniformity;    // share of the draws that follow the recorded gaps; 0 is uniform sampling
    Index permutation_every;  // one pass in so many visits every block once; 0: only the first does
    double subprecision;      // relative precision of the line search
    double epsilon;           // the start epsilon * uniform + (1 - epsilon) * truth; 0: the best one
    std::uint64_t seed;
};

template <TableField F>
class SDCA {
   public:
    SDCA(const F& field, const SDCAOptions& options)
        : field_(field),
          options_(options),
          random_(options.seed),
          sampler_(active_blocks(field), field.blocks(), options.non_uniformity, options.permutation_every),
          weights_(field.dimension(), 0.0),
          entropy_(field.blocks(), 0.0),
          confirmation_(field) {
        offsets_.reserve(field.blocks() + 1);
        offsets_.push_back(0);
        for (Index i = 0; i < field.blocks(); ++i)
            offsets_.push_back(offsets_.back() + (field.sample_weight(i) > 0.0 ? field.table_size(i) : 0));
        tables_ = std::make_unique_for_overwrite<double[]>(offsets_.back());
    }

    // mu = epsilon * uniform + (1 - epsilon) * truth. Along this segment w is linear in epsilon and the
    // entropies have a closed form, so the best epsilon is a one-dimensional concave maximisation. In slices
    // like run(); true when it is complete.
    bool start(double seconds) {
        const Deadline deadline(seconds);
        const Index active = sampler_.draws_per_pass();
        while (start_cursor_ < active) {
            add_uniform_minus_truth(sampler_.order()[start_cursor_++]);
            if (start_cursor_ == active) choose_epsilon();
            if (deadline.passed()) return false;
        }
        while (start_cursor_ < 2 * active) {
            const Index i = sampler_.order()[start_cursor_++ - active];
            field_.initial_table(i, epsilon_, table(i));
            entropy_[i] = field_.initial_entropy(i, epsilon_);
            dual_ += field_.sample_weight(i) * entropy_[i];
            if (deadline.passed() && start_cursor_ < 2 * active) return false;
        }
        return true;
    }

    // Runs updates until there were `max_updates` or the time is over; returns how many there were.
    Index run(Index max_updates, double seconds) {
        const Deadline deadline(seconds);
        confirmation_.discard();
        Index done = 0;
        while (done < max_updates && !diverged_) {
            update(sampler_.draw(random_));
            ++done;
            if (deadline.passed()) break;
        }
        updates_ += done;
        return done;
    }

    // The certificate, by a full pass that changes nothing in the run. In slices; true when it is complete.
    bool confirm(double seconds) {
        double* repaired = candidate_.data();
        return confirmation_.run(
            sampler_.order(), Deadline(seconds),
            [&](Index i, double* m) {
                repaired = room(candidate_, field_.table_size(i));
                std::copy(table(i), table(i) + field_.table_size(i), repaired);
                field_.repair_table(i, repaired);
                field_.compact(i, repaired, m);
            },
            [&](Index i) { return entropy(field_.segments(i), repaired); });
    }

    // No block moves any more, or the numbers have left the range of floating point.
    bool stalled() const { return idle_ >= 2 * draws_per_pass(); }
    bool diverged() const { return diverged_; }
    bool started() const { return start_cursor_ == 2 * sampler_.draws_per_pass(); }
    bool confirmed() const { return confirmation_.complete(); }

    // Goes on from what the last complete confirm() found: weights without drift, every recorded gap exact.
    void adopt_confirmed() {
        weights_.swap(confirmation_.weights());
        entropy_.swap(confirmation_.entropies());
        for (Index i : sampler_.order()) {
            field_.repair_table(i, table(i));
            sampler_.record(i, confirmation_.gaps()[i]);
        }
        dual_ = confirmation_.certificate().dual;
        confirmation_.discard();
    }

    // The weights that the certificate speaks of, after a complete confirm(); the run's own otherwise.
    const std::vector<double>& confirmed_weights() const { return confirmed() ? confirmation_.weights() : weights_; }

    const Certificate& certificate() const { return confirmation_.certificate(); }
    double dual() const { return dual_; }
    double gap_estimate() const { return sampler_.recorded_total(); }
    double epsilon() const { return epsilon_; }
    Index updates() const { return updates_; }
    Index oracle_calls() const { return oracle_calls_ + confirmation_.oracle_calls(); }
    Index evaluations() const { return evaluations_; }
    double step_total() const { return step_total_; }
    Index draws_per_pass() const { return sampler_.draws_per_pass(); }
    const std::vector<double>& weights() const { return weights_; }

    // What a saved state consists of, beside the counters.
    double* tables() { return tables_.get(); }
    Index tables_size() const { return offsets_.back(); }
    std::vector<double>& entropies() { return entropy_; }
    std::vector<double>& mutable_weights() { return weights_; }
    Random& random() { return random_; }
    BlockSampler& sampler() { return sampler_; }
    void restore_counters(Index updates, Index oracle_calls, Index evaluations, double step_total, double dual,
                          double epsilon) {
        updates_ = updates;
        oracle_calls_ = oracle_calls;
        evaluations_ = evaluations;
        step_total_ = step_total;
        dual_ = dual;
        epsilon_ = epsilon;
        start_cursor_ = 2 * sampler_.draws_per_pass();
        confirmation_.reset();
    }

   private:
    void add_uniform_minus_truth(Index i) {
        double* m = room(marginals_, field_.compact_size(i));
        field_.uniform(i, m);
        field_.subtract_truth(i, m);
        field_.pull(i, m, direction_);
        field_.apply(weights_.data(), -field_.sample_weight(i) / field_.l2(), direction_);
    }

    void choose_epsilon() {
        epsilon_ = options_.epsilon > 0.0 ? options_.epsilon : best_epsilon();
        scale(field_.dimension(), epsilon_, weights_.data());
        dual_ = -0.5 * field_.l2() * squared_norm(field_.dimension(), weights_.data());
    }

    void update(Index i) {
        const Index size = field_.table_size(i), compact_size = field_.compact_size(i);
        const double c = field_.sample_weight(i);
        double* theta = room(potentials_, compact_size);
        double* m = room(marginals_, compact_size);
        double* delta = room(candidate_, size);
        double* mu = table(i);

        field_.score(i, weights_.data(), theta);
        field_.center(i, theta);
        const double log_z = field_.infer_table(i, theta, delta, m, oracle_);
        const double entropy_of_nu = log_z - dot(compact_size, theta, m);
#pragma omp simd
        for (Index k = 0; k < size; ++k) delta[k] -= mu[k];
        field_.compact(i, delta, m);
        const double residual = dot(compact_size, theta, m);
        const double gap = non_negative(entropy_of_nu + residual - entropy_[i]);

        const double quadratic = c / field_.l2() * field_.pull(i, m, direction_);
        const LineSearchResult found = newton_line_search(field_.segments(i), mu, delta, gap, residual, quadratic,
                                                          entropy_[i], options_.subprecision);
        axpy(size, found.step, delta, mu);
        field_.apply(weights_.data(), -found.step * c / field_.l2(), direction_);

        entropy_[i] = found.entropy;
        dual_ += c * found.ascent;
        sampler_.record(i, c * gap);
        ++oracle_calls_;
        evaluations_ += found.evaluations;
        step_total_ += found.step;
        idle_ = found.step > 0.0 ? 0 : idle_ + 1;
        diverged_ = !std::isfinite(gap);
    }

    // weights_ holds w at epsilon = 1. Golden-section search over log(epsilon).
    double best_epsilon() const {
        const double norm = squared_norm(field_.dimension(), weights_.data());
        const auto kinds = group_by_size();  // blocks of equal table size have equal initial entropy
        const auto dual_at = [&](double log_epsilon) {
            const double epsilon = std::exp(log_epsilon);
            double value = -0.5 * field_.l2() * epsilon * epsilon * norm;
            for (const auto& [weight, block] : kinds) value += weight * field_.initial_entropy(block, epsilon);
            return value;
        };
        const double golden = 0.5 * (std::sqrt(5.0) - 1.0);
        double left = std::log(1e-12), right = 0.0;
        for (int step = 0; step < 60; ++step) {
            const double a = right - golden * (right - left), b = left + golden * (right - left);
            if (dual_at(a) < dual_at(b)) {
                left = a;
            } else {
                right = b;
            }
        }
        return std::exp(0.5 * (left + right));
    }

    // (total sample weight, one block) for each table size that occurs.
    std::vector<std::pair<double, Index>> group_by_size() const {
        std::vector<Index> order = sampler_.order();
        std::sort(order.begin(), order.end(),
                  [&](Index a, Index b) { return field_.table_size(a) < field_.table_size(b); });
        std::vector<std::pair<double, Index>> kinds;
        for (Index i : order) {
            if (kinds.empty() || field_.table_size(kinds.back().second) != field_.table_size(i))
                kinds.push_back({0.0, i});
            kinds.back().first += field_.sample_weight(i);
        }
        return kinds;
    }

    static std::vector<Index> active_blocks(const F& field) {
        std::vector<Index> active;
        for (Index i = 0; i < field.blocks(); ++i)
            if (field.sample_weight(i) > 0.0) active.push_back(i);
        return active;
    }

    double* table(Index i) { return tables_.get() + offsets_[i]; }

    const F& field_;
    SDCAOptions options_;
    Random random_;
    BlockSampler sampler_;
    std::vector<double> weights_;
    std::unique_ptr<double[]> tables_;  // mu, block after block; none for blocks of sample weight zero
    std::vector<Index> offsets_;
    std::vector<double> entropy_;  // H(mu_i)
    double dual_ = 0.0, epsilon_ = 0.0, step_total_ = 0.0;
    Index updates_ = 0, oracle_calls_ = 0, evaluations_ = 0;

    Index start_cursor_ = 0;
    Index idle_ = 0;  // updates since a block last moved
    bool diverged_ = false;
    Confirmation<F> confirmation_;
    typename F::Workspace oracle_;
    typename F::Direction direction_;
    std::vector<double> potentials_, marginals_, candidate_;
};

}  // namespace dualfield
