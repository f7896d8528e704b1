// Labels of many chains: where they are under a mask, what they score, and which are best.

// The positions of each row of a mask, one after the other: chain b has positions b * columns .. + length[b] - 1, and
// row[p] is where in the table position p lies. What is wrong is counted in `wrong`: chains whose first column is off,
// chains with gaps, positions whose tag is out of range. A warp a chain.
extern "C" __global__ void lay_out(const byte* mask, const int64* tags, int chains, int columns, int* row, byte* kind,
                                   int64* first, int* length, int* wrong) {
    int b = (blockIdx.x * blockDim.x + threadIdx.x) >> 5, lane = threadIdx.x & 31;
    if (b >= chains) return;
    int64 start = (int64)b * columns;
    int kept = 0, farthest = 0;
    bool bad_tag = false;
    for (int t = lane; t - lane < columns; t += 32) {
        bool on = t < columns && (!mask || mask[start + t]);
        unsigned those = __ballot_sync(ALL, on);
        if (on) {
            int place = kept + __popc(those & ((1u << lane) - 1));
            row[start + place] = (int)(start + t);
            if (tags) bad_tag = bad_tag || tags[start + t] < 0 || tags[start + t] >= K;
        }
        kept += __popc(those);
        if (those) farthest = t - lane + 32 - __clz(those);
    }
    for (int t = lane; t < columns; t += 32)
        kind[start + t] = t < kept ? INSIDE | (t == 0 ? FIRST : 0) | (t == kept - 1 ? LAST : 0) : 0;
    bad_tag = __any_sync(ALL, bad_tag);
    if (lane == 0) {
        first[b] = start;
        length[b] = kept;
        if (columns && mask && !mask[start]) atomicAdd(wrong, 1);
        if (farthest != kept && mask && mask[start]) atomicMin(wrong + 1, b);
        if (bad_tag) atomicMin(wrong + 2, b);
    }
}

// values[s] = score of the labels - values[s]; and if there are gradients, which hold minus the expected counts, the
// counts of the labels are added. A warp a chain.
extern "C" __global__ void truth(const real* potentials, const real* begin, const real* end, const real* transitions,
                                 const int* row, const int64* first, const int* length, const int64* tags, int chains,
                                 double* values, real* nodes, real* edges, real* ends) {
    int s = (blockIdx.x * blockDim.x + threadIdx.x) >> 5, lane = threadIdx.x & 31;
    if (s >= chains) return;
    int T = length[s];
    double score = 0;
    for (int t = lane; t < T; t += 32) {
        int64 there = row[first[s] + t], tag = tags[there];
        if (tag < 0 || tag >= K) continue; // refused elsewhere; nothing is read or written out of place
        score += (double)potentials[there * K + tag];
        if (t == 0) score += (double)begin[tag];
        if (t == T - 1) score += (double)end[tag];
        if (nodes) {
            nodes[there * K + tag] += 1;
            if (t == 0) ends[(int64)s * 2 * K + tag] += 1;
            if (t == T - 1) ends[(int64)s * 2 * K + K + tag] += 1;
        }
        if (t > 0) {
            int64 before = tags[row[first[s] + t - 1]];
            if (before < 0 || before >= K) continue;
            score += (double)transitions[before * K + tag];
            if (nodes) atomicAdd(edges + ((int64)s * K + before) * K + tag, (real)1);
        }
    }
    score = warp_sum(score);
    if (lane == 0) values[s] = score - values[s];
}

// The best labels, in float64, so that they are those of the CPU. Thread j of a block has label j. Of equal ones the
// first is taken. Where the best predecessors came from is in shared memory, or in `memory` where it has no room.
extern "C" __global__ void viterbi(const real* potentials, const real* begin, const real* end, const real* transitions,
                                   const int* row, const int64* first, const int* length, int chains, byte* memory,
                                   int64* tags, double* scores) {
    extern __shared__ byte shared_memory[];
    __shared__ double best[2][K];
    __shared__ double peak;
    int s = blockIdx.x, j = threadIdx.x, T = length[s];
    int64 at = first[s];
    byte* from = memory ? memory + at * K : shared_memory;
    if (T == 0) {
        if (j == 0) scores[s] = 0;
        return;
    }
    real next = j < K ? potentials[row[at] * (int64)K + j] : (real)0;
    double mine = 0;
    for (int t = 0; t < T; ++t) {
        double node = next;
        if (t + 1 < T && j < K) next = potentials[row[at + t + 1] * (int64)K + j];
        if (j < K) {
            if (t == 0) node += (double)begin[j];
            if (t == T - 1) node += (double)end[j];
            if (t == 0) {
                mine = node;
            } else {
                const double* before = best[(t - 1) & 1];
                double top = before[0] + (double)transitions[j];
                int which = 0;
#pragma unroll 8
                for (int i = 1; i < K; ++i) {
                    double score = before[i] + (double)__ldg(transitions + i * K + j);
                    if (score > top) top = score, which = i;
                }
                mine = top + node;
                from[(int64)t * K + j] = (byte)which;
            }
            best[t & 1][j] = mine;
        }
        __syncthreads();
    }
    if (j == 0) {
        const double* last = best[(T - 1) & 1];
        int which = 0;
        for (int i = 1; i < K; ++i)
            if (last[i] > last[which]) which = i;
        scores[s] = last[which];
        for (int t = T - 1; t >= 0; --t) {
            tags[row[at + t]] = which;
            if (t > 0) which = from[(int64)t * K + which];
        }
    }
}
