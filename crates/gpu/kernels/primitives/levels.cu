// Breadth-first levels of a graph: level[v] = length of the shortest path from a root to v.
//
// Shapes: starts of length n + 1, neighbors of length starts[n] (u32); level of length n, ~0 before; queue of
//         length n: vertices level by level, unordered within one. sizes[s], offsets[s]: how many vertices the
//         level of step s has and where they begin in the queue; zero before, but for the first step.
// Grid:   blocks of 256 threads. levels_number: a thread a vertex, queue[v] = v. levels_roots: a thread a root.
//         levels_expand: resident blocks, one launch a level, several launches ahead of what the host knows: a
//         level without vertices costs only its launch.
// Needs:  nothing.
// Order:  levels are unique, hence bits repeat; the queue's order within a level is not: sort it.
// Ref:    Merrill, Garland, Grimshaw 2012: a warp walks the edges of 32 vertices end to end, so that long
//         lists are shared by its lanes.
#include "primitives/wide.cuh"

#define THREADS 256
#define UNREACHED 0xffffffffu

// Marks v and, from one thread of those that reach it, appends it: one atomic a warp.
__device__ inline void claim(bool try_it, u32 v, u32 depth, u32 *level, u32 *queue_end, u32 *size) {
    bool won = try_it && load_relaxed(level + v) == UNREACHED && atomicCAS(level + v, UNREACHED, depth) == UNREACHED;
    u32 winners = __ballot_sync(FULL_MASK, won), base = 0;
    if (winners == 0) return;
    if (lane_id() == 0) base = atomicAdd(size, __popc(winners));
    base = __shfl_sync(FULL_MASK, base, 0);
    if (won) queue_end[base + __popc(winners & ((1u << lane_id()) - 1))] = v;
}

extern "C" __global__ void __launch_bounds__(THREADS) levels_number(u32 n, u32 *queue) {
    u32 v = blockIdx.x * THREADS + threadIdx.x;
    if (v < n) queue[v] = v;
}

extern "C" __global__ void __launch_bounds__(THREADS)
    levels_roots(u32 count, u32 n, const u32 *__restrict__ roots, u32 *level, u32 *queue, u32 *sizes) {
    u32 k = blockIdx.x * THREADS + threadIdx.x;
    u32 v = k < count ? roots[k] : 0;
    claim(k < count && v < n, v, 0, level, queue, sizes);
}

extern "C" __global__ void __launch_bounds__(THREADS)
    levels_expand(u32 step, u32 depth, const u32 *__restrict__ starts, const u32 *__restrict__ neighbors, u32 *level, u32 *queue,
                  u32 *sizes, u32 *offsets) {
    u32 size = sizes[step], offset = offsets[step];
    if (blockIdx.x == 0 && threadIdx.x == 0) offsets[step + 1] = offset + size;
    u32 *queue_end = queue + offset + size;
    u32 lane = lane_id(), warps = gridDim.x * (THREADS / WARP);
    for (u32 group = blockIdx.x * (THREADS / WARP) + threadIdx.x / WARP; (u64)group * WARP < size; group += warps) {
        u32 k = group * WARP + lane, first = 0, degree = 0;
        if (k < size) {
            u32 v = queue[offset + k];
            first = starts[v];
            degree = starts[v + 1] - first;
        }
        u32 sum = degree;
#pragma unroll
        for (u32 d = 1; d < WARP; d *= 2) {
            u32 left = __shfl_up_sync(FULL_MASK, sum, d);
            if (lane >= d) sum += left;
        }
        u32 total = __shfl_sync(FULL_MASK, sum, WARP - 1), shift = first - (sum - degree);
        for (u32 e0 = 0; e0 < total; e0 += WARP) {
            // The list that holds edge e: the first whose running sum exceeds it.
            u32 e = e0 + lane, list = 0;
#pragma unroll
            for (u32 d = WARP / 2; d > 0; d /= 2)
                if (__shfl_sync(FULL_MASK, sum, list + d - 1) <= e) list += d;
            u32 at = __shfl_sync(FULL_MASK, shift, list & (WARP - 1)) + e;
            bool inside = e < total;
            claim(inside, inside ? neighbors[at] : 0, depth + 1, level, queue_end, sizes + step + 1);
        }
    }
}
