// The arrays that fields are made of, checked. The last line of defence against reading out of bounds: the Python layer
// has already said what is wrong, and where.
#pragma once

#include <nanobind/stl/optional.h>

#include <cmath>
#include <optional>

#include "bindings/arrays.hpp"
#include "fields/attributes.hpp"

namespace dualfield {

using Labels = std::optional<Vector<std::int32_t>>;
using Values = std::optional<Vector<double>>;

template <class T>
const T* data_or_null(const std::optional<Vector<T>>& array) {
    return array ? array->data() : nullptr;
}

// Compressed sparse rows, one a position, of attributes below `count`.
inline void check_entries(Index positions, const Vector<Index>& indptr, const Vector<std::int32_t>& indices,
                          const Values& values, Index count) {
    require(static_cast<Index>(indptr.shape(0)) == positions + 1 && indptr.data()[0] == 0,
            "indptr must have one entry more than there are positions, and start with 0");
    require(never_decreases(indptr), "indptr must not decrease");
    const Index entries = indptr.data()[positions];
    require(static_cast<Index>(indices.shape(0)) == entries, "indices must have indptr[-1] entries");
    require(!values || static_cast<Index>(values->shape(0)) == entries, "values must be as many as indices");
    require(all_below(count, indices), "an attribute index is out of range");
}

inline Attributes attributes_of(const Vector<Index>& offsets, const Vector<Index>& indptr,
                                const Vector<std::int32_t>& indices, const Values& values, Index count) {
    require(offsets.shape(0) >= 1 && offsets.data()[0] == 0, "offsets must start with 0");
    const Index blocks = static_cast<Index>(offsets.shape(0)) - 1;
    for (Index i = 0; i < blocks; ++i)
        require(offsets.data()[i] < offsets.data()[i + 1], "offsets must increase: no block may be empty");
    const Index positions = offsets.data()[blocks];
    check_entries(positions, indptr, indices, values, count);
    return {blocks, offsets.data(), indptr.data(), indices.data(), data_or_null(values), count};
}

inline void check_targets(const Attributes& data, Index K, const Labels& labels, const Values& sample_weight,
                          double l2) {
    require(K >= 1, "there must be at least one label");
    require(std::isfinite(l2) && l2 >= 0.0, "l2 must be finite and not negative");
    if (labels) {
        require(static_cast<Index>(labels->shape(0)) == data.positions(), "labels must be as many as positions");
        require(all_below(K, *labels), "a label is out of range");
    }
    require(!sample_weight || static_cast<Index>(sample_weight->shape(0)) == data.blocks,
            "sample_weight must be as many as blocks");
    for (Index i = 0; sample_weight && i < data.blocks; ++i)
        require(std::isfinite(sample_weight->data()[i]) && sample_weight->data()[i] >= 0.0,
                "sample weights must be finite and not negative");
}

}  // namespace dualfield
