// dualfield._tagger.Model: a model, which never changes. Functions of the module make it.
#include <cstdio>

#include "bindings/tagger/python.hpp"
#include "tagging/crfsuite_file.hpp"
#include "tagging/stored_chain.hpp"

namespace dualfield::tagging {
namespace {

ModelObject* cast(PyObject* self) { return reinterpret_cast<ModelObject*>(self); }

void destroy(PyObject* self) {
    PyTypeObject* type = Py_TYPE(self);
    ModelObject* object = cast(self);
    object->model.~unique_ptr();
    Py_XDECREF(object->labels);
    Py_XDECREF(object->numbers);
    for (int i = 0; i < object->n_buffers; ++i) PyBuffer_Release(&object->buffers[i]);
    type->tp_free(self);
    Py_DECREF(type);
}

// An object without a model yet.
Ref blank(PyObject* module) {
    PyTypeObject* type = static_cast<ModuleState*>(PyModule_GetState(module))->model;
    Ref self(checked(type->tp_alloc(type, 0)));  // all zeros
    new (&cast(self.get())->model) std::unique_ptr<AttributeModel>();
    return self;
}

// The bytes of a buffer, which the model keeps.
const Py_buffer& keep(ModelObject* object, PyObject* source) {
    Py_buffer& buffer = object->buffers[object->n_buffers];
    if (PyObject_GetBuffer(source, &buffer, PyBUF_SIMPLE) < 0) throw PythonError();
    ++object->n_buffers;
    return buffer;
}

template <class Number>
std::span<const Number> numbers(ModelObject* object, PyObject* source) {
    if (source == Py_None) return {};
    const Py_buffer& buffer = keep(object, source);
    if (reinterpret_cast<std::uintptr_t>(buffer.buf) % alignof(Number) != 0)
        throw Damage("an array of it does not lie aligned in memory");
    return {static_cast<const Number*>(buffer.buf), static_cast<std::size_t>(buffer.len) / sizeof(Number)};
}

// The labels and their numbers.
void set_labels(ModelObject* object, Ref labels) {
    Ref numbers(checked(PyDict_New()));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(labels.get()); ++i) {
        const Ref number(checked(PyLong_FromSsize_t(i)));
        checked(PyDict_SetDefault(numbers.get(), PyTuple_GET_ITEM(labels.get(), i), number.get()));
    }
    if (PyDict_GET_SIZE(numbers.get()) != PyTuple_GET_SIZE(labels.get())) throw Damage("a label occurs twice");
    object->labels = labels.release();
    object->numbers = numbers.release();
}

Ref decoded(std::string_view name, const char* what) {
    Ref text(PyUnicode_DecodeUTF8(name.data(), static_cast<Py_ssize_t>(name.size()), nullptr));
    if (!text && PyErr_ExceptionMatches(PyExc_UnicodeDecodeError)) {
        PyErr_Clear();
        throw Damage(std::string("a ") + what + " is not in UTF-8");
    }
    checked(text.get());
    return text;
}

const CrfsuiteFile& file_of(PyObject* self) {
    if (!cast(self)->crfsuite) {
        PyErr_SetString(
            PyExc_ValueError,
            "this model is not one of CRFsuite's; dualfield.inspection shows what is in a dualfield model.");
        throw PythonError();
    }
    return static_cast<const CrfsuiteFile&>(*cast(self)->model);
}

void add_line(std::string& text, const CrfsuiteFile::Feature& feature, std::string_view from, std::string_view to) {
    char number[400];  // DBL_MAX has 309 digits before the point
    text += "  (" + std::to_string(static_cast<int>(feature.type)) + ") ";
    text += from;
    text += " --> ";
    text += to;
    text.append(number, static_cast<std::size_t>(std::snprintf(number, sizeof number, ": %f\n", feature.weight)));
}

void add_names(std::string& text, const char* title, std::size_t count, auto name_of) {
    text += title;
    for (std::size_t i = 0; i < count; ++i) {
        char number[32];
        text.append(number, static_cast<std::size_t>(std::snprintf(number, sizeof number, "  %5zu: ", i)));
        text += name_of(i);
        text += '\n';
    }
    text += "}\n\n";
}

std::vector<std::pair<const char*, std::string>> header_of(const CrfsuiteFile& file) {
    const auto& header = file.header();
    std::vector<std::pair<const char*, std::string>> entries = {
        {"magic", std::string(header.magic.data(), 4)},    {"size", std::to_string(header.size)},
        {"type", std::string(header.type.data(), 4)},      {"version", std::to_string(header.version)},
        {"num_features", std::to_string(header.features)}, {"num_labels", std::to_string(header.labels)},
        {"num_attrs", std::to_string(header.attributes)},
    };
    const char* names[] = {"off_features", "off_labels", "off_attrs", "off_labelrefs", "off_attrrefs"};
    for (std::size_t i = 0; i < 5; ++i) {
        char place[16];
        std::snprintf(place, sizeof place, "0x%X", static_cast<unsigned>(header.places[i]));
        entries.emplace_back(names[i], place);
    }
    return entries;
}

// Everything in the file as text, in the form of `crfsuite dump`.
PyObject* dump(PyObject* self, PyObject*) {
    return guarded<PyObject*>(nullptr, [&] {
        const CrfsuiteFile& file = file_of(self);
        std::string text = "FILEHEADER = {\n";
        for (const auto& [name, value] : header_of(file)) text += std::string("  ") + name + ": " + value + "\n";
        text += "}\n\n";
        const std::size_t n_labels = file.header().labels;
        add_names(text, "LABELS = {\n", n_labels, [&](std::size_t i) { return file.label(i); });
        add_names(text, "ATTRIBUTES = {\n", file.attributes(), [&](std::size_t i) { return file.attribute(i); });
        text += "TRANSITIONS = {\n";
        for (std::size_t i = 0; i < n_labels; ++i)
            file.each_transition(i, [&](const auto& feature) {
                add_line(text, feature, file.label(feature.source), file.label(feature.destination));
            });
        text += "}\n\nSTATE_FEATURES = {\n";
        for (std::size_t i = 0; i < file.attributes(); ++i)
            file.each_state(i, [&](const auto& feature) {
                add_line(text, feature, file.attribute(feature.source), file.label(feature.destination));
            });
        text += "}\n\n";
        return checked(PyBytes_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size())));
    });
}

void set_item(const Ref& dict, const Ref& key, const Ref& value) {
    if (PyDict_SetItem(dict.get(), checked(key.get()), checked(value.get())) < 0) throw PythonError();
}

PyObject* header(PyObject* self, PyObject*) {
    return guarded<PyObject*>(nullptr, [&] {
        Ref found(checked(PyDict_New()));
        for (const auto& [name, value] : header_of(file_of(self)))
            set_item(found, Ref(PyUnicode_FromString(name)), decoded(value, "word of the header"));
        return found.release();
    });
}

PyObject* attribute_names(PyObject* self, PyObject*) {
    return guarded<PyObject*>(nullptr, [&] {
        const CrfsuiteFile& file = file_of(self);
        Ref names(checked(PyList_New(0)));
        for (std::size_t i = 0; i < file.attributes(); ++i)
            if (PyList_Append(names.get(), decoded(file.attribute(i), "attribute").get()) < 0) throw PythonError();
        return names.release();
    });
}

// A dict of weights by pairs of names. As with `crfsuite dump`, a pair that stands twice has its last weight.
template <bool kStates>
PyObject* weights(PyObject* self, PyObject*) {
    return guarded<PyObject*>(nullptr, [&] {
        const CrfsuiteFile& file = file_of(self);
        Ref found(checked(PyDict_New()));
        for (std::size_t i = 0; i < (kStates ? file.attributes() : file.header().labels); ++i) {
            const auto visit = [&](const CrfsuiteFile::Feature& feature) {
                const Ref from = kStates ? decoded(file.attribute(feature.source), "attribute")
                                         : decoded(file.label(feature.source), "label");
                PyObject* to = PyTuple_GET_ITEM(cast(self)->labels, static_cast<Py_ssize_t>(feature.destination));
                set_item(found, Ref(PyTuple_Pack(2, from.get(), to)), Ref(PyFloat_FromDouble(feature.weight)));
            };
            if constexpr (kStates)
                file.each_state(i, visit);
            else
                file.each_transition(i, visit);
        }
        return found.release();
    });
}

PyObject* get_labels(PyObject* self, void*) { return Ref::to(cast(self)->labels).release(); }
PyObject* get_n_attributes(PyObject* self, void*) { return PyLong_FromSize_t(cast(self)->model->attributes()); }
PyObject* get_crfsuite(PyObject* self, void*) { return PyBool_FromLong(cast(self)->crfsuite); }

PyMethodDef methods[] = {
    {"dump", dump, METH_NOARGS, "dump($self, /)\n--\n\nThe text of ``crfsuite dump``, in UTF-8."},
    {"header", header, METH_NOARGS, "header($self, /)\n--\n\nThe header of a CRFsuite model, as strings."},
    {"attribute_names", attribute_names, METH_NOARGS,
     "attribute_names($self, /)\n--\n\nThe attributes of a CRFsuite model, by their numbers."},
    {"transition_weights", weights<false>, METH_NOARGS,
     "transition_weights($self, /)\n--\n\nThe weights of a CRFsuite model by (from, to)."},
    {"state_weights", weights<true>, METH_NOARGS,
     "state_weights($self, /)\n--\n\nThe weights of a CRFsuite model by (attribute, label)."},
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef properties[] = {
    {"labels", get_labels, nullptr, "The labels, in the order of their numbers.", nullptr},
    {"n_attributes", get_n_attributes, nullptr, "The number of attributes.", nullptr},
    {"is_crfsuite", get_crfsuite, nullptr, "Whether it is a model of CRFsuite.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyType_Slot slots[] = {
    {Py_tp_doc, const_cast<char*>("A model for tagging. It never changes, and threads share it.")},
    {Py_tp_dealloc, reinterpret_cast<void*>(destroy)},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {0, nullptr},
};

PyType_Spec spec = {"dualfield._tagger.Model", sizeof(ModelObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

}  // namespace

PyType_Spec* model_spec() { return &spec; }

PyObject* crfsuite_model(PyObject* module, PyObject* source, PyObject*) {
    return guarded<PyObject*>(nullptr, [&] {
        Ref self = blank(module);
        ModelObject* object = cast(self.get());
        const Py_buffer& buffer = keep(object, source);
        auto file =
            std::make_unique<CrfsuiteFile>(static_cast<const char*>(buffer.buf), static_cast<std::size_t>(buffer.len));
        const std::size_t n_labels = file->header().labels;
        Ref labels(checked(PyTuple_New(static_cast<Py_ssize_t>(n_labels))));
        for (std::size_t i = 0; i < n_labels; ++i)
            PyTuple_SET_ITEM(labels.get(), static_cast<Py_ssize_t>(i), decoded(file->label(i), "label").release());
        set_labels(object, std::move(labels));
        object->model = std::move(file);
        object->crfsuite = true;
        return self.release();
    });
}

PyObject* stored_model(PyObject* module, PyObject* arguments, PyObject* names) {
    return guarded<PyObject*>(nullptr, [&] {
        static const char* keywords[] = {"labels",     "weights", "double",  "transitions", "row_starts",
                                         "row_labels", "text",    "offsets", "index",       "bias",
                                         "begin",      "end",     "masks",   nullptr};
        PyObject *labels, *weights, *transitions, *row_starts, *row_labels, *text, *offsets, *index, *masks;
        int is_double, bias, begin, end;
        if (!PyArg_ParseTupleAndKeywords(arguments, names, "$O!OpOOOOOOpppO:stored_model", const_cast<char**>(keywords),
                                         &PyTuple_Type, &labels, &weights, &is_double, &transitions, &row_starts,
                                         &row_labels, &text, &offsets, &index, &bias, &begin, &end, &masks))
            throw PythonError();
        Ref self = blank(module);
        ModelObject* object = cast(self.get());
        StoredArrays arrays{};
        if (is_double)
            arrays.weights = numbers<double>(object, weights);
        else
            arrays.single_weights = numbers<float>(object, weights);
        arrays.transitions = numbers<std::int32_t>(object, transitions);
        arrays.observed = row_starts != Py_None;
        arrays.row_starts = numbers<std::int64_t>(object, row_starts);
        arrays.row_labels = numbers<std::int32_t>(object, row_labels);
        arrays.text = numbers<char>(object, text);
        arrays.offsets = numbers<std::int64_t>(object, offsets);
        arrays.indexed = index != Py_None;
        arrays.index = numbers<std::int32_t>(object, index);
        arrays.bias = bias, arrays.begin = begin, arrays.end = end;
        const auto n_labels = static_cast<std::size_t>(PyTuple_GET_SIZE(labels));
        if (n_labels == 0 || n_labels > CrfsuiteFile::kMostLabels)
            throw Damage("it has " + std::to_string(n_labels) + " labels; there may be 1 to " +
                         std::to_string(CrfsuiteFile::kMostLabels));
        if (masks != Py_None) {  // the three masks, one behind the other: K x K, K, K
            const std::span<const char> all = numbers<char>(object, masks);
            if (all.size() != n_labels * (n_labels + 2)) throw Damage("its masks of constraints are damaged");
            arrays.allowed_transitions = all.first(n_labels * n_labels);
            arrays.allowed_begin = all.subspan(n_labels * n_labels, n_labels);
            arrays.allowed_end = all.last(n_labels);
        }
        object->model = std::make_unique<StoredChain>(arrays, n_labels);
        set_labels(object, Ref::to(labels));
        return self.release();
    });
}

}  // namespace dualfield::tagging
