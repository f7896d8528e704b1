// What the sources of the module dualfield._tagger share: owned references, the module's types, and C++ exceptions as
// Python's.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <exception>
#include <memory>
#include <new>
#include <utility>

#include "bindings/object_lock.hpp"
#include "tagging/attribute_model.hpp"

namespace dualfield::tagging {

// A reference that is given back when it goes out of scope; null after an error.
class Ref {
   public:
    explicit Ref(PyObject* owned = nullptr) : object_(owned) {}
    Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
    Ref& operator=(Ref&& other) noexcept {
        std::swap(object_, other.object_);
        return *this;
    }
    ~Ref() { Py_XDECREF(object_); }
    static Ref to(PyObject* borrowed) {
        Py_XINCREF(borrowed);
        return Ref(borrowed);
    }
    PyObject* get() const { return object_; }
    PyObject* release() { return std::exchange(object_, nullptr); }
    explicit operator bool() const { return object_ != nullptr; }

   private:
    PyObject* object_;
};

// Python's error is set: thrown through C++ to the boundary.
struct PythonError {};

inline PyObject* checked(PyObject* result) {
    if (!result) throw PythonError();
    return result;
}

struct ModuleState {
    PyTypeObject *model, *tagger, *item_sequence;
    PyObject* tagger_error;  // both a ValueError and a RuntimeError: python-crfsuite raises now one, now the other
};

extern PyModuleDef module_definition;

inline ModuleState* state_of(PyTypeObject* type) {
    PyObject* module = PyType_GetModuleByDef(type, &module_definition);
    return module ? static_cast<ModuleState*>(PyModule_GetState(module)) : nullptr;
}

// Calls, and turns a C++ exception into one of Python.
template <class Result, class Call>
Result guarded(Result failed, Call call) noexcept {
    try {
        return call();
    } catch (const PythonError&) {
    } catch (const std::bad_alloc&) {
        PyErr_NoMemory();
    } catch (const std::length_error&) {
        PyErr_NoMemory();
    } catch (const Damage& damage) {
        PyErr_Format(PyExc_ValueError, "the model is damaged: %s.", damage.what());
    } catch (const std::domain_error& error) {
        PyErr_SetString(PyExc_ValueError, error.what());
    } catch (const std::exception& error) {
        PyErr_SetString(PyExc_RuntimeError, error.what());
    }
    return failed;
}

// The same, while no other thread is in the object.
template <class Call>
PyObject* alone_in(PyObject* self, Call call) noexcept {
    const ObjectLock lock(self);
    return guarded<PyObject*>(nullptr, call);
}

// One argument of a method by position or by name; null where it was not given.
inline PyObject* one_argument(const char* method, const char* name, PyObject* const* given, Py_ssize_t count,
                              PyObject* names, bool needed) {
    const Py_ssize_t named = names ? PyTuple_GET_SIZE(names) : 0;
    if (count + named > 1) {
        PyErr_Format(PyExc_TypeError, "%s() takes one argument, %s; got %zd", method, name, count + named);
        throw PythonError();
    }
    if (named && PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, 0), name) != 0) {
        PyErr_Format(PyExc_TypeError, "%s() has no argument %R; its argument is %s", method, PyTuple_GET_ITEM(names, 0),
                     name);
        throw PythonError();
    }
    if (count + named == 0 && needed) {
        PyErr_Format(PyExc_TypeError, "%s() lacks its argument %s", method, name);
        throw PythonError();
    }
    return count + named ? given[0] : nullptr;
}

// The objects of the module. `base` comes first in each: a pointer to one is a pointer to a PyObject.
struct ModelObject {
    PyObject base;
    std::unique_ptr<AttributeModel> model;
    PyObject* labels;   // a tuple of the labels, by their numbers
    PyObject* numbers;  // a dict of the numbers, by labels
    Py_buffer buffers[8];
    int n_buffers;
    bool crfsuite;
};

PyType_Spec* model_spec();
PyType_Spec* tagger_spec();
PyType_Spec* item_sequence_spec();
PyObject* crfsuite_model(PyObject* module, PyObject* arguments, PyObject* names);
PyObject* stored_model(PyObject* module, PyObject* arguments, PyObject* names);

}  // namespace dualfield::tagging
