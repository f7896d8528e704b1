// What a model file has to be, where there are too many numbers or names to look at them in Python.
#include <nanobind/stl/variant.h>

#include <cmath>
#include <limits>
#include <variant>

#include "bindings/arrays.hpp"
#include "text/string_table.hpp"

namespace dualfield {
namespace {

using namespace nb::literals;
using Weights = std::variant<Vector<double>, Vector<float>>;  // as a model file has them

bool all_finite(const Weights& weights) {
    return std::visit(
        [](const auto& given) {
            using Number = std::remove_cvref_t<decltype(*given.data())>;
            bool finite = true;  // no way out of the loop, which then goes over many numbers at a time
            for (std::size_t d = 0; d < given.shape(0); ++d)
                finite &= std::abs(given.data()[d]) <= std::numeric_limits<Number>::max();
            return finite;
        },
        weights);
}

// Lone surrogates, which Python strings may hold, pass.
bool are_text(const text::StringTable& names) {
    unsigned char high = 0;
    for (const char byte : names.text()) high |= static_cast<unsigned char>(byte);
    if (high < 0x80) return true;
    for (std::size_t n = 0; n < names.size(); ++n) {
        const std::string_view name = names[static_cast<text::Code>(n)];
        PyObject* string = PyUnicode_DecodeUTF8(name.data(), static_cast<Py_ssize_t>(name.size()), "surrogatepass");
        if (!string) {
            PyErr_Clear();
            return false;
        }
        Py_DECREF(string);
    }
    return true;
}

}  // namespace

void bind_model_checks(nb::module_& m) {
    m.def("all_finite", &all_finite, "weights"_a.noconvert(), "Whether no weight is infinite or not a number.");
    m.def("are_text", &are_text, "names"_a, "Whether every name is a string in UTF-8.");
}

}  // namespace dualfield
