// dualfield._tagger.Tagger: one sequence at a time, labelled by a model.
//
// The state of a sequence belongs to the tagger, the model is shared. Encoding may run Python code and so let other
// threads in: it fills memory that nobody else knows, and what follows, putting it into the tagger and working on it,
// runs no Python code. So threads may share a tagger too: `tag(sequence)` answers for its own sequence. Without
// Python's lock, each method locks the tagger instead.
#include "bindings/tagger/item_sequence.hpp"
#include "oracles/chain_kbest.hpp"
#include "tagging/batch.hpp"
#include "tagging/sequence_scores.hpp"

namespace dualfield::tagging {
namespace {

struct State {
    std::vector<double> scores, spare;  // T x K of the sequence that is set; memory for the next one
    Viterbi viterbi;
    Marginals marginals;
    bool has_marginals = false;
};

struct TaggerObject {
    PyObject base;
    ModelObject* model;  // null: not opened
    ModuleState* module;
    State state;
};

TaggerObject* cast(PyObject* self) { return reinterpret_cast<TaggerObject*>(self); }

PyObject* create(PyTypeObject* type, PyObject* arguments, PyObject* names) {
    // A subclass may have an __init__ that takes some.
    const bool some = PyTuple_GET_SIZE(arguments) > 0 || (names && PyDict_GET_SIZE(names) > 0);
    if (some && type->tp_init == PyBaseObject_Type.tp_init) {
        PyErr_SetString(PyExc_TypeError, "Tagger() takes no arguments; open a model by its method open.");
        return nullptr;
    }
    ModuleState* module = state_of(type);
    PyObject* self = module ? type->tp_alloc(type, 0) : nullptr;
    if (!self) return nullptr;
    cast(self)->module = module;
    new (&cast(self)->state) State();
    return self;
}

void destroy(PyObject* self) {
    PyTypeObject* type = Py_TYPE(self);
    Py_XDECREF(cast(self)->model);
    cast(self)->state.~State();
    type->tp_free(self);
    Py_DECREF(type);
}

ModelObject* opened(TaggerObject* tagger) {
    if (!tagger->model) {
        PyErr_SetString(tagger->module->tagger_error, "The tagger is not opened");
        throw PythonError();
    }
    return tagger->model;
}

// Adds the weights of attributes to the scores of a new position's labels.
struct ScoreSink {
    const AttributeModel& model;
    std::vector<double>& scores;
    std::size_t row = 0;
    Batch batch{model, scores};

    void begin_position() {
        const Transitions& chain = model.transitions();
        row = scores.size();
        scores.resize(row + chain.labels);
        if (!chain.bias.empty()) std::copy(chain.bias.begin(), chain.bias.end(), &scores[row]);
    }
    void attribute(const char* name, std::size_t length, double value) { batch.attribute(name, length, value, row); }
};

void add(const std::vector<double>& weights, double* row) {
    for (std::size_t j = 0; j < weights.size(); ++j) row[j] += weights[j];
}

// Makes a sequence the present one. If that fails, the one before stays.
void set_sequence(TaggerObject* tagger, PyObject* positions) {
    const Ref kept = Ref::to(reinterpret_cast<PyObject*>(opened(tagger)));
    const AttributeModel& model = *tagger->model->model;
    std::vector<double> scores = std::move(tagger->state.spare);
    scores.clear();
    ScoreSink sink{model, scores};
    if (PyObject_TypeCheck(positions, tagger->module->item_sequence))
        encoded_sequence(positions)->replay(sink);
    else
        Encoder(sink).sequence(positions);
    sink.batch.finish();
    if (reinterpret_cast<PyObject*>(tagger->model) != kept.get()) {
        PyErr_SetString(tagger->module->tagger_error,
                        "The tagger was closed, or opened anew, while it read a sequence");
        throw PythonError();
    }
    const Transitions& chain = model.transitions();
    if (!scores.empty()) {
        add(chain.begin, scores.data());
        add(chain.end, scores.data() + scores.size() - chain.labels);
    }
    tagger->state.spare = std::move(tagger->state.scores);
    tagger->state.scores = std::move(scores);
    tagger->state.has_marginals = false;
}

void compute_marginals(TaggerObject* tagger) {
    State& state = tagger->state;
    if (!state.has_marginals) state.marginals.compute(tagger->model->model->transitions(), state.scores);
    state.has_marginals = true;
}

// Comparing labels may run Python code, even code that closes the tagger: what is used is owned.
std::size_t label_number(TaggerObject* tagger, PyObject* label) {
    const Ref numbers = Ref::to(opened(tagger)->numbers);
    Ref text = Ref::to(label);
    if (PyBytes_Check(label))
        text = Ref(checked(PyUnicode_DecodeUTF8(PyBytes_AS_STRING(label), PyBytes_GET_SIZE(label), "replace")));
    const Ref number(dict_value(numbers.get(), text.get()));
    if (!number) {
        if (!PyErr_Occurred() && !PyUnicode_Check(text.get()) && !PyLong_Check(text.get()))
            PyErr_Format(PyExc_TypeError, "a label is a string; got an object of type %s.", Py_TYPE(label)->tp_name);
        else if (!PyErr_Occurred())
            PyErr_Format(tagger->module->tagger_error,
                         "Failed to convert into label identifier: %S is none of the %zd labels", text.get(),
                         PyDict_GET_SIZE(numbers.get()));
        throw PythonError();
    }
    return PyLong_AsSize_t(number.get());
}

PyObject* open_model(PyObject* self, PyObject* model) {
    TaggerObject* tagger = cast(self);
    if (!PyObject_TypeCheck(model, tagger->module->model)) {
        PyErr_Format(PyExc_TypeError, "open_model() needs a Model; got an object of type %s.", Py_TYPE(model)->tp_name);
        return nullptr;
    }
    const ObjectLock lock(self);
    tagger->state.scores.clear();
    tagger->state.has_marginals = false;
    ModelObject* before = std::exchange(tagger->model, reinterpret_cast<ModelObject*>(Ref::to(model).release()));
    Py_XDECREF(before);
    Py_RETURN_NONE;
}

PyObject* close(PyObject* self, PyObject*) {
    TaggerObject* tagger = cast(self);
    const ObjectLock lock(self);
    tagger->state.scores.clear();
    tagger->state.has_marginals = false;
    Py_CLEAR(tagger->model);
    Py_RETURN_NONE;
}

PyObject* labels(PyObject* self, PyObject*) {
    return alone_in(self, [&] { return PySequence_List(opened(cast(self))->labels); });
}

PyObject* set(PyObject* self, PyObject* const* given, Py_ssize_t count, PyObject* names) {
    return alone_in(self, [&] {
        set_sequence(cast(self), one_argument("set", "xseq", given, count, names, true));
        return Ref::to(Py_None).release();
    });
}

PyObject* tag(PyObject* self, PyObject* const* given, Py_ssize_t count, PyObject* names) {
    return alone_in(self, [&] {
        TaggerObject* tagger = cast(self);
        PyObject* positions = one_argument("tag", "xseq", given, count, names, false);
        if (positions && positions != Py_None) set_sequence(tagger, positions);
        const ModelObject* model = opened(tagger);
        if (tagger->state.scores.empty()) return checked(PyList_New(0));
        const auto& path = tagger->state.viterbi.decode(model->model->transitions(), tagger->state.scores);
        // Making a list may run the garbage collector, which runs Python code.
        const Ref kept = Ref::to(model->labels);
        std::vector<std::uint32_t> own;
        const std::uint32_t* numbers = path.data();
        const auto length = static_cast<Py_ssize_t>(path.size());
        std::uint32_t few[64];
        if (path.size() <= 64) {
            std::copy(path.begin(), path.end(), few);
            numbers = few;
        } else {
            own = path;
            numbers = own.data();
        }
        Ref list(checked(PyList_New(length)));
        for (Py_ssize_t t = 0; t < length; ++t) {
            PyObject* label = PyTuple_GET_ITEM(kept.get(), static_cast<Py_ssize_t>(numbers[t]));
            PyList_SET_ITEM(list.get(), t, Ref::to(label).release());
        }
        return list.release();
    });
}

PyObject* marginal(PyObject* self, PyObject* const* given, Py_ssize_t count, PyObject* names) {
    return alone_in(self, [&] {
        TaggerObject* tagger = cast(self);
        PyObject* values[2] = {count > 0 ? given[0] : nullptr, count > 1 ? given[1] : nullptr};
        const Py_ssize_t named = names ? PyTuple_GET_SIZE(names) : 0;
        for (Py_ssize_t i = 0; i < named; ++i) {
            PyObject* name = PyTuple_GET_ITEM(names, i);
            const bool is_label = PyUnicode_CompareWithASCIIString(name, "y") == 0;
            const bool is_place = PyUnicode_CompareWithASCIIString(name, "pos") == 0;
            if ((is_label && !values[0]) || (is_place && !values[1])) values[is_label ? 0 : 1] = given[count + i];
        }
        if (count + named != 2 || !values[0] || !values[1]) {
            PyErr_SetString(PyExc_TypeError, "marginal() takes two arguments, y and pos");
            throw PythonError();
        }
        const Ref as_number(checked(PyNumber_Index(values[1])));
        const Py_ssize_t place = PyNumber_AsSsize_t(as_number.get(), nullptr);
        opened(tagger);
        if (tagger->state.scores.empty()) return checked(PyFloat_FromDouble(0.0));
        const std::size_t K = tagger->model->model->transitions().labels;
        const auto length = static_cast<Py_ssize_t>(tagger->state.scores.size() / K);
        if (place < 0 || place >= length) {
            PyErr_Format(PyExc_ValueError, "The position, %S, is out of range of %zd", values[1], length);
            throw PythonError();
        }
        // A label's comparison may run Python code: nothing of the sequence is kept across it.
        const std::size_t label = label_number(tagger, values[0]);
        opened(tagger);
        const std::size_t index = static_cast<std::size_t>(place) * K + label;
        if (index >= tagger->state.scores.size()) {
            PyErr_SetString(tagger->module->tagger_error, "The sequence was changed while a label was looked up");
            throw PythonError();
        }
        compute_marginals(tagger);
        return checked(PyFloat_FromDouble(tagger->state.marginals.probabilities()[index]));
    });
}

PyObject* probability(PyObject* self, PyObject* const* given, Py_ssize_t count, PyObject* names) {
    return alone_in(self, [&] {
        TaggerObject* tagger = cast(self);
        PyObject* labels = one_argument("probability", "yseq", given, count, names, true);
        opened(tagger);
        const Ref all(checked(PySequence_List(labels)));
        const Ref model = Ref::to(reinterpret_cast<PyObject*>(opened(tagger)));
        std::vector<std::uint32_t> path(static_cast<std::size_t>(PyList_GET_SIZE(all.get())));
        const std::size_t K = tagger->model->model->transitions().labels;
        const std::size_t length = tagger->state.scores.size() / K;
        if (length == 0) return checked(PyFloat_FromDouble(0.0));
        if (path.size() != length) {
            PyErr_Format(PyExc_ValueError, "The numbers of items and labels differ: |x| = %zu, |y| = %zu", length,
                         path.size());
            throw PythonError();
        }
        for (std::size_t t = 0; t < length; ++t)
            path[t] = static_cast<std::uint32_t>(
                label_number(tagger, PyList_GET_ITEM(all.get(), static_cast<Py_ssize_t>(t))));
        if (reinterpret_cast<PyObject*>(tagger->model) != model.get() || tagger->state.scores.size() != length * K) {
            PyErr_SetString(tagger->module->tagger_error, "The sequence was changed while labels were looked up");
            throw PythonError();
        }
        compute_marginals(tagger);
        const double score = score_of(tagger->model->model->transitions(), tagger->state.scores, path.data());
        const double logarithm = score - tagger->state.marginals.log_partition();
        return checked(PyFloat_FromDouble(logarithm > 0.0 ? 1.0 : std::exp(logarithm)));  // above zero by rounding
    });
}

PyObject* marginals(PyObject* self, PyObject*) {
    return alone_in(self, [&] {
        TaggerObject* tagger = cast(self);
        const std::size_t K = opened(tagger)->model->transitions().labels;
        if (tagger->state.scores.empty()) return checked(PyList_New(0));
        compute_marginals(tagger);
        const std::vector<double> probabilities = tagger->state.marginals.probabilities();
        const std::size_t length = probabilities.size() / K;
        Ref rows(checked(PyList_New(static_cast<Py_ssize_t>(length))));
        for (std::size_t t = 0; t < length; ++t) {
            PyObject* row = checked(PyList_New(static_cast<Py_ssize_t>(K)));
            PyList_SET_ITEM(rows.get(), static_cast<Py_ssize_t>(t), row);
            for (std::size_t j = 0; j < K; ++j)
                PyList_SET_ITEM(row, static_cast<Py_ssize_t>(j), checked(PyFloat_FromDouble(probabilities[t * K + j])));
        }
        return rows.release();
    });
}

PyObject* log_partition(PyObject* self, PyObject*) {
    return alone_in(self, [&] {
        TaggerObject* tagger = cast(self);
        opened(tagger);
        if (tagger->state.scores.empty()) return checked(PyFloat_FromDouble(0.0));
        compute_marginals(tagger);
        return checked(PyFloat_FromDouble(tagger->state.marginals.log_partition()));
    });
}

// Labels of a path as a list; may run Python code, by the garbage collector.
Ref label_list(PyObject* labels, const std::int32_t* path, std::size_t length) {
    Ref list(checked(PyList_New(static_cast<Py_ssize_t>(length))));
    for (std::size_t t = 0; t < length; ++t)
        PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(t), Ref::to(PyTuple_GET_ITEM(labels, path[t])).release());
    return list;
}

PyObject* k_best(PyObject* self, PyObject* argument) {
    return alone_in(self, [&] {
        TaggerObject* tagger = cast(self);
        const Ref number(checked(PyNumber_Index(argument)));
        const Py_ssize_t k = PyNumber_AsSsize_t(number.get(), nullptr);
        const Transitions& chain = opened(tagger)->model->transitions();
        const Ref labels = Ref::to(tagger->model->labels);
        if (k < 1) {
            PyErr_Format(PyExc_ValueError, "k must be at least 1; got %S.", argument);
            throw PythonError();
        }
        if (tagger->state.scores.empty()) return checked(PyList_New(0));
        compute_marginals(tagger);
        const double log_partition = tagger->state.marginals.log_partition();
        const std::size_t length = tagger->state.scores.size() / chain.labels;
        const auto T = static_cast<Index>(length), K = static_cast<Index>(chain.labels);
        const Index most = std::min<Index>(k, labellings(T, K));
        const ChainPotentials potentials{T, K, tagger->state.scores.data(), chain.weights.data(), 0};
        std::vector<std::int32_t> paths(static_cast<std::size_t>(most) * length);
        std::vector<double> scores(static_cast<std::size_t>(most));
        const Index found = KBest().decode(potentials, most, paths.data(), scores.data());
        Ref list(checked(PyList_New(0)));
        for (std::size_t i = 0; i < static_cast<std::size_t>(found); ++i) {
            const Ref labelling = label_list(labels.get(), &paths[i * length], length);
            const Ref probability(checked(PyFloat_FromDouble(std::exp(std::min(0.0, scores[i] - log_partition)))));
            const Ref pair(checked(PyTuple_Pack(2, labelling.get(), probability.get())));
            if (PyList_Append(list.get(), pair.get()) < 0) throw PythonError();
        }
        return list.release();
    });
}

PyObject* get_model(PyObject* self, void*) {
    const ObjectLock lock(self);
    PyObject* model = reinterpret_cast<PyObject*>(cast(self)->model);
    return Ref::to(model ? model : Py_None).release();
}

template <class Function>
PyCFunction as_method(Function* function) {
    return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

PyMethodDef methods[] = {
    {"open_model", open_model, METH_O,
     "open_model($self, model, /)\n--\n\nUse a model, which other taggers may use too."},
    {"close", close, METH_NOARGS, "close($self, /)\n--\n\nLet go of the model."},
    {"labels", labels, METH_NOARGS, "labels($self, /)\n--\n\nThe labels, in the order of the model."},
    {"set", as_method(set), METH_FASTCALL | METH_KEYWORDS,
     "set($self, xseq)\n--\n\nMake a sequence the present one, about which the other methods answer."},
    {"tag", as_method(tag), METH_FASTCALL | METH_KEYWORDS,
     "tag($self, xseq=None)\n--\n\nThe best labels of a sequence, or of the present one."},
    {"marginal", as_method(marginal), METH_FASTCALL | METH_KEYWORDS,
     "marginal($self, y, pos)\n--\n\nThe probability of a label at a position of the present sequence."},
    {"probability", as_method(probability), METH_FASTCALL | METH_KEYWORDS,
     "probability($self, yseq)\n--\n\nThe probability of a labelling of the present sequence."},
    {"marginals", marginals, METH_NOARGS,
     "marginals($self, /)\n--\n\nThe probabilities of all labels at each position, as a list of lists."},
    {"k_best", k_best, METH_O,
     "k_best($self, k, /)\n--\n\nThe k most probable labellings, as pairs of labels and probability; fewer where there "
     "are fewer."},
    {"log_partition", log_partition, METH_NOARGS,
     "log_partition($self, /)\n--\n\nThe logarithm of the sum of exp(score) over all labellings."},
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef properties[] = {
    {"model", get_model, nullptr, "The model, or None.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyType_Slot slots[] = {
    {Py_tp_doc, const_cast<char*>("Labels sequences, one at a time, by a model.")},
    {Py_tp_new, reinterpret_cast<void*>(create)},
    {Py_tp_dealloc, reinterpret_cast<void*>(destroy)},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {0, nullptr},
};

PyType_Spec spec = {"dualfield._tagger.Tagger", sizeof(TaggerObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                    slots};

}  // namespace

PyType_Spec* tagger_spec() { return &spec; }

}  // namespace dualfield::tagging
