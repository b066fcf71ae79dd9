// The scaling of a matrix for a factor in single precision, and vectors on their way through it.
//
// Shapes: A: lower half by columns, starts of length n + 1, values of length starts[n], the diagonal entry first
//         in each column; scale: n powers of two, the diagonal of D; vectors of n numbers.
// Grid:   any; threads go on with a stride.
// Order:  no sums.
// Ref:    van der Sluis 1969: a diagonal of ones is near the best scaling of a positive definite matrix.
#include "common.cuh"

#define THREADS 256u

// The power of two next to 1 / sqrt(|a|); 1 where a is zero, infinite or NaN.
__device__ __forceinline__ f64 scale_of(f64 a) {
    const i32 exponent = (i32)(__double_as_longlong(a) >> 52 & 0x7ff);
    if (exponent == 0 || exponent == 0x7ff) return 1;
    const i32 power = -((exponent - 1022) >> 1); // |a| from 4^m / 2 to below 4^m * 2 gives 2^-m
    return __longlong_as_double((i64)(power + 1023) << 52);
}

// scale <- D, so that the diagonal of D A D is about 1.
extern "C" __global__ void __launch_bounds__(THREADS)
scale_diagonal(const u32 *starts, const f64 *values, f64 *scale, u32 n) {
    for (u32 j = blockIdx.x * THREADS + threadIdx.x; j < n; j += gridDim.x * THREADS) scale[j] = scale_of(values[starts[j]]);
}

// x <- D x
extern "C" __global__ void __launch_bounds__(THREADS)
scale_vector(const f64 *scale, f64 *x, u32 n) {
    for (u32 i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS) x[i] *= scale[i];
}

// before <- x, x <- x + y: a step that can be taken back.
extern "C" __global__ void __launch_bounds__(THREADS)
scale_step(f64 *x, f64 *before, const f64 *y, u32 n) {
    for (u32 i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS) {
        const f64 old = x[i];
        before[i] = old;
        x[i] = old + y[i];
    }
}
