// What compilers offer beyond C++, under names of our own. GCC and Clang (clang-cl too) agree on all of it; for another
// compiler, this file is the one to extend.
#pragma once

#include <cstdint>

#if !defined(__GNUC__) && !defined(__clang__)
#error "dualfield needs a compiler with vector types: GCC, Clang, or clang-cl on Windows."
#endif

// Before a function, or after the parameters of a lambda: its body is compiled into each caller, or never is.
#define DUALFIELD_INLINE __attribute__((always_inline))
#define DUALFIELD_NOINLINE __attribute__((noinline))

// A vector type of `count` numbers; one of two such vectors picked by position; numbers of another type.
#define DUALFIELD_VECTOR(Number, count) Number __attribute__((vector_size(sizeof(Number) * (count))))
#define DUALFIELD_SHUFFLE __builtin_shufflevector
#define DUALFIELD_CONVERT __builtin_convertvector

namespace dualfield {

// Asks for the cache line at an address, which need not be readable.
DUALFIELD_INLINE inline void prefetch_line(const void* address) { __builtin_prefetch(address); }
DUALFIELD_INLINE inline void prefetch_line_to_write(const void* address) { __builtin_prefetch(address, 1); }
DUALFIELD_INLINE inline void prefetch_line_to_second_level(const void* address) { __builtin_prefetch(address, 0, 2); }

// product = a * b, unless that is beyond the type.
template <class Integer>
DUALFIELD_INLINE inline bool multiply_overflows(Integer a, Integer b, Integer& product) {
    return __builtin_mul_overflow(a, b, &product);
}

DUALFIELD_INLINE inline std::uint64_t bytes_reversed(std::uint64_t word) { return __builtin_bswap64(word); }

// Tells the processor that this thread waits in a loop.
DUALFIELD_INLINE inline void pause_processor() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

}  // namespace dualfield
