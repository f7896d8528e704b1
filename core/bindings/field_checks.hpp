// Checks of what fields are asked.
#pragma once

#include "bindings/arrays.hpp"
#include "fields/general_field.hpp"

namespace dualfield {

inline void check_weights(const GeneralField& field, const Vector<double>& w) {
    require(static_cast<Index>(w.shape(0)) == field.dimension(), "the number of weights does not fit the field");
}

inline void check_range(const GeneralField& field, Index first, Index last) {
    require(0 <= first && first <= last && last <= field.blocks(), "the range of blocks is out of bounds");
}

inline void check_block(const GeneralField& field, Index i) {
    require(0 <= i && i < field.blocks(), "the number of the block is out of bounds");
}

inline std::size_t positions_between(const GeneralField& field, Index first, Index last) {
    return static_cast<std::size_t>(field.positions_before(last) - field.positions_before(first));
}

inline void check_labelled(const GeneralField& field) {
    require(field.labelled(), "the field has no labels to train on");
    Index i = 0;
    while (i < field.blocks() && !(field.sample_weight(i) > 0.0)) ++i;
    require(i < field.blocks(), "no block has a positive sample weight");
}

inline void check_trainable(const GeneralField& field) {
    check_labelled(field);
    require(field.l2() > 0.0, "without a penalty l2 this solver has no certificate");
}

}  // namespace dualfield
