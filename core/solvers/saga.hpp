// SAGA: Defazio, Bach and Lacoste-Julien (2014), with the sampling and the Lipschitz constants of SAG. A block drawn
// with probability p_i moves the weights along an unbiased estimate of the gradient,
//     w <- w - alpha [ (g_new - g_old) / (n p_i) + d_old / n + lambda w ].
#pragma once

#include "solvers/primal/average_gradient.hpp"

namespace dualfield {

template <Field F>
class SAGA : public AverageGradientRun<F, SAGA<F>> {
    using Base = AverageGradientRun<F, SAGA<F>>;
    friend Base;

   public:
    using Base::Base;

   private:
    // 1 / (3 L), the step that the theory allows, where L is the largest L_i / (n p_i): a block that is drawn more often
    // than others counts for less each time.
    double step() const {
        const double largest =
            Base::sampling() == GradientSampling::uniform ? Base::common_constant() : Base::largest_constant();
        return 1.0 / (3.0 * (largest / Base::relative_probability(largest) + Base::lambda()));
    }

    // `change` is (g_new - g_old) / c; `probability` is n p_i.
    void move(double c, const typename F::Direction& change, double probability, Team& team) {
        const double alpha = step(), n = static_cast<double>(Base::active_count());
        Base::weights_.shrink(1.0 - alpha * Base::lambda(), alpha / n, team);
        Base::weights_.add_later(-alpha * c / probability, change);
        Base::weights_.add_to_drift_later(c, change);
    }
};

}  // namespace dualfield
