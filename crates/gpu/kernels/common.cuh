// Types and helpers shared by all kernels. NVRTC has no system headers: what is needed stands here.
#pragma once

typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef double f64;
typedef float f32;

#define WARP 32
#define FULL_MASK 0xffffffffu

// Smallest q with q * b >= a, for b > 0.
template <class T> __device__ constexpr T ceil_div(T a, T b) { return (a + b - 1) / b; }
template <class T> __device__ constexpr T smaller(T a, T b) { return a < b ? a : b; }
template <class T> __device__ constexpr T larger(T a, T b) { return a < b ? b : a; }

__device__ inline u32 lane_id() {
    u32 lane;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    return lane;
}

// The first of `count` ascending numbers that is not below `wanted`.
__device__ __forceinline__ u32 lower_bound(const u32 *numbers, u32 count, u32 wanted) {
    u32 first = 0;
    while (count > 0) {
        const u32 half = count / 2;
        const bool behind = numbers[first + half] < wanted;
        first = behind ? first + half + 1 : first;
        count = behind ? count - half - 1 : half;
    }
    return first;
}
