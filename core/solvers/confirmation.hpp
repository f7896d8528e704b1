// The full pass behind the certificate of a dual solver.
//
// Nothing of the run's own bookkeeping is trusted: from the stored marginals alone it computes w(mu) afresh, then at
// that w every log-partition, entropy and block gap. It changes nothing in the run, and works in slices.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "fields/field.hpp"
#include "math/vector.hpp"
#include "solvers/certificate.hpp"
#include "solvers/deadline.hpp"

namespace dualfield {

template <Field F>
class Confirmation {
   public:
    explicit Confirmation(const F& field) : field_(field) {}

    // Goes through the blocks of `order` twice; true when complete. marginals_of(i, m) writes the compact marginals
    // of block i, which must be those of a distribution to the last digit; entropy_of(i), called right after it, gives
    // their entropy.
    template <class MarginalsOf, class EntropyOf>
    bool run(const std::vector<Index>& order, const Deadline& deadline, MarginalsOf&& marginals_of,
             EntropyOf&& entropy_of) {
        const Index blocks = static_cast<Index>(order.size());
        if (cursor_ == 0) begin();
        while (cursor_ < blocks) {
            const Index i = order[cursor_++];
            double* m = room(marginals_, field_.compact_size(i));
            marginals_of(i, m);
            add_to_conjugate(i, m);
            if (deadline.passed()) return false;
        }
        while (cursor_ < 2 * blocks) {
            const Index i = order[cursor_++ - blocks];
            double* m = room(marginals_, field_.compact_size(i));
            marginals_of(i, m);
            add_to_certificate(i, m, entropy_of(i));
            if (deadline.passed() && cursor_ < 2 * blocks) return false;
        }
        end();
        return true;
    }

    // Forgets everything: the marginals have moved.
    void discard() {
        cursor_ = 0;
        weights_ = entropies_of_blocks_ = gaps_ = {};
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
    // What a complete run found; empty otherwise. Weights: w(mu). Gaps: times the sample weight.
    std::vector<double>& weights() { return weights_; }
    const std::vector<double>& weights() const { return weights_; }
    std::vector<double>& entropies() { return entropies_of_blocks_; }
    const std::vector<double>& gaps() const { return gaps_; }

   private:
    void begin() {
        weights_.assign(field_.dimension(), 0.0);
        entropies_of_blocks_.assign(field_.blocks(), 0.0);
        gaps_.assign(field_.blocks(), 0.0);
        losses_ = entropies_ = CompensatedSum();
        magnitude_ = 0.0;
    }

    // w(mu) = 1/l2 sum_i c_i (F_i - E_mu F)
    void add_to_conjugate(Index i, double* m) {
        field_.subtract_truth(i, m);
        field_.pull(i, m, direction_);
        field_.apply(weights_.data(), -field_.sample_weight(i) / field_.l2(), direction_);
    }

    void add_to_certificate(Index i, const double* m, double entropy) {
        const Index size = field_.compact_size(i);
        const double c = field_.sample_weight(i);
        double* theta = room(potentials_, size);
        field_.score(i, weights_.data(), theta);
        magnitude_ += c * field_.magnitude(i, theta) * rounding_growth(size);
        field_.center(i, theta);
        const double log_z = field_.log_partition(i, theta, oracle_);
        const double true_score = field_.true_score(i, theta);
        losses_.add(c * (log_z - true_score));
        entropies_.add(c * entropy);
        magnitude_ += c * (std::abs(log_z) + std::abs(true_score) + std::abs(entropy));
        entropies_of_blocks_[i] = entropy;
        gaps_[i] = c * non_negative(log_z - dot(size, theta, m) - entropy);
        ++oracle_calls_;
    }

    void end() {
        cursor_ = 0;
        const double penalty = 0.5 * field_.l2() * squared_norm(field_.dimension(), weights_.data());
        const double allowance = rounding_allowance(magnitude_ + 2.0 * penalty);
        const double primal = losses_.value() + penalty, dual = entropies_.value() - penalty;
        certificate_ = Certificate();
        if (!(dual <= primal + allowance)) return;  // not a number, or a defect: then nothing is certified
        certificate_.primal = primal;
        certificate_.dual = std::min(primal, dual) - allowance;
        certificate_.gap = certificate_.primal - certificate_.dual + allowance;
    }

    const F& field_;
    Index cursor_ = 0;
    Index oracle_calls_ = 0;
    Certificate certificate_;
    CompensatedSum losses_, entropies_;
    double magnitude_ = 0.0;
    std::vector<double> weights_, entropies_of_blocks_, gaps_;
    typename F::Workspace oracle_;
    typename F::Direction direction_;
    std::vector<double> potentials_, marginals_;
};

}  // namespace dualfield
