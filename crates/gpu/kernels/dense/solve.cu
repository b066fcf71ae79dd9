// Panel solves: forward and backward substitution with the panels of fronts, several right-hand sides at once.
//
// Shapes: front: a panel L (front.cuh) of which the pivots have been eliminated, and the inverses V = L^-T of its
//         diagonal tiles, T x T; x: pivots + updates rows of each right-hand side, column-major. Forward: pivot
//         rows x1 <- L11^-1 x1, update rows x2 <- x2 - L21 x1. Backward: x1 <- L11^-T (x1 - L21^T x2).
// Grid:   one block for each row tile (forward) or tile of pivots (backward) and group of RHS right-hand sides. Blocks draw
//         tickets; lists are such that a tile stands behind those it waits for.
// Needs:  tickets and progress zero before.
// Order:  fixed: partial sums of a thread's columns (forward) or lane's rows (backward), then of the threads.
// Ref:    the inverses make the solve of a diagonal tile a product.
#include "dense/front.cuh"
#include "dense/tasks.cuh"

#define RHS 4u
#define SOLVE_THREADS 512u

struct SolveTask {
    u32 front;
    u32 tile;
};

struct Vectors {
    u64 x;      // where the front's rows of the first right-hand side stand
    u64 stride; // between right-hand sides
};

struct Solve {
    f64 *arena;
    const Front *fronts;
    f64 *x;
    const Vectors *vectors;
    const SolveTask *tasks;
    u32 *tickets, *progress;
    u32 count;    // tasks of one group of right-hand sides
    u32 counters; // and its counters
    u32 rhs;
    u32 unused;
};

// A task of a group of right-hand sides: its front, its tile, and its vectors.
struct Drawn {
    Front f;
    u32 tile, width; // right-hand sides of this group
    f64 *x;
    u64 stride;
    u32 *progress;
};

__device__ __forceinline__ Drawn draw(const Solve &s) {
    __shared__ u32 ticket;
    if (threadIdx.x == 0) ticket = atomicAdd(s.tickets, 1);
    __syncthreads();
    const u32 groups = ceil_div(s.rhs, RHS), group = ticket % groups;
    const SolveTask task = s.tasks[ticket / groups];
    const Front f = s.fronts[task.front];
    const Vectors v = s.vectors[task.front];
    return {f, task.tile, smaller(RHS, s.rhs - group * RHS), s.x + v.x + group * RHS * v.stride, v.stride, s.progress + group * s.counters + f.progress};
}

template <int T> __device__ __forceinline__ void forward(const Solve &s) {
    constexpr u32 PARTS = SOLVE_THREADS / T, COLUMNS = T / PARTS; // threads of a row, and their columns of a tile
    __shared__ f64 y[T][RHS], sums[PARTS][T][RHS];
    const Drawn d = draw(s);
    const Front &f = d.f;
    const u32 before = ceil_div(f.pivots, (u32)T), row = threadIdx.x % T, part = threadIdx.x / T;
    const bool pivot = d.tile < before;
    const u32 i0 = pivot ? d.tile * T : f.pivots + (d.tile - before) * T; // first row in x
    const u32 rows = smaller((u32)T, pivot ? f.pivots - i0 : f.pivots + f.updates - i0);
    const u32 stored = smaller(row, rows - 1) + (pivot ? i0 : f.first_update + i0 - f.pivots); // row of the panel
    const Layout layout = {f.panel_rows, NB};

    f64 acc[RHS] = {};
    for (u32 p = 0; p < (pivot ? d.tile : before); p++) {
        const u32 k0 = p * T + part * COLUMNS, columns = smaller((u32)T, f.pivots - p * T);
        const f64 *l = s.arena + f.panel + layout.at(stored, k0);
        const u32 height = layout.height(p * T / NB);
        f64 value[COLUMNS]; // asked for before the tile is waited for
#pragma unroll
        for (u32 k = 0; k < COLUMNS; k++) value[k] = part * COLUMNS + k < columns ? l[(u64)k * height] : 0;
        await(d.progress, p + 1);
        for (u32 e = threadIdx.x; e < T * RHS; e += SOLVE_THREADS) {
            const u32 k = e % T, r = e / T;
            y[k][r] = k < columns && r < d.width ? __ldcg(d.x + r * d.stride + p * T + k) : 0;
        }
        __syncthreads();
#pragma unroll
        for (u32 k = 0; k < COLUMNS; k++) {
#pragma unroll
            for (u32 r = 0; r < RHS; r++) acc[r] = fma(value[k], y[part * COLUMNS + k][r], acc[r]);
        }
    }
#pragma unroll
    for (u32 r = 0; r < RHS; r++) sums[part][row][r] = acc[r];
    __syncthreads();
    for (u32 e = threadIdx.x; e < T * RHS; e += SOLVE_THREADS) {
        const u32 i = e % T, r = e / T;
        f64 *at = d.x + r * d.stride + i0 + i;
        f64 left = i < rows && r < d.width ? *at : 0;
#pragma unroll
        for (u32 q = 0; q < PARTS; q++) left -= sums[q][i][r];
        if (pivot) y[i][r] = i < rows ? left : 0;
        else if (i < rows && r < d.width) *at = left;
    }
    if (!pivot) return;
    __syncthreads();
    // y <- V^T y: a warp for each column of V, whose rows below its diagonal are zero
    const f64 *v = s.arena + f.inverse + (u64)d.tile * T * T;
    const u32 lane = lane_id();
    for (u32 n = threadIdx.x / 32; n < rows; n += SOLVE_THREADS / 32) {
        f64 sum[RHS] = {};
#pragma unroll
        for (u32 k = 0; k < T; k += 32) {
            const f64 w = k + lane < rows ? v[n * T + k + lane] : 0;
#pragma unroll
            for (u32 r = 0; r < RHS; r++) sum[r] = fma(w, y[k + lane][r], sum[r]);
        }
#pragma unroll
        for (u32 r = 0; r < RHS; r++) {
            for (u32 step = 16; step > 0; step /= 2) sum[r] += __shfl_xor_sync(FULL_MASK, sum[r], step);
            if (lane == r && r < d.width) d.x[r * d.stride + i0 + n] = sum[r];
        }
    }
    publish(d.progress, d.tile + 1);
}

template <int T> __device__ __forceinline__ void backward(const Solve &s) {
    constexpr u32 WARPS = SOLVE_THREADS / 32, COLUMNS = T / WARPS, PARTS = SOLVE_THREADS / T;
    __shared__ f64 y[T][RHS], sums[PARTS][T][RHS];
    const Drawn d = draw(s);
    const Front &f = d.f;
    const u32 tiles = ceil_div(f.pivots, (u32)T), j0 = d.tile * T, columns = smaller((u32)T, f.pivots - j0);
    const u32 lane = lane_id(), first = threadIdx.x / 32 * COLUMNS;
    const Layout layout = {f.panel_rows, NB};
    const f64 *l = s.arena + f.panel + layout.at(0, j0);
    const u32 height = layout.height(j0 / NB);

    f64 acc[COLUMNS][RHS] = {};
    // takes rows `stored` .. of the panel, which are rows `from` .. of x
    auto take = [&](u32 stored, u32 from, u32 rows) {
        for (u32 i = lane; i < rows; i += 32) {
            f64 x[RHS];
#pragma unroll
            for (u32 r = 0; r < RHS; r++) x[r] = r < d.width ? __ldcg(d.x + r * d.stride + from + i) : 0;
#pragma unroll
            for (u32 k = 0; k < COLUMNS; k++) {
                const f64 value = first + k < columns ? l[(u64)(first + k) * height + stored + i] : 0;
#pragma unroll
                for (u32 r = 0; r < RHS; r++) acc[k][r] = fma(value, x[r], acc[k][r]);
            }
        }
    };
    take(f.first_update, f.pivots, f.updates);
    for (u32 i = tiles; i-- > d.tile + 1;) {
        await(d.progress, tiles - i);
        take(i * T, i * T, smaller((u32)T, f.pivots - i * T));
    }
#pragma unroll
    for (u32 k = 0; k < COLUMNS; k++) {
#pragma unroll
        for (u32 r = 0; r < RHS; r++) {
            f64 sum = acc[k][r];
            for (u32 step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(FULL_MASK, sum, step);
            const bool there = first + k < columns && r < d.width;
            if (lane == 0) y[first + k][r] = there ? d.x[r * d.stride + j0 + first + k] - sum : 0;
        }
    }
    __syncthreads();
    // y <- V y: a thread for each row and part of the columns
    const f64 *v = s.arena + f.inverse + (u64)d.tile * T * T;
    const u32 row = threadIdx.x % T, part = threadIdx.x / T;
    f64 sum[RHS] = {};
    for (u32 n = part; n < columns; n += PARTS) {
        const f64 w = v[n * T + row];
#pragma unroll
        for (u32 r = 0; r < RHS; r++) sum[r] = fma(w, y[n][r], sum[r]);
    }
#pragma unroll
    for (u32 r = 0; r < RHS; r++) sums[part][row][r] = sum[r];
    __syncthreads();
    for (u32 e = threadIdx.x; e < T * RHS; e += SOLVE_THREADS) {
        const u32 i = e % T, r = e / T;
        f64 all = 0;
#pragma unroll
        for (u32 q = 0; q < PARTS; q++) all += sums[q][i][r];
        if (i < columns && r < d.width) d.x[r * d.stride + j0 + i] = all;
    }
    publish(d.progress, tiles - d.tile);
}

extern "C" __global__ void __launch_bounds__(SOLVE_THREADS, 2) dense_forward_64(const Solve s) { forward<64>(s); }
extern "C" __global__ void __launch_bounds__(SOLVE_THREADS, 1) dense_forward_128(const Solve s) { forward<128>(s); }
extern "C" __global__ void __launch_bounds__(SOLVE_THREADS, 2) dense_backward_64(const Solve s) { backward<64>(s); }
extern "C" __global__ void __launch_bounds__(SOLVE_THREADS, 1) dense_backward_128(const Solve s) { backward<128>(s); }
