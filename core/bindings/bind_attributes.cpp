// Named attributes as Python has them, dicts and lists of strings, position after position.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/object_lock.hpp"
#include "text/attribute_rows.hpp"

namespace dualfield {
namespace {

using text::AttributeRows;
using text::Code;
using text::StringTable;

// Appends a Python string in UTF-8; lone surrogates pass. ASCII is read where it lies. Other strings are encoded each
// time, because Python would keep the encoded form with the string for good.
void append_utf8(PyObject* string, std::string& bytes) {
#ifndef Py_LIMITED_API
    if (PyUnicode_IS_COMPACT_ASCII(string)) {
        bytes.append(static_cast<const char*>(PyUnicode_DATA(string)),
                     static_cast<std::size_t>(PyUnicode_GET_LENGTH(string)));
        return;
    }
#endif
    const nb::object encoded = nb::steal(PyUnicode_AsEncodedString(string, "utf-8", "surrogatepass"));
    if (!encoded.is_valid()) throw nb::python_error();
    char* begin;
    Py_ssize_t length;
    if (PyBytes_AsStringAndSize(encoded.ptr(), &begin, &length) != 0) throw nb::python_error();
    bytes.append(begin, static_cast<std::size_t>(length));
}

bool is_plain_number(PyObject* value) {
    return PyFloat_CheckExact(value) || PyBool_Check(value) || PyLong_CheckExact(value);
}

double as_double(PyObject* value) {
    const double number = PyFloat_CheckExact(value) ? PyFloat_AsDouble(value) : PyLong_AsDouble(value);
    if (number == -1.0 && PyErr_Occurred()) throw nb::python_error();
    return number;
}

void check_key(PyObject* key) {
    if (!PyUnicode_Check(key)) throw nb::type_error("an attribute is no string");
}

// Calls see(key, value) for the items of a dict or another mapping. The objects live as long as the call.
template <class See>
void for_each_item(nb::handle mapping, See&& see) {
    if (PyDict_CheckExact(mapping.ptr())) {
        const ObjectLock lock(mapping.ptr());
        PyObject *key, *value;
        for (Py_ssize_t at = 0; PyDict_Next(mapping.ptr(), &at, &key, &value);) see(nb::borrow(key), nb::borrow(value));
        return;
    }
    for (nb::handle item : mapping.attr("items")()) {
        const nb::object pair = nb::borrow(item);
        see(nb::object(pair[0]), nb::object(pair[1]));
    }
}

// The entries of a list or a tuple, which nobody changes any more.
nb::tuple entries_of(PyObject* given) {
    nb::object entries = PyTuple_CheckExact(given) ? nb::borrow(given) : nb::steal(PyList_AsTuple(given));
    if (!entries.is_valid()) throw nb::python_error();
    return nb::borrow<nb::tuple>(entries);
}

// Methods of the classes below lock the object: a row is added whole, and what Python code they run may add others.
class AttributeEncoder {
   public:
    // `expand(key, value)` gives the (name, value) pairs of a value that is neither a string nor a plain number.
    AttributeEncoder(std::shared_ptr<StringTable> known, nb::callable expand)
        : known_(std::move(known)),
          expand_(std::move(expand)),
          rows_(known_ ? AttributeRows(*known_) : AttributeRows()) {}

    // Positions that are mappings. Where something is wrong, rows() is the number of the position at fault.
    void add_dicts(nb::list positions) {
        for (nb::handle position : positions) {
            for_each_item(position, [&](const nb::object& key, const nb::object& value) { add_item(key, value); });
            rows_.end_row();
        }
    }

    // Positions that are lists, or other iterables, of strings.
    void add_lists(nb::list positions) {
        for (nb::handle position : positions) {
            for (nb::handle name : position) add(name.ptr(), 1.0);
            rows_.end_row();
        }
    }

    std::size_t rows() const { return rows_.rows(); }
    bool only_finite() const { return rows_.all_finite(); }

    // The rows as arrays, and the new names; values only where not all are 1.
    auto result() {
        auto indptr = to_array(rows_.ends());
        auto indices = to_array(rows_.indices());
        std::optional<Output<double, 1>> values;
        if (!rows_.all_ones()) values = to_array(rows_.values());
        std::shared_ptr<StringTable> names;
        if (!known_) names = std::make_shared<StringTable>(std::move(rows_.names()));
        rows_ = known_ ? AttributeRows(*known_) : AttributeRows();
        return std::make_tuple(indptr, indices, values, names);
    }

   private:
    void add(PyObject* name, double value) {
        check_key(name);
        buffer_.clear();
        append_utf8(name, buffer_);
        rows_.add(buffer_, value);
    }

    void add_item(const nb::object& key, const nb::object& value) {
        if (PyUnicode_CheckExact(value.ptr())) {
            check_key(key.ptr());
            buffer_.clear();
            append_utf8(key.ptr(), buffer_);
            buffer_.push_back(':');
            append_utf8(value.ptr(), buffer_);
            rows_.add(buffer_, 1.0);
        } else if (is_plain_number(value.ptr())) {
            add(key.ptr(), as_double(value.ptr()));
        } else {
            check_key(key.ptr());
            for (nb::handle pair : expand_(key, value)) {
                const nb::object name = pair[0], number = pair[1];
                add(name.ptr(), as_double(number.ptr()));
            }
        }
    }

    std::shared_ptr<StringTable> known_;
    nb::callable expand_;
    AttributeRows rows_;
    std::string buffer_;
};

// The attributes of one sequence by name, before anything is done with them.
class StagedSequence {
   public:
    // `expand(position)` gives the (name, value) pairs of a position that is not made of plain dicts, lists, strings
    // and finite numbers alone, or refuses it.
    explicit StagedSequence(const nb::callable& expand) : expand_(expand) {}

    void add(nb::handle position) {
        if (!add_plain(position.ptr())) add_pairs(expand_(position));
        ends_.push_back(attributes_.size());
    }

    // Calls see(name, value) for each attribute, and end_position() after the last of a position.
    template <class See, class EndPosition>
    void for_each(See&& see, EndPosition&& end_position) const {
        std::size_t k = 0, begin = 0;
        for (const std::size_t last : ends_) {
            for (; k < last; ++k) {
                see(std::string_view(names_).substr(begin, attributes_[k].end - begin), attributes_[k].value);
                begin = attributes_[k].end;
            }
            end_position();
        }
    }

   private:
    struct Attribute {
        std::size_t end;  // of its name, among all names
        double value;
    };

    // Adds the attributes of a dict or a list; false, with nothing added, where it is neither.
    bool add_plain(PyObject* given) {
        if (PyDict_CheckExact(given)) {
            if (Py_EnterRecursiveCall(" in the attributes of a position") != 0) throw nb::python_error();
            const struct Leave {
                ~Leave() { Py_LeaveRecursiveCall(); }
            } leave;
            for_each_item(given, [&](const nb::object& key, const nb::object& value) { add_item(key, value); });
            return true;
        }
        if (!PyList_CheckExact(given) && !PyTuple_CheckExact(given)) return false;
        const nb::tuple items = entries_of(given);
        for (nb::handle name : items)
            if (!PyUnicode_CheckExact(name.ptr())) return false;
        for (nb::handle name : items) {
            begin_name(name.ptr());
            end_name(1.0);
        }
        return true;
    }

    void add_item(const nb::object& key, const nb::object& value) {
        if (PyUnicode_CheckExact(key.ptr())) {
            if (PyUnicode_CheckExact(value.ptr())) {
                begin_name(key.ptr());
                names_.push_back(':');
                append_utf8(value.ptr(), names_);
                return end_name(1.0);
            }
            if (is_plain_number(value.ptr())) {
                if (const std::optional<double> number = as_finite(value.ptr())) {
                    begin_name(key.ptr());
                    return end_name(*number);
                }
            } else {
                const std::size_t length = prefix_.size();
                append_utf8(key.ptr(), prefix_);
                prefix_.push_back(':');
                const bool added = add_plain(value.ptr());
                prefix_.resize(length);
                if (added) return;
            }
        }
        nb::dict alone;
        alone[key] = value;
        add_pairs(expand_(alone));
    }

    void add_pairs(const nb::object& pairs) {
        for (nb::handle pair : pairs) {
            const nb::object name = pair[0], value = pair[1];
            check_key(name.ptr());
            const double number = as_double(value.ptr());
            begin_name(name.ptr());
            end_name(number);
        }
    }

    void begin_name(PyObject* name) {
        names_.append(prefix_);
        append_utf8(name, names_);
    }
    void end_name(double value) { attributes_.push_back({names_.size(), value}); }

    static std::optional<double> as_finite(PyObject* value) {
        const double number = PyFloat_CheckExact(value) ? PyFloat_AsDouble(value) : PyLong_AsDouble(value);
        if (number == -1.0 && PyErr_Occurred()) {
            PyErr_Clear();  // an integer that is no double
            return std::nullopt;
        }
        return std::isfinite(number) ? std::optional(number) : std::nullopt;
    }

    const nb::callable& expand_;
    std::vector<Attribute> attributes_;
    std::vector<std::size_t> ends_;  // where each position ends among them
    std::string names_, prefix_;
};

// Sequences that come one by one, as positions with attributes by number. One that is refused leaves no trace. CRFsuite
// counts an attribute of value zero as seen; the rows do not have it, so zeros are kept apart.
class SequenceCollector {
   public:
    explicit SequenceCollector(nb::callable expand) : expand_(std::move(expand)) {}

    void add(nb::list positions) {
        StagedSequence staged(expand_);
        for (nb::handle position : positions) staged.add(position);
        staged.for_each(
            [&](std::string_view name, double value) {
                const Code code = rows_.names().intern(name);
                rows_.add(code, value);
                if (value != 0.0) return;
                zero_rows_.push_back(static_cast<std::int64_t>(rows_.rows()));
                zero_codes_.push_back(code);
            },
            [&] { rows_.end_row(); });
    }

    std::size_t n_names() const { return rows_.names().size(); }

    // Copies: more sequences may come.
    auto result() const {
        std::optional<Output<double, 1>> values;
        if (!rows_.all_ones()) values = to_array(rows_.values());
        auto names = std::make_shared<StringTable>();
        for (std::size_t n = 0; n < n_names(); ++n) names->intern(rows_.names()[static_cast<Code>(n)]);
        return std::make_tuple(to_array(rows_.ends()), to_array(rows_.indices()), values, names);
    }
    auto zeros() const { return std::make_pair(to_array(zero_rows_), to_array(zero_codes_)); }

   private:
    nb::callable expand_;
    AttributeRows rows_;
    std::vector<std::int64_t> zero_rows_;
    std::vector<Code> zero_codes_;
};

// Rows in any order as sorted ones, each attribute once; the caller has checked the arrays. None: all values are 1.
auto merged_rows(Vector<std::int64_t> indptr, Vector<Code> indices, std::optional<Vector<double>> values) {
    AttributeRows rows;
    for (std::size_t row = 0; row + 1 < indptr.shape(0); ++row) {
        for (std::int64_t k = indptr.data()[row]; k < indptr.data()[row + 1]; ++k)
            rows.add(indices.data()[k], values ? values->data()[k] : 1.0);
        rows.end_row();
    }
    std::optional<Output<double, 1>> merged;
    if (!rows.all_ones()) merged = to_array(rows.values());
    return std::make_tuple(to_array(rows.ends()), to_array(rows.indices()), merged);
}

// The (position, number) of known attributes that dicts name with the value zero.
auto zero_attributes(nb::list positions, const StringTable& names, nb::callable expand) {
    std::vector<std::int64_t> places;
    std::vector<Code> codes;
    std::string buffer;
    std::int64_t place = 0;
    const auto look = [&](PyObject* name, double value) {
        if (value != 0.0) return;
        buffer.clear();
        append_utf8(name, buffer);
        const Code code = names.find(buffer);
        if (code == text::kNone) return;
        places.push_back(place);
        codes.push_back(code);
    };
    for (nb::handle position : positions) {
        if (PyDict_Check(position.ptr()) || nb::hasattr(position, "items"))
            for_each_item(position, [&](const nb::object& key, const nb::object& value) {
                if (PyUnicode_CheckExact(value.ptr())) return;
                if (is_plain_number(value.ptr())) return look(key.ptr(), as_double(value.ptr()));
                for (nb::handle pair : expand(key, value)) {
                    const nb::object name = pair[0], number = pair[1];
                    look(name.ptr(), as_double(number.ptr()));
                }
            });
        ++place;
    }
    return std::make_pair(to_array(places), to_array(codes));
}

}  // namespace

void bind_attributes(nb::module_& m) {
    using namespace nb::literals;
    nb::class_<AttributeEncoder>(m, "AttributeEncoder", "Dicts or lists of strings as rows of a sparse matrix.")
        .def(nb::init<std::shared_ptr<StringTable>, nb::callable>(), "known"_a.none(), "expand"_a)
        .def("add_dicts", &AttributeEncoder::add_dicts, "positions"_a, nb::lock_self())
        .def("add_lists", &AttributeEncoder::add_lists, "positions"_a, nb::lock_self())
        .def_prop_ro("rows", &AttributeEncoder::rows, nb::lock_self())
        .def_prop_ro("only_finite", &AttributeEncoder::only_finite, nb::lock_self())
        .def("result", &AttributeEncoder::result, nb::lock_self(),
             "(indptr, indices, values or None, new names or None)");
    nb::class_<SequenceCollector>(m, "SequenceCollector", "Sequences of dicts or lists of strings, one by one.")
        .def(nb::init<nb::callable>(), "expand"_a)
        .def("add", &SequenceCollector::add, "positions"_a, nb::lock_self())
        .def_prop_ro("n_names", &SequenceCollector::n_names, nb::lock_self())
        .def("result", &SequenceCollector::result, nb::lock_self(), "(indptr, indices, values or None, names)")
        .def("zeros", &SequenceCollector::zeros, nb::lock_self(), "(positions, attributes)");
    m.def("merged_rows", &merged_rows, "indptr"_a.noconvert(), "indices"_a.noconvert(), "values"_a.noconvert().none(),
          "(indptr, indices, values or None)");
    m.def("zero_attributes", &zero_attributes, "positions"_a, "names"_a, "expand"_a, "(positions, attributes)");
}

}  // namespace dualfield
