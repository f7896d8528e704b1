// Scratch that begins at a cache line. A load of eight doubles that crosses a line costs two, and memory from the usual
// allocator makes every one of them cross.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace dualfield {

template <class T>
struct LineAllocator {
    using value_type = T;
    static constexpr std::align_val_t kLine{64};

    LineAllocator() = default;
    template <class U>
    LineAllocator(const LineAllocator<U>&) {}

    T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), kLine)); }
    void deallocate(T* p, std::size_t) { ::operator delete(p, kLine); }

    friend bool operator==(const LineAllocator&, const LineAllocator&) { return true; }
};

using AlignedVector = std::vector<double, LineAllocator<double>>;

// Grown to the largest size asked for, never shrunk: what resize() adds it fills, each time anew.
inline double* room(AlignedVector& buffer, std::ptrdiff_t size) {
    if (static_cast<std::ptrdiff_t>(buffer.size()) < size) buffer.resize(size);
    return buffer.data();
}

}  // namespace dualfield
