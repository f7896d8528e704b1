// The names that the Python side has for rules.
#pragma once

#include <nanobind/stl/string.h>

#include <string>
#include <utility>

#include "bindings/arrays.hpp"
#include "solvers/sdca.hpp"

namespace dualfield {

template <class Rule, std::size_t N>
Rule rule_named(const std::string& name, const std::pair<const char*, Rule> (&rules)[N]) {
    for (const auto& [known, rule] : rules)
        if (name == known) return rule;
    throw nb::value_error("there is no rule of this name");
}

inline SamplingRule sampling_rule(const std::string& name) {
    return rule_named<SamplingRule>(name, {{"uniform", SamplingRule::kUniform},
                                           {"importance", SamplingRule::kImportance},
                                           {"gap", SamplingRule::kGap},
                                           {"gap*importance", SamplingRule::kGapImportance},
                                           {"residual", SamplingRule::kResidual},
                                           {"safemax", SamplingRule::kSafeMax},
                                           {"max", SamplingRule::kMax}});
}

inline StepRule step_rule(const std::string& name) {
    return rule_named<StepRule>(name, {{"newton", StepRule::kNewton},
                                       {"newton-1", StepRule::kOneNewton},
                                       {"golden", StepRule::kGolden},
                                       {"fixed", StepRule::kFixed},
                                       {"guaranteed", StepRule::kGuaranteed}});
}

inline StartRule start_rule(const std::string& name) {
    return rule_named<StartRule>(name, {{"mixture", StartRule::kMixture},
                                        {"product", StartRule::kProduct},
                                        {"peaked", StartRule::kPeaked},
                                        {"random", StartRule::kRandom}});
}

}  // namespace dualfield
