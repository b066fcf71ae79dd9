// Copy, fill, pack, unpack, gather, scatter: what moves data and computes nothing.
//
// Shapes: copy, fill: arrays of n words. pack: the m x n column-major matrix `from` of leading
//         dimension ld >= m to the dense m x n matrix `to`; unpack: back. gather: to[i] = from[index[i]];
//         scatter: to[index[i]] = from[i], for i < n.
// Grid:   blocks of 256 threads, UNITS accesses a thread: ceil(units / 1024) blocks, where a unit is 16
//         bytes, or one word where an address or a length does not allow that.
// Needs:  the launcher picks the wide form only for addresses (and ld, m) that are multiples of 16 bytes.
// Order:  every element is written once; scatter wants distinct indices. An index of `limit` or more is passed
//         over: gather leaves to[i], scatter drops from[i].
// Ref:    bytes at the speed of memory: 2 * size for copy and pack, 1 * size for fill.
#include "primitives/wide.cuh"

#define THREADS 256
#define UNITS 4

typedef Wide<u32> Quad;

// The words after the last whole 16 bytes, at most three of four bytes.
__device__ inline bool takes_tail(u32 tail) { return blockIdx.x == 0 && threadIdx.x < tail; }

template <class V> __device__ inline void copy_units(u64 units, const V *__restrict__ from, V *__restrict__ to) {
    u64 first = (u64)blockIdx.x * (THREADS * UNITS) + threadIdx.x;
    V v[UNITS];
#pragma unroll
    for (u32 k = 0; k < UNITS; ++k)
        if (first + k * THREADS < units) v[k] = from[first + k * THREADS];
#pragma unroll
    for (u32 k = 0; k < UNITS; ++k)
        if (first + k * THREADS < units) to[first + k * THREADS] = v[k];
}

extern "C" __global__ void __launch_bounds__(THREADS)
    copy_wide(u64 units, u32 tail, const Quad *__restrict__ from, Quad *__restrict__ to) {
    copy_units(units, from, to);
    if (takes_tail(tail)) ((u32 *)(to + units))[threadIdx.x] = ((const u32 *)(from + units))[threadIdx.x];
}

extern "C" __global__ void __launch_bounds__(THREADS)
    copy_words(u64 words, const u32 *__restrict__ from, u32 *__restrict__ to) {
    copy_units(words, from, to);
}

// Every 8 bytes become `pattern`: one f64 or u64, or twice a word of four bytes.
extern "C" __global__ void __launch_bounds__(THREADS) fill_wide(u64 units, u32 tail, u64 pattern, Quad *__restrict__ to) {
    Quad q;
#pragma unroll
    for (u32 i = 0; i < 4; ++i) q.v[i] = (u32)(pattern >> (32 * (i & 1)));
    u64 first = (u64)blockIdx.x * (THREADS * UNITS) + threadIdx.x;
#pragma unroll
    for (u32 k = 0; k < UNITS; ++k)
        if (first + k * THREADS < units) to[first + k * THREADS] = q;
    if (takes_tail(tail)) ((u32 *)(to + units))[threadIdx.x] = q.v[threadIdx.x];
}

// Words of four bytes at an address that is not a multiple of 16; the pattern starts with its low half.
extern "C" __global__ void __launch_bounds__(THREADS) fill_words(u64 words, u64 pattern, u32 *__restrict__ to) {
    u64 first = (u64)blockIdx.x * (THREADS * UNITS) + threadIdx.x;
#pragma unroll
    for (u32 k = 0; k < UNITS; ++k) {
        u64 i = first + k * THREADS;
        if (i < words) to[i] = (u32)(pattern >> (32 * (i & 1)));
    }
}

// Columns of `units` units each, ld_from and ld_to apart. One 64-bit division a block; the threads then
// divide in 32 bits.
template <class V>
__device__ inline void repitch(u32 units, u32 n, const V *__restrict__ from, u64 ld_from, V *__restrict__ to,
                               u64 ld_to) {
    u64 first = (u64)blockIdx.x * (THREADS * UNITS);
    u32 column0 = (u32)(first / units);
    u32 row0 = (u32)(first - (u64)column0 * units);
    V v[UNITS];
    u64 place[UNITS];
    bool inside[UNITS];
#pragma unroll
    for (u32 k = 0; k < UNITS; ++k) {
        u64 ahead = (u64)row0 + threadIdx.x + k * THREADS;
        u32 columns = ahead >> 32 ? (u32)(ahead / units) : (u32)ahead / units;
        u32 row = (u32)(ahead - (u64)columns * units);
        u32 column = column0 + columns;
        inside[k] = column < n;
        place[k] = column * ld_to + row;
        if (inside[k]) v[k] = from[column * ld_from + row];
    }
#pragma unroll
    for (u32 k = 0; k < UNITS; ++k)
        if (inside[k]) to[place[k]] = v[k];
}

// Pack has ld_to = units, unpack ld_from = units.
extern "C" __global__ void __launch_bounds__(THREADS)
    repitch_wide(u32 units, u32 n, const Quad *__restrict__ from, u64 ld_from, Quad *__restrict__ to, u64 ld_to) {
    repitch(units, n, from, ld_from, to, ld_to);
}
extern "C" __global__ void __launch_bounds__(THREADS)
    repitch_f64(u32 units, u32 n, const f64 *__restrict__ from, u64 ld_from, f64 *__restrict__ to, u64 ld_to) {
    repitch(units, n, from, ld_from, to, ld_to);
}
extern "C" __global__ void __launch_bounds__(THREADS)
    repitch_f32(u32 units, u32 n, const f32 *__restrict__ from, u64 ld_from, f32 *__restrict__ to, u64 ld_to) {
    repitch(units, n, from, ld_from, to, ld_to);
}

// The random accesses of one thread are all under way before the first is used.
template <class T>
__device__ inline void gather(u64 n, u32 limit, const u32 *__restrict__ index, const T *__restrict__ from, T *__restrict__ to) {
    u64 first = (u64)blockIdx.x * (THREADS * UNITS) + threadIdx.x;
    u32 at[UNITS];
    T v[UNITS];
#pragma unroll
    for (u32 k = 0; k < UNITS; ++k) at[k] = first + k * THREADS < n ? index[first + k * THREADS] : limit;
#pragma unroll
    for (u32 k = 0; k < UNITS; ++k)
        if (at[k] < limit) v[k] = from[at[k]];
#pragma unroll
    for (u32 k = 0; k < UNITS; ++k)
        if (at[k] < limit) to[first + k * THREADS] = v[k];
}

template <class T>
__device__ inline void scatter(u64 n, u32 limit, const u32 *__restrict__ index, const T *__restrict__ from, T *__restrict__ to) {
    u64 first = (u64)blockIdx.x * (THREADS * UNITS) + threadIdx.x;
    u32 at[UNITS];
    T v[UNITS];
#pragma unroll
    for (u32 k = 0; k < UNITS; ++k) {
        u64 i = first + k * THREADS;
        at[k] = limit;
        if (i < n) at[k] = index[i], v[k] = from[i];
    }
#pragma unroll
    for (u32 k = 0; k < UNITS; ++k)
        if (at[k] < limit) to[at[k]] = v[k];
}

#define INDEXED(T)                                                                                               \
    extern "C" __global__ void __launch_bounds__(THREADS)                                                        \
        gather_##T(u64 n, u32 limit, const u32 *__restrict__ index, const T *__restrict__ from, T *__restrict__ to) {       \
        gather(n, limit, index, from, to);                                                                              \
    }                                                                                                            \
    extern "C" __global__ void __launch_bounds__(THREADS)                                                        \
        scatter_##T(u64 n, u32 limit, const u32 *__restrict__ index, const T *__restrict__ from, T *__restrict__ to) {      \
        scatter(n, limit, index, from, to);                                                                             \
    }
INDEXED(f64)
INDEXED(f32)
INDEXED(u32)
