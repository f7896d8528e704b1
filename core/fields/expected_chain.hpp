// A chain whose labels are known in part, with the truth that its weights expect: the convex problem that bounds the
// objective of PartialChain from above and meets it at given weights w'.
//
// With t_i = E[F | Y_i; w'] the expected features among the labellings left open, and H_i their entropy,
//     log Z_i(w) - log Z_i(Y_i; w)  <=  log Z_i(w) - <w, t_i> - H_i,     with equality at w = w',
// since log Z_i(Y_i; .) is convex and the right side has its tangent. The right side is the loss of a chain whose truth
// is t_i, less a constant, so methods on the dual minimise it and certify that. (Expectation and maximisation in
// turns: Dempster, Laird and Rubin 1977; the tangent of the concave part: Yuille and Rangarajan 2003.)
//
// Any other t_i over the labellings left open gives a bound too. A dual method keeps potentials vartheta_i of each
// block, which go to theta_i(w). While it works, the truth *follows* them: t_i = E[F | Y_i; vartheta_i]. Then t_i
// moves as little as the block's marginals, and much of the move of both cancels in the weights. Only for a
// certificate the truth is that of given weights, of all blocks at once: expect() and meet().
//
// A dual method may begin at the truth and count its entropy as zero: that is below H_i, so what it certifies holds.
#pragma once

#include <cmath>
#include <vector>

#include "duality/certificate.hpp"
#include "fields/partial_chain.hpp"

namespace dualfield {

class ExpectedChain final : public ConstrainedChain {
    using Base = ConstrainedChain;

   public:
    // Needs the partial chain as long as it lives. Until expect() and meet() only the blocks count whose labels are
    // all known.
    explicit ExpectedChain(const PartialChain& partial) : Base(partial), partial_(partial), free_(all_allowed()) {
        starts_.reserve(blocks() + 1);
        starts_.push_back(0);
        for (Index i = 0; i < blocks(); ++i)
            starts_.push_back(starts_.back() + (partial.known(i) ? 0 : compact_size(i)));
    }

    // Computes the expected labels at these weights. Returns the loss of the partial chain there, without the penalty.
    double expect(const double* weights) {
        next_.resize(starts_.back());
        next_entropies_.assign(blocks(), 0.0);
        CompensatedSum loss;
        Workspace workspace, among;
        std::vector<double> theta;
        for (Index i = 0; i < blocks(); ++i) {
            const double c = partial_.sample_weight(i);
            if (c == 0.0) continue;
            const Index size = compact_size(i);
            score(i, weights, room(theta, size));
            center(i, theta.data());
            const double log_z = log_partition(i, theta.data(), workspace);
            if (known(i)) {
                loss.add(c * (log_z - Base::true_score(i, theta.data())));
                continue;
            }
            double* t = next_.data() + starts_[i];
            const double log_z_among = partial_.infer_among(i, theta.data(), t, among);
            next_entropies_[i] = log_z_among - dot(size, theta.data(), t);
            loss.add(c * (log_z - log_z_among));
        }
        return loss.value();
    }

    // The labels that expect() computed last become the truth.
    void meet() {
        expected_.swap(next_);
        entropies_.swap(next_entropies_);
    }

    // Whether the truth follows the potentials that a method keeps.
    void follow(bool follows) { following_ = follows; }
    bool truth_follows(Index i) const override { return following_ && !known(i); }
    double truth_under(Index i, const double* theta, double* t, Workspace& workspace) const override {
        const double log_z = partial_.infer_among(i, theta, t, workspace);
        return log_z - dot(compact_size(i), theta, t);
    }
    void move_truth(Index i, const double* t, double a, double* m) const override {
        axpy(compact_size(i), a, t, m);
        axpy(compact_size(i), -a, truth(i), m);
    }
    void set_truth(Index i, const double* t, double entropy) const override {
        std::copy_n(t, compact_size(i), expected_.data() + starts_[i]);
        entropies_[i] = entropy;
    }

    // The truth of all blocks with open labels, and its entropies, for saving.
    const std::vector<double>& expected() const { return expected_; }
    const std::vector<double>& entropies() const { return entropies_; }
    bool fits(Index expected, Index entropies) const { return expected == starts_.back() && entropies == blocks(); }
    void restore(const double* expected, const double* entropies) {
        expected_.assign(expected, expected + starts_.back());
        entropies_.assign(entropies, entropies + blocks());
    }

    double entropy() const {  // sum of c_i H_i
        double total = 0.0;
        for (Index i = 0; i < std::ssize(entropies_); ++i) total += partial_.sample_weight(i) * entropies_[i];
        return total;
    }

    void subtract_truth(Index i, double* m) const override {
        if (known(i)) return Base::subtract_truth(i, m);
        axpy(compact_size(i), -1.0, truth(i), m);
    }
    double true_score(Index i, const double* theta) const override {
        return known(i) ? Base::true_score(i, theta) : dot(compact_size(i), theta, truth(i));
    }

    // If every labelling is allowed, the oracles of unconstrained chains are used: they are faster.
    void center(Index i, double* theta) const override { free_ ? chain_.center(i, theta) : Base::center(i, theta); }
    double log_partition(Index i, const double* theta, Workspace& workspace) const override {
        return free_ ? chain_.log_partition(i, theta, workspace) : Base::log_partition(i, theta, workspace);
    }
    double infer(Index i, const double* theta, double* m, Workspace& workspace) const override {
        return free_ ? chain_.infer(i, theta, m, workspace) : Base::infer(i, theta, m, workspace);
    }
    double infer_table(Index i, const double* theta, double* table, double* m, Workspace& workspace) const override {
        return free_ ? chain_.infer_table(i, theta, table, m, workspace)
                     : Base::infer_table(i, theta, table, m, workspace);
    }
    void decode_labels(Index i, const double* theta, std::int32_t* labels, Workspace& workspace) const override {
        free_ ? chain_.decode_labels(i, theta, labels, workspace) : Base::decode_labels(i, theta, labels, workspace);
    }

    // The allowed labelling that has as many labels rare in the truth as possible.
    void contrast(Index i, double* m) const override {
        if (known(i)) return Base::contrast(i, m);
        const Index K = labels(), T = length(i);
        std::vector<double> theta(compact_size(i), 0.0), occurrences(K, 0.0);
        for (Index t = 0; t < T; ++t) axpy(K, -1.0, truth(i) + t * K, occurrences.data());
        for (Index t = 0; t < T; ++t) std::copy(occurrences.begin(), occurrences.end(), theta.begin() + t * K);
        Decoder decoder;
        decode(i, theta.data(), m, decoder);
        subtract_truth(i, m);
    }
    double radius_bound(Index i) const override {
        return known(i) ? Base::radius_bound(i) : 4.0 * chain_.largest_squared_norm(i);
    }

    // Independent nodes, each epsilon * uniform + (1 - epsilon) * its truth; where the truth follows, each wrong label
    // has the same low potential.
    void initial_potentials(Index i, double epsilon, double* theta) const override {
        if (known(i)) return Base::initial_potentials(i, epsilon, theta);
        const Index K = labels(), nodes = length(i) * K;
        std::fill(theta, theta + compact_size(i), 0.0);
        if (following_) {
            const char* possible = partial_.possible(i);
            for (Index k = 0; k < nodes; ++k) theta[k] = possible[k] ? 0.0 : -strength_of(K, epsilon);
            return;
        }
        for (Index k = 0; k < nodes; ++k)
            theta[k] = std::log((1.0 - epsilon) * truth(i)[k] + epsilon / static_cast<double>(K));
    }

    // Methods that keep tables cannot start here.
    void initial_table(Index, double, double*) const override { refuse(); }
    double initial_entropy(Index, double) const override { return refuse(); }
    double infer_untied(Index, const double*, double*, Workspace&) const override { return refuse(); }

   private:
    bool known(Index i) const { return starts_[i] == starts_[i + 1]; }
    const double* truth(Index i) const { return expected_.data() + starts_[i]; }

    const PartialChain& partial_;
    bool following_ = false;
    bool free_;                  // whether every labelling is allowed
    std::vector<Index> starts_;  // where block i begins in expected_; nothing there where all its labels are known
    // Compact marginals and entropies; where the truth follows, a run on a const field sets those of single blocks.
    mutable std::vector<double> expected_, entropies_;
    std::vector<double> next_, next_entropies_;
};

}  // namespace dualfield
