// Options that all methods on the dual have.
#pragma once

#include <vector>

#include "sampling/block_sampler.hpp"
#include "solvers/dual/block_store.hpp"
#include "solvers/parallel/visit.hpp"

namespace dualfield {

inline RuleNames<Precision> names_of(Precision) {
    return {{"single", Precision::kSingle}, {"double", Precision::kDouble}};
}

struct DualOptions {
    static constexpr bool kWithoutPenalty = true;  // allowed, where there is l1: see check()

    double l1;
    std::vector<double> centre;  // the weights that the penalty is about; none: zero
    SamplingOptions sampling;
    Concurrency concurrency;
    bool accelerate;
    Precision precision;  // of the dual variables

    void each(auto&& option) {
        option("l1", l1);
        option("centre", centre);
        sampling.each(option);
        option("threads", concurrency.threads);
        option("window", concurrency.window);
        option("workers", concurrency.workers);
        option("accelerate", accelerate);
        option("precision", precision);
    }
    void check(const auto& field) const {
        check_option(centre.empty() || static_cast<Index>(centre.size()) == field.dimension(),
                     "the number of weights does not fit the field");
        check_option(field.l2() > 0.0 || (l1 > 0.0 && accelerate), "without l2 there must be l1 and acceleration");
        check_option(concurrency.threads > 0 && concurrency.window > 0, "there must be a thread and a window");
        check_option(concurrency.workers >= 0, "the number of workers must not be negative");
        check_option(concurrency.workers == 0 || centre.empty(), "workers know no centre of the penalty");
    }
};

}  // namespace dualfield
