// Binds a method: a class template Method<F> with a struct Method<F>::Options. Python sees a function of the method's
// name that takes a field and the options by keyword, and returns a run.
//
// Every method is compiled for GeneralField, which every field is. A method in whose steps virtual calls would be felt
// is also compiled for the types of fields that are listed beside it.
#pragma once

#include <nanobind/stl/unique_ptr.h>

#include <memory>
#include <string>

#include "bindings/field_checks.hpp"
#include "bindings/options.hpp"
#include "bindings/runs.hpp"
#include "fields/chain_field.hpp"
#include "fields/multiclass.hpp"

namespace dualfield {

// The type-erased form of a field type, as bound to Python.
template <class F>
struct ErasedOf {
    using Type = ErasedField<F>;
};
template <class Rows>
struct ErasedOf<Chain<Rows>> {
    using Type = ErasedChain<Rows>;
};

template <class Method>
inline constexpr bool kOnDual = requires(Method method) { method.adopt_confirmed(); };

// Calls body with the field, as one of these types where it is one.
template <class First, class... Others, class Body>
auto with_type(const GeneralField& field, Body&& body) {
    if (const auto* typed = dynamic_cast<const typename ErasedOf<First>::Type*>(&field)) return body(typed->field());
    if constexpr (sizeof...(Others) > 0)
        return with_type<Others...>(field, body);
    else
        return body(field);
}
template <class Body>
auto with_type(const GeneralField& field, Body&& body) {
    return body(field);
}

template <template <class> class Method, class... Fields>
void bind_method(nb::module_& m, const char* name) {
    using namespace nb::literals;
    using General = Method<GeneralField>;
    using Options = typename General::Options;
    using Run = std::conditional_t<kOnDual<General>, BoundDual, BoundPrimal>;
    static std::string signature;
    Signature written(std::string("def ") + name + "(field: GeneralField, *");
    Options().each(written);
    signature = written.returning(kOnDual<General> ? "DualRun" : "PrimalRun");
    m.def(
        name,
        [named = std::string(name)](const GeneralField& field, const nb::kwargs& given) -> std::unique_ptr<Run> {
            const auto options = options_from<Options>(given);
            if constexpr (requires { Options::kWithoutPenalty; })
                check_labelled(field);
            else
                check_trainable(field);
            check_option(!kOnDual<General> || field.exact(), (named + " needs exact inference").c_str());
            if constexpr (requires { options.check(field); }) options.check(field);
            return with_type<Fields...>(field, [&](const auto& typed) -> std::unique_ptr<Run> {
                using Typed = Method<std::remove_cvref_t<decltype(typed)>>;
                using Bound = std::conditional_t<kOnDual<General>, BoundDualOf<Typed>, BoundPrimalOf<Typed>>;
                static_assert(alignof(Bound) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__, "Python frees it as a Run");
                return std::make_unique<Bound>(typed, options);
            });
        },
        "field"_a, "options"_a, nb::keep_alive<0, 1>(), nb::sig(signature.c_str()));
    if constexpr (requires(const GeneralField& field) { General::kept_numbers(field); })
        m.def((std::string("numbers_of_") + name).c_str(),
              [](const GeneralField& field) {
                  return with_type<Fields...>(field, [](const auto& typed) {
                      return Method<std::remove_cvref_t<decltype(typed)>>::kept_numbers(typed);
                  });
              },
              "field"_a, "How many numbers the method keeps of this field's duals.");
}

}  // namespace dualfield
