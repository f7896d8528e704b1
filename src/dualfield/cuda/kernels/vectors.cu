// What L-BFGS does with long vectors, each in one pass over memory. HISTORY iterates w_k and gradients u_k of the loss
// are rows of two arrays of float32; products are summed in float64.

#define TOGETHER 4 // rows that a block takes, besides the one whose products are wanted
#define GROUPS_OF_ROWS ((HISTORY + TOGETHER - 1) / TOGETHER)

// Inner products of row `now` with all rows: out[4 k ..] = w.w_k, w.u_k, u.w_k, u.u_k. Blocks (x, y) take shares x of
// rows 4 y .. 4 y + 3. The last block to finish adds up the shares in their order, so that the result does not depend
// on which came first. `quads` is the pitch over four; rows are zero behind their end.
extern "C" __global__ void __launch_bounds__(256, 2)
    products(const float4* W, const float4* U, int64 quads, int now, double* shares, double* out, unsigned* finished) {
    __shared__ double scratch[8];
    __shared__ bool last;
    int row = blockIdx.y * TOGETHER;
    const float4 *w = W + now * quads, *u = U + now * quads;
    double sum[TOGETHER][4] = {};
    for (int64 d = (int64)blockIdx.x * 256 + threadIdx.x; d < quads; d += (int64)gridDim.x * 256) {
        float4 a = w[d], b = u[d], c[TOGETHER], e[TOGETHER];
#pragma unroll
        for (int k = 0; k < TOGETHER; ++k)
            if (row + k < HISTORY) c[k] = W[(row + k) * quads + d], e[k] = U[(row + k) * quads + d];
#define ADD(part)                                                                                                      \
    {                                                                                                                  \
        double p = a.part, q = b.part;                                                                                 \
        _Pragma("unroll") for (int k = 0; k < TOGETHER; ++k) if (row + k < HISTORY) {                                  \
            double x = c[k].part, y = e[k].part;                                                                       \
            sum[k][0] += p * x, sum[k][1] += p * y, sum[k][2] += q * x, sum[k][3] += q * y;                            \
        }                                                                                                              \
    }
        ADD(x) ADD(y) ADD(z) ADD(w)
#undef ADD
    }
#pragma unroll
    for (int k = 0; k < TOGETHER; ++k)
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            double total = sum[k][i];
            for (int offset = 16; offset; offset >>= 1) total += __shfl_xor_sync(ALL, total, offset);
            if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = total;
            __syncthreads();
            if (threadIdx.x == 0 && row + k < HISTORY) {
                total = 0;
                for (int warp = 0; warp < 8; ++warp) total += scratch[warp];
                shares[blockIdx.x * 4 * HISTORY + 4 * (row + k) + i] = total;
            }
            __syncthreads();
        }
    __threadfence();
    if (threadIdx.x == 0) last = atomicAdd(finished, 1u) == gridDim.x * gridDim.y - 1;
    __syncthreads();
    if (!last) return;
    __threadfence();
    // A warp a number: its lanes add up shares in turns.
    for (int i = threadIdx.x / 32; i < 4 * HISTORY; i += 8) {
        double total = 0;
        for (int block = threadIdx.x % 32; block < (int)gridDim.x; block += 32)
            total += ((volatile double*)shares)[block * 4 * HISTORY + i];
        total = warp_sum(total);
        if (threadIdx.x % 32 == 0) out[i] = total;
    }
    if (threadIdx.x == 0) *finished = 0;
}

struct Coefficients {
    double w[HISTORY], u[HISTORY];
};

// Row `to` of W = sum_k c.w[k] w_k + c.u[k] u_k. A row that has no part in it may hold anything.
extern "C" __global__ void __launch_bounds__(256)
    combine(float4* W, const float4* U, int64 quads, int to, Coefficients c) {
    for (int64 d = (int64)blockIdx.x * 256 + threadIdx.x; d < quads; d += (int64)gridDim.x * 256) {
        double x = 0, y = 0, z = 0, t = 0;
#pragma unroll
        for (int k = 0; k < HISTORY; ++k) {
            if (c.w[k] == 0 && c.u[k] == 0) continue;
            float4 a = W[k * quads + d], b = U[k * quads + d];
            x += c.w[k] * a.x + c.u[k] * b.x, y += c.w[k] * a.y + c.u[k] * b.y;
            z += c.w[k] * a.z + c.u[k] * b.z, t += c.w[k] * a.w + c.u[k] * b.w;
        }
        W[to * quads + d] = make_float4((float)x, (float)y, (float)z, (float)t);
    }
}
