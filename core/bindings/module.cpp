// The extension module: one per instruction set, all from these sources.
#include <nanobind/nanobind.h>

namespace dualfield {
void bind_oracles(nanobind::module_& m);
void bind_fields(nanobind::module_& m);
void bind_solvers(nanobind::module_& m);
}  // namespace dualfield

// The name of the module is a macro itself, so it takes one more expansion.
#define DUALFIELD_DEFINE_MODULE(name, variable) NB_MODULE(name, variable)

DUALFIELD_DEFINE_MODULE(DUALFIELD_MODULE, m) {
    m.doc() = "The compiled core of dualfield.";
    dualfield::bind_oracles(m);
    dualfield::bind_fields(m);
    dualfield::bind_solvers(m);
}
