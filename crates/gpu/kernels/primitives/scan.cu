// Exclusive sums in one pass: out[i] = in[0] + .. + in[i - 1].
//
// Shapes: in of length n; out of length n, or n + 1 with the total last; words: one u64 a tile, zero before;
//         ticket: one u32, zero before.
// Grid:   resident blocks of 256 threads, which take `tiles` tiles one after another; a tile is 256 * ROWS * 16
//         bytes of `in` (8192 u32, 4096 u64). At least one tile when the total is wanted.
// Needs:  sums below 2^62 (u32 results wrap); static shared memory, 32 KiB.
// Order:  integers: exact, so bits repeat.
// Ref:    Merrill, Garland 2016; size(in) + size(out) bytes an element.
#include "primitives/later.cuh"
#include "primitives/lookback.cuh"

#define THREADS 256
#define WARPS (THREADS / WARP)
#define ROWS 8

// Brings this thread's part of a tile: ROWS rows of the warp, COUNT neighbors of each. Past the end come zeros.
template <class In> __device__ inline void fetch(Wide<In> *staged, const In *in, u64 at, u64 n, bool aligned) {
    constexpr u32 COUNT = Wide<In>::COUNT, ROW = WARP * COUNT;
#pragma unroll
    for (u32 r = 0; r < ROWS; ++r) {
        u64 k = at + r * ROW;
        Wide<In> *to = staged + r * THREADS;
        if (aligned && k + COUNT <= n) {
            copy_later(to, (const Wide<In> *)(in + k));
        } else {
#pragma unroll
            for (u32 i = 0; i < COUNT; ++i) {
                if (k + i < n) {
                    copy_later(to->v + i, in + k + i);
                } else {
                    to->v[i] = 0;
                }
            }
        }
    }
}

// Writes a tile whose elements this thread holds in v; `start` stands before the warp's part of it.
template <class In, class Out>
__device__ inline void put(Out *out, u64 at, u64 n, bool aligned, const Wide<In> *v, Out start) {
    constexpr u32 COUNT = Wide<In>::COUNT, PART = Wide<Out>::COUNT, ROW = WARP * COUNT;
#pragma unroll
    for (u32 r = 0; r < ROWS; ++r) {
        Out own = 0;
#pragma unroll
        for (u32 i = 0; i < COUNT; ++i) own += v[r].v[i];
        Out sum = own;
#pragma unroll
        for (u32 d = 1; d < WARP; d *= 2) {
            Out left = __shfl_up_sync(FULL_MASK, sum, d);
            if (lane_id() >= d) sum += left;
        }
        Out next = start + __shfl_sync(FULL_MASK, sum, WARP - 1), result[COUNT];
        sum += start - own;
#pragma unroll
        for (u32 i = 0; i < COUNT; ++i) result[i] = sum, sum += v[r].v[i];
        start = next;
        u64 k = at + r * ROW;
        if (k + COUNT <= n) {
#pragma unroll
            for (u32 i = 0; i < COUNT; i += PART) {
                Wide<Out> w;
#pragma unroll
                for (u32 j = 0; j < PART; ++j) w.v[j] = result[i + j];
                store_wide(out + k + i, w, aligned);
            }
        } else {
#pragma unroll
            for (u32 i = 0; i < COUNT; ++i)
                if (k + i < n) out[k + i] = result[i];
        }
    }
}

// A block tells the sum of its next tile before it looks back for the one that it holds: by then those before
// have told theirs, and nobody waits for a tile that has not been read.
template <class In, class Out>
__device__ inline void scan(u64 n, u32 tiles, const In *in, Out *out, u64 *words, u32 *ticket, u32 with_total) {
    constexpr u32 COUNT = Wide<In>::COUNT, TILE = THREADS * COUNT * ROWS;
    __shared__ Wide<In> staged[THREADS * ROWS];
    __shared__ u64 of_warp[WARPS];
    __shared__ u32 tile_taken;
    u32 warp = threadIdx.x / WARP, lane = lane_id();
    u64 offset = (warp * ROWS * WARP + lane) * COUNT;
    bool wide_in = is_wide(in), wide_out = is_wide(out);
    Wide<In> *mine = staged + threadIdx.x;

    Wide<In> v[ROWS];
    Out start = 0;
    u64 own = 0;
    u32 tile = tiles;
    while (true) {
        if (threadIdx.x == 0) tile_taken = atomicAdd(ticket, 1);
        __syncthreads();
        u32 next = tile_taken;
        u64 next_own = 0;
        Out next_start = 0;
        if (next < tiles) {
            fetch(mine, in, (u64)next * TILE + offset, n, wide_in);
            // A thread reads back what it has copied itself: no barrier.
            wait_for_copies();
            Out sum = 0;
#pragma unroll
            for (u32 r = 0; r < ROWS; ++r)
#pragma unroll
                for (u32 i = 0; i < COUNT; ++i) sum += mine[r * THREADS].v[i];
#pragma unroll
            for (u32 d = WARP / 2; d > 0; d /= 2) sum += __shfl_xor_sync(FULL_MASK, sum, d);
            if (lane == 0) of_warp[warp] = sum;
            __syncthreads();
            for (u32 w = 0; w < WARPS; ++w) {
                if (w == warp) next_start = (Out)next_own;
                next_own += of_warp[w];
            }
            u64 state = next == 0 ? LOOK_ALL : LOOK_OWN;
            if (threadIdx.x == 0) store_relaxed(words + next, state | (next_own & LOOK_SUM));
        }
        if (tile < tiles) {
            u64 before_tile = tile == 0 ? 0 : look_back<WARPS>(words, tile);
            if (threadIdx.x == 0) {
                if (tile != 0) store_relaxed(words + tile, LOOK_ALL | ((before_tile + own) & LOOK_SUM));
                if (with_total && tile == tiles - 1) out[n] = (Out)(before_tile + own);
            }
            put<In, Out>(out, (u64)tile * TILE + offset, n, wide_out, v, start + (Out)before_tile);
        }
        if (next >= tiles) return;
        tile = next, own = next_own, start = next_start;
#pragma unroll
        for (u32 r = 0; r < ROWS; ++r) v[r] = mine[r * THREADS];
    }
}

#define SCAN(IN, OUT)                                                                                            \
    extern "C" __global__ void __launch_bounds__(THREADS, 4)                                                     \
        scan_##IN##_##OUT(u64 n, u32 tiles, const IN *in, OUT *out, u64 *words, u32 *ticket, u32 with_total) {   \
        scan<IN, OUT>(n, tiles, in, out, words, ticket, with_total);                                             \
    }
SCAN(u32, u32)
SCAN(u32, u64)
SCAN(u64, u64)
