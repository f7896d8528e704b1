// Forward and backward messages of many chains, and from them probabilities of labels and of pairs of labels.
//
// Positions of a chain follow each other: chain s has positions first[s] .. first[s] + length[s] - 1. `row` says at
// which row of the potentials a position is (null: at its own number).
//
// Messages are in probability space. With e = exp(potential - its largest) and E = exp(transition - the largest),
//     a_t(j) = e_t(j) sum_i a_{t-1}(i) E_ij / total(a_{t-1}),   b_{t-1}(i) = sum_j E_ij e_t(j) b_t(j) / total(e_t b_t):
// each step divides by the total of the step before, which needs no exchange beyond that of the message itself. Where
// totals become so small that terms were lost, the chain is marked, and `in_logarithms` computes it again.
//
// Both recursions are the same loop, over E and over its transpose, and run at the same time in different groups of
// threads, so a chain takes T dependent steps, not 2 T. Thread j of a group has column j of the matrix in registers.

#define GROUP (LANES * 32)                       // threads of a chain
#define GROUPS (K <= 32 ? 4 : 1)                 // of a block
#define PADDED ((K + 3) / 4 * 4)
#define HELD (PADDED < HELD_AT_MOST ? PADDED : HELD_AT_MOST) // rows of the matrix in registers
#define REST (K > HELD ? K - HELD : 0) // those in shared memory, or, with REST_IN_MEMORY, where they come from
#define ADDS_UP (K <= 64) // every thread adds up the whole message; above, warps add their share

struct __align__(16) four {
    real x, y, z, w;
};

// E and its transpose, the largest transition, and by what the logarithm of each rounded E_ij is off: all chains share
// E, so what rounding does to it adds up over all pairs, and is taken back, to first order, by their expected numbers.
extern "C" __global__ void exponentials(const real* transitions, real* matrix, real* transposed, real* top_transition,
                                        double* slip) {
    __shared__ double scratch[32];
    double largest = -infinity();
    for (int i = threadIdx.x; i < K * K; i += blockDim.x) largest = transitions[i] > largest ? transitions[i] : largest;
    largest = block_max(largest, scratch);
    real top = is_minus_infinity(largest) ? 0 : (real)largest;
    for (int i = threadIdx.x; i < K * K; i += blockDim.x) {
        double exact = (double)transitions[i] - (double)top;
        real e = (real)exp(exact);
        if (slip) slip[i] = e > 0 ? log((double)e) - exact : 0.0;
        matrix[i] = e;
        transposed[i % K * K + i / K] = e;
    }
    if (threadIdx.x == 0) *top_transition = top;
}

// e and the largest potential of each position. A warp a position.
extern "C" __global__ void shift(const real* potentials, const real* begin, const real* end, const int* row,
                                 const byte* kind, real* shifted, real* tops, int64 positions) {
    int64 p = ((int64)blockIdx.x * blockDim.x + threadIdx.x) >> 5;
    int lane = threadIdx.x & 31;
    if (p >= positions || !(kind[p] & INSIDE)) return;
    const real* mine = potentials + (row ? row[p] : p) * K;
    real x[LANES], top = -infinity();
#pragma unroll
    for (int r = 0; r < LANES; ++r) {
        int k = lane + 32 * r;
        x[r] = k < K ? mine[k] : (real)-infinity();
        if (begin && k < K && (kind[p] & FIRST)) x[r] += begin[k];
        if (end && k < K && (kind[p] & LAST)) x[r] += end[k];
        top = x[r] > top ? x[r] : top;
    }
    top = warp_max(top);
    if (is_minus_infinity(top)) top = 0;
#pragma unroll
    for (int r = 0; r < LANES; ++r)
        if (lane + 32 * r < K) shifted[p * K + lane + 32 * r] = exponential(x[r] - top);
    if (lane == 0) tops[p] = top;
}

// a into `alpha`, b into `beta`, log Z - sum of `gold` into `values`. Two groups a chain, or one without `beta`.
extern "C" __global__ void __launch_bounds__(GROUP* GROUPS)
    messages(const real* shifted, const real* tops, const real* gold, const real* matrix, const real* transposed,
             const real* top_transition, const int64* first, const int* length, const int* order, int chains,
             real* alpha, real* beta, double* values, int* marked) {
    __shared__ __align__(16) real held[GROUPS][2][PADDED];
    __shared__ real shares[GROUPS][2][LANES];
#if REST && !REST_IN_MEMORY
    extern __shared__ __align__(16) real rest[];
#endif
    int group = threadIdx.x / GROUP, j = threadIdx.x % GROUP;
    int number = blockIdx.x * GROUPS + group;
    bool backward = beta && (number & 1);
    int s = beta ? number >> 1 : number;
    if (s >= chains) return; // a whole group leaves, and only groups wait for each other
    if (order) s = order[s];
    int T = length[s];
    const real* M = backward ? transposed : matrix;
    real column[HELD];
#pragma unroll
    for (int i = 0; i < HELD; ++i) column[i] = i < K && j < K ? M[i * K + j] : (real)0;
#if REST && !REST_IN_MEMORY
    for (int i = 0; i < REST; ++i) rest[i * GROUP + j] = j < K ? M[(HELD + i) * K + j] : (real)0;
#endif
    if (T == 0) {
        if (j == 0 && !backward) values[s] = 0;
        return;
    }
    if (j >= K && j < PADDED) held[group][0][j] = held[group][1][j] = 0;
    int64 at = first[s] + (backward ? T - 1 : 0), step = backward ? -1 : 1;
    const real* read = shifted + at * K + j;
    real* write = (backward ? beta : alpha) + at * K + j;
    real ahead[4]; // the steps to come, asked for early
#pragma unroll
    for (int u = 0; u < 4; ++u) ahead[u] = u < T && j < K ? read[u * step * K] : (real)0;
    real w = j < K ? 1 : 0;
    double log_z = 0;
    bool lost = false;
    for (int start = 0; start < T; start += 4) {
        double product = 1; // of the totals: a logarithm for four of them
#pragma unroll
        for (int u = 0; u < 4; ++u) {
            int t = start + u;
            if (t < T) {
                real value = ahead[u] * w;
                ahead[u] = t + 4 < T && j < K ? read[(t + 4) * step * K] : (real)0;
                if (j < K) {
                    if (alpha) write[t * step * K] = backward ? w : value;
                    held[group][u & 1][j] = value;
                }
#if !ADDS_UP
                real share = warp_sum(value);
                if (j % 32 == 0) shares[group][u & 1][j / 32] = share;
#endif
#if K <= 32
                __syncwarp();
#else
                __syncthreads();
#endif
                const four* a = (const four*)held[group][u & 1];
                real sum[4] = {0, 0, 0, 0}, total[4] = {0, 0, 0, 0};
#pragma unroll
                for (int i = 0; i < HELD / 4; ++i) {
                    four now = a[i];
                    sum[0] += now.x * column[4 * i];
                    sum[1] += now.y * column[4 * i + 1];
                    sum[2] += now.z * column[4 * i + 2];
                    sum[3] += now.w * column[4 * i + 3];
#if ADDS_UP
                    total[0] += now.x, total[1] += now.y, total[2] += now.z, total[3] += now.w;
#endif
                }
#if REST
#if REST_IN_MEMORY
#define OTHER(i) (j < K ? __ldg(M + (HELD + i) * K + j) : (real)0)
#else
#define OTHER(i) rest[(i) * GROUP + j]
#endif
                const real* others = held[group][u & 1] + HELD;
#pragma unroll 8
                for (int i = 0; i < REST; ++i) sum[i & 3] += others[i] * OTHER(i);
#endif
#if !ADDS_UP
#pragma unroll
                for (int r = 0; r < LANES; ++r) total[r & 3] += shares[group][u & 1][r];
#endif
                real all = (total[0] + total[1]) + (total[2] + total[3]);
                w = ((sum[0] + sum[1]) + (sum[2] + sum[3])) * (1 / all);
                lost = lost || !(all >= (real)TINY);
                product *= (double)all;
            }
        }
        if (j == 0 && !backward) log_z += log(product);
    }
    if (j == 0 && lost) marked[s] = 1;
    if (backward) return;
    // What is not in the recursion is added up by all threads, so that no step waits for it.
    for (int t = j; t < T; t += GROUP) log_z += (double)tops[at + t] - (gold ? (double)gold[at + t] : 0.0);
    log_z = warp_sum(log_z);
#if K > 32
    __shared__ double of_warps[LANES];
    if (j % 32 == 0) of_warps[j / 32] = log_z;
    __syncthreads();
    log_z = 0;
    for (int r = 0; r < LANES; ++r) log_z += of_warps[r];
#endif
    if (j == 0) values[s] = log_z + (T - 1) * (double)*top_transition;
}

// The probability of each label at each position, times `scale` and the chain's weight, less as much at the true label;
// and what the pairs need. A warp a position.
//     q_t(j) = e_t(j) b_t(j) / (total(a_{t-1}) sum_k a_t(k) b_t(k)),   p(y_{t-1} = i, y_t = j) = a_{t-1}(i) E_ij q_t(j)
extern "C" __global__ void marginals(const real* shifted, const real* alpha, const real* beta, const int* row,
                                     const byte* kind, const int* chain, int columns, const real* weight,
                                     const int* truth, real scale, real* nodes, real* ends, real* q, int* marked,
                                     int64 positions) {
    int64 p = ((int64)blockIdx.x * blockDim.x + threadIdx.x) >> 5;
    int lane = threadIdx.x & 31;
    if (p >= positions || !(kind[p] & INSIDE)) return;
    int s = chain ? chain[p] : (int)(p / columns);
    real m[LANES], b[LANES], z = 0, before = 0, c = scale;
    if (weight) c *= weight[s];
    bool is_first = kind[p] & FIRST;
#pragma unroll
    for (int r = 0; r < LANES; ++r) {
        int k = lane + 32 * r;
        b[r] = k < K ? beta[p * K + k] : (real)0;
        m[r] = k < K ? alpha[p * K + k] * b[r] : (real)0;
        if (k < K && !is_first) before += alpha[(p - 1) * K + k];
        z += m[r];
    }
    z = warp_sum(z);
    before = is_first ? (real)1 : warp_sum(before);
    if (!(z * before >= (real)TINY) && lane == 0) marked[s] = 1;
    real inverse = c / z;
    int right = truth ? truth[p] : -1;
#pragma unroll
    for (int r = 0; r < LANES; ++r) {
        int k = lane + 32 * r;
        if (k >= K) continue;
        real probability = m[r] * inverse;
        nodes[(row ? row[p] : p) * K + k] = probability - (k == right ? c : (real)0);
        if (q) q[p * K + k] = is_first ? (real)0 : shifted[p * K + k] * b[r] * inverse / before;
        if (ends && is_first) ends[(int64)s * 2 * K + k] = probability;
        if (ends && (kind[p] & LAST)) ends[(int64)s * 2 * K + K + k] = probability;
    }
}

// Sums of pairs over segments of positions: out[segment][i][j] = E_ij sum_p a_{p-1}(i) q_p(j), a product of matrices in
// tiles. With `length` segment s is chain s, else it is the s-th `columns` positions; marked chains are left out.
#define TILE (K <= 32 ? 32 : 64)
#define EACH (TILE / 16) // a thread's numbers in each direction
#define DEPTH 16         // positions at a time
extern "C" __global__ void __launch_bounds__(256)
    pairs(const real* alpha, const real* q, const real* matrix, const int64* first, const int* length, const int* chain,
          int64 columns, int64 positions, const int* marked, real* out) {
    __shared__ real A[DEPTH][TILE], Q[DEPTH][TILE];
    const int tiles = (K + TILE - 1) / TILE;
    int from = blockIdx.x / tiles * TILE, to = blockIdx.x % tiles * TILE;
    int64 s = blockIdx.y, p = length ? first[s] + 1 : s * columns;
    int64 last = length ? first[s] + length[s] : (p + columns < positions ? p + columns : positions);
    if (length && marked[s]) last = p;
    int x = threadIdx.x % 16, y = threadIdx.x / 16;
    real sum[EACH][EACH] = {};
    for (; p < last; p += DEPTH) {
        for (int i = threadIdx.x; i < DEPTH * TILE; i += 256) {
            int d = i / TILE, k = i % TILE;
            bool kept = p + d < last && p + d > 0;
            if (kept && chain) kept = chain[p + d - 1] == chain[p + d] && !marked[chain[p + d]];
            A[d][k] = kept && from + k < K ? alpha[(p + d - 1) * K + from + k] : (real)0;
            Q[d][k] = kept && to + k < K ? q[(p + d) * K + to + k] : (real)0;
        }
        __syncthreads();
#pragma unroll
        for (int d = 0; d < DEPTH; ++d)
#pragma unroll
            for (int i = 0; i < EACH; ++i)
#pragma unroll
                for (int j = 0; j < EACH; ++j) sum[i][j] += A[d][y + 16 * i] * Q[d][x + 16 * j];
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < EACH; ++i)
#pragma unroll
        for (int j = 0; j < EACH; ++j) {
            int a = from + y + 16 * i, b = to + x + 16 * j;
            if (a < K && b < K) out[(s * K + a) * K + b] = sum[i][j] * matrix[a * K + b];
        }
}

// The first marked chain among s, s + gridDim.x, ..., or a number that is no chain. A block looks for it together,
// since there seldom is one.
__device__ __forceinline__ int next_marked(int s, int chains, const int* marked) {
    for (; s < chains; s += gridDim.x * blockDim.x) {
        int64 mine = s + (int64)threadIdx.x * gridDim.x;
        bool found = mine < chains && marked[mine];
        if (!__syncthreads_or(found)) continue;
        while (s < chains && !marked[s]) s += gridDim.x;
        break;
    }
    return s;
}

// Marked chains again, in logarithms and float64. A block takes one after the other; its forward messages are in
// `memory`. A chain without a possible labelling has log Z = -inf and probabilities of zero.
extern "C" __global__ void in_logarithms(const real* potentials, const real* begin, const real* end,
                                         const real* transitions, const int* row, const int64* first, const int* length,
                                         int chains, const real* gold, const real* weight, const int* truth, real scale,
                                         double* memory, int64 room, double* values, real* nodes, real* ends,
                                         real* edges, int edges_by_chain, const int* marked) {
    __shared__ double scratch[32], x[K], old[K];
    double* forward = memory + blockIdx.x * room;
    for (int s = next_marked(blockIdx.x, chains, marked); s < chains; s = next_marked(s + gridDim.x, chains, marked)) {
        int T = length[s];
        int64 at = first[s];
        double log_z = 0;
        for (int t = 0; t < T; ++t) {
            const real* mine = potentials + (row ? row[at + t] : at + t) * K;
            for (int j = threadIdx.x; j < K; j += blockDim.x) {
                double node = mine[j], top = -infinity(), sum = 0;
                if (t == 0 && begin) node += begin[j];
                if (t == T - 1 && end) node += end[j];
                if (t == 0) {
                    top = 0, sum = 1;
                } else {
                    for (int i = 0; i < K; ++i) {
                        double score = forward[(int64)(t - 1) * K + i] + (double)transitions[i * K + j];
                        top = score > top ? score : top;
                    }
                    if (!is_minus_infinity(top))
                        for (int i = 0; i < K; ++i)
                            sum += exp(forward[(int64)(t - 1) * K + i] + (double)transitions[i * K + j] - top);
                }
                x[j] = is_minus_infinity(top) ? top : node + top + log(sum);
            }
            __syncthreads();
            double largest = -infinity();
            for (int j = threadIdx.x; j < K; j += blockDim.x) largest = x[j] > largest ? x[j] : largest;
            largest = block_max(largest, scratch);
            log_z += largest;
            if (gold) log_z -= (double)gold[at + t];
            for (int j = threadIdx.x; j < K; j += blockDim.x) forward[(int64)t * K + j] = x[j] - largest;
            __syncthreads();
            if (is_minus_infinity(largest)) break;
        }
        double last = 0;
        if (!is_minus_infinity(log_z)) {
            for (int j = threadIdx.x; j < K; j += blockDim.x) last += exp(forward[(int64)(T - 1) * K + j]);
            last = block_sum(last, scratch);
            log_z += log(last);
        }
        if (threadIdx.x == 0) values[s] = log_z;
        if (!nodes) continue;
        double c = scale;
        if (weight) c *= weight[s];
        for (int j = threadIdx.x; j < K; j += blockDim.x) old[j] = 0;
        __syncthreads();
        for (int t = T - 1; t >= 0; --t) { // old: the backward message of t
            int64 there = (row ? row[at + t] : at + t) * K;
            double sum = 0, largest = -infinity();
            bool possible = !is_minus_infinity(log_z);
            for (int j = threadIdx.x; j < K; j += blockDim.x) {
                double score = forward[(int64)t * K + j] + old[j];
                largest = score > largest ? score : largest;
            }
            largest = block_max(largest, scratch);
            for (int j = threadIdx.x; j < K; j += blockDim.x)
                sum += exp(forward[(int64)t * K + j] + old[j] - largest);
            sum = block_sum(sum, scratch);
            for (int j = threadIdx.x; j < K; j += blockDim.x) {
                double m = possible ? c * exp(forward[(int64)t * K + j] + old[j] - largest) / sum : 0.0;
                nodes[there + j] = (real)(m - (truth && truth[at + t] == j ? c : 0.0));
                if (ends && t == 0) ends[(int64)s * 2 * K + j] = (real)m;
                if (ends && t == T - 1) ends[(int64)s * 2 * K + K + j] = (real)m;
                double node = potentials[there + j];
                if (t == 0 && begin) node += begin[j];
                if (t == T - 1 && end) node += end[j];
                x[j] = old[j] + node;
            }
            __syncthreads();
            if (t == 0 || !possible) continue;
            double most = -infinity();
            for (int i = threadIdx.x; i < K; i += blockDim.x) {
                double top = -infinity(), total = 0;
                for (int j = 0; j < K; ++j) {
                    double score = (double)transitions[i * K + j] + x[j];
                    top = score > top ? score : top;
                }
                if (!is_minus_infinity(top))
                    for (int j = 0; j < K; ++j) total += exp((double)transitions[i * K + j] + x[j] - top);
                old[i] = is_minus_infinity(top) ? top : top + log(total);
                most = old[i] > most ? old[i] : most;
            }
            most = block_max(most, scratch);
            double z = 0, peak = -infinity();
            for (int i = threadIdx.x; i < K; i += blockDim.x) {
                double score = forward[(int64)(t - 1) * K + i] + old[i];
                peak = score > peak ? score : peak;
            }
            peak = block_max(peak, scratch);
            for (int i = threadIdx.x; i < K; i += blockDim.x) z += exp(forward[(int64)(t - 1) * K + i] + old[i] - peak);
            z = peak + log(block_sum(z, scratch));
            if (edges)
                for (int i = threadIdx.x; i < K * K; i += blockDim.x) {
                    double score = forward[(int64)(t - 1) * K + i / K] + (double)transitions[i] + x[i % K] - z;
                    if (score > -700) {
                        // Chains by themselves have edges of their own; together they meet in one table.
                        if (edges_by_chain) edges[(int64)s * K * K + i] += (real)(c * exp(score));
                        else atomicAdd(edges + i, (real)(c * exp(score)));
                    }
                }
            for (int i = threadIdx.x; i < K; i += blockDim.x) old[i] -= most;
            __syncthreads();
        }
        __syncthreads();
    }
}
