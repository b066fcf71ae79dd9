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

// The sum of tiles 0 .. tile, tile excluded, to every lane of the calling warp. Looks at 4 * 32 tiles at once:
// the front of finished sums moves that far in one trip to L2.
__device__ inline u64 look_back(const u64 *words, u32 tile) {
    constexpr u32 DEPTH = 4;
    u64 sum = 0;
    for (i64 near = (i64)tile - 1;; near -= DEPTH * WARP) {
        u64 word[DEPTH];
#pragma unroll
        for (u32 k = 0; k < DEPTH; ++k) {
            i64 at = near - k * WARP - lane_id();
            word[k] = at < 0 ? LOOK_ALL : load_relaxed(words + at);
        }
#pragma unroll
        for (u32 k = 0; k < DEPTH; ++k) {
            u32 all, taken;
            while (true) {
                all = __ballot_sync(FULL_MASK, (word[k] & LOOK_ALL) != 0);
                taken = all == 0 ? FULL_MASK : all ^ (all - 1);  // up to the nearest finished sum
                bool waits = (taken >> lane_id() & 1) && word[k] >> 62 == 0;
                if (!__any_sync(FULL_MASK, waits)) break;
                if (waits) word[k] = load_relaxed(words + (near - k * WARP - lane_id()));
            }
            sum += warp_sum(taken >> lane_id() & 1 ? word[k] & LOOK_SUM : 0);
            if (all != 0) return sum;
        }
    }
}
