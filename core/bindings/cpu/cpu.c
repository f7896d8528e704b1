/* dualfield._core._cpu: what the CPU can run, asked before a core module is loaded.
 *
 * Plain C and the baseline instruction set, because this is the one module that every CPU must survive.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "instruction_set.h"

static PyObject* py_instruction_set(PyObject* module, PyObject* arguments) {
    (void)module;
    (void)arguments;
    return PyUnicode_FromString(instruction_set());
}

static PyMethodDef methods[] = {
    {"instruction_set", py_instruction_set, METH_NOARGS,
     "instruction_set()\n--\n\nThe CPU's best level: 'v4', 'v3', 'v2', 'v1', or 'generic' off x86-64."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {
#ifdef Py_mod_gil
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_cpu", "The instruction set of this CPU.", 0, methods, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__cpu(void) { return PyModuleDef_Init(&definition); }
