// The stochastic average gradient method with non-uniform sampling: Schmidt, Babanezhad, Ahmed, Defazio, Clifton and
// Sarkar (2015), Algorithm 1. After the visit of a block, with m blocks seen so far,
//     w <- (1 - alpha lambda) w - (alpha / m) d.
#pragma once

#include "solvers/primal/average_gradient.hpp"

namespace dualfield {

template <Field F>
class SAG : public AverageGradientRun<F, SAG<F>> {
    using Base = AverageGradientRun<F, SAG<F>>;
    friend Base;

   public:
    using Base::Base;

   private:
    double step() const {
        const double lambda = Base::lambda();
        if (Base::sampling() == GradientSampling::uniform) return 1.0 / (Base::common_constant() + lambda);
        const double cautious = 1.0 / (Base::largest_constant() + lambda);
        const double both = 0.5 * (cautious + 1.0 / (Base::mean_constant() + lambda));
        if (Base::sampling() == GradientSampling::nus_star) return both;
        const double share = static_cast<double>(Base::seen()) / static_cast<double>(Base::active_count());
        return (1.0 - share) * cautious + share * both;
    }

    // `change` is how much the gradient of block i has changed since its last visit, divided by c_i.
    void move(Index i, const typename F::Direction& change, double, Team& team) {
        const double alpha = step();
        Base::weights_->change_drift_later({i, Base::field_.sample_weight(i), &change});
        Base::weights_->move_later(1.0 - alpha * Base::lambda(), alpha / static_cast<double>(Base::seen()), {}, team);
    }
};

}  // namespace dualfield
