// Python's objects where no lock of the whole interpreter protects them: in free-threaded builds another thread may
// change a list or a dict while it is read.
//
// An ObjectLock keeps other threads out of an object, as Python's own lock does elsewhere. It is given up while Python
// code runs or another lock is waited for, which is where Python's lock may change hands too. So what holds of a
// function under Python's lock holds of it under an ObjectLock: between two calls that may run Python code, nobody else
// is in the object.
#pragma once

#include <Python.h>

namespace dualfield {

class ObjectLock {
   public:
#ifdef Py_GIL_DISABLED
    explicit ObjectLock(PyObject* object) { PyCriticalSection_Begin(&section_, object); }
    ~ObjectLock() { PyCriticalSection_End(&section_); }
#else
    explicit ObjectLock(PyObject*) {}
    ~ObjectLock() {}
#endif
    ObjectLock(const ObjectLock&) = delete;
    ObjectLock& operator=(const ObjectLock&) = delete;

#ifdef Py_GIL_DISABLED
   private:
    PyCriticalSection section_;
#endif
};

// A new reference to an entry of a list; null, without an error, where the list has become shorter.
inline PyObject* list_entry(PyObject* list, Py_ssize_t place) {
#ifdef Py_GIL_DISABLED
    PyObject* entry = PyList_GetItemRef(list, place);
    if (!entry) PyErr_Clear();
    return entry;
#else
    if (place >= PyList_GET_SIZE(list)) return nullptr;
    PyObject* entry = PyList_GET_ITEM(list, place);
    Py_INCREF(entry);
    return entry;
#endif
}

// A new reference to the value of a key; null where there is none, or with the error that a comparison raised.
inline PyObject* dict_value(PyObject* dict, PyObject* key) {
#ifdef Py_GIL_DISABLED
    PyObject* value;
    PyDict_GetItemRef(dict, key, &value);
    return value;
#else
    PyObject* value = PyDict_GetItemWithError(dict, key);
    Py_XINCREF(value);
    return value;
#endif
}

}  // namespace dualfield
