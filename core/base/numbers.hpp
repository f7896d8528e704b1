// Numbers with names: what a run reports beside the numbers that all runs have.
#pragma once

#include <utility>
#include <vector>

namespace dualfield {

using Numbers = std::vector<std::pair<const char*, double>>;

}  // namespace dualfield
