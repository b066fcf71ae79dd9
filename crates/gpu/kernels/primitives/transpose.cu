// to = fromᵀ through a tile in shared memory, so that both sides move whole 256-byte runs.
//
// Shapes: from: m x n, column-major, leading dimension ld_from >= m. to: n x m, ld_to >= n.
// Grid:   ceil(m / 64) * ceil(n / 64) blocks of 256 threads; tiles of a column of tiles are neighbors.
// Needs:  64 * 65 elements of shared memory (static).
// Order:  every element is written once.
// Ref:    Ruetsch, Micikevicius 2009: the padded tile; 2 * m * n * size bytes.
#include "common.cuh"

#define THREADS 256
#define TILE 64
#define PITCH (TILE + 1)  // odd: a row of the tile meets every bank once

template <class T>
__device__ inline void transpose(u32 m, u32 n, const T *__restrict__ from, u64 ld_from, T *__restrict__ to,
                                 u64 ld_to) {
    __shared__ T tile[TILE * PITCH];
    u32 tiles_m = ceil_div(m, (u32)TILE);
    u32 row0 = blockIdx.x % tiles_m * TILE, column0 = blockIdx.x / tiles_m * TILE;
    u32 lane = threadIdx.x % TILE, line = threadIdx.x / TILE;
    constexpr u32 STEP = THREADS / TILE;
    T v[TILE / STEP];
#pragma unroll
    for (u32 k = 0; k < TILE / STEP; ++k) {
        u32 row = row0 + lane, column = column0 + line + k * STEP;
        if (row < m && column < n) v[k] = from[column * ld_from + row];
    }
#pragma unroll
    for (u32 k = 0; k < TILE / STEP; ++k) tile[(line + k * STEP) * PITCH + lane] = v[k];
    __syncthreads();
#pragma unroll
    for (u32 k = 0; k < TILE / STEP; ++k) {
        u32 row = row0 + line + k * STEP, column = column0 + lane;
        if (row < m && column < n) to[row * ld_to + column] = tile[lane * PITCH + line + k * STEP];
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
    transpose_f64(u32 m, u32 n, const f64 *__restrict__ from, u64 ld_from, f64 *__restrict__ to, u64 ld_to) {
    transpose(m, n, from, ld_from, to, ld_to);
}
extern "C" __global__ void __launch_bounds__(THREADS)
    transpose_f32(u32 m, u32 n, const f32 *__restrict__ from, u64 ld_from, f32 *__restrict__ to, u64 ld_to) {
    transpose(m, n, from, ld_from, to, ld_to);
}
