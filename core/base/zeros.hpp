// Long vectors of zeros that the system gives without writing them: a page takes memory, and time, when it is first
// written, by the thread that does so.
#pragma once

#include <cstdlib>
#include <new>
#include <utility>
#include <vector>

namespace dualfield {

template <class T>
struct ZeroedAllocator {
    using value_type = T;

    ZeroedAllocator() = default;
    template <class U>
    ZeroedAllocator(const ZeroedAllocator<U>&) {}

    T* allocate(std::size_t n) {
        void* memory = std::calloc(n, sizeof(T));
        if (!memory) throw std::bad_alloc();
        return static_cast<T*>(memory);
    }
    void deallocate(T* p, std::size_t) { std::free(p); }

    // What is not given a value is a zero already.
    void construct(T*) {}
    template <class Value>
    void construct(T* p, Value&& value) {
        ::new (static_cast<void*>(p)) T(std::forward<Value>(value));
    }

    friend bool operator==(const ZeroedAllocator&, const ZeroedAllocator&) { return true; }
};

// Made at one size, Zeros<double>(n), and never resized: what a vector loses and gets back would not be zero again.
template <class T>
using Zeros = std::vector<T, ZeroedAllocator<T>>;

}  // namespace dualfield
