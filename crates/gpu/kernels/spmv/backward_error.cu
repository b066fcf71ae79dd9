// Residuals and what backward errors are made of, in one pass over a symmetric matrix kept by halves, several right-hand sides at once.
//
// Shapes: A: n x n (half.cuh); b, x, r: n x rhs, column-major; errors: rhs
//         Errors; most: 5 numbers for each right-hand side, zero between launches; ticket: one u32, zero between launches.
// Grid:   blocks of 256 threads that go on with a stride, LANES threads a row; blockIdx.y counts groups of VECTORS.
// Needs:  entries and rows below 2^32.
// Order:  r = b - A x: each lane takes every LANES-th entry, then a tree; bits depend on LANES alone. Maxima are of the bits
//         of numbers that are not negative, which are ordered as the numbers are, with NaN above infinity: whatever
//         comes first, bits repeat.
// Ref:    Oettli, Prager 1964; below the smallest normal number for each entry of a row, rounding is not relative.
#include "spmv/half.cuh"

struct Errors {
    f64 componentwise; // max |r| / (|A||x| + |b|)
    f64 residual, solution, right_hand_side, matrix; // norms
};

struct Problem {
    Half a;
    const f64 *b, *x;
    f64 *r;
    u64 ld_b, ld_x, ld_r;
    u64 *most;
    u32 *ticket;
    Errors *errors;
    f64 safe; // added to denominators
    u32 rhs, unused;
};

enum { ERROR, RESIDUAL, SOLUTION, RIGHT_HAND_SIDE, MATRIX, COUNT };

__device__ __forceinline__ void take_larger(u64 &most, f64 v) { most = larger(most, (u64)__double_as_longlong(fabs(v))); }

template <u32 LANES, u32 VECTORS> __device__ __forceinline__ void backward_error(const Problem &p) {
    __shared__ u64 warps[WARPS][COUNT];
    __shared__ bool last;
    const u32 lane = threadIdx.x % LANES, first = blockIdx.y * VECTORS, here = smaller(VECTORS, p.rhs - first);
    const f64 *x = p.x + first * p.ld_x, *b = p.b + first * p.ld_b;
    f64 *r = p.r + first * p.ld_r;
    u64 most[VECTORS][COUNT] = {}, norms = 0;
    u64 column_of[VECTORS]; // of x; the last one again where there are fewer
#pragma unroll
    for (u32 v = 0; v < VECTORS; v++) column_of[v] = smaller(v, here - 1) * p.ld_x;
    const u32 stride = gridDim.x * (THREADS / LANES);
    for (u64 row = blockIdx.x * (THREADS / LANES) + threadIdx.x / LANES; row - threadIdx.x % WARP / LANES < p.a.n; row += stride) { // whole warps
        f64 sum[VECTORS] = {}, size[VECTORS] = {}, norm = 0;
        each_of_row<LANES>(p.a, row, lane, [&](u32 column, f64 value) {
            norm += fabs(value);
#pragma unroll
            for (u32 v = 0; v < VECTORS; v++) {
                const f64 entry = __ldg(x + column_of[v] + column);
                sum[v] = fma(value, entry, sum[v]);
                size[v] = fma(fabs(value), fabs(entry), size[v]);
            }
        });
        norm = group_sum<LANES>(norm);
#pragma unroll
        for (u32 v = 0; v < VECTORS; v++) {
            const f64 product = group_sum<LANES>(sum[v]), sizes = group_sum<LANES>(size[v]);
            if (v >= here || lane != 0 || row >= p.a.n) continue;
            const f64 right = b[v * p.ld_b + row], left = right - product, whole = fabs(right) + sizes;
            r[v * p.ld_r + row] = left;
            take_larger(most[v][ERROR], fabs(left) / (whole + p.safe) + (whole - whole)); // NaN where the size overflows
            take_larger(most[v][RESIDUAL], left);
            take_larger(norms, norm);
        }
    }
    // The vectors' own norms, from the cache, when sums need no registers any more.
#pragma unroll
    for (u32 v = 0; v < VECTORS; v++) {
        most[v][MATRIX] = norms;
        if (v >= here) break;
        for (u64 row = blockIdx.x * THREADS + threadIdx.x; row < p.a.n; row += gridDim.x * THREADS) {
            take_larger(most[v][SOLUTION], x[v * p.ld_x + row]);
            take_larger(most[v][RIGHT_HAND_SIDE], b[v * p.ld_b + row]);
        }
    }
#pragma unroll
    for (u32 v = 0; v < VECTORS; v++) {
        if (v >= here) break;
        __syncthreads();
#pragma unroll
        for (u32 q = 0; q < COUNT; q++) {
            u64 all = most[v][q];
#pragma unroll
            for (u32 step = WARP / 2; step > 0; step /= 2) all = larger(all, __shfl_xor_sync(FULL_MASK, all, step));
            if (threadIdx.x % WARP == 0) warps[threadIdx.x / WARP][q] = all;
        }
        __syncthreads();
        if (threadIdx.x < COUNT) {
            u64 all = 0;
            for (u32 w = 0; w < WARPS; w++) all = larger(all, warps[w][threadIdx.x]);
            atomicMax(p.most + (first + v) * COUNT + threadIdx.x, all);
            __threadfence();
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) last = atomicInc(p.ticket, gridDim.x * gridDim.y - 1) == gridDim.x * gridDim.y - 1;
    __syncthreads();
    if (!last) return;
    __threadfence();
    for (u32 v = threadIdx.x; v < p.rhs; v += THREADS) {
        f64 all[COUNT];
        for (u32 q = 0; q < COUNT; q++) all[q] = __longlong_as_double((i64)atomicExch(p.most + v * COUNT + q, 0ull));
        p.errors[v] = {all[ERROR], all[RESIDUAL], all[SOLUTION], all[RIGHT_HAND_SIDE], all[MATRIX]};
    }
}

#define ERRORS(LANES, VECTORS) \
    extern "C" __global__ void __launch_bounds__(THREADS, VECTORS == 1 ? 4 : 3) backward_error_##LANES##_##VECTORS(const Problem p) { backward_error<LANES, VECTORS>(p); }
#define ERRORS_ALL(LANES) ERRORS(LANES, 1) ERRORS(LANES, 4)
ERRORS_ALL(2)
ERRORS_ALL(8)
ERRORS_ALL(32)
