// The base class of fields on sequences, with what all of them are asked.
#pragma once

#include "bindings/field_checks.hpp"
#include "fields/chain_field.hpp"

namespace dualfield {

void bind_chain_queries(nb::module_& m);

}  // namespace dualfield
