// Right-hand sides into elimination order, interleaved, and solutions back.
//
// Shapes: outside: column-major, `rhs` columns of n entries, ld apart, user order; x: n entries in elimination order, interleaved
//         (solve.cuh); order: the user's number of each elimination number.
// Grid:   256 threads a block, one entry of one right-hand side each; blockIdx.y counts groups of right-hand sides.
// Order:  every entry is moved, or added to, once.
#include "dense/solve.cuh"

#define THREADS 256u

template <class T> __device__ __forceinline__ void take(const Vectors &v, const u32 *order, const T *outside, u64 ld) {
    const Group x = group_of(v, blockIdx.y);
    const u64 e = (u64)blockIdx.x * THREADS + threadIdx.x;
    if (e >= v.n * x.width) return;
    const u64 k = e / x.width;
    x.x[e] = (f64)outside[order[k] + (blockIdx.y * RHS + (e - k * x.width)) * ld];
}

template <class T> __device__ __forceinline__ void give(const Vectors &v, const u32 *order, T *outside, u64 ld, u32 add) {
    const Group x = group_of(v, blockIdx.y);
    const u64 e = (u64)blockIdx.x * THREADS + threadIdx.x;
    if (e >= v.n * x.width) return;
    const u64 k = e / x.width;
    T *to = outside + order[k] + (blockIdx.y * RHS + (e - k * x.width)) * ld;
    *to = (T)(add != 0 ? (f64)*to + x.x[e] : x.x[e]);
}

#define ORDER(T)                                                                                                                                                          \
    extern "C" __global__ void __launch_bounds__(THREADS) dense_solve_take_##T(const Vectors v, const u32 *order, const T *outside, u64 ld) { take(v, order, outside, ld); } \
    extern "C" __global__ void __launch_bounds__(THREADS) dense_solve_give_##T(const Vectors v, const u32 *order, T *outside, u64 ld, u32 add) { give(v, order, outside, ld, add); }
ORDER(f64)
ORDER(f32)
