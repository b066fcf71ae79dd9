// What the sparse products share: every format computes y = alpha * A * x + beta * z.
//
// z may be y itself, and is not read where beta = 0. The residual b - A x is alpha = -1, beta = 1, z = b.
#pragma once
#include "common.cuh"

#define THREADS 256
#define WARPS (THREADS / WARP)
#define NONE 0xffffffffu  // column of a padding entry; row of a carry that does not exist

template <class T> struct Update {
    T alpha, beta;
    const T *z;
    T *y;
    __device__ void store(u64 row, T sum) const {
        T v = alpha * sum;
        if (beta != 0) v = fma(beta, z[row], v);
        y[row] = v;
    }
    __device__ void add(u64 row, T sum) const { y[row] = fma(alpha, sum, y[row]); }
};

// Loads that are left out, not branched around, where `wanted` is false: a branch keeps a load and its use together, so
// that one waits for the other. Volatile, so that they stay where they are written, before barriers too. `once` reads
// what should leave the caches first.
#define LOAD_IF(NAME, CACHE, T, REGISTER)                                                                             \
    __device__ __forceinline__ T NAME(bool wanted, const T *from, T other) {                                          \
        asm volatile("{ .reg .pred p; setp.ne.u32 p, %2, 0; @p ld.global." CACHE "." #T " %0, [%1]; }"               \
            : "+" REGISTER(other)                                                                                     \
            : "l"(from), "r"((u32)wanted));                                                                           \
        return other;                                                                                                 \
    }
LOAD_IF(load_if, "nc", f64, "d")
LOAD_IF(load_if, "nc", f32, "f")
LOAD_IF(load_once_if, "cs", f64, "d")
LOAD_IF(load_once_if, "cs", f32, "f")
LOAD_IF(load_once_if, "cs", u32, "r")
LOAD_IF(load_once_if, "cs", u16, "h")

// Sum of the neighbors' values within groups of LANES, to each group's first lane, always in the same tree.
template <u32 LANES, class T> __device__ inline T group_sum(T v) {
#pragma unroll
    for (u32 d = LANES / 2; d > 0; d /= 2) v += __shfl_down_sync(FULL_MASK, v, d, LANES);
    return v;
}

// What earlier threads leave for the row that this thread is in: the sum of their `rest` back to the last
// thread that ended a row. `all` is what the whole block leaves for the tile's last row.
template <class T> __device__ inline T carry_in(T rest, bool ended, T *all) {
    __shared__ T warp_rest[WARPS];
    __shared__ bool warp_ended[WARPS];
    u32 lane = lane_id(), warp = threadIdx.x / WARP;
    T sum = rest;
    u32 stop = ended;
#pragma unroll
    for (u32 d = 1; d < WARP; d *= 2) {
        T left = __shfl_up_sync(FULL_MASK, sum, d);
        u32 left_stop = __shfl_up_sync(FULL_MASK, stop, d);
        if (lane >= d) {
            if (!stop) sum += left;
            stop |= left_stop;
        }
    }
    if (lane == WARP - 1) warp_rest[warp] = sum, warp_ended[warp] = stop;
    __syncthreads();
    T before = 0;
    for (u32 w = 0; w < warp; ++w) before = warp_ended[w] ? warp_rest[w] : before + warp_rest[w];
    T left = __shfl_up_sync(FULL_MASK, sum, 1);
    u32 left_stop = __shfl_up_sync(FULL_MASK, stop, 1);
    T in = lane == 0 ? before : (left_stop ? left : before + left);
    if (threadIdx.x == THREADS - 1) *all = stop ? sum : before + sum;
    return in;
}

// Adds what tiles left for rows that later tiles ended. Tiles that left for the same row are neighbors, and one
// warp sums them in a fixed order.
template <class T, class RowOf>
__device__ inline void add_carries(u32 tiles, RowOf row_of, const T *__restrict__ carries, Update<T> update) {
    u32 k = blockIdx.x * THREADS + threadIdx.x, lane = lane_id();
    u32 row = k < tiles ? row_of(k) : NONE;
    bool head = row != NONE && (k == 0 || row_of(k - 1) != row);
    u32 end = k + 1;
    for (; head && end < tiles && end < k + WARP && row_of(end) == row;) ++end;
    bool longer = head && end == k + WARP && end < tiles && row_of(end) == row;
    if (head && !longer) {
        T sum = carries[k];
        for (u32 i = k + 1; i < end; ++i) sum += carries[i];
        update.add(row, sum);
    }
    for (u32 todo = __ballot_sync(FULL_MASK, longer); todo != 0; todo &= todo - 1) {
        u32 from = __ffs(todo) - 1;
        u32 first = __shfl_sync(FULL_MASK, k, from), long_row = __shfl_sync(FULL_MASK, row, from);
        T sum = 0;
        for (u32 i = first + lane; i < tiles && row_of(i) == long_row; i += WARP) sum += carries[i];
        sum = group_sum<WARP>(sum);
        if (lane == 0) update.add(long_row, sum);
    }
}
