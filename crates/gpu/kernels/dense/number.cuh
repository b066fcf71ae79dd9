// What dense kernels need to know of their number type R, f64 or f32.
//
// Columns are aligned to 16 bytes, so a copy moves GRAIN numbers; a lane holds two neighboring rows, a Pair.
#pragma once
#include "common.cuh"

template <class R> struct Number;

template <> struct Number<f64> {
    typedef double2 Pair;
    static constexpr u32 GRAIN = 2;
    static constexpr u32 PAD = 4; // between columns in shared memory, against bank conflicts: 32 bytes
};

template <> struct Number<f32> {
    typedef float2 Pair;
    static constexpr u32 GRAIN = 4;
    static constexpr u32 PAD = 8;
};

template <class R> using Pair = typename Number<R>::Pair;

__device__ __forceinline__ bool is_finite(f64 x) { return fabs(x) < __longlong_as_double(0x7ff0000000000000ll); }
__device__ __forceinline__ bool is_finite(f32 x) { return fabsf(x) < __int_as_float(0x7f800000); }

// 1 / sqrt(x) for a normal positive x, within two units in the last place: the hardware's approximation (2^-22)
// and one step of third order. For all other x the result is not finite, which is how a bad pivot is seen.
__device__ __forceinline__ f64 reciprocal_root(f64 x) {
    f64 y;
    asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
    const f64 r = fma(-x, y * y, 1.0);
    return fma(y * r, fma(r, 0.375, 0.5), y);
}

// Likewise; one step of second order is enough. x y is taken first: y y may be below the normal numbers.
__device__ __forceinline__ f32 reciprocal_root(f32 x) {
    f32 y;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    const f32 r = fmaf(-(x * y), y, 1.0f);
    return fmaf(y * r, 0.5f, y);
}

// Stores two rows at once: the compiler would rather split them than move registers.
__device__ __forceinline__ void store_pair(f64 *p, f64 x, f64 y) { asm volatile("st.global.v2.f64 [%0], {%1, %2};" ::"l"(p), "d"(x), "d"(y) : "memory"); }
__device__ __forceinline__ void store_pair(f32 *p, f32 x, f32 y) { asm volatile("st.global.v2.f32 [%0], {%1, %2};" ::"l"(p), "f"(x), "f"(y) : "memory"); }

// Loads two rows by a policy of the second-level cache.
__device__ __forceinline__ void load_pair_by(u64 policy, f64 &x, f64 &y, const f64 *p) {
    asm volatile("ld.global.L2::cache_hint.v2.f64 {%0, %1}, [%2], %3;" : "=d"(x), "=d"(y) : "l"(p), "l"(policy) : "memory");
}
__device__ __forceinline__ void load_pair_by(u64 policy, f32 &x, f32 &y, const f32 *p) {
    asm volatile("ld.global.L2::cache_hint.v2.f32 {%0, %1}, [%2], %3;" : "=f"(x), "=f"(y) : "l"(p), "l"(policy) : "memory");
}

// `yes` where `one` holds, else `no`, without a branch. Of a plain ?: on what a lane knows of itself, compilers make two paths and put products
// into both: the warp then waits for itself in each, since a product needs all of its lanes.
__device__ __forceinline__ f64 select(bool one, f64 yes, f64 no) {
    f64 v;
    asm("{ .reg .pred p; setp.ne.u32 p, %1, 0; selp.f64 %0, %2, %3, p; }" : "=d"(v) : "r"((u32)one), "d"(yes), "d"(no));
    return v;
}
__device__ __forceinline__ f32 select(bool one, f32 yes, f32 no) {
    f32 v;
    asm("{ .reg .pred p; setp.ne.u32 p, %1, 0; selp.f32 %0, %2, %3, p; }" : "=f"(v) : "r"((u32)one), "f"(yes), "f"(no));
    return v;
}
