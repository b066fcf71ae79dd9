// The scaling of a matrix for a factor in single precision, and vectors on their way through it.
//
// Shapes: A: lower half by columns, starts of length n + 1, values of length starts[n], the diagonal entry first
//         in each column; scale: n powers of two, the diagonal of D; vectors of n numbers. X: n x columns, a column
//         behind the other; norms: one for each column, the bits of |D x|'s largest number.
// Grid:   any, where there are columns one row of blocks for each; threads go on with a stride.
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
    for (u64 j = blockIdx.x * THREADS + threadIdx.x; j < n; j += gridDim.x * THREADS) scale[j] = scale_of(values[starts[j]]);
}

// The power of two below a norm with these bits; 1 where single precision takes the column as it is, with room for what is
// small in it and for its answer, and for 0, infinity and NaN, which none would help.
__device__ __forceinline__ i32 unit_of(u64 norm) {
    const i32 power = larger((i32)(norm >> 52) - 1023, -1000); // the sign is 0
    return norm == 0 || power == 1024 || (-48 <= power && power < 48) ? 0 : smaller(power, 1000);
}

__device__ __forceinline__ f64 power_of_two(i32 power) { return __longlong_as_double((i64)(power + 1023) << 52); }

// X <- D X, and norms are raised to what its columns have.
extern "C" __global__ void __launch_bounds__(THREADS)
scale_columns(const f64 *scale, f64 *x, u64 *norms, u32 n) {
    __shared__ u64 most_of[THREADS / WARP];
    f64 *column = x + (u64)blockIdx.y * n;
    u64 most = 0;
    for (u64 i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS) {
        const f64 scaled = column[i] * scale[i];
        column[i] = scaled, most = larger(most, (u64)__double_as_longlong(fabs(scaled)));
    }
    for (u32 step = WARP / 2; step > 0; step /= 2) most = larger(most, __shfl_xor_sync(FULL_MASK, most, step));
    if (lane_id() == 0) most_of[threadIdx.x / WARP] = most;
    __syncthreads();
    if (threadIdx.x > 0) return;
    for (u32 w = 1; w < THREADS / WARP; w++) most = larger(most, most_of[w]);
    atomicMax(norms + blockIdx.y, most);
}

// Columns that single precision would not take are divided by their units.
extern "C" __global__ void __launch_bounds__(THREADS)
scale_into_range(f64 *x, const u64 *norms, u32 n) {
    const i32 power = unit_of(norms[blockIdx.y]);
    if (power == 0) return;
    const f64 factor = power_of_two(-power);
    f64 *column = x + (u64)blockIdx.y * n;
    for (u64 i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS) column[i] *= factor;
}

// X <- D X, times the units of the columns.
extern "C" __global__ void __launch_bounds__(THREADS)
scale_back(const f64 *scale, f64 *x, const u64 *norms, u32 n) {
    const f64 unit = power_of_two(unit_of(norms[blockIdx.y]));
    f64 *column = x + (u64)blockIdx.y * n;
    for (u64 i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS) column[i] = column[i] * unit * scale[i];
}

// before <- x, x <- x + y: a step that can be taken back.
extern "C" __global__ void __launch_bounds__(THREADS)
scale_step(f64 *x, f64 *before, const f64 *y, u32 n) {
    for (u64 i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS) {
        const f64 old = x[i];
        before[i] = old;
        x[i] = old + y[i];
    }
}
