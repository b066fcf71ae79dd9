// Substitution with the panels of small fronts, which have no inverses: gather, solve and write in one launch.
//
// Shapes: front: pivots + updates rows, at most 192; x: n entries in elimination order, updates: the fronts' vectors of
//         updates, both interleaved (solve.cuh). Forward: v = [x at the pivots; 0] + the children's updates,
//         y = L11^-1 v1 to x, v2 - L21 y to the front's updates. Backward: x1 <- L11^-T (x1 - L21^T x2), x2 = x at the rows.
// Grid:   4 warps a block, which are a team each (narrow: fronts of few pivots), two teams (middle) or one (wide), for each
//         group of right-hand sides. A team walks a run, a sequence of fronts, in order, backward in reverse.
// Shared: for each team its vector, STEP columns of a triangle, and the warps' partial sums.
// Needs:  children in earlier launches, or earlier in the same run.
// Order:  fixed by the front: STEP columns at a time, rows below in tiles of tensor core products. Bits repeat, and do
//         not depend on the number of right-hand sides.
// Ref:    Duff, Reid 1983.
#include "dense/copy.cuh"
#include "dense/solve.cuh"

#define BLOCK_WARPS 4u

struct Walks {
    Vectors vectors;
    const SolveFront *fronts;
    const u32 *index;
    const uint2 *runs; // first front, and the one behind the last
    u32 count;
    u32 rows;          // stored rows of the highest front
    u32 columns;       // pivots of the widest, at most STEP
    u32 unused;
};

// Threads that walk a run together.
template <class T, u32 WARPS, u32 STEP> struct Team {
    static constexpr u32 THREADS = WARPS * 32, PITCH = STEP + 1; // between columns of the triangle
    u32 thread, warp, g, t;
    f64 *v, *sums;
    T *triangle;

    __device__ Team(const Walks &w, u32 width) {
        extern __shared__ f64 shared[];
        thread = threadIdx.x % THREADS, warp = thread / 32;
        g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
        const u32 vector = w.rows * width, behind = vector + w.columns * PITCH;
        v = shared + threadIdx.x / THREADS * (behind + WARPS * STEP * width), triangle = (T *)(v + vector), sums = v + behind;
    }
    __device__ void sync() const {
        if (WARPS == 1) __syncwarp();
        else if (WARPS == BLOCK_WARPS) __syncthreads();
        else asm volatile("bar.sync %0, %1;" ::"r"(1 + threadIdx.x / THREADS), "n"(THREADS) : "memory");
    }
    // Starts the copy of columns k0 .. k0 + n of the diagonal block: the triangle, zero beside it.
    __device__ void fetch_triangle(const T *panel, const Layout &layout, u32 k0, u32 n) const {
        const u32 height = layout.height(k0 / NB);
        const T *l = panel + layout.at(k0, k0);
#pragma unroll 4
        for (u32 e = thread; e < n * STEP; e += THREADS) {
            const u32 i = e % STEP, k = e / STEP, bytes = i >= k && i < n ? (u32)sizeof(T) : 0;
            const u32 to = shared_address(triangle + k * PITCH + i);
            const T *from = bytes > 0 ? l + (u64)k * height + i : l;
            if (sizeof(T) == 8) asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
            else asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
        }
        commit_copies();
    }
    __device__ void await_triangle() const {
        wait_copies<0>();
        sync();
    }
    // One over the diagonal entry of the lane's row, 1 behind the last.
    __device__ f64 reciprocal(u32 n) const {
        const u32 lane = thread % 32;
        return lane < n ? 1 / (f64)triangle[lane * PITCH + lane] : 1;
    }
};

template <class T, u32 WARPS, u32 STEP>
__device__ __forceinline__ void forward(const Walks &w, const T *arena, const SolveFront &f, const Group &x, const Team<T, WARPS, STEP> &team) {
    constexpr u32 OWN = RHS / WARPS, PITCH = STEP + 1, ENTRIES = WARPS == 1 ? 2 : 4; // right-hand sides of a warp in the triangle; gathered at once
    const u32 lane = team.thread % 32, g = team.g, t = team.t, width = x.width, end = f.first_update + f.updates;
    const Layout layout = {f.panel_rows, NB};
    const T *panel = arena + f.panel;
    f64 *v = team.v;
    Pair<T> a[STEP / 8][2]; // 16 rows of STEP columns
    auto load = [&](u32 row, u32 k0, u32 n) {
        const T *l = panel + layout.at(row + 2 * g, k0 + t);
        const u32 height = layout.height(k0 / NB);
#pragma unroll
        for (u32 s = 0; s < STEP / 8; s++) {
#pragma unroll
            for (u32 h = 0; h < 2; h++) {
                const u32 k = 8 * s + 4 * h;
                a[s][h] = row + 2 * g < end && k + t < n ? load_pair(l + (u64)k * height) : Pair<T>{0, 0};
            }
        }
    };
    // The first row below columns k0 .. that this warp takes.
    auto below = [&](u32 k0) { return (k0 + STEP < f.pivots ? k0 + STEP : f.first_update) + 16 * team.warp; };
    auto fetch = [&](u32 k0) {
        const u32 n = smaller(STEP, f.pivots - k0);
        team.fetch_triangle(panel, layout, k0, n);
        if (below(k0) < end) load(below(k0), k0, n);
    };
    if (f.pivots > 0) fetch(0); // under way while children are gathered
    for (u32 first = 0; first < end * width; first += ENTRIES * team.THREADS) {
        u32 i[ENTRIES], r[ENTRIES];
        bool there[ENTRIES];
        f64 own[ENTRIES], sum[ENTRIES];
#pragma unroll
        for (u32 k = 0; k < ENTRIES; k++) {
            const u32 e = first + k * team.THREADS + team.thread, row = x.row(e);
            const bool pivot = row < f.pivots;
            r[k] = e - row * width, there[k] = pivot || (row >= f.first_update && row < end);
            i[k] = pivot ? row : row - f.first_update + f.pivots;
            own[k] = pivot ? x.x[(u64)f.column * width + e] : 0;
        }
        gather(f, w.index, x, i, r, there, sum);
#pragma unroll
        for (u32 k = 0; k < ENTRIES; k++) {
            const u32 e = first + k * team.THREADS + team.thread;
            if (e < end * width) v[e] = own[k] + sum[k];
        }
    }
    for (u32 k0 = 0; k0 < f.pivots; k0 += STEP) {
        const u32 n = smaller(STEP, f.pivots - k0);
        if (k0 > 0) fetch(k0);
        team.await_triangle();
        const f64 one_over = team.reciprocal(n);
        f64 own[OWN];
#pragma unroll
        for (u32 q = 0; q < OWN; q++) {
            const u32 r = team.warp + WARPS * q;
            own[q] = lane < n && r < width ? v[(k0 + lane) * width + r] : 0;
        }
#pragma unroll 4
        for (u32 k = 0; k + 1 < n; k++) {
            const f64 scale = __shfl_sync(FULL_MASK, one_over, k);
            const f64 factor = lane > k && lane < n ? -((f64)team.triangle[k * PITCH + lane] * scale) : 0;
#pragma unroll
            for (u32 q = 0; q < OWN; q++) {
                if (team.warp + WARPS * q >= width) break;
                const f64 above = __shfl_sync(FULL_MASK, own[q], k);
                if (lane > k) own[q] = fma(factor, above, own[q]);
            }
        }
#pragma unroll
        for (u32 q = 0; q < OWN; q++) {
            const u32 r = team.warp + WARPS * q;
            if (lane < n && r < width) v[(k0 + lane) * width + r] = own[q] * one_over;
        }
        team.sync();
        f64 b[STEP / 8][2];
#pragma unroll
        for (u32 s = 0; s < STEP / 8; s++) {
#pragma unroll
            for (u32 h = 0; h < 2; h++) {
                const u32 k = 8 * s + 4 * h + t;
                b[s][h] = k < n && g < width ? v[(k0 + k) * width + g] : 0;
            }
        }
        for (u32 row = below(k0); row < end; row += 16 * WARPS) {
            f64 c[4] = {};
#pragma unroll
            for (u32 s = 0; s < STEP / 8; s++) {
                if (8 * s < n) multiply(c, a[s][0], a[s][1], b[s][0], b[s][1]);
            }
            if (row + 16 * WARPS < end) load(row + 16 * WARPS, k0, n);
#pragma unroll
            for (u32 h = 0; h < 2; h++) {
                const u32 mine = row + 2 * g + h;
                f64 *to = v + mine * width;
                if (mine < end && 2 * t < width) to[2 * t] -= c[2 * h];
                if (mine < end && 2 * t + 1 < width) to[2 * t + 1] -= c[2 * h + 1];
            }
        }
        team.sync();
    }
    if (f.pivots == 0) team.sync();
    for (u32 e = team.thread; e < end * width; e += team.THREADS) {
        if (e < f.pivots * width) x.x[(u64)f.column * width + e] = v[e];
        else if (e >= f.first_update * width) x.updates[(u64)f.update * width + e - f.first_update * width] = v[e];
    }
    team.sync(); // before the next front
}

template <class T, u32 WARPS, u32 STEP>
__device__ __forceinline__ void backward(const Walks &w, const T *arena, const SolveFront &f, const Group &x, const Team<T, WARPS, STEP> &team) {
    constexpr u32 OWN = RHS / WARPS, PITCH = STEP + 1, ENTRIES = 4;
    const u32 lane = team.thread % 32, g = team.g, t = team.t, width = x.width, end = f.first_update + f.updates;
    const Layout layout = {f.panel_rows, NB};
    const T *panel = arena + f.panel;
    const u32 *rows = w.index + f.rows;
    f64 *v = team.v;
    if (f.pivots == 0) return;
    Pair<T> a[STEP / 16][2]; // 8 rows of STEP columns
    auto load = [&](u32 row, u32 k0, u32 n) {
        const T *l = panel + layout.at(row + 2 * t, k0 + g);
        const u32 height = layout.height(k0 / NB);
#pragma unroll
        for (u32 s = 0; s < STEP / 16; s++) {
#pragma unroll
            for (u32 h = 0; h < 2; h++) {
                const u32 k = 16 * s + 8 * h;
                a[s][h] = row + 2 * t < end && k + g < n ? load_pair(l + (u64)k * height) : Pair<T>{0, 0};
            }
        }
    };
    auto below = [&](u32 k0) { return (k0 + STEP < f.pivots ? k0 + STEP : f.first_update) + 8 * team.warp; };
    auto fetch = [&](u32 k0) {
        const u32 n = smaller(STEP, f.pivots - k0);
        team.fetch_triangle(panel, layout, k0, n);
        if (below(k0) < end) load(below(k0), k0, n);
    };
    fetch((ceil_div(f.pivots, STEP) - 1) * STEP);
    for (u32 first = 0; first < end * width; first += ENTRIES * team.THREADS) {
        u32 from[ENTRIES];
#pragma unroll
        for (u32 k = 0; k < ENTRIES; k++) {
            const u32 row = x.row(first + k * team.THREADS + team.thread);
            from[k] = row < f.pivots ? f.column + row : row >= f.first_update && row < end ? __ldg(rows + row - f.first_update) : NONE;
        }
#pragma unroll
        for (u32 k = 0; k < ENTRIES; k++) {
            const u32 e = first + k * team.THREADS + team.thread, r = e - x.row(e) * width;
            const f64 value = from[k] != NONE ? x.x[(u64)from[k] * width + r] : 0;
            if (e < end * width) v[e] = value;
        }
    }
    for (u32 b = ceil_div(f.pivots, STEP); b-- > 0;) {
        const u32 k0 = b * STEP, n = smaller(STEP, f.pivots - k0);
        if (k0 + STEP < f.pivots) fetch(k0);
        team.await_triangle();
        f64 c[STEP / 16][4] = {};
        for (u32 row = below(k0); row < end; row += 8 * WARPS) {
            f64 in[2];
            bool there[2];
#pragma unroll
            for (u32 h = 0; h < 2; h++) {
                const u32 mine = row + 2 * t + h;
                there[h] = mine < f.pivots || (mine >= f.first_update && mine < end);
                in[h] = there[h] && g < width ? v[mine * width + g] : 0;
            }
#pragma unroll
            for (u32 s = 0; s < STEP / 16; s++) {
#pragma unroll
                for (u32 h = 0; h < 2; h++) { // what is beside the rows may be anything
                    if (!there[0]) a[s][h].x = 0;
                    if (!there[1]) a[s][h].y = 0;
                }
                if (16 * s < n) multiply_transposed(c[s], a[s][0], a[s][1], in[0], in[1]);
            }
            if (row + 8 * WARPS < end) load(row + 8 * WARPS, k0, n);
        }
#pragma unroll
        for (u32 s = 0; s < STEP / 16; s++) {
            f64 *to = team.sums + (team.warp * STEP + 16 * s) * width;
            put_row(to + g * width, t, width, c[s][0], c[s][1]);
            put_row(to + (g + 8) * width, t, width, c[s][2], c[s][3]);
        }
        team.sync();
        const f64 one_over = team.reciprocal(n);
        f64 own[OWN];
#pragma unroll
        for (u32 q = 0; q < OWN; q++) {
            const u32 r = team.warp + WARPS * q;
            own[q] = 0;
            if (lane >= n || r >= width) continue;
            f64 sum = 0;
#pragma unroll
            for (u32 p = 0; p < WARPS; p++) sum += team.sums[(p * STEP + lane) * width + r];
            own[q] = v[(k0 + lane) * width + r] - sum;
        }
#pragma unroll 4
        for (u32 k = n - 1; k > 0; k--) {
            const f64 scale = __shfl_sync(FULL_MASK, one_over, k);
            const f64 factor = lane < k ? -((f64)team.triangle[lane * PITCH + k] * scale) : 0;
#pragma unroll
            for (u32 q = 0; q < OWN; q++) {
                if (team.warp + WARPS * q >= width) break;
                const f64 later = __shfl_sync(FULL_MASK, own[q], k);
                if (lane < k) own[q] = fma(factor, later, own[q]);
            }
        }
#pragma unroll
        for (u32 q = 0; q < OWN; q++) {
            const u32 r = team.warp + WARPS * q;
            if (lane < n && r < width) {
                const f64 value = own[q] * one_over;
                v[(k0 + lane) * width + r] = value;
                x.x[((u64)f.column + k0 + lane) * width + r] = value;
            }
        }
        team.sync();
    }
}

template <class T, u32 WARPS, u32 STEP, bool BACKWARD> __device__ __forceinline__ void walk(const Walks &w, const T *arena) {
    const u32 groups = w.vectors.groups, run = blockIdx.x / groups * (BLOCK_WARPS / WARPS) + threadIdx.x / (WARPS * 32);
    if (run >= w.count) return;
    const Group x = group_of(w.vectors, blockIdx.x % groups);
    const Team<T, WARPS, STEP> team(w, x.width);
    const uint2 range = w.runs[run];
    for (u32 i = 0; i < range.y - range.x; i++) {
        const SolveFront f = w.fronts[BACKWARD ? range.y - 1 - i : range.x + i];
        if (BACKWARD) backward(w, arena, f, x, team);
        else forward(w, arena, f, x, team);
    }
}

#define SMALL(T, NAME, WARPS, STEP, BLOCKS)                                                                                     \
    extern "C" __global__ void __launch_bounds__(BLOCK_WARPS * 32, BLOCKS) dense_solve_##NAME##_forward_##T(const Walks w, const T *arena) { \
        walk<T, WARPS, STEP, false>(w, arena);                                                                                  \
    }                                                                                                                           \
    extern "C" __global__ void __launch_bounds__(BLOCK_WARPS * 32, BLOCKS) dense_solve_##NAME##_backward_##T(const Walks w, const T *arena) { \
        walk<T, WARPS, STEP, true>(w, arena);                                                                                   \
    }
SMALL(f64, narrow, 1, 16, 6)
SMALL(f32, narrow, 1, 16, 6)
SMALL(f64, middle, 2, 32, 4)
SMALL(f32, middle, 2, 32, 4)
SMALL(f64, wide, 4, 32, 4)
SMALL(f32, wide, 4, 32, 4)
