// Chains with constraints, and with labels known in part.
#include "bindings/bound_fields.hpp"
#include "bindings/constrained_methods.hpp"

namespace dualfield {

void bind_constrained(nb::module_& m) {
    bind_constraints<ChainAll>(m, "ChainAll");
    bind_constraints<ChainObserved>(m, "ChainObserved");
}

}  // namespace dualfield
