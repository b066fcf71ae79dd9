// What rows of a symmetric matrix kept by halves have in other lines (half.cuh): entries sorted by their indices.
//
// Shapes: A: n lines of m entries, line j from starts[j] to starts[j + 1], each entry off the diagonal once. keys, entries: m;
//         others: n + 1; lines, numbers: others[n], numbers of 2 bytes, or 4. longest: one u32, zero before.
// Grid:   any; threads go on with a stride.
// Needs:  between keys and starts a stable sort of entries by keys, so that entries of a row are in the order of their lines.
// Order:  integers: bits repeat.
#include "common.cuh"

#define THREADS 256u

// keys[k] <- the row that entry k is elsewhere for, n where it is on the diagonal; entries[k] <- k. Groups of 1 << lanes threads take a line.
extern "C" __global__ void __launch_bounds__(THREADS)
elsewhere_keys(const u32 *starts, const u32 *indices, u32 *keys, u32 *entries, u32 n, u32 lanes) {
    const u64 group = (u64)(blockIdx.x * THREADS + threadIdx.x) >> lanes, groups = (u64)gridDim.x * THREADS >> lanes;
    const u32 step = 1u << lanes;
    for (u64 j = group; j < n; j += groups) {
        const u32 end = starts[j + 1];
        for (u64 k = (u64)starts[j] + threadIdx.x % step; k < end; k += step) {
            const u32 i = indices[k];
            keys[k] = i == j ? n : i;
            entries[k] = (u32)k;
        }
    }
}

// others[i] <- where row i begins among the sorted keys, for i = n how many there are; longest <- most entries of a row, its own line's among them.
extern "C" __global__ void __launch_bounds__(THREADS)
elsewhere_starts(const u32 *starts, const u32 *keys, u32 *others, u32 *longest, u32 n, u32 m) {
    u32 most = 0;
    for (u64 i = blockIdx.x * THREADS + threadIdx.x; i <= n; i += gridDim.x * THREADS) {
        const u32 begin = lower_bound(keys, m, (u32)i);
        others[i] = begin;
        if (i == n) break;
        const u32 count = lower_bound(keys + begin, m - begin, (u32)i + 1);
        most = larger(most, starts[i + 1] - starts[i] + count);
    }
#pragma unroll
    for (u32 step = WARP / 2; step > 0; step /= 2) most = larger(most, __shfl_xor_sync(FULL_MASK, most, step));
    if (lane_id() == 0) atomicMax(longest, most);
}

// lines[k] <- the line of the k-th sorted entry, numbers[k] <- its number in there.
template <class N> __device__ __forceinline__ void place(const u32 *starts, const u32 *entries, u32 *lines, N *numbers, u32 n, u32 count) {
    for (u64 k = blockIdx.x * THREADS + threadIdx.x; k < count; k += gridDim.x * THREADS) {
        const u32 entry = entries[k], line = lower_bound(starts + 1, n, entry + 1); // starts[line] <= entry < starts[line + 1]
        lines[k] = line;
        numbers[k] = (N)(entry - starts[line]);
    }
}

#define PLACE(N) \
    extern "C" __global__ void __launch_bounds__(THREADS) elsewhere_place_##N(const u32 *starts, const u32 *entries, u32 *lines, N *numbers, u32 n, u32 count) { place(starts, entries, lines, numbers, n, count); }
PLACE(u16)
PLACE(u32)
