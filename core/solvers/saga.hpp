// SAGA: Defazio, Bach and Lacoste-Julien (2014), with the sampling and the Lipschitz constants of SAG. A block drawn
// with probability p_i moves the weights along an unbiased estimate of the gradient,
//     w <- w - alpha [ (g_new - g_old) / (n p_i) + d_old / n + lambda w ].
// With l1 the weights then move towards zero by at most alpha l1 / n, the proximal step.
#pragma once

#include "solvers/primal/average_gradient.hpp"

namespace dualfield {

struct SAGAOptions : AverageGradientOptions {
    static constexpr bool kWithoutPenalty = true;  // l2 may be zero
    double l1;

    void each(auto&& option) {
        AverageGradientOptions::each(option);
        option("l1", l1);
    }
    void check(const auto& field) const {
        AverageGradientOptions::check(field);
        check_penalty(field, l1);
    }
};

template <Field F>
class SAGA : public AverageGradientRun<F, SAGA<F>> {
    using Base = AverageGradientRun<F, SAGA<F>>;
    friend Base;

   public:
    using Options = SAGAOptions;

    SAGA(const F& field, const Options& options) : Base(field, options, options.l1) {}

   private:
    // 1 / (3 L), the step that the theory allows, where L is the largest L_i / (n p_i): a block that is drawn more
    // often than others counts for less each time.
    double step() const {
        const double largest =
            Base::sampling() == GradientSampling::uniform ? Base::common_constant() : Base::largest_constant();
        return 1.0 / (3.0 * (largest / Base::relative_probability(largest) + Base::lambda()));
    }

    // `change` is (g_new - g_old) / c_i; `probability` is n p_i.
    void move(Index i, const typename F::Direction& change, double probability, Team& team) {
        const double alpha = step(), n = static_cast<double>(Base::active_count());
        const double c = Base::field_.sample_weight(i);
        Base::weights_->move_later(1.0 - alpha * Base::lambda(), alpha / n, {i, -alpha * c / probability, &change},
                                   team);
        Base::weights_->change_drift_later({i, c, &change});
    }
};

}  // namespace dualfield
