// A method on the dual as an extension has it: SDCA without a line search. The step
//     gamma_i = l2 / (l2 + c_i R_i)
// ascends on every block, with R_i the bound of its field (sdca.hpp has the proof).
#pragma once

#include <vector>

#include "duality/entropy.hpp"
#include "solvers/dual/dual_options.hpp"
#include "solvers/dual/dual_run.hpp"

namespace dualfield {

struct CautiousOptions : DualOptions {
    double caution;  // steps are divided by it

    void each(auto&& option) {
        DualOptions::each(option);
        option("caution", caution);
    }
    void check(const auto& field) const {
        DualOptions::check(field);
        check_option(caution >= 1.0, "caution must be at least 1");
    }
};

struct NoNote {};

template <TableField F>
class Cautious : public DualRun<F, Cautious<F>, NoNote> {
    using Base = DualRun<F, Cautious<F>, NoNote>;
    using Base::entropy_, Base::field_;

   public:
    using Options = CautiousOptions;

    Cautious(const F& field, const Options& options)
        : Base(field, options), caution_(options.caution), tables_(offsets(field), 1, options.precision) {}

    static Index kept_numbers(const F& field) { return offsets(field).back(); }

    // What DualMethod asks for. Every block begins at the uniform distribution.
    using typename Base::Visit, typename Base::Worker;

    void prepare(Index i) {
        std::vector<double> m(field_.compact_size(i));
        field_.uniform(i, m.data());
        Base::add_weights(i, m.data(), 1.0, Base::weights_.raw());
    }
    void choose_start() {}
    void initialise(Index i) {
        std::vector<double> mu(field_.table_size(i));
        field_.initial_table(i, 1.0, mu.data());
        entropy_[i] = field_.initial_entropy(i, 1.0);
        tables_.write(i, 0, mu.data());
    }

    void propose(Index i, Worker& worker, Visit& visit) {
        const Index size = field_.table_size(i), compact_size = field_.compact_size(i);
        double* theta = room(worker.potentials, compact_size);
        double* m = room(worker.marginals, compact_size);
        double* delta = room(worker.candidate, size);
        double* mu = room(worker.kept[0], size);
        tables_.read(i, 0, mu);
        visit.score(theta);
        field_.center(i, theta);
        const double log_z = field_.infer_table(i, theta, delta, m, worker.oracle);  // delta holds nu here
        visit.oracle_calls = 1;
        const double entropy_of_nu = log_z - dot(compact_size, theta, m);
        axpy(size, -1.0, mu, delta);
        field_.compact(i, delta, m);
        const double residual = dot(compact_size, theta, m);
        visit.step.gap = non_negative(entropy_of_nu + residual - entropy_[i]);
        if (!std::isfinite(visit.step.gap)) return;

        const double quadratic = visit.quadratic(m, residual);
        const double gamma = Base::l2() / (Base::l2() + field_.sample_weight(i) * field_.radius_bound(i)) / caution_;
        axpy(size, gamma, delta, mu);
        tables_.write(i, 0, mu);
        const double after = entropy(field_.segments(i), mu);
        const double ascent = after - entropy_[i] + gamma * residual - 0.5 * gamma * gamma * quadratic;
        visit.step = {visit.step.gap, after, ascent, gamma, gamma};
    }
    void committed(Index, const NoNote&) {}

    double stored(Index i, double* m, Worker& worker) {
        const double* table = repaired(i, worker);
        field_.compact(i, table, m);
        return entropy(field_.segments(i), table);
    }
    void repair(Index i, Worker& worker) { tables_.write(i, 0, repaired(i, worker)); }

    void change_l2(double) {}
    void widen_duals() { tables_.widen(); }
    void archive_duals(Archive& archive) { tables_.archive(archive, "duals"); }
    void for_each_kept(auto&& see) const { see(tables_); }

   private:
    static std::vector<Index> offsets(const F& field) {
        return Base::offsets_by(field, [&](Index i) { return field.table_size(i); });
    }
    const double* repaired(Index i, Worker& worker) {
        double* table = room(worker.candidate, field_.table_size(i));
        tables_.read(i, 0, table);
        field_.repair_table(i, table);
        return table;
    }

    double caution_;
    BlockStore tables_;
};

}  // namespace dualfield
