// Numbers with names: what a run tells of itself beside what all runs do.
#pragma once

#include <utility>
#include <vector>

namespace dualfield {

using Numbers = std::vector<std::pair<const char*, double>>;

}  // namespace dualfield
