// The extension module: one per instruction set, all from these sources.
#include <nanobind/nanobind.h>

#include <new>
#include <stdexcept>

#include "base/sizes.hpp"

namespace dualfield {
void bind_oracles(nanobind::module_& m);
void bind_chain_batches(nanobind::module_& m);
void bind_graph_oracles(nanobind::module_& m);
void bind_junction_tree(nanobind::module_& m);
void bind_fields(nanobind::module_& m);
void bind_chains(nanobind::module_& m);
void bind_graphs(nanobind::module_& m);
void bind_runs(nanobind::module_& m);
void bind_clique_solvers(nanobind::module_& m);
void bind_text(nanobind::module_& m);
void bind_tagging(nanobind::module_& m);
void bind_attributes(nanobind::module_& m);
void bind_attribute_files(nanobind::module_& m);
void bind_name_lists(nanobind::module_& m);
void bind_model_checks(nanobind::module_& m);
void bind_methods(nanobind::module_& m);

namespace {

// What the standard library throws where memory ends says nothing to a user.
void translate_memory_errors(const std::exception_ptr& thrown, void*) {
    constexpr const char* kNoMemory =
        "there is not enough memory for this; use less data, fewer labels or fewer attributes.";
    try {
        std::rethrow_exception(thrown);
    } catch (const TooLarge& error) {
        PyErr_SetString(PyExc_MemoryError, error.what());
    } catch (const std::bad_alloc&) {
        PyErr_SetString(PyExc_MemoryError, kNoMemory);
    } catch (const std::length_error&) {
        PyErr_SetString(PyExc_MemoryError, kNoMemory);
    }
}

}  // namespace
}  // namespace dualfield

NB_MODULE(DUALFIELD_MODULE, m) {
    // Objects that outlive the interpreter, held by a debugger or a test runner, are no concern of a user.
    nanobind::set_leak_warnings(false);
    nanobind::register_exception_translator(dualfield::translate_memory_errors);
    m.doc() = "The compiled core of dualfield.";
    dualfield::bind_oracles(m);
    dualfield::bind_chain_batches(m);
    dualfield::bind_graph_oracles(m);
    dualfield::bind_junction_tree(m);
    dualfield::bind_fields(m);
    dualfield::bind_chains(m);
    dualfield::bind_graphs(m);
    dualfield::bind_runs(m);
    dualfield::bind_clique_solvers(m);
    dualfield::bind_text(m);
    dualfield::bind_tagging(m);
    dualfield::bind_attributes(m);
    dualfield::bind_attribute_files(m);
    dualfield::bind_name_lists(m);
    dualfield::bind_model_checks(m);
    dualfield::bind_methods(m);
}
