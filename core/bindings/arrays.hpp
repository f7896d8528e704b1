// NumPy arrays in and out, without copies.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "base/sizes.hpp"

namespace dualfield {

namespace nb = nanobind;

// Contiguous arrays of exactly this type; the Python layer converts before it calls.
template <class T, int Dimensions>
using Input = nb::ndarray<const T, nb::ndim<Dimensions>, nb::c_contig, nb::device::cpu>;
template <class T>
using Vector = Input<T, 1>;

template <class T, std::size_t Dimensions>
using Output = nb::ndarray<nb::numpy, T, nb::ndim<Dimensions>>;

// A count as a length of an array.
inline std::size_t extent(Index n) { return static_cast<std::size_t>(n); }

// A new uninitialised NumPy array; C++ fills it through data().
template <class T, std::size_t Dimensions>
Output<T, Dimensions> new_array(const std::array<std::size_t, Dimensions>& shape) {
    const std::size_t size = checked_size(shape, sizeof(T));
    auto data = std::make_unique_for_overwrite<T[]>(size == 0 ? 1 : size);
    nb::capsule owner(data.get(), [](void* p) noexcept { delete[] static_cast<T*>(p); });
    return Output<T, Dimensions>(data.release(), Dimensions, shape.data(), owner);
}

template <class T, class Allocator>
Output<T, 1> to_array(const std::vector<T, Allocator>& values) {
    auto array = new_array<T, 1>({values.size()});
    std::copy(values.begin(), values.end(), array.data());
    return array;
}

// Whether all are 0 .. bound - 1. There may be millions: no branch for each.
inline bool all_below(Index bound, const Vector<std::int32_t>& codes) {
    if (bound <= 0) return codes.shape(0) == 0;
    const auto last = static_cast<std::int32_t>(std::min<Index>(bound - 1, std::numeric_limits<std::int32_t>::max()));
    const std::int32_t* code = codes.data();
    int outside = 0;
    for (std::size_t k = 0; k < codes.shape(0); ++k) outside |= (code[k] < 0) | (code[k] > last);
    return !outside;
}

// Whether none is smaller than the one before.
inline bool never_decreases(const Vector<Index>& values) {
    int decreases = 0;
    for (std::size_t k = 1; k < values.shape(0); ++k) decreases |= values.data()[k - 1] > values.data()[k];
    return !decreases;
}

// Raised to Python as ValueError.
inline void require(bool condition, const char* message) {
    if (!condition) throw nb::value_error(message);
}

}  // namespace dualfield
