// Stochastic meta-descent: Vishwanathan, Schraudolph, Schmidt and Murphy (2006), equations (19) to (21). Every weight
// has its own gain, which grows while successive gradients agree. For a batch, in sum units,
//     eta <- eta * max(1/2, 1 - meta g * v),
//     w   <- w - eta * g,
//     v   <- decay v - eta * (g + decay H v),
// coordinate by coordinate, with g the batch's gradient and H v the product of its Hessian with v, both with the
// batch's share of the penalty. v is how the weights depend on the logarithms of the gains.
#pragma once

#include <vector>

#include "sampling/batches.hpp"
#include "solvers/primal/primal_run.hpp"

namespace dualfield {

struct SMDOptions {
    double eta, meta, decay;
    Index batch;
    std::uint64_t seed;

    void each(auto&& option) {
        option("eta", eta);
        option("meta", meta);
        option("decay", decay);
        option("batch", batch);
        option("seed", seed);
    }
    void check(const auto&) const { check_option(batch >= 1, "a batch has at least one block"); }
};

template <TangentField F>
class SMD : public PrimalRun<F, SMD<F>> {
    using Base = PrimalRun<F, SMD<F>>;
    friend Base;

   public:
    using Options = SMDOptions;

    SMD(const F& field, const Options& options)
        : Base(field, options.seed),
          eta_(options.eta),
          meta_(options.meta),
          decay_(options.decay),
          weights_(field.dimension(), 0.0),
          gains_(field.dimension(), eta_),
          trace_(field.dimension(), 0.0),
          gradient_(field.dimension(), 0.0),
          product_(field.dimension(), 0.0),
          batches_(Base::active_, options.batch) {}

    auto numbers() const { return Base::numbers_with({{"eta", eta_}}); }  // the first gain

   private:
    Index per_pass() const { return batches_.per_pass(); }
    void read(double* w) const { std::copy(weights_.begin(), weights_.end(), w); }
    void set(const double* w) { std::copy(w, w + weights_.size(), weights_.begin()); }

    void update() {
        const auto batch = batches_.next(Base::random_);
        const Index d = Base::field_.dimension();
        const double r =
            Base::field_.l2() * static_cast<double>(batch.size()) / static_cast<double>(Base::active_count());
#pragma omp simd
        for (Index j = 0; j < d; ++j) {
            gradient_[j] = r * weights_[j];
            product_[j] = r * trace_[j];
        }
        for (Index i : batch) add(i);
        if (Base::diverged_) return;
        double* g = gradient_.data();
        double* Hv = product_.data();
        double* eta = gains_.data();
        const double* v = trace_.data();
        int beyond = 0;
#pragma omp simd reduction(+ : beyond)
        for (Index j = 0; j < d; ++j) {
            const double factor = 1.0 - meta_ * g[j] * v[j];
            eta[j] *= factor > 0.5 ? factor : 0.5;
            Hv[j] = decay_ * v[j] - eta[j] * (g[j] + decay_ * Hv[j]);  // the new v
            g[j] *= eta[j];                                            // the step
            beyond += !(Base::sane(g[j]) && Base::sane(Hv[j]));
        }
        if (beyond > 0) {
            Base::diverged_ = true;
            return;
        }
        axpy(d, -1.0, g, weights_.data());
        std::swap(trace_, product_);
    }

    // The gradient of block i, and its Hessian times v.
    void add(Index i) {
        const Index size = Base::field_.compact_size(i), table_size = Base::field_.table_size(i);
        const double c = Base::field_.sample_weight(i);
        double* theta = room(theta_, size);
        double* tangent = room(tangent_, size);
        double* m = room(m_, size);
        double* table = room(table_, table_size);
        Base::field_.score(i, weights_.data(), theta);
        Base::field_.center(i, theta);
        const double loss =
            Base::field_.infer_table(i, theta, table, m, Base::oracle_) - Base::field_.true_score(i, theta);
        ++Base::oracle_calls_;
        Base::diverged_ = Base::diverged_ || !std::isfinite(loss);
        Base::field_.subtract_truth(i, m);
        Base::field_.pull(i, m, direction_);
        Base::field_.apply(gradient_.data(), c, direction_);
        Base::field_.score(i, trace_.data(), tangent);
        Base::field_.differentiate(i, table, tangent, m, scratch_);
        Base::field_.pull(i, m, direction_);
        Base::field_.apply(product_.data(), c, direction_);
    }

    void archive_method(Archive& archive) {
        batches_.archive(archive);
        archive.array("weights", weights_);
        archive.array("gains", gains_);
        archive.array("trace", trace_);
        archive.scalars("numbers", {&eta_});
    }

    double eta_, meta_, decay_;
    std::vector<double> weights_, gains_, trace_;  // w, eta, v
    std::vector<double> gradient_, product_;       // g, H v
    Batches batches_;
    typename F::Direction direction_;
    std::vector<double> theta_, tangent_, m_, table_, scratch_;
};

}  // namespace dualfield
