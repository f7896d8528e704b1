// The type of every size, offset and position: 64 bits, signed.
#pragma once

#include <cstdint>

namespace dualfield {

using Index = std::int64_t;

}  // namespace dualfield
