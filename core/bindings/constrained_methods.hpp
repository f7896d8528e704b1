// Binds what constraints, allowed sets and labels known in part make of a chain. They view it, and keep it alive.
#pragma once

#include <string>

#include "bindings/chain_methods.hpp"
#include "bindings/field_arrays.hpp"
#include "bindings/span_methods.hpp"
#include "fields/partial_chain.hpp"

namespace dualfield {

using Mask = Input<bool, 2>;

template <class Chain>
void check_positions(const Chain& chain, const Mask& mask) {
    require(static_cast<Index>(mask.shape(0)) == chain.offset(chain.blocks()) &&
                static_cast<Index>(mask.shape(1)) == chain.labels(),
            "a mask of positions must have one row a position, one column a label");
}

template <class Chain>
AllowedLabels allowed_of(const Chain& chain, const Mask& transitions, const Vector<bool>& begin,
                         const Vector<bool>& end, const std::optional<Mask>& allowed) {
    const auto K = static_cast<std::size_t>(chain.labels());
    require(transitions.shape(0) == K && transitions.shape(1) == K && begin.shape(0) == K && end.shape(0) == K,
            "the masks of transitions, begin and end must be K x K, K and K");
    if (allowed) check_positions(chain, *allowed);
    return {transitions.data(), begin.data(), end.data(), allowed ? allowed->data() : nullptr};
}

// Classes "Constrained" and "Partial", with the name of the chain after.
template <class Chain>
void bind_constraints(nb::module_& m, const std::string& name) {
    using namespace nb::literals;
    using Constrained = ConstrainedChain<Chain>;
    using Partial = PartialChain<Chain>;
    nb::class_<Constrained, GeneralField> constrained(m, ("Constrained" + name).c_str(),
                                                      "A chain of which only some labellings are allowed.");
    constrained
        .def(
            "__init__",
            [](Constrained* self, const Chain& chain, Mask transitions, Vector<bool> begin, Vector<bool> end,
               std::optional<Mask> allowed) {
                new (self) Constrained(chain, allowed_of(chain, transitions, begin, end, allowed));
            },
            "chain"_a, "transitions"_a.noconvert(), "begin"_a.noconvert(), "end"_a.noconvert(),
            "allowed"_a.noconvert().none(), nb::keep_alive<1, 2>())
        .def(
            "decode_posterior",
            [](const Constrained& field, Vector<double> w, Index first, Index last) {
                check_weights(field, w);
                check_range(field, first, last);
                auto path = new_array<std::int32_t, 1>({positions_between(field, first, last)});
                nb::gil_scoped_release release;
                decode_posteriors(field, w.data(), first, last, path.data());
                return path;
            },
            "weights"_a.noconvert(), "first"_a, "last"_a,
            "The allowed labels of blocks first .. last - 1 with the fewest wrong ones to expect.");
    bind_span_methods(constrained);
    bind_chain(constrained);

    nb::class_<Partial, Constrained>(m, ("Partial" + name).c_str(), "A chain whose labels are known in part.")
        .def(
            "__init__",
            [](Partial* self, const Chain& chain, Mask transitions, Vector<bool> begin, Vector<bool> end,
               std::optional<Mask> allowed, Mask candidates) {
                require(chain.labelled(), "the chain has no labels");
                check_positions(chain, candidates);
                new (self) Partial(chain, allowed_of(chain, transitions, begin, end, allowed), candidates.data());
            },
            "chain"_a, "transitions"_a.noconvert(), "begin"_a.noconvert(), "end"_a.noconvert(),
            "allowed"_a.noconvert().none(), "candidates"_a.noconvert(), nb::keep_alive<1, 2>());
}

}  // namespace dualfield
