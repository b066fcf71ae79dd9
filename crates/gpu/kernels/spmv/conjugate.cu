// Conjugate gradients for one right-hand side: what stands between two applications of the preconditioner.
//
// Shapes: A: n x n (half.cuh); d, p, ap, r, z: n numbers; partials: 2 numbers for each block of a sum; state: one State.
// Grid:   blocks of 256 threads that go on with a stride; of product and dots as many as n and LANES say.
// Order:  sums by threads, then a tree in each block, then the blocks' in their order, by whichever block finishes last:
//         bits repeat, on every card. The largest magnitude is of the bits of numbers, with NaN above infinity.
// Needs:  one stream. Once `going` is zero, everything stays as it is.
// Ref:    Hestenes, Stiefel 1952; beta after Golub, Ye 1999, since the preconditioner is itself inexact.
#include "spmv/half.cuh"

struct State {
    f64 rz, alpha, beta, target;
    u64 norm; // bits of the largest magnitude in r
    u32 taken, most, going, ticket;
};

// The sums of all blocks, in thread 0 of the block that finishes last; whether this is it.
template <u32 SUMS> __device__ __forceinline__ bool sum_blocks(f64 (&v)[SUMS], f64 *partials, u32 *ticket) {
    __shared__ f64 warps[WARPS][SUMS];
    __shared__ bool last;
    auto block = [&] {
#pragma unroll
        for (u32 s = 0; s < SUMS; s++) v[s] = group_sum<WARP>(v[s]);
        __syncthreads();
        if (threadIdx.x % WARP == 0)
#pragma unroll
            for (u32 s = 0; s < SUMS; s++) warps[threadIdx.x / WARP][s] = v[s];
        __syncthreads();
#pragma unroll
        for (u32 s = 0; s < SUMS; s++) {
            v[s] = 0;
            for (u32 w = 0; w < WARPS; w++) v[s] += warps[w][s];
        }
    };
    block();
    if (threadIdx.x == 0) {
#pragma unroll
        for (u32 s = 0; s < SUMS; s++) partials[blockIdx.x * SUMS + s] = v[s];
        __threadfence();
        last = atomicInc(ticket, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last) return false;
    __threadfence();
#pragma unroll
    for (u32 s = 0; s < SUMS; s++) v[s] = 0;
    for (u32 k = threadIdx.x; k < gridDim.x; k += THREADS)
#pragma unroll
        for (u32 s = 0; s < SUMS; s++) v[s] += __ldcg(partials + k * SUMS + s);
    block();
    return threadIdx.x == 0;
}

// d, p, ap <- 0, z <- r, whose largest magnitude is `norm`.
extern "C" __global__ void __launch_bounds__(THREADS)
conjugate_begin(u32 n, const f64 *r, f64 *z, f64 *d, f64 *p, f64 *ap, State *state, f64 norm, f64 target, u32 most) {
    for (u64 i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS) z[i] = r[i], d[i] = 0, p[i] = 0, ap[i] = 0;
    if (blockIdx.x == 0 && threadIdx.x == 0) *state = {1, 0, 0, target, (u64)__double_as_longlong(norm), 0, most, 1, 0};
}

// ap <- A p, alpha <- rz / p'Ap
template <u32 LANES> __device__ __forceinline__ void product(const Half &a, const f64 *p, f64 *ap, f64 *partials, State *state) {
    if (!state->going) return;
    const u32 lane = threadIdx.x % LANES, stride = gridDim.x * (THREADS / LANES);
    f64 curvature[1] = {};
    for (u64 row = blockIdx.x * (THREADS / LANES) + threadIdx.x / LANES; row - threadIdx.x % WARP / LANES < a.n; row += stride) { // whole warps
        f64 sum = 0;
        each_of_row<LANES>(a, row, lane, [&](u32 column, f64 value) { sum = fma(value, __ldg(p + column), sum); });
        sum = group_sum<LANES>(sum);
        if (lane != 0 || row >= a.n) continue;
        ap[row] = sum;
        curvature[0] = fma(p[row], sum, curvature[0]);
    }
    if (!sum_blocks(curvature, partials, &state->ticket)) return;
    state->taken++;
    state->norm = 0;
    const bool bends = curvature[0] > 0;
    state->alpha = bends ? state->rz / curvature[0] : 0;
    if (!bends) state->going = 0;
}

#define PRODUCT(LANES) \
    extern "C" __global__ void __launch_bounds__(THREADS) conjugate_product_##LANES(const Half a, const f64 *p, f64 *ap, f64 *partials, State *state) { product<LANES>(a, p, ap, partials, state); }
PRODUCT(2)
PRODUCT(8)
PRODUCT(32)

// d <- d + alpha p, r <- r - alpha Ap, z <- r
extern "C" __global__ void __launch_bounds__(THREADS)
conjugate_advance(u32 n, f64 *d, const f64 *p, const f64 *ap, f64 *r, f64 *z, State *state) {
    if (!state->going) return;
    const f64 alpha = state->alpha;
    u64 most = 0;
    for (u64 i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS) {
        const f64 left = r[i] - alpha * ap[i];
        d[i] += alpha * p[i];
        r[i] = left, z[i] = left;
        most = larger(most, (u64)__double_as_longlong(fabs(left)));
    }
    __syncwarp();
#pragma unroll
    for (u32 step = WARP / 2; step > 0; step /= 2) most = larger(most, __shfl_xor_sync(FULL_MASK, most, step));
    if (lane_id() == 0) atomicMax(&state->norm, most);
}

// beta <- -alpha z'Ap / rz, which is z'(r - old r) / rz; rz <- r'z. At the beginning alpha and ap are zero.
extern "C" __global__ void __launch_bounds__(THREADS)
conjugate_dots(u32 n, const f64 *r, const f64 *z, const f64 *ap, f64 *partials, State *state) {
    if (!state->going) return;
    f64 sums[2] = {};
    for (u64 i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS) {
        sums[0] = fma(r[i], z[i], sums[0]);
        sums[1] = fma(z[i], ap[i], sums[1]);
    }
    if (!sum_blocks(sums, partials, &state->ticket)) return;
    state->beta = -state->alpha * sums[1] / state->rz;
    state->rz = sums[0];
    const bool far = __longlong_as_double((i64)state->norm) > state->target;
    state->going = far && sums[0] > 0 && state->taken < state->most;
}

// p <- z + beta p
extern "C" __global__ void __launch_bounds__(THREADS)
conjugate_direction(u32 n, f64 *p, const f64 *z, const State *state) {
    if (!state->going) return;
    const f64 beta = state->beta;
    for (u64 i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS) p[i] = z[i] + beta * p[i];
}
