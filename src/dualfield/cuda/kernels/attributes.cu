// From weights to potentials, and from probabilities back to the gradient: products with the sparse matrix of positions
// by attributes, K numbers a row. Both sum what they need where it lies, so no two warps add to the same number.

// The potentials of each position, shifted as chains.cu has them, and the potential of its true label. A warp a
// position.
extern "C" __global__ void scores(const real* table, const int64* start, const int* attribute, const real* value,
                                  const real* base, const byte* allowed, const int* truth, real* potentials,
                                  real* shifted, real* tops, real* gold, int64 positions) {
    int64 p = ((int64)blockIdx.x * blockDim.x + threadIdx.x) >> 5;
    int lane = threadIdx.x & 31;
    if (p >= positions) return;
    int64 begin = start[p], end = start[p + 1];
    real sum[LANES];
#pragma unroll
    for (int r = 0; r < LANES; ++r) sum[r] = base && lane + 32 * r < K ? base[p * K + lane + 32 * r] : (real)0;
    for (int64 chunk = begin; chunk < end; chunk += 32) {
        int count = end - chunk < 32 ? (int)(end - chunk) : 32;
        int mine = lane < count ? attribute[chunk + lane] : 0;
        real times = value && lane < count ? value[chunk + lane] : (real)1;
#pragma unroll 4
        for (int q = 0; q < count; ++q) {
            const real* row = table + (int64)__shfl_sync(ALL, mine, q) * K;
            real v = __shfl_sync(ALL, times, q);
#pragma unroll
            for (int r = 0; r < LANES; ++r)
                if (lane + 32 * r < K) sum[r] += v * __ldg(row + lane + 32 * r);
        }
    }
    real top = -infinity();
#pragma unroll
    for (int r = 0; r < LANES; ++r) {
        int k = lane + 32 * r;
        if (k >= K || (allowed && !allowed[p * K + k])) sum[r] = -infinity();
        top = sum[r] > top ? sum[r] : top;
    }
    top = warp_max(top);
    if (is_minus_infinity(top)) top = 0;
    int right = truth ? truth[p] : -1;
#pragma unroll
    for (int r = 0; r < LANES; ++r) {
        int k = lane + 32 * r;
        if (k >= K) continue;
        potentials[p * K + k] = sum[r];
        shifted[p * K + k] = exponential(sum[r] - top);
        if (k == right) gold[p] = sum[r];
    }
    if (lane == 0) tops[p] = top;
}

// Chains of one position: the loss, and the weighted probabilities less the truth. A warp a point.
extern "C" __global__ void points(const real* shifted, const real* tops, const real* gold, const real* weight,
                                  const int* truth, real* nodes, double* values, int64 positions) {
    int64 p = ((int64)blockIdx.x * blockDim.x + threadIdx.x) >> 5;
    int lane = threadIdx.x & 31;
    if (p >= positions) return;
    real total = 0;
#pragma unroll
    for (int r = 0; r < LANES; ++r)
        if (lane + 32 * r < K) total += shifted[p * K + lane + 32 * r];
    total = warp_sum(total);
    real c = weight ? weight[p] : (real)1;
#pragma unroll
    for (int r = 0; r < LANES; ++r) {
        int k = lane + 32 * r;
        if (k < K) nodes[p * K + k] = c * (shifted[p * K + k] / total - (k == truth[p] ? (real)1 : (real)0));
    }
    if (lane == 0) values[p] = (double)tops[p] - (double)gold[p] + (double)logarithm(total);
}

// Rows of the gradient: for each chunk, a few positions of one attribute, the sum of their rows. `out` is the row of
// the attribute, or, if it is negative, -1 less the row of `parts` that `collect` adds up. A warp a chunk.
extern "C" __global__ void gather(const real* nodes, const int* position, const real* value, const int64* start,
                                  const int* out, real* gradient, real* parts, int64 chunks) {
    int64 c = ((int64)blockIdx.x * blockDim.x + threadIdx.x) >> 5;
    int lane = threadIdx.x & 31;
    if (c >= chunks) return;
    int64 begin = start[c], end = start[c + 1];
    real sum[LANES] = {};
    for (int64 part = begin; part < end; part += 32) {
        int count = end - part < 32 ? (int)(end - part) : 32;
        int mine = lane < count ? position[part + lane] : 0;
        real times = value && lane < count ? value[part + lane] : (real)1;
#pragma unroll 8
        for (int q = 0; q < count; ++q) {
            const real* row = nodes + (int64)__shfl_sync(ALL, mine, q) * K;
            real v = __shfl_sync(ALL, times, q);
#pragma unroll
            for (int r = 0; r < LANES; ++r)
                if (lane + 32 * r < K) sum[r] += v * __ldg(row + lane + 32 * r);
        }
    }
    real* row = out[c] >= 0 ? gradient + (int64)out[c] * K : parts + (int64)(-1 - out[c]) * K;
#pragma unroll
    for (int r = 0; r < LANES; ++r)
        if (lane + 32 * r < K) row[lane + 32 * r] = sum[r];
}

// The parts of frequent attributes, added up in float64. A block an attribute; its warps take parts in turns.
extern "C" __global__ void collect(const real* parts, const int64* start, const int* attribute, real* gradient) {
    __shared__ double sums[8][LANES * 32];
    int warp = threadIdx.x / 32, lane = threadIdx.x & 31;
    double sum[LANES] = {};
    for (int64 part = start[blockIdx.x] + warp; part < start[blockIdx.x + 1]; part += 8)
#pragma unroll
        for (int r = 0; r < LANES; ++r)
            if (lane + 32 * r < K) sum[r] += (double)parts[part * K + lane + 32 * r];
#pragma unroll
    for (int r = 0; r < LANES; ++r) sums[warp][lane + 32 * r] = sum[r];
    __syncthreads();
    for (int k = threadIdx.x; k < K; k += blockDim.x) {
        double total = 0;
        for (int w = 0; w < 8; ++w) total += sums[w][k];
        gradient[(int64)attribute[blockIdx.x] * K + k] = (real)total;
    }
}
