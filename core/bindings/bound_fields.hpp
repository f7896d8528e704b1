// The field types that solvers are compiled for.
#pragma once

#include "fields/chain.hpp"
#include "fields/general_field.hpp"
#include "fields/multiclass.hpp"

namespace dualfield {

using ChainAll = Chain<AllPairs>;
using ChainObserved = Chain<ObservedPairs>;

// Of those, the ones whose blocks are single nodes.
inline bool one_node(const Multiclass&) { return true; }
inline bool one_node(const GeneralField& field) { return field.one_node(); }
template <class Rows>
bool one_node(const Chain<Rows>&) {
    return false;
}

// And those with exact inference.
template <class F>
bool exact(const F&) {
    return true;
}
inline bool exact(const GeneralField& field) { return field.exact(); }

}  // namespace dualfield
