// dualfield._tagger: labels for one short sequence in microseconds.
//
// Plain C of Python's interface, built for the baseline instruction set: it starts fast, and needs neither NumPy nor
// the solvers' module.
#include "bindings/tagger/python.hpp"

namespace dualfield::tagging {
namespace {

ModuleState* state_of_module(PyObject* module) { return static_cast<ModuleState*>(PyModule_GetState(module)); }

PyObject* made_crfsuite_model(PyObject* module, PyObject* source) { return crfsuite_model(module, source, nullptr); }

PyMethodDef functions[] = {
    {"crfsuite_model", made_crfsuite_model, METH_O,
     "crfsuite_model(content, /)\n--\n\nThe model that the bytes of a CRFsuite file hold, which are used as they lie."},
    {"stored_model", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(stored_model)),
     METH_VARARGS | METH_KEYWORDS, "The model that arrays of a dualfield model file hold, which are used as they lie."},
    {nullptr, nullptr, 0, nullptr},
};

int execute(PyObject* module) {
    ModuleState* state = state_of_module(module);
    struct {
        PyTypeObject** type;
        PyType_Spec* spec;
    } const types[] = {
        {&state->model, model_spec()}, {&state->tagger, tagger_spec()}, {&state->item_sequence, item_sequence_spec()}};
    for (const auto& [type, spec] : types) {
        *type = reinterpret_cast<PyTypeObject*>(PyType_FromModuleAndSpec(module, spec, nullptr));
        if (!*type || PyModule_AddType(module, *type) < 0) return -1;
    }
    const Ref bases(PyTuple_Pack(2, PyExc_ValueError, PyExc_RuntimeError));
    if (!bases) return -1;
    state->tagger_error = PyErr_NewExceptionWithDoc(
        "dualfield._tagger.TaggerError", "A tagger that is not opened, or a label that its model does not have.",
        bases.get(), nullptr);
    return state->tagger_error ? PyModule_AddObjectRef(module, "TaggerError", state->tagger_error) : -1;
}

int traverse(PyObject* module, visitproc visit, void* arg) {
    if (const ModuleState* state = state_of_module(module)) {
        Py_VISIT(state->model);
        Py_VISIT(state->tagger);
        Py_VISIT(state->item_sequence);
        Py_VISIT(state->tagger_error);
    }
    return 0;
}

int clear(PyObject* module) {
    if (ModuleState* state = state_of_module(module)) {
        Py_CLEAR(state->model);
        Py_CLEAR(state->tagger);
        Py_CLEAR(state->item_sequence);
        Py_CLEAR(state->tagger_error);
    }
    return 0;
}

void destroy(void* module) { clear(static_cast<PyObject*>(module)); }

PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, reinterpret_cast<void*>(execute)},
#ifdef Py_mod_gil
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, nullptr},
};

}  // namespace

PyModuleDef module_definition = {
    PyModuleDef_HEAD_INIT,
    "_tagger",
    "Labels for one short sequence in microseconds.",
    sizeof(ModuleState),
    functions,
    module_slots,
    traverse,
    clear,
    destroy,
};

}  // namespace dualfield::tagging

PyMODINIT_FUNC PyInit__tagger(void) { return PyModuleDef_Init(&dualfield::tagging::module_definition); }
