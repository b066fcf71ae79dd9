// One tile of a product A B^T in f64 by specialized warps (Hopper): eight multiply, two bring slabs to them.
//
// Shapes: tile 128 x 128, 384 threads, of which the last two warps are free; A and B: rows x inner, column-major or packed
//         block columns.
// Shared: COUNT slabs of 8 columns of both operands, columns as far apart as in tile.cuh; apart from them, as the slabs' memory may be
//         used for something else afterwards, two barriers a slab.
// Method: those who multiply neither compute addresses nor wait for each other. Of the next slab they load fragments of B a slab
//         ahead, those of A as soon as their place is free; whether it has come is asked before it must be known. Those who
//         bring are ahead by the slabs that are free, also across tiles. (The copy engine takes 70 clocks for each column, the
//         tensor cores 64: they waited for it.)
// Order:  one accumulator per entry, columns in ascending order: bits depend on the operands alone.
#pragma once
#include "dense/barrier.cuh"
#include "dense/tile.cuh"
#include "dense/warpgroup.cuh"

#if __CUDA_ARCH_FEAT_SM90_ALL

#define MULTIPLIERS 256u // threads

// A place in a ring of COUNT slabs.
template <u32 COUNT> struct Slabs {
    using S = Shape<f64, 128>;
    static constexpr u32 COLUMNS = 8, OPERAND = COLUMNS * S::PITCH, EACH = 2 * OPERAND; // numbers
    static constexpr u32 NUMBERS = COUNT * EACH;

    f64 *shared;
    u32 slab = 0, parity = 0;

    __device__ __forceinline__ f64 *at() const { return shared + slab * EACH; }
    __device__ __forceinline__ u32 full() const {
        __shared__ u64 barriers[2 * COUNT];
        return shared_address(barriers + 2 * slab);
    }
    __device__ __forceinline__ u32 empty() const { return full() + 8; }
    __device__ __forceinline__ void wait_full() const { barrier_wait(full(), parity); }
    __device__ __forceinline__ void wait_empty() const { barrier_wait(empty(), parity ^ 1); }
    __device__ __forceinline__ void next() {
        if (++slab == COUNT) slab = 0, parity ^= 1;
    }

    // By all threads of the block, before any is used; a barrier of the block must follow.
    __device__ __forceinline__ void init() const {
        if (threadIdx.x < COUNT) {
            const Slabs s = {shared, threadIdx.x, 0};
            barrier_init(s.full(), 64); // threads that bring
            barrier_init(s.empty(), MULTIPLIERS);
        }
    }
};

// Brings the slabs of one operand: one warp for each, of which `right` brings B. `rows` are there of 128; the others repeat the last:
// nobody looks at them. Columns that are not there become zero. ready(k) returns once 128 columns from k on may be read.
template <u32 COUNT, class Ready>
__device__ __forceinline__ void bring_slabs(Slabs<COUNT> &ring, bool right, const f64 *base, Layout layout, u32 rows, u32 inner, Ready ready) {
    using S = Shape<f64, 128>;
    const u32 end = (rows - 1) / 2 * 2, upper = smaller(2 * lane_id(), end), below = (smaller(2 * lane_id() + 64, end) - upper) * sizeof(f64);
    const char *from = nullptr; // this lane's first rows in the next column
    u32 pitch = 0;              // bytes
    for (u32 k0 = 0; k0 < inner; k0 += ring.COLUMNS, ring.next()) {
        if (k0 % NB == 0) {
            from = (const char *)(base + layout.at(0, k0) + upper), pitch = layout.height(k0 / NB) * sizeof(f64);
            ready(k0);
        }
        const u32 to = shared_address(ring.at() + (right ? ring.OPERAND : 0) + 2 * lane_id());
        ring.wait_empty();
#pragma unroll
        for (u32 j = 0; j < ring.COLUMNS; j++, from += pitch) {
            const u32 bytes = k0 + j < inner ? 16 : 0, column = to + j * S::PITCH * sizeof(f64);
            copy16(column, from, bytes);
            copy16(column + 64 * sizeof(f64), from + below, bytes);
        }
        barrier_arrive_after_copies(ring.full());
    }
}

// acc += A B^T over `count` slabs, by the eight warps.
template <u32 COUNT> __device__ __forceinline__ void multiply_slabs(Accumulators<f64, 128> &acc, Slabs<COUNT> &ring, u32 count) {
    using S = Shape<f64, 128>;
    if (count == 0) return;
    const u32 g = lane_id() / 4, t = lane_id() % 4;
    const u32 p = t * S::PITCH + warp_row<128>() + 2 * g, q = ring.OPERAND + t * S::PITCH + warp_column<128>() + g;
    f64 a[S::ROWS][4], b[2][S::COLUMNS][2];
    auto load_a = [&](int m, const f64 *slab) {
#pragma unroll
        for (int h = 0; h < 2; h++) {
            const double2 v = *(const double2 *)(slab + p + 4 * h * S::PITCH + 16 * m);
            a[m][2 * h] = v.x, a[m][2 * h + 1] = v.y;
        }
    };
    auto load_b = [&](int n, int half, const f64 *slab) {
#pragma unroll
        for (int h = 0; h < 2; h++) b[half][n][h] = slab[q + 4 * h * S::PITCH + 8 * n];
    };
    ring.wait_full();
#pragma unroll
    for (int m = 0; m < 3; m++) load_a(m, ring.at());
#pragma unroll
    for (int n = 0; n < S::COLUMNS; n++) load_b(n, 0, ring.at());
    for (u32 s = 0; s < count; s += 2) {
#pragma unroll
        for (int half = 0; half < 2; half++) {
            if (s + half >= count) break;
            const bool more = s + half + 1 < count;
            const u32 empty = ring.empty();
            auto multiply = [&](int m) {
#pragma unroll
                for (int n = 0; n < S::COLUMNS; n++) mma_16x8x8(acc.c[m][n], a[m], b[half][n][0], b[half][n][1]);
            };
            load_a(3, ring.at());
            ring.next();
            const f64 *next = ring.at();
            const bool come = !more || barrier_try(ring.full(), ring.parity);
            multiply(0);
            if (!come) ring.wait_full();
            if (more) load_a(0, next);
            multiply(1);
            barrier_arrive(empty); // the last of this slab has been loaded
            if (more) load_a(1, next), load_b(0, 1 - half, next), load_b(1, 1 - half, next);
            multiply(2);
            if (more) load_a(2, next), load_b(2, 1 - half, next), load_b(3, 1 - half, next);
            multiply(3);
        }
    }
}

#endif
