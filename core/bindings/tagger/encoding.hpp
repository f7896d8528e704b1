// From Python's objects to attributes, by python-crfsuite's conventions.
//
// A position is a dict or an iterable of strings. In a dict, {"k": "v"} is the attribute k:v of value 1, {"k": 0.5}
// is k of value 0.5, and {"k": inner}, where inner is a dict, a list or a set, is k: before each attribute of inner.
// Anything else that is iterated gives strings, which are attributes of value 1. Bytes stand for strings in UTF-8. An
// attribute ends at its first zero byte.
//
// Names are put together in one buffer, in which the prefix stays while what is nested goes over it. Encoding may run
// Python code (__float__, iterators), which may change what is being encoded: containers are looked at anew after
// every such call, and what is used is owned. A dict is locked while it is read: nothing between two such calls may let
// other threads in.
#pragma once

#include <cstring>

#include "bindings/tagger/python.hpp"

namespace dualfield::tagging {

// The bytes of a name; short ones need no memory of their own.
class NameBuffer {
   public:
    NameBuffer() : data_(inline_), capacity_(sizeof inline_) {}
    NameBuffer(const NameBuffer&) = delete;
    NameBuffer& operator=(const NameBuffer&) = delete;

    std::size_t size() const { return size_; }
    void shrink(std::size_t size) { size_ = size; }
    char* data() { return data_; }

    // Room for so many bytes more, and for a zero byte behind them.
    char* room(std::size_t more) {
        if (more >= capacity_ - size_) grow(more);
        return data_ + size_;
    }
    void append(const char* bytes, std::size_t count) {
        std::memcpy(room(count), bytes, count);
        size_ += count;
    }
    void append(char byte) {
        *room(1) = byte;
        ++size_;
    }
    void advance(std::size_t count) { size_ += count; }

   private:
    void grow(std::size_t more) {
        const std::size_t capacity = 2 * (size_ + more + 1);
        std::unique_ptr<char[]> larger(new char[capacity]);
        std::memcpy(larger.get(), data_, size_);
        long_ = std::move(larger);
        data_ = long_.get();
        capacity_ = capacity;
    }

    char inline_[512];
    std::unique_ptr<char[]> long_;
    char* data_;
    std::size_t size_ = 0, capacity_;
};

// A sink has begin_position(), and attribute(name, length, value) with a zero byte behind the name.
template <class Sink>
class Encoder {
   public:
    explicit Encoder(Sink& sink) : sink_(sink) {}

    // Throws PythonError where something is no sequence of positions.
    void sequence(PyObject* positions) {
        if (PyList_CheckExact(positions)) {
            Py_ssize_t t = 0;
            while (const Ref one{list_entry(positions, t++)}) position(one.get());
        } else if (PyTuple_CheckExact(positions)) {
            for (Py_ssize_t t = 0; t < PyTuple_GET_SIZE(positions); ++t) position(PyTuple_GET_ITEM(positions, t));
        } else {
            each(positions, [&](PyObject* one) { position(one); });
        }
    }

   private:
    void position(PyObject* one) {
        sink_.begin_position();
        attributes(one);
        ++position_;
    }

    // All attributes of a dict or an iterable, behind the prefix that is in the buffer.
    void attributes(PyObject* one) {
        if (PyDict_CheckExact(one)) {
            const ObjectLock lock(one);
            const Py_ssize_t size = PyDict_GET_SIZE(one);
            Py_ssize_t place = 0;
            PyObject *key, *value;
            while (PyDict_Next(one, &place, &key, &value)) {
                if (entry(key, value) && PyDict_GET_SIZE(one) != size) {
                    PyErr_SetString(PyExc_RuntimeError, "a dict of attributes changed size while it was encoded");
                    throw PythonError();
                }
            }
        } else if (PyDict_Check(one)) {
            each(one, [&](PyObject* key) {
                const Ref value(dict_value(one, key));
                if (!value && !PyErr_Occurred()) PyErr_SetObject(PyExc_KeyError, key);
                if (!value) throw PythonError();
                entry(key, value.get());
            });
        } else if (PyList_CheckExact(one)) {
            Py_ssize_t i = 0;
            while (const Ref name{list_entry(one, i++)}) string(name.get());
        } else {
            each(one, [&](PyObject* name) { string(name); });
        }
    }

    template <class Visitor>
    void each(PyObject* iterable, Visitor visit) {
        if (!Py_TYPE(iterable)->tp_iter && !PySequence_Check(iterable)) refuse_position(iterable);
        const Ref iterator(checked(PyObject_GetIter(iterable)));
        while (const Ref one{PyIter_Next(iterator.get())}) visit(one.get());
        if (PyErr_Occurred()) throw PythonError();
    }

    // An attribute that is only a name.
    void string(PyObject* name) {
        const std::size_t prefix = names_.size();
        append_key(name);
        emit(1.0);
        names_.shrink(prefix);
    }

    // An entry of a dict; returns whether Python code may have run, so that references that were borrowed may be gone.
    bool entry(PyObject* key, PyObject* value) {
        const std::size_t prefix = names_.size();
        bool ran =
            !PyUnicode_Check(key) && !PyBytes_Check(key);  // a bytearray, which has a lock of its own, or a fault
        const Ref kept_key = Ref::to(ran ? key : nullptr), kept_value = Ref::to(ran ? value : nullptr);
        if (PyUnicode_Check(value)) {
            append_key(key);
            names_.append(':');
            append_text(value);
            emit(1.0);
        } else if (PyFloat_CheckExact(value)) {
            append_key(key);
            emit(PyFloat_AS_DOUBLE(value));
        } else if (PyLong_Check(value)) {
            append_key(key);
            const double number = PyLong_AsDouble(value);
            if (number == -1.0 && PyErr_Occurred()) throw PythonError();
            emit(number);
        } else if (PyBytes_Check(value)) {
            append_key(key);
            names_.append(':');
            names_.append(PyBytes_AS_STRING(value), static_cast<std::size_t>(PyBytes_GET_SIZE(value)));
            emit(1.0);
        } else {
            const Ref owned_key = Ref::to(key), owned_value = Ref::to(value);
            append_key(key);
            other(key, value);
            ran = true;
        }
        names_.shrink(prefix);
        return ran;
    }

    // A value that is nested, or some object that is a number; its key is in the buffer.
    void other(PyObject* key, PyObject* value) {
        if (PyDict_Check(value) || PyList_Check(value) || PySet_Check(value)) {
            names_.append(':');
            if (Py_EnterRecursiveCall(" while attributes were encoded")) throw PythonError();
            try {
                attributes(value);
            } catch (...) {
                Py_LeaveRecursiveCall();
                throw;
            }
            Py_LeaveRecursiveCall();
            return;
        }
        const PyNumberMethods* number = Py_TYPE(value)->tp_as_number;
        if (!number || !(number->nb_float || number->nb_index)) {
            PyErr_Format(
                PyExc_TypeError,
                "the attribute %R at position %zd has a value of type %s; give a string, a number, a bool, or a "
                "dict, a list or a set.",
                key, position_, Py_TYPE(value)->tp_name);
            throw PythonError();
        }
        const double as_double = PyFloat_AsDouble(value);
        if (as_double == -1.0 && PyErr_Occurred()) throw PythonError();
        emit(as_double);
    }

    void append_key(PyObject* key) {
        if (PyUnicode_Check(key)) {
            append_text(key);
        } else if (PyBytes_Check(key)) {
            names_.append(PyBytes_AS_STRING(key), static_cast<std::size_t>(PyBytes_GET_SIZE(key)));
        } else if (PyByteArray_Check(key)) {
            const ObjectLock lock(key);
            names_.append(PyByteArray_AS_STRING(key), static_cast<std::size_t>(PyByteArray_GET_SIZE(key)));
        } else {
            PyErr_Format(PyExc_TypeError, "an attribute at position %zd is named by the %s %R; give a string.",
                         position_, Py_TYPE(key)->tp_name, key);
            throw PythonError();
        }
    }

    // Text in UTF-8. Python would keep what PyUnicode_AsUTF8 makes for as long as the string lives; this keeps nothing.
    void append_text(PyObject* text) {
#if PY_VERSION_HEX < 0x030C0000
        if (PyUnicode_READY(text) < 0) throw PythonError();
#endif
        const std::size_t length = static_cast<std::size_t>(PyUnicode_GET_LENGTH(text));
        if (PyUnicode_IS_ASCII(text)) {
            names_.append(static_cast<const char*>(PyUnicode_DATA(text)), length);
            return;
        }
        const int kind = PyUnicode_KIND(text);
        const void* data = PyUnicode_DATA(text);
        char* to = names_.room(4 * length);
        const char* begin = to;
        for (std::size_t i = 0; i < length; ++i) {
            const Py_UCS4 c = PyUnicode_READ(kind, data, static_cast<Py_ssize_t>(i));
            if (c < 0x80) {
                *to++ = static_cast<char>(c);
                continue;
            }
            if (c >= 0xd800 && c < 0xe000) {
                const Ref refused(PyUnicode_AsUTF8String(text));  // sets the error of a lone surrogate
                throw PythonError();
            }
            if (c < 0x800) {
                *to++ = static_cast<char>(0xc0 | (c >> 6));
            } else {
                if (c < 0x10000) {
                    *to++ = static_cast<char>(0xe0 | (c >> 12));
                } else {
                    *to++ = static_cast<char>(0xf0 | (c >> 18));
                    *to++ = static_cast<char>(0x80 | ((c >> 12) & 0x3f));
                }
                *to++ = static_cast<char>(0x80 | ((c >> 6) & 0x3f));
            }
            *to++ = static_cast<char>(0x80 | (c & 0x3f));
        }
        names_.advance(static_cast<std::size_t>(to - begin));
    }

    void emit(double value) {
        *names_.room(1) = 0;
        const char* name = names_.data();
        sink_.attribute(name, std::strlen(name), value);
    }

    [[noreturn]] void refuse_position(PyObject* one) {
        PyErr_Format(
            PyExc_TypeError,
            "a sequence is an iterable of positions, and a position a dict or an iterable of strings; got an object "
            "of type %s.",
            Py_TYPE(one)->tp_name);
        throw PythonError();
    }

    Sink& sink_;
    NameBuffer names_;
    Py_ssize_t position_ = 0;
};

}  // namespace dualfield::tagging
