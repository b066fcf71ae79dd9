// Sixteen bytes at a time: the widest access of one thread, and what fills the memory pipes.
#pragma once
#include "common.cuh"

// As many T as fit in 16 bytes.
template <class T> struct alignas(16) Wide {
    static constexpr u32 COUNT = 16 / sizeof(T);
    T v[COUNT];
};

// Are all sixteen-byte accesses relative to this address allowed?
__device__ inline bool is_wide(const void *p) { return ((u64)p & 15) == 0; }

// p[0 .. COUNT) in one access if `aligned`, else one by one: the same values either way.
template <class T> __device__ inline Wide<T> load_wide(const T *p, bool aligned) {
    if (aligned) return *(const Wide<T> *)p;
    Wide<T> w;
#pragma unroll
    for (u32 i = 0; i < Wide<T>::COUNT; ++i) w.v[i] = p[i];
    return w;
}

template <class T> __device__ inline void store_wide(T *p, Wide<T> w, bool aligned) {
    if (aligned) {
        *(Wide<T> *)p = w;
    } else {
#pragma unroll
        for (u32 i = 0; i < Wide<T>::COUNT; ++i) p[i] = w.v[i];
    }
}

// Words that other blocks write while this one runs: each access stands alone and is never cached in L1.
__device__ inline u64 load_relaxed(const u64 *p) {
    u64 v;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(v) : "l"(p) : "memory");
    return v;
}
__device__ inline u32 load_relaxed(const u32 *p) {
    u32 v;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
    return v;
}
__device__ inline void store_relaxed(u64 *p, u64 v) {
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(p), "l"(v) : "memory");
}
__device__ inline void store_relaxed(u32 *p, u32 v) {
    asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}
