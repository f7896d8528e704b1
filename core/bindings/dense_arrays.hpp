// Dense columns of positions or points, given as arrays that stay where they lie.
#pragma once

#include <nanobind/stl/optional.h>

#include "bindings/field_arrays.hpp"
#include "fields/dense_columns.hpp"

namespace dualfield {

// Of whatever type, and perhaps read-only.
using AnyMatrix = nb::ndarray<nb::ro, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

using Standard = std::shared_ptr<const DenseColumns::Standard>;

// How columns are shifted and scaled; null: not at all.
inline Standard standard_of(const std::optional<Vector<double>>& shift, const std::optional<Vector<double>>& factor,
                            Index width) {
    if (!shift || !factor) return nullptr;
    DenseColumns::Standard standard;
    standard.shift.assign(shift->data(), shift->data() + shift->shape(0));
    standard.factor.assign(factor->data(), factor->data() + factor->shape(0));
    require(std::ssize(standard.shift) == width && std::ssize(standard.factor) == width,
            "there must be a shift and a factor for each column");
    return std::make_shared<const DenseColumns::Standard>(std::move(standard));
}

// From a tuple of contiguous arrays, one a block: all of double precision or all of single precision.
inline DenseColumns dense_of(const nb::tuple& arrays, Index width, const Standard& standard) {
    require(width >= 0, "there cannot be fewer than no columns");
    std::vector<DenseColumns::Block> blocks;
    blocks.reserve(arrays.size());
    bool single = false;
    const auto add = [&](const auto& array, bool is_single) {
        require(static_cast<Index>(array.shape(1)) == width, "a dense array has another number of columns");
        require(blocks.empty() || single == is_single, "dense arrays must be all of one type");
        single = is_single;
        blocks.push_back({array.data(), static_cast<Index>(array.shape(0))});
    };
    for (const nb::handle array : arrays) {
        Input<float, 2> floats;
        if (nb::try_cast<Input<float, 2>>(array, floats, false)) {
            add(floats, true);
        } else {
            Input<double, 2> doubles;
            require(nb::try_cast<Input<double, 2>>(array, doubles, false),
                    "a dense array must be a contiguous matrix of float32 or float64");
            add(doubles, false);
        }
    }
    return {width, single, std::move(blocks), standard};
}

// The columns of the blocks of `data`, or none.
inline DenseColumns columns_of(const DenseColumns* columns, const Attributes& data) {
    if (!columns) return {};
    require(columns->blocks() == data.blocks, "there must be one dense array for each block");
    for (Index i = 0; i < data.blocks; ++i)
        require(columns->length(i) == data.length(i), "a dense array must have one row for each position");
    return *columns;
}

// The rows of a matrix that are points, all of them or those chosen, in their order.
inline DenseColumns chosen_points(const AnyMatrix& matrix, const std::optional<Vector<Index>>& chosen, Index count,
                                  const std::optional<Vector<double>>& shift,
                                  const std::optional<Vector<double>>& factor) {
    const bool single = matrix.dtype() == nb::dtype<float>();
    require(single || matrix.dtype() == nb::dtype<double>(), "dense points must be of float32 or float64");
    const Index width = matrix.shape(1), rows = matrix.shape(0);
    require((chosen ? static_cast<Index>(chosen->shape(0)) : rows) == count, "there must be one row for each point");
    std::vector<DenseColumns::Block> blocks;
    blocks.reserve(count);
    for (Index p = 0; p < count; ++p) {
        const Index row = chosen ? chosen->data()[p] : p;
        require(0 <= row && row < rows, "a chosen row is out of range");
        blocks.push_back({static_cast<const char*>(matrix.data()) + row * width * (single ? 4 : 8), 1});
    }
    return {width, single, std::move(blocks), standard_of(shift, factor, width)};
}

}  // namespace dualfield
