// Right-hand sides into elimination order, interleaved, and solutions back.
//
// Shapes: outside: column-major, `rhs` columns of n entries, ld apart, user order; x: n entries in elimination order, interleaved
//         (solve.cuh); user: the user's number of each elimination number; elimination: the opposite.
// Grid:   256 threads a block, one entry of a group of right-hand sides each; blockIdx.y counts groups.
// Order:  every entry is moved, or added to, once.
#include "dense/solve.cuh"

#define THREADS 256u

template <class T> __device__ __forceinline__ void take(const Vectors &v, const u32 *user, const u32 *elimination, const T *outside, u64 ld) {
    const Group x = group_of(v, blockIdx.y);
    const u64 i = (u64)blockIdx.x * THREADS + threadIdx.x;
    if (i >= v.n) return;
    outside += blockIdx.y * RHS * ld;
    if (x.width == 1) {
        x.x[i] = (f64)outside[user[i]];
        return;
    }
    f64 *to = x.x + (u64)elimination[i] * x.width;
    f64 in[RHS];
#pragma unroll
    for (u32 r = 0; r < RHS; r++) in[r] = r < x.width ? (f64)outside[i + r * ld] : 0;
#pragma unroll
    for (u32 r = 0; r < RHS; r += 2) {
        if (x.width % 2 == 0 && r < x.width) *(double2 *)(to + r) = {in[r], in[r + 1]};
        if (x.width % 2 == 1 && r < x.width) to[r] = in[r];
        if (x.width % 2 == 1 && r + 1 < x.width) to[r + 1] = in[r + 1];
    }
}

template <class T> __device__ __forceinline__ void give(const Vectors &v, const u32 *elimination, T *outside, u64 ld, u32 add) {
    const Group x = group_of(v, blockIdx.y);
    const u64 i = (u64)blockIdx.x * THREADS + threadIdx.x;
    if (i >= v.n) return;
    const f64 *from = x.x + (u64)elimination[i] * x.width;
    T *to = outside + i + blockIdx.y * RHS * ld;
    f64 out[RHS];
#pragma unroll
    for (u32 r = 0; r < RHS; r++) out[r] = r < x.width ? from[r] : 0;
#pragma unroll
    for (u32 r = 0; r < RHS; r++) {
        if (add != 0 && r < x.width) out[r] = (f64)to[r * ld] + out[r];
    }
#pragma unroll
    for (u32 r = 0; r < RHS; r++) {
        if (r < x.width) to[r * ld] = (T)out[r];
    }
}

#define ORDER(T)                                                                                                                            \
    extern "C" __global__ void __launch_bounds__(THREADS)                                                                                   \
    dense_solve_take_##T(const Vectors v, const u32 *user, const u32 *elimination, const T *outside, u64 ld) { take(v, user, elimination, outside, ld); } \
    extern "C" __global__ void __launch_bounds__(THREADS)                                                                                   \
    dense_solve_give_##T(const Vectors v, const u32 *elimination, T *outside, u64 ld, u32 add) { give(v, elimination, outside, ld, add); }
ORDER(f64)
ORDER(f32)
