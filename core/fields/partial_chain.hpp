// A chain whose labels are known in part: at each position a set of candidates, one of which is right. With Y_i the
// allowed labellings among the candidates, the loss of a block is
//     log Z_i - log Z_i(Y_i) = -log sum over y in Y_i of p(y | x_i),
// its gradient E F - E[F | Y_i], its Hessian Cov(F) - Cov(F | Y_i): it is not convex, so there is no dual.
//
// Solvers on the primal take the marginals less those of the truth, and the log-partition less the truth's score. Here
// both come as differences already: infer() gives m - m(Y_i) and log Z - log Z(Y_i), and the truth is nothing.
#pragma once

#include "fields/constrained_chain.hpp"

namespace dualfield {

class PartialChain final : public ConstrainedChain {
    using Base = ConstrainedChain;

   public:
    // candidates: all positions x K, true for what a label may be, beside what is allowed. Where there is one, it is
    // the chain's own label.
    PartialChain(const FreeChain& chain, const AllowedLabels& allowed, const bool* candidates)
        : Base(chain, allowed, false) {
        const Index K = chain.labels(), size = chain.positions_before(chain.blocks()) * K;
        const auto both = std::make_unique<bool[]>(size);
        for (Index k = 0; k < size; ++k) both[k] = candidates[k] && (!allowed.positions || allowed.positions[k]);
        find_live({allowed.transitions, allowed.begin, allowed.end, both.get()},
                  "among the candidates of y that the constraints and the allowed sets leave", possible_);
        for (Index i = 0; i < chain.blocks(); ++i) {
            const bool* of_block = candidates + chain.positions_before(i) * K;
            known_.push_back(std::count(of_block, of_block + chain.length(i) * K, true) == chain.length(i));
        }
    }

    bool known(Index i) const { return known_[i] != 0; }  // whether all labels of the block are

    // Labels on an allowed labelling among the candidates: the block's positions x K.
    const char* possible(Index i) const { return possible_.data() + positions_before(i) * labels(); }

    // log Z(Y_i) and the compact marginals among the candidates.
    double infer_among(Index i, const double* theta, double* m, Workspace& workspace) const {
        auto& scratch = workspace.as<Scratch>();
        return chain_.infer_by(scratch.oracle, i, within(i, theta, scratch), nullptr, m, scratch.edges);
    }

    bool exact() const override { return false; }  // inference is exact, but the objective is not convex
    Index table_size(Index i) const override { return 2 * Base::table_size(i); }
    void subtract_truth(Index, double*) const override {}
    double true_score(Index, const double*) const override { return 0.0; }

    void posterior(Index i, const double* theta, double* m, Workspace& workspace) const override {
        Base::infer(i, theta, m, workspace);
    }

    double log_partition(Index i, const double* theta, Workspace& workspace) const override {
        auto& scratch = workspace.as<Scratch>();
        const double log_z = Base::log_partition(i, theta, workspace);
        if (known_[i]) return log_z - Base::true_score(i, theta);
        return log_z - scratch.oracle.log_partition(within(i, theta, scratch));
    }

    double infer(Index i, const double* theta, double* m, Workspace& workspace) const override {
        auto& scratch = workspace.as<Scratch>();
        const Index size = compact_size(i);
        const double log_z = Base::infer(i, theta, m, workspace);
        if (known_[i]) return log_z - take_truth(i, theta, m);
        double* among = room(scratch.other, size);
        const double log_z_among = infer_among(i, theta, among, workspace);
        axpy(size, -1.0, among, m);
        return log_z - log_z_among;
    }

    // [ table | table among the candidates ]
    double infer_table(Index i, const double* theta, double* table, double* m, Workspace& workspace) const override {
        auto& scratch = workspace.as<Scratch>();
        const Index size = compact_size(i);
        const double log_z = Base::infer_table(i, theta, table, m, workspace);
        if (known_[i]) return log_z - take_truth(i, theta, m);
        double* among = room(scratch.other, size);
        const double log_z_among = chain_.infer_by(scratch.oracle, i, within(i, theta, scratch),
                                                   table + Base::table_size(i), among, scratch.edges);
        axpy(size, -1.0, among, m);
        return log_z - log_z_among;
    }

    void differentiate(Index i, const double* table, const double* dtheta, double* dm,
                       std::vector<double>& scratch) const override {
        Base::differentiate(i, table, dtheta, dm, scratch);
        if (known_[i]) return;
        std::vector<double> among(compact_size(i));
        Base::differentiate(i, table + Base::table_size(i), dtheta, among.data(), scratch);
        axpy(compact_size(i), -1.0, among.data(), dm);
    }

    void contrast(Index, double*) const override { refuse(); }
    double radius_bound(Index) const override { return refuse(); }

   private:
    ChainPotentials within(Index i, const double* theta, Scratch& scratch) const {
        return potentials_within(i, possible(i), theta, scratch.masked);
    }

    // Where all labels are known: m -= their indicators; returns their score.
    double take_truth(Index i, const double* theta, double* m) const {
        Base::subtract_truth(i, m);
        return Base::true_score(i, theta);
    }

    std::vector<char> known_;     // blocks with one candidate at every position
    std::vector<char> possible_;  // labels on an allowed labelling among the candidates
};

}  // namespace dualfield
