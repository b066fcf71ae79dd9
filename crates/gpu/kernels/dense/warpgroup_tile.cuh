// One tile of a product A B^T in f32 by warpgroups (Hopper): two multiply, each 64 rows of 128; a third brings slabs to them.
//
// Shapes: tile 128 x 128, 384 threads; A and B: rows x inner, column-major or packed block columns.
// Shared: COUNT slabs of 32 columns: those of A as they are, for the registers of those who multiply; those of B split
//         into two TF32 numbers and transposed, as the tensor cores want to read them. Apart from them two barriers a slab.
// Method: three products of TF32 numbers as in mma.cuh, the small ones first; 32 columns are summed by the tensor cores from zero, and
//         added to f32 sums by rounding additions. While one warpgroup adds and splits, the other's products run; whoever
//         brings is ahead by the stages that are free, also across tiles, and has two slabs of B in registers besides.
// Order:  one accumulator per entry, columns in ascending order: bits depend on the operands alone.
#pragma once
#include "dense/barrier.cuh"
#include "dense/tile.cuh"
#include "dense/warpgroup.cuh"

#if __CUDA_ARCH_FEAT_SM90_ALL

// A place in the ring of slabs.
struct Stage {
    static constexpr u32 T = 128, COLUMNS = 32, PITCH = T + Number<f32>::PAD, COUNT = 4;
    static constexpr u32 A_BYTES = COLUMNS * PITCH * 4, B_BYTES = COLUMNS * T * 4; // of A; of one part of B
    static constexpr u32 BYTES = A_BYTES + 2 * B_BYTES;

    char *shared;
    u32 slab; // counted over all tiles of a block

    __device__ __forceinline__ char *at() const { return shared + slab % COUNT * BYTES; }
    __device__ __forceinline__ u32 full() const {
        __shared__ u64 barriers[2 * COUNT];
        return shared_address(barriers + 2 * (slab % COUNT));
    }
    __device__ __forceinline__ u32 empty() const { return full() + 8; }
    __device__ __forceinline__ void wait_full() const { barrier_wait(full(), slab / COUNT % 2); }
    __device__ __forceinline__ void wait_empty() const {
        if (slab >= COUNT) barrier_wait(empty(), (slab / COUNT + 1) % 2);
    }

    // By all threads of the block.
    static __device__ __forceinline__ void init(char *shared) {
        if (threadIdx.x < COUNT) {
            const Stage s = {shared, threadIdx.x};
            barrier_init(s.full(), 128 + 4); // copies of 128 threads, stores of their warps
            barrier_init(s.empty(), 256);    // threads that multiply
        }
        __syncthreads();
    }
};

// Brings slabs: the last warpgroup. A lane has four neighboring rows of B, and a warp four columns in 16: so squares of 4 x 4 are read and
// stored 16 bytes at a time, transposed on the way. Row 4 l + r of B stands where the tensor cores look for row 32 r + l: then the
// stores of a warp fall into different banks.
struct Bringer {
    float4 ahead[2][2][4]; // two slabs of B

    static __device__ __forceinline__ u32 warp() { return threadIdx.x / 32 % 4; }

    // Where this thread reads rows of an operand, from column k on; rows that are not there repeat the last.
    static __device__ __forceinline__ const f32 *place(const Operand<f32> &a, u32 k) {
        return a.base + a.layout.at(smaller(lane_id() * 4, (a.rows - 1) / 4 * 4), k);
    }

    static __device__ __forceinline__ void fetch(float4 (&to)[2][4], const Operand<f32> &b, u32 slab, u32 inner) {
        const u32 k = slab * Stage::COLUMNS + warp() * 4;
        const u64 pitch = b.layout.height(k / NB);
        const f32 *from = place(b, k);
#pragma unroll
        for (u32 h = 0; h < 2; h++, from += 12 * pitch) {
#pragma unroll
            for (u32 i = 0; i < 4; i++, from += pitch) to[h][i] = k + 16 * h + i < inner ? __ldcg((const float4 *)from) : float4{0, 0, 0, 0};
        }
    }

    static __device__ __forceinline__ void copy(char *to, const Operand<f32> &a, u32 slab, u32 inner) {
        const u32 k = slab * Stage::COLUMNS + warp(), at = shared_address(to) + (warp() * Stage::PITCH + lane_id() * 4) * 4;
        const u64 pitch = a.layout.height(k / NB);
        const f32 *from = place(a, k);
#pragma unroll
        for (u32 s = 0; s < Stage::COLUMNS; s += 4, from += 4 * pitch) copy16(at + s * Stage::PITCH * 4, from, k + s < inner ? 16 : 0);
    }

    static __device__ __forceinline__ void store(char *to, const float4 (&from)[2][4]) {
        uint4 *high = (uint4 *)to + warp() * Stage::T + lane_id(), *low = high + Stage::B_BYTES / 16;
#pragma unroll
        for (u32 h = 0; h < 2; h++, high += 4 * Stage::T, low += 4 * Stage::T) {
            auto row = [&](u32 r, f32 x, f32 y, f32 z, f32 w) {
                const Split v[4] = {split(x), split(y), split(z), split(w)};
                high[32 * r] = {v[0].high, v[1].high, v[2].high, v[3].high};
                low[32 * r] = {v[0].low, v[1].low, v[2].low, v[3].low};
            };
            const float4(&q)[4] = from[h];
            row(0, q[0].x, q[1].x, q[2].x, q[3].x);
            row(1, q[0].y, q[1].y, q[2].y, q[3].y);
            row(2, q[0].z, q[1].z, q[2].z, q[3].z);
            row(3, q[0].w, q[1].w, q[2].w, q[3].w);
        }
    }

    // All slabs of a tile. `ready.tiles()` says how many times 128 columns may be read.
    template <class Ready> __device__ __forceinline__ void run(Stage &stage, const Operand<f32> &a, const Operand<f32> &b, u32 inner, const Ready &ready) {
        __shared__ u32 told[2];
        const u32 slabs = ceil_div(inner, Stage::COLUMNS);
        u32 fetched = 0, limit = Ready::ALWAYS ? slabs : 0, asked = 0;
        auto ask = [&](u32 slab) { // slab `slab` may be read afterwards
            if (threadIdx.x % 128 == 0) {
                u32 tiles;
                while ((tiles = ready.tiles()) * (NB / Stage::COLUMNS) <= slab) __nanosleep(20);
                told[asked % 2] = tiles;
            }
            asm volatile("bar.sync 1, 128;" ::: "memory");
            limit = smaller(slabs, told[asked++ % 2] * (NB / Stage::COLUMNS));
        };
        auto next = [&](float4 (&to)[2][4], u32 slab) {
            if (fetched == slab && slab < limit) fetch(to, b, slab, inner), fetched++;
        };
        next(ahead[0], 0), next(ahead[1], 1);
        for (u32 s = 0; s < slabs; s += 2) {
#pragma unroll
            for (u32 i = 0; i < 2; i++, stage.slab++) {
                const u32 slab = s + i;
                if (slab >= slabs) break;
                if (!Ready::ALWAYS && fetched == slab) ask(slab), next(ahead[i], slab);
                stage.wait_empty();
                copy(stage.at(), a, slab, inner);
                barrier_arrive_after_copies(stage.full());
                store(stage.at() + Stage::A_BYTES, ahead[i]);
                asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); // tensor cores read what was stored
                __syncwarp();
                if (lane_id() == 0) barrier_arrive(stage.full());
                if (!Ready::ALWAYS) next(ahead[1 - i], slab + 1);
                next(ahead[i], slab + 2);
            }
        }
    }

    // Brings the C of a tile into the second-level cache: it is read soon.
    static __device__ __forceinline__ void expect(const Target<f32> &c) {
        const u32 j = threadIdx.x % 128;
        if (j >= c.columns) return;
#pragma unroll
        for (u32 i = 0; i < 128; i += 32) {
            if (i < c.rows) asm volatile("prefetch.global.L2 [%0];" ::"l"(c.at + (u64)j * c.pitch + i));
        }
    }
};

// 128 x 128 sums of two warpgroups.
struct Sums {
    static constexpr int TILE = 128;
    f32 c[64];
};

template <class F> __device__ __forceinline__ void for_each_pair(Sums &sums, F f) {
    const u32 i = threadIdx.x / 32 * 16 + lane_id() / 4 * 2, t = lane_id() % 4;
#pragma unroll
    for (int n = 0; n < 16; n++) {
        const u32 j = 32 * (n % 4) + 8 * t + n / 4; // as B's rows were stored
        f(i, j, sums.c[4 * n], sums.c[4 * n + 2]);
        f(i, j + 4, sums.c[4 * n + 1], sums.c[4 * n + 3]);
    }
}

// The rows of A that a lane has of a slab.
struct Rows {
    f32 v[Stage::COLUMNS / 8][4];

    __device__ __forceinline__ void load(const Stage &stage) {
        const f32 *from = (const f32 *)stage.at() + lane_id() % 4 * Stage::PITCH + threadIdx.x / 32 * 16 + lane_id() / 4 * 2;
#pragma unroll
        for (int k = 0; k < Stage::COLUMNS / 8; k++) {
#pragma unroll
            for (int h = 0; h < 2; h++) {
                const float2 pair = *(const float2 *)(from + (8 * k + 4 * h) * Stage::PITCH);
                v[k][2 * h] = pair.x, v[k][2 * h + 1] = pair.y;
            }
        }
    }
};

// acc += A B^T, by the two warpgroups. `begin` gives acc its values, once the first products are on their way.
template <class Begin> __device__ __forceinline__ void multiply(Sums &acc, Stage &stage, u32 inner, Begin begin) {
    constexpr int STEPS = Stage::COLUMNS / 8;
    constexpr u32 STEP = 2 * Stage::T; // of 8 columns in shared memory, in 16 bytes
    const u32 slabs = ceil_div(inner, Stage::COLUMNS);
    if (slabs == 0) {
        begin();
        return;
    }
    f32 part[64];
    Rows rows;
    stage.wait_full();
    rows.load(stage);
    for (u32 s = 0; s < slabs; s++) {
        Split a[STEPS][4];
#pragma unroll
        for (int k = 0; k < STEPS; k++) {
#pragma unroll
            for (int i = 0; i < 4; i++) a[k][i] = split(rows.v[k][i]);
        }
        const u64 high = warpgroup_operand(shared_address(stage.at()) + Stage::A_BYTES, Stage::T * 16), low = high + Stage::B_BYTES / 16;
        warpgroup_hold(part);
        warpgroup_begin();
#pragma unroll
        for (int k = 0; k < STEPS; k++) warpgroup_mma(part, a[k][0].low, a[k][1].low, a[k][2].low, a[k][3].low, high + k * STEP, k > 0);
#pragma unroll
        for (int k = 0; k < STEPS; k++) warpgroup_mma(part, a[k][0].high, a[k][1].high, a[k][2].high, a[k][3].high, low + k * STEP, true);
#pragma unroll
        for (int k = 0; k < STEPS; k++) warpgroup_mma(part, a[k][0].high, a[k][1].high, a[k][2].high, a[k][3].high, high + k * STEP, true);
        warpgroup_commit();
        if (s == 0) begin();
        const u32 read = stage.empty();
        stage.slab++;
        if (s + 1 < slabs) {
            stage.wait_full();
            rows.load(stage);
        }
        warpgroup_wait();
        warpgroup_hold(part);
        barrier_arrive(read); // by every thread: one lane for its warp would be 1 % faster, but racecheck does not follow that
#pragma unroll
        for (int i = 0; i < 64; i++) acc.c[i] += part[i];
    }
}

#endif
