// Stable merge of two sorted lists of pairs (key, u32 value): of equal keys, those of `a` come first.
//
// Shapes: a: na pairs, b: nb pairs, both sorted by key; out: na + nb < 2^32 pairs. cuts: one u32 a tile, and
//         one more: how many of the first tile * TILE results come from a.
// Grid:   merge_cuts: a thread a cut; merge_tiles: a block of 256 threads a tile of 2048 results.
// Needs:  static shared memory.
// Order:  the place of every pair is given by the input: bits repeat.
// Ref:    Siebert, Träff 2012 (co-ranking); 16 bytes a pair of u32, 24 a pair of (u64, u32).
#include "common.cuh"

#define THREADS 256
#define ITEMS 8
#define TILE (THREADS * ITEMS)

// How many of the first `rank` results come from a.
template <class K> __device__ inline u32 co_rank(u32 rank, const K *a, u32 na, const K *b, u32 nb) {
    u32 low = rank > nb ? rank - nb : 0, high = smaller(rank, na);
    while (low < high) {
        u32 middle = low + (high - low) / 2;
        if (b[rank - 1 - middle] < a[middle]) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

template <class K>
__device__ inline void merge_tile(u32 na, u32 nb, const u32 *__restrict__ cuts, const K *__restrict__ keys_a,
                                  const u32 *__restrict__ values_a, const K *__restrict__ keys_b,
                                  const u32 *__restrict__ values_b, K *__restrict__ keys_out,
                                  u32 *__restrict__ values_out) {
    __shared__ K keys[TILE];
    __shared__ u32 sources[TILE];
    u32 begin = blockIdx.x * TILE, count = smaller((u32)TILE, na + nb - begin);
    u32 a0 = cuts[blockIdx.x], b0 = begin - a0;
    // Lists that are not sorted give a wrong order, but nothing outside them is read.
    u32 a1 = larger(a0, cuts[blockIdx.x + 1]), ca = smaller(a1 - a0, count), cb = count - ca;
    auto in_b = [&](u32 k) { return smaller(b0 + k - ca, nb - 1); };
    for (u32 k = threadIdx.x; k < count; k += THREADS) keys[k] = k < ca ? keys_a[a0 + k] : keys_b[in_b(k)];
    __syncthreads();
    u32 first = smaller(threadIdx.x * ITEMS, count);
    u32 i = co_rank(first, keys, ca, keys + ca, cb), j = first - i;
    K merged[ITEMS];
    u32 source[ITEMS];
#pragma unroll
    for (u32 k = 0; k < ITEMS; ++k) {
        if (first + k < count) {
            bool from_a = j >= cb || (i < ca && !(keys[ca + j] < keys[i]));
            source[k] = from_a ? i++ : ca + j++;
            merged[k] = keys[source[k]];
        }
    }
    __syncthreads();
#pragma unroll
    for (u32 k = 0; k < ITEMS; ++k)
        if (first + k < count) keys[first + k] = merged[k], sources[first + k] = source[k];
    __syncthreads();
    for (u32 k = threadIdx.x; k < count; k += THREADS) {
        u32 s = sources[k];
        keys_out[begin + k] = keys[k];
        values_out[begin + k] = s < ca ? values_a[a0 + s] : values_b[in_b(s)];
    }
}

#define MERGE(K)                                                                                                   \
    extern "C" __global__ void __launch_bounds__(THREADS)                                                          \
        merge_cuts_##K(u32 na, u32 nb, u32 cut_count, const K *__restrict__ a, const K *__restrict__ b, u32 *cuts) { \
        u32 k = blockIdx.x * THREADS + threadIdx.x;                                                                \
        u64 rank = smaller((u64)k * TILE, (u64)na + nb);                                                           \
        if (k < cut_count) cuts[k] = co_rank((u32)rank, a, na, b, nb);                                             \
    }                                                                                                              \
    extern "C" __global__ void __launch_bounds__(THREADS)                                                          \
        merge_tiles_##K(u32 na, u32 nb, const u32 *__restrict__ cuts, const K *__restrict__ keys_a,                \
                        const u32 *__restrict__ values_a, const K *__restrict__ keys_b,                            \
                        const u32 *__restrict__ values_b, K *__restrict__ keys_out, u32 *__restrict__ values_out) { \
        merge_tile(na, nb, cuts, keys_a, values_a, keys_b, values_b, keys_out, values_out);                        \
    }
MERGE(u32)
MERGE(u64)
