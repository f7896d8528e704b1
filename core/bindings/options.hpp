// Options by keyword. A method has a struct of options whose each(visit) names every one of them once, as
// visit("eta", eta): from that list the binder takes the keywords, and writes the signature.
#pragma once

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "base/rule_names.hpp"
#include "bindings/arrays.hpp"

namespace dualfield {

class Keywords {
   public:
    explicit Keywords(const nb::kwargs& given) : given_(given) {}

    template <class T>
    void operator()(const char* name, T& value) {
        if (!given_.contains(name)) throw nb::type_error((std::string("the option ") + name + " is missing").c_str());
        ++taken_;
        const nb::object object = given_[name];
        if constexpr (std::is_enum_v<T>) {
            value = rule_named<T>(as<std::string>(name, object));
        } else if constexpr (std::is_same_v<T, std::vector<double>>) {
            if (object.is_none()) return;
            const auto array = as<Vector<double>>(name, object);
            value.assign(array.data(), array.data() + array.shape(0));
        } else {
            value = as<T>(name, object);
        }
    }

    void require_no_other() const {
        if (taken_ != given_.size()) throw nb::type_error("there is an option that this method does not have");
    }

   private:
    template <class T>
    static T as(const char* name, const nb::object& object) {
        T value;
        // A converted array would not live as long as its view.
        if (!nb::try_cast(object, value, std::is_arithmetic_v<T>))
            throw nb::type_error((std::string("the option ") + name + " is of another type").c_str());
        return value;
    }

    const nb::kwargs& given_;
    std::size_t taken_ = 0;
};

template <class Options>
Options options_from(const nb::kwargs& given) {
    Options options;
    Keywords keywords(given);
    options.each(keywords);
    keywords.require_no_other();
    return options;
}

// Completes "def name(field: GeneralField, *" by ", eta: float, ...) -> type", as a stub has it.
class Signature {
   public:
    explicit Signature(std::string begin) : text_(std::move(begin)) {}

    template <class T>
    void operator()(const char* name, const T& value) {
        text_ += std::string(", ") + name + ": " + type_of(value);
    }
    std::string returning(const char* type) const { return text_ + ") -> " + type; }

   private:
    static std::string type_of(bool) { return "bool"; }
    static std::string type_of(double) { return "float"; }
    static std::string type_of(Index) { return "int"; }
    static std::string type_of(std::uint64_t) { return "int"; }
    static std::string type_of(const std::string&) { return "str"; }
    static std::string type_of(const std::vector<double>&) { return type_of(std::optional<Vector<double>>()); }
    static std::string type_of(const Vector<double>&) { return "numpy.typing.NDArray[numpy.float64]"; }
    static std::string type_of(const Vector<Index>&) { return "numpy.typing.NDArray[numpy.int64]"; }
    static std::string type_of(const Vector<std::int32_t>&) { return "numpy.typing.NDArray[numpy.int32]"; }
    template <class T>
    static std::string type_of(const std::optional<T>&) {
        return type_of(T()) + " | None";
    }
    template <class Rule>
        requires std::is_enum_v<Rule>
    static std::string type_of(Rule) {
        return "str";
    }

    std::string text_;
};

}  // namespace dualfield
