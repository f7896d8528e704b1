// dualfield._tagger.ItemSequence: features that are encoded once and used as often as one likes.
#include "bindings/tagger/item_sequence.hpp"

namespace dualfield::tagging {
namespace {

using Shared = std::shared_ptr<const EncodedSequence>;

Shared& sequence_of(PyObject* self) { return reinterpret_cast<ItemSequenceObject*>(self)->sequence; }

PyObject* create(PyTypeObject* type, PyObject*, PyObject*) {
    return guarded<PyObject*>(nullptr, [&] {
        Shared empty = std::make_shared<const EncodedSequence>();
        PyObject* self = checked(type->tp_alloc(type, 0));
        new (&sequence_of(self)) Shared(std::move(empty));
        return self;
    });
}

int init(PyObject* self, PyObject* arguments, PyObject* names) {
    return guarded(-1, [&] {
        static const char* keywords[] = {"pyseq", nullptr};
        PyObject* positions;
        if (!PyArg_ParseTupleAndKeywords(arguments, names, "O:ItemSequence", const_cast<char**>(keywords), &positions))
            throw PythonError();
        const ModuleState* state = state_of(Py_TYPE(self));
        if (!state) throw PythonError();
        Shared made;
        if (PyObject_TypeCheck(positions, state->item_sequence)) {
            made = encoded_sequence(positions);
        } else {
            auto encoded = std::make_shared<EncodedSequence>();
            Encoder(*encoded).sequence(positions);
            made = std::move(encoded);
        }
        const ObjectLock lock(self);
        sequence_of(self).swap(made);
        return 0;
    });
}

void destroy(PyObject* self) {
    PyTypeObject* type = Py_TYPE(self);
    sequence_of(self).~Shared();
    type->tp_free(self);
    Py_DECREF(type);
}

Py_ssize_t length(PyObject* self) { return static_cast<Py_ssize_t>(encoded_sequence(self)->starts.size()); }

PyObject* repr(PyObject* self) { return PyUnicode_FromFormat("<ItemSequence of size %zd>", length(self)); }

// A dict for each position.
struct DictSink {
    PyObject* list;
    Ref dict{};

    void begin_position() {
        dict = Ref(checked(PyDict_New()));
        if (PyList_Append(list, dict.get()) < 0) throw PythonError();
    }
    void attribute(const char* name, std::size_t length, double value) {
        const Ref key(checked(PyUnicode_DecodeUTF8(name, static_cast<Py_ssize_t>(length), nullptr)));
        const Ref number(checked(PyFloat_FromDouble(value)));
        if (PyDict_SetItem(dict.get(), key.get(), number.get()) < 0) throw PythonError();
    }
};

PyObject* items(PyObject* self, PyObject*) {
    return guarded<PyObject*>(nullptr, [&] {
        Ref list(checked(PyList_New(0)));
        DictSink sink{list.get()};
        const Shared kept = encoded_sequence(self);
        kept->replay(sink);
        return list.release();
    });
}

PyMethodDef methods[] = {
    {"items", items, METH_NOARGS,
     "items($self, /)\n--\n\nThe attributes of each position, as a list of dicts of numbers by names."},
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot slots[] = {
    {Py_tp_doc, const_cast<char*>("ItemSequence(pyseq)\n--\n\n"
                                  "The features of a sequence, encoded once to be used as often as one likes.\n\n"
                                  "Parameters\n----------\npyseq : iterable\n"
                                  "    A dict or an iterable of strings for each position.")},
    {Py_tp_new, reinterpret_cast<void*>(create)},
    {Py_tp_init, reinterpret_cast<void*>(init)},
    {Py_tp_dealloc, reinterpret_cast<void*>(destroy)},
    {Py_tp_repr, reinterpret_cast<void*>(repr)},
    {Py_sq_length, reinterpret_cast<void*>(length)},
    {Py_tp_methods, methods},
    {0, nullptr},
};

PyType_Spec spec = {"dualfield._tagger.ItemSequence", sizeof(ItemSequenceObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};

}  // namespace

PyType_Spec* item_sequence_spec() { return &spec; }

}  // namespace dualfield::tagging
