// counts[k] = how many keys equal k, for k < bins; larger keys are not counted.
//
// Shapes: keys of length n; counts of length bins, zero before.
// Grid:   blocks of 256 threads, as many as stay resident; a grid-stride loop.
// Needs:  histogram_shared: copies * bins * 4 bytes of dynamic shared memory, copies a power of two of at
//         most 8. Several copies keep neighbors with equal keys from waiting for each other.
// Order:  integers: exact, so bits repeat.
// Ref:    4 * n bytes.
#include "primitives/wide.cuh"

#define THREADS 256
#define UNITS 4

template <class Count> __device__ inline void for_each_key(u64 n, const u32 *__restrict__ keys, Count count) {
    u64 stride = (u64)gridDim.x * THREADS * 4, first = ((u64)blockIdx.x * THREADS + threadIdx.x) * 4;
    bool aligned = is_wide(keys);
    for (; first < n; first += UNITS * stride) {
        Wide<u32> w[UNITS];
#pragma unroll
        for (u32 k = 0; k < UNITS; ++k) {
            u64 at = first + k * stride;
            if (at + 4 <= n) w[k] = load_wide(keys + at, aligned);
        }
#pragma unroll
        for (u32 k = 0; k < UNITS; ++k) {
            u64 at = first + k * stride;
            if (at + 4 <= n) {
#pragma unroll
                for (u32 i = 0; i < 4; ++i) count(w[k].v[i]);
            } else {
#pragma unroll 1
                for (; at < n; ++at) count(keys[at]);
            }
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
    histogram_shared(u64 n, const u32 *__restrict__ keys, u32 bins, u32 copies, u32 *counts) {
    extern __shared__ u32 own[];
    for (u32 k = threadIdx.x; k < copies * bins; k += THREADS) own[k] = 0;
    __syncthreads();
    u32 *mine = own + threadIdx.x % copies * bins;
    for_each_key(n, keys, [&](u32 key) {
        if (key < bins) atomicAdd(mine + key, 1);
    });
    __syncthreads();
    for (u32 k = threadIdx.x; k < bins; k += THREADS) {
        u32 sum = 0;
        for (u32 c = 0; c < copies; ++c) sum += own[c * bins + k];
        if (sum != 0) atomicAdd(counts + k, sum);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
    histogram_global(u64 n, const u32 *__restrict__ keys, u32 bins, u32 *counts) {
    for_each_key(n, keys, [&](u32 key) {
        if (key < bins) atomicAdd(counts + key, 1);
    });
}
