// The field types that exist in Python.
#pragma once

#include "fields/chain.hpp"
#include "fields/multiclass.hpp"

namespace dualfield {

using ChainAll = Chain<AllPairs>;
using ChainObserved = Chain<ObservedPairs>;

}  // namespace dualfield
