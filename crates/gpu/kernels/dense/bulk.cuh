// One tile of a product A B^T as in tile.cuh, with the operands brought by bulk copies (Hopper and later).
//
// Shapes: tile T x T by 2 T threads, as in tile.cuh.
// Shared: as in tile.cuh; behind the slabs two barriers for each stage.
// Method: a column of a slab is one copy of the copy engine, so a slab costs one warp one instruction, where cp.async costs
//         every warp several and their addresses. Warps take turns at it. They wait for a slab's bytes, and the warp
//         whose turn it is waits until all have read the stage that it fills; there is no barrier of the block, so
//         warps may be half a slab apart. All lanes arrive, where one could for its warp: racecheck follows that.
// Order:  as in tile.cuh: one accumulator per entry, columns in ascending order.
#pragma once
#include "dense/barrier.cuh"
#include "dense/tile.cuh"

// Copies `bytes`, a multiple of 16, to shared memory; the barrier counts them.
__device__ __forceinline__ void bulk_copy(u32 to, const void *from, u32 bytes, u32 barrier) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                 ::"r"(to), "l"(from), "r"(bytes), "r"(barrier) : "memory");
}

// The slabs of both operands, in a ring of stages.
template <class R, int T> struct Ring {
    using S = Shape<R, T>;
    const Operand<R> &a, &b;
    u32 inner;
    R *shared;

    __device__ __forceinline__ u32 full(u32 slab) const { return shared_address(shared + S::STAGES * S::STAGE_NUMBERS) + slab % S::STAGES * 16; }
    __device__ __forceinline__ u32 empty(u32 slab) const { return full(slab) + 8; }
    __device__ __forceinline__ R *stage(u32 slab) const { return shared + slab % S::STAGES * S::STAGE_NUMBERS; }

    __device__ __forceinline__ void init() const {
        if (threadIdx.x == 0) {
            for (u32 s = 0; s < S::STAGES; s++) barrier_init(full(s), 32), barrier_init(empty(s), 32 * S::WARPS);
            asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        }
        __syncthreads();
    }

    // By one warp: lanes below 16 copy a column of A each, the others one of B. Rows that are not there stay as they are;
    // columns that are not there become zero.
    __device__ __forceinline__ void issue(u32 slab) const {
        const u32 lane = lane_id(), k = slab * SLAB + lane % 16;
        const bool right = lane >= 16;
        const u32 bytes_a = bytes(a.rows), bytes_b = bytes(b.rows);
        R *to = stage(slab) + lane * S::PITCH; // B's columns stand behind A's
        if (k >= inner) {
            for (u32 i = 0; i < S::PITCH; i += Number<R>::GRAIN) *(uint4 *)(to + i) = {};
        }
        if (lane == 0) barrier_expect(full(slab), smaller(SLAB, inner - slab * SLAB) * (bytes_a + bytes_b));
        else barrier_arrive(full(slab));
        __syncwarp();
        if (k < inner) {
            const Layout layout = right ? b.layout : a.layout;
            bulk_copy(shared_address(to), (right ? b.base : a.base) + layout.at(0, k), right ? bytes_b : bytes_a, full(slab));
        }
    }
    static __device__ __forceinline__ u32 bytes(u32 rows) { return ceil_div(smaller((u32)T, rows), Number<R>::GRAIN) * 16; }
};

// acc += A B^T over columns 0 .. inner. `meanwhile` runs once the first copies are on their way. Fragments are loaded one
// step ahead, also across slabs.
template <class R, int T, class Meanwhile>
__device__ __forceinline__ void accumulate_bulk(Accumulators<R, T> &acc, const Operand<R> &a, const Operand<R> &b, u32 inner, R *shared,
                                                Meanwhile meanwhile) {
    using S = Shape<R, T>;
    using F = Fragments<R, T>;
    constexpr int ROWS = S::ROWS, DEPTH = S::DEPTH, STEPS = SLAB / DEPTH;
    const u32 slabs = ceil_div(inner, SLAB), warp = threadIdx.x / 32, g = lane_id() / 4, t = lane_id() % 4;
    const Ring<R, T> ring = {a, b, inner, shared};
    ring.init();
    if (warp == 0) {
        for (u32 s = 0; s < smaller(slabs, S::STAGES - 1u); s++) ring.issue(s);
    }
    meanwhile();
    if (slabs == 0) return;

    const u32 p = t * S::PITCH + warp_row<T>() + 2 * g, q = S::SLAB_A + t * S::PITCH + warp_column<T>() + g;
    F fragments[2];
    barrier_wait(ring.full(0), 0);
#pragma unroll
    for (int m = 0; m < ROWS; m++) fragments[0].template load<S::PITCH>(m, ring.stage(0) + p, ring.stage(0) + q);
    for (u32 s = 0; s < slabs; s++) {
        const bool last = s + 1 == slabs;
        const R *here = ring.stage(s), *there = ring.stage(s + 1);
#pragma unroll
        for (int k = 0; k < STEPS; k++) {
            F &now = fragments[k % 2], &next = fragments[(k + 1) % 2];
            now.begin();
            if (k + 1 < STEPS) { // loads stand between products, so that neither waits for the other
                const R *at = here + (k + 1) * DEPTH * S::PITCH;
#pragma unroll
                for (int m = 0; m < ROWS; m++) next.template load<S::PITCH>(m, at + p, at + q), now.multiply(m, acc);
            } else {
                barrier_arrive(ring.empty(s)); // the last of this slab has been loaded
#pragma unroll
                for (int m = 0; m < ROWS / 2; m++) now.multiply(m, acc);
                if (!last) barrier_wait(ring.full(s + 1), (s + 1) / S::STAGES % 2);
#pragma unroll
                for (int m = 0; m < ROWS; m++) {
                    if (!last) next.template load<S::PITCH>(m, there + p, there + q);
                    if (m >= ROWS / 2) now.multiply(m, acc);
                }
            }
            const u32 ahead = s + S::STAGES - 1; // takes the stage of slab s - 1
            if (k == STEPS / 2 - 1 && s % S::WARPS == warp && ahead < slabs) {
                if (s > 0) barrier_wait(ring.empty(ahead), (ahead / S::STAGES + 1) % 2);
                ring.issue(ahead);
            }
        }
    }
}
