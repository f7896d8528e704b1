// Options that all methods on the dual have.
#pragma once

#include "sampling/block_sampler.hpp"
#include "solvers/dual/block_store.hpp"
#include "solvers/parallel/windows.hpp"

namespace dualfield {

inline RuleNames<Precision> names_of(Precision) {
    return {{"single", Precision::kSingle}, {"double", Precision::kDouble}};
}

struct DualOptions {
    SamplingOptions sampling;
    Concurrency concurrency;
    bool accelerate;
    Precision precision;  // of the dual variables

    void each(auto&& option) {
        sampling.each(option);
        option("threads", concurrency.threads);
        option("window", concurrency.window);
        option("accelerate", accelerate);
        option("precision", precision);
    }
    void check(const auto&) const {
        check_option(concurrency.threads > 0 && concurrency.window > 0, "there must be a thread and a window");
    }
};

}  // namespace dualfield
