// Named attributes as Python has them, dicts and lists of strings, position after position.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include <optional>
#include <string>

#include "bindings/arrays.hpp"
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
        PyObject *key, *value;
        for (Py_ssize_t at = 0; PyDict_Next(mapping.ptr(), &at, &key, &value);) see(nb::borrow(key), nb::borrow(value));
        return;
    }
    for (nb::handle item : mapping.attr("items")()) {
        const nb::object pair = nb::borrow(item);
        see(nb::object(pair[0]), nb::object(pair[1]));
    }
}

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
        .def("add_dicts", &AttributeEncoder::add_dicts, "positions"_a)
        .def("add_lists", &AttributeEncoder::add_lists, "positions"_a)
        .def_prop_ro("rows", &AttributeEncoder::rows)
        .def_prop_ro("only_finite", &AttributeEncoder::only_finite)
        .def("result", &AttributeEncoder::result, "(indptr, indices, values or None, new names or None)");
    m.def("merged_rows", &merged_rows, "indptr"_a.noconvert(), "indices"_a.noconvert(), "values"_a.noconvert().none(),
          "(indptr, indices, values or None)");
    m.def("zero_attributes", &zero_attributes, "positions"_a, "names"_a, "expand"_a, "(positions, attributes)");
}

}  // namespace dualfield
