// Decoupled look-back: what all earlier tiles sum to, while they are still running.
//
// A tile's word holds a state in its two highest bits and a sum below: nothing yet, the tile's own sum, or
// the sum of all tiles up to it. State and sum change in one access, so no fence is needed. Tiles take their
// numbers from a ticket: a tile waits only for tiles that have started, so that it never waits for ever.
// Ref: Merrill, Garland 2016.
#pragma once
#include "primitives/wide.cuh"

#define LOOK_OWN (1ull << 62)
#define LOOK_ALL (2ull << 62)
#define LOOK_SUM (LOOK_OWN - 1)

__device__ inline u64 warp_sum(u64 v) {
#pragma unroll
    for (u32 d = WARP / 2; d > 0; d /= 2) v += __shfl_xor_sync(FULL_MASK, v, d);
    return v;
}

// The sum of tiles 0 .. tile, tile excluded, to every thread. The whole block calls it and looks at as many
// tiles at once as it has threads: the front of finished sums moves that far in one trip to L2.
template <u32 WARPS> __device__ inline u64 look_back(const u64 *words, u32 tile) {
    __shared__ u64 sums[2][WARPS];
    __shared__ bool ends[2][WARPS];
    u32 lane = lane_id(), warp = threadIdx.x / WARP, turn = 0;
    u64 sum = 0;
    for (i64 near = (i64)tile - 1;; near -= WARPS * WARP, turn ^= 1) {
        i64 at = near - threadIdx.x;
        u64 word = at < 0 ? LOOK_ALL : load_relaxed(words + at);
        u32 all, taken;
        while (true) {
            all = __ballot_sync(FULL_MASK, (word & LOOK_ALL) != 0);
            taken = all == 0 ? FULL_MASK : all ^ (all - 1);  // up to the nearest finished sum
            bool waits = (taken >> lane & 1) && word >> 62 == 0;
            if (!__any_sync(FULL_MASK, waits)) break;
            if (waits) word = load_relaxed(words + at);
        }
        u64 here = warp_sum(taken >> lane & 1 ? word & LOOK_SUM : 0);
        if (lane == 0) sums[turn][warp] = here, ends[turn][warp] = all != 0;
        __syncthreads();
        for (u32 w = 0; w < WARPS; ++w) {
            sum += sums[turn][w];
            if (ends[turn][w]) return sum;
        }
    }
}
