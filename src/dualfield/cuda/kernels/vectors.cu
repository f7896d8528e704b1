// What L-BFGS does with long vectors, each in one pass over memory. HISTORY iterates w_k and gradients u_k of the loss
// are rows of two arrays of float32, with `pitch` numbers a row; products are summed in float64.

// Inner products of row `now` with all rows: out[4 k ..] = w.w_k, w.u_k, u.w_k, u.u_k. The last block to finish adds up
// the blocks' shares in their order, so that the result does not depend on which came first.
extern "C" __global__ void __launch_bounds__(256)
    products(const float* W, const float* U, int64 pitch, int64 dimension, int now, double* shares, double* out,
             unsigned* finished) {
    __shared__ double scratch[8];
    __shared__ bool last;
    const float *w = W + now * pitch, *u = U + now * pitch;
    double sum[HISTORY][4] = {};
    for (int64 d = (int64)blockIdx.x * 256 + threadIdx.x; d < dimension; d += (int64)gridDim.x * 256) {
        double a = w[d], b = u[d];
#pragma unroll
        for (int k = 0; k < HISTORY; ++k) {
            double c = W[k * pitch + d], e = U[k * pitch + d];
            sum[k][0] += a * c, sum[k][1] += a * e, sum[k][2] += b * c, sum[k][3] += b * e;
        }
    }
#pragma unroll
    for (int k = 0; k < HISTORY; ++k)
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            double total = sum[k][i];
            for (int offset = 16; offset; offset >>= 1) total += __shfl_xor_sync(ALL, total, offset);
            if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = total;
            __syncthreads();
            if (threadIdx.x == 0) {
                total = 0;
                for (int warp = 0; warp < 8; ++warp) total += scratch[warp];
                shares[blockIdx.x * 4 * HISTORY + 4 * k + i] = total;
            }
            __syncthreads();
        }
    __threadfence();
    if (threadIdx.x == 0) last = atomicAdd(finished, 1u) == gridDim.x - 1;
    __syncthreads();
    if (!last) return;
    __threadfence();
    for (int i = threadIdx.x; i < 4 * HISTORY; i += 256) {
        double total = 0;
        for (int block = 0; block < (int)gridDim.x; ++block) total += ((volatile double*)shares)[block * 4 * HISTORY + i];
        out[i] = total;
    }
    if (threadIdx.x == 0) *finished = 0;
}

struct Coefficients {
    double w[HISTORY], u[HISTORY];
};

// Row `to` of W = sum_k c.w[k] w_k + c.u[k] u_k.
extern "C" __global__ void __launch_bounds__(256)
    combine(float* W, const float* U, int64 pitch, int64 dimension, int to, Coefficients c) {
    for (int64 d = (int64)blockIdx.x * 256 + threadIdx.x; d < dimension; d += (int64)gridDim.x * 256) {
        double sum = 0;
#pragma unroll
        for (int k = 0; k < HISTORY; ++k) // a row that has no part in it may hold anything
            if (c.w[k] != 0 || c.u[k] != 0) sum += c.w[k] * (double)W[k * pitch + d] + c.u[k] * (double)U[k * pitch + d];
        W[to * pitch + d] = (float)sum;
    }
}
