// What all kernels share. The host puts this text before each program, and compiles it for one number of labels K and
// one type of numbers, `real`. Nothing is included: the compiler of CUDA at run time knows its functions by itself.
typedef long long int64;
typedef unsigned char byte;

#define ALL 0xffffffffu
#define LANES ((K + 31) / 32) // labels that a lane of a warp holds: k = lane + 32 r

// Bits of the kind of a position.
#define INSIDE 1 // it belongs to a chain
#define FIRST 2
#define LAST 4

#if DOUBLE
typedef double real;
#define TINY 1e-70 // totals below this may have lost terms that count; the product of four is still a number
#define exponential exp
#define logarithm log
#else
typedef float real;
#define TINY 1e-25f
#define exponential expf
#define logarithm logf
#endif

__device__ __forceinline__ double infinity() { return __longlong_as_double(0x7ff0000000000000LL); }
__device__ __forceinline__ bool is_minus_infinity(double x) { return x == -infinity(); }

template <class T>
__device__ __forceinline__ T warp_sum(T x) {
    for (int offset = 16; offset; offset >>= 1) x += __shfl_xor_sync(ALL, x, offset);
    return x;
}
template <class T>
__device__ __forceinline__ T warp_max(T x) {
    for (int offset = 16; offset; offset >>= 1) {
        T other = __shfl_xor_sync(ALL, x, offset);
        x = other > x ? other : x;
    }
    return x;
}

// Sum and maximum over a block of whole warps; `scratch` has room for 32 numbers. All threads get the result.
__device__ __forceinline__ double block_sum(double x, double* scratch) {
    x = warp_sum(x);
    __syncthreads();
    if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = x;
    __syncthreads();
    double total = 0;
    for (int warp = 0; warp < (int)blockDim.x / 32; ++warp) total += scratch[warp];
    return total;
}
__device__ __forceinline__ double block_max(double x, double* scratch) {
    x = warp_max(x);
    __syncthreads();
    if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = x;
    __syncthreads();
    double top = scratch[0];
    for (int warp = 1; warp < (int)blockDim.x / 32; ++warp) top = scratch[warp] > top ? scratch[warp] : top;
    return top;
}
