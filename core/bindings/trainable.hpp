// What solvers ask of a field before they start, and how a certificate is given to Python.
#pragma once

#include "bindings/arrays.hpp"
#include "duality/certificate.hpp"

namespace dualfield {

inline auto certificate_tuple(const Certificate& c) { return std::make_tuple(c.primal, c.dual, c.gap); }

template <class F>
void check_labelled(const F& field) {
    require(field.labelled(), "the field has no labels to train on");
    Index i = 0;
    while (i < field.blocks() && !(field.sample_weight(i) > 0.0)) ++i;
    require(i < field.blocks(), "no block has a positive sample weight");
}

template <class F>
void check_trainable(const F& field) {
    check_labelled(field);
    require(field.l2() > 0.0, "without a penalty l2 this solver has no certificate");
}

}  // namespace dualfield
