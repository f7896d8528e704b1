// Rules of methods have names, by which options choose them: names_of(Rule()) lists those of an enumeration.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace dualfield {

template <class Rule>
using RuleNames = std::vector<std::pair<const char*, Rule>>;

template <class Rule>
Rule rule_named(const std::string& name) {
    for (const auto& [known, rule] : names_of(Rule()))
        if (name == known) return rule;
    throw std::invalid_argument("there is no rule of the name " + name);
}

// An option that is out of its range.
inline void check_option(bool holds, const char* rule) {
    if (!holds) throw std::invalid_argument(rule);
}

}  // namespace dualfield
