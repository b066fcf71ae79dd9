// Substitution with the panels of small fronts, which have no inverses: gather, solve and write in one launch.
//
// Shapes: front: pivots + updates rows, at most 192; x: n entries in elimination order, updates: the fronts' vectors of
//         updates, both interleaved (solve.cuh). Forward: v = [x at the pivots; 0] + the children's updates,
//         y = L11^-1 v1 to x, v2 - L21 y to the front's updates. Backward: x1 <- L11^-T (x1 - L21^T x2), x2 = x at the rows.
// Grid:   a block of 4 warps for each entry of `blocks` and group of right-hand sides. A run is a sequence of fronts
//         that one team walks in order, backward in reverse; a team is a warp, four to a block, or a whole block.
// Shared: for each team its vector, 32 columns of a triangle, and the warps' partial sums.
// Needs:  children in earlier launches, or earlier in the same run.
// Order:  fixed by the front: 32 columns at a time, rows below in tiles of tensor core products. Bits repeat, and do
//         not depend on the number of right-hand sides.
// Ref:    Duff, Reid 1983.
#include "dense/solve.cuh"

#define BLOCK_WARPS 4u
#define STEP 32u  // pivots that are solved at a time, by shuffles
#define PITCH 33u // between columns of a triangle in shared memory

struct Walks {
    Vectors vectors;
    const SolveFront *fronts;
    const u32 *index;
    const u32 *runs;    // where each run's fronts begin, and the end of the last
    const uint2 *blocks; // first run, and how many of one warp each; 0: one run of the whole block
    uint2 sizes[2];     // of fronts walked by a warp, and by a block: most stored rows, and most pivots up to STEP
};

// Threads that walk a run together.
template <u32 WARPS> struct Team {
    static constexpr u32 THREADS = WARPS * 32;
    u32 thread, warp, g, t;
    f64 *v, *triangle, *sums;

    __device__ Team(const Walks &w, u32 width) {
        extern __shared__ f64 shared[];
        thread = threadIdx.x % THREADS, warp = thread / 32;
        g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
        const uint2 size = w.sizes[WARPS > 1];
        const u32 vector = size.x * width, behind = vector + size.y * PITCH;
        v = shared + threadIdx.x / THREADS * (behind + WARPS * STEP * width), triangle = v + vector, sums = v + behind;
    }
    __device__ void sync() const {
        if (WARPS == 1) __syncwarp();
        else __syncthreads();
    }
    // Columns k0 .. k0 + n of the diagonal block: the triangle, zero beside it.
    template <class T> __device__ void take_triangle(const T *panel, const Layout &layout, u32 k0, u32 n) const {
        const u32 lane = thread % 32, height = layout.height(k0 / NB);
        const T *l = panel + layout.at(k0 + lane, k0);
#pragma unroll 8
        for (u32 k = warp; k < n; k += WARPS) triangle[k * PITCH + lane] = lane >= k && lane < n ? (f64)l[(u64)k * height] : 0;
    }
};

// One over the diagonal entry of the lane's row, 1 behind the last.
__device__ __forceinline__ f64 reciprocal(const f64 *triangle, u32 n) {
    const u32 lane = lane_id();
    return lane < n ? 1 / triangle[lane * PITCH + lane] : 1;
}

template <class T, u32 WARPS> __device__ __forceinline__ void forward(const Walks &w, const T *arena, const SolveFront &f, const Group &x, const Team<WARPS> &team) {
    constexpr u32 OWN = RHS / WARPS; // right-hand sides of a warp in the triangle
    const u32 lane = team.thread % 32, g = team.g, t = team.t, width = x.width, end = f.first_update + f.updates;
    const Layout layout = {f.panel_rows, NB};
    const T *panel = arena + f.panel;
    f64 *v = team.v;
    for (u32 first = 0; first < end * width; first += team.THREADS) {
        const u32 e = first + team.thread, row = e / width, r = e - row * width;
        const bool pivot = row < f.pivots, there = pivot || (row >= f.first_update && row < end);
        const f64 own = pivot ? x.x[(u64)f.column * width + e] : 0;
        const f64 sum = gathered(f, w.index, x, pivot ? row : row - f.first_update + f.pivots, r, there);
        if (e < end * width) v[e] = own + sum;
    }
    for (u32 k0 = 0; k0 < f.pivots; k0 += STEP) {
        const u32 n = smaller(STEP, f.pivots - k0), below = k0 + STEP < f.pivots ? k0 + STEP : f.first_update;
        team.take_triangle(panel, layout, k0, n);
        const T *l = panel + layout.at(2 * g, k0 + t);
        const u32 height = layout.height(k0 / NB);
        Pair<T> a[STEP / 8][2]; // 16 rows of these columns
        auto load = [&](u32 row) {
#pragma unroll
            for (u32 s = 0; s < STEP / 8; s++) {
#pragma unroll
                for (u32 h = 0; h < 2; h++) {
                    const u32 k = 8 * s + 4 * h;
                    a[s][h] = row + 2 * g < end && k + t < n ? load_pair(l + row + (u64)k * height) : Pair<T>{0, 0};
                }
            }
        };
        u32 row = below + 16 * team.warp;
        if (row < end) load(row); // under way while the triangle is solved
        team.sync();
        const f64 one_over = reciprocal(team.triangle, n);
        f64 own[OWN];
#pragma unroll
        for (u32 q = 0; q < OWN; q++) {
            const u32 r = team.warp + WARPS * q;
            own[q] = lane < n && r < width ? v[(k0 + lane) * width + r] : 0;
        }
#pragma unroll 4
        for (u32 k = 0; k + 1 < n; k++) {
            const f64 factor = -(team.triangle[k * PITCH + lane] * __shfl_sync(FULL_MASK, one_over, k));
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
        while (row < end) {
            f64 c[4] = {};
#pragma unroll
            for (u32 s = 0; s < STEP / 8; s++) {
                if (8 * s < n) multiply(c, a[s][0], a[s][1], b[s][0], b[s][1]);
            }
            const u32 mine = row + 2 * g;
            row += 16 * WARPS;
            if (row < end) load(row);
#pragma unroll
            for (u32 h = 0; h < 2; h++) {
                f64 *to = v + (mine + h) * width;
                if (mine + h < end && 2 * t < width) to[2 * t] -= c[2 * h];
                if (mine + h < end && 2 * t + 1 < width) to[2 * t + 1] -= c[2 * h + 1];
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

template <class T, u32 WARPS> __device__ __forceinline__ void backward(const Walks &w, const T *arena, const SolveFront &f, const Group &x, const Team<WARPS> &team) {
    constexpr u32 OWN = RHS / WARPS;
    const u32 lane = team.thread % 32, g = team.g, t = team.t, width = x.width, end = f.first_update + f.updates;
    const Layout layout = {f.panel_rows, NB};
    const T *panel = arena + f.panel;
    const u32 *rows = w.index + f.rows;
    f64 *v = team.v;
    if (f.pivots == 0) return;
#pragma unroll 2
    for (u32 e = team.thread; e < end * width; e += team.THREADS) {
        const u32 row = e / width, r = e - row * width;
        const u64 from = row < f.pivots ? f.column + row : row >= f.first_update ? rows[row - f.first_update] : 0;
        v[e] = row < f.pivots || row >= f.first_update ? x.x[from * width + r] : 0;
    }
    for (u32 b = ceil_div(f.pivots, STEP); b-- > 0;) {
        const u32 k0 = b * STEP, n = smaller(STEP, f.pivots - k0), below = k0 + STEP < f.pivots ? k0 + STEP : f.first_update;
        team.take_triangle(panel, layout, k0, n);
        const T *l = panel + layout.at(2 * t, k0 + g);
        const u32 height = layout.height(k0 / NB);
        team.sync();
        f64 c[STEP / 16][4] = {};
#pragma unroll 2
        for (u32 row = below + 8 * team.warp; row < end; row += 8 * WARPS) {
            const u32 mine = row + 2 * t;
            const bool gap = mine >= f.pivots && mine < f.first_update;
            const bool there[2] = {mine < end && !gap, mine + 1 < end && !(mine + 1 >= f.pivots && mine + 1 < f.first_update)};
            f64 in[2];
#pragma unroll
            for (u32 h = 0; h < 2; h++) in[h] = there[h] && g < width ? v[(mine + h) * width + g] : 0;
#pragma unroll
            for (u32 s = 0; s < STEP / 16; s++) {
                Pair<T> a[2];
#pragma unroll
                for (u32 h = 0; h < 2; h++) {
                    const u32 k = 16 * s + 8 * h;
                    a[h] = mine < end && k + g < n ? load_pair(l + row + (u64)k * height) : Pair<T>{0, 0};
                    if (!there[0]) a[h].x = 0; // not a number, maybe
                    if (!there[1]) a[h].y = 0;
                }
                if (16 * s < n) multiply_transposed(c[s], a[0], a[1], in[0], in[1]);
            }
        }
#pragma unroll
        for (u32 s = 0; s < STEP / 16; s++) {
            f64 *to = team.sums + (team.warp * STEP + 16 * s) * width;
            put_row(to + g * width, t, width, c[s][0], c[s][1]);
            put_row(to + (g + 8) * width, t, width, c[s][2], c[s][3]);
        }
        team.sync();
        const f64 one_over = reciprocal(team.triangle, n);
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
            const f64 factor = lane < k ? -(team.triangle[lane * PITCH + k] * scale) : 0;
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

template <class T, u32 WARPS, bool BACKWARD> __device__ __forceinline__ void walk(const Walks &w, const T *arena, u32 run, u32 group) {
    const Group x = group_of(w.vectors, group);
    const Team<WARPS> team(w, x.width);
    const u32 begin = w.runs[run], end = w.runs[run + 1];
    for (u32 i = 0; i < end - begin; i++) {
        const SolveFront f = w.fronts[BACKWARD ? end - 1 - i : begin + i];
        if (BACKWARD) backward<T, WARPS>(w, arena, f, x, team);
        else forward<T, WARPS>(w, arena, f, x, team);
    }
}

template <class T, bool BACKWARD> __device__ __forceinline__ void walk(const Walks &w, const T *arena) {
    const u32 group = blockIdx.x % w.vectors.groups;
    const uint2 block = w.blocks[blockIdx.x / w.vectors.groups];
    if (block.y == 0) walk<T, BLOCK_WARPS, BACKWARD>(w, arena, block.x, group);
    else if (threadIdx.x / 32 < block.y) walk<T, 1, BACKWARD>(w, arena, block.x + threadIdx.x / 32, group);
}

#define SMALL(T)                                                                                                                            \
    extern "C" __global__ void __launch_bounds__(BLOCK_WARPS * 32) dense_solve_small_forward_##T(const Walks w, const T *arena) { walk<T, false>(w, arena); } \
    extern "C" __global__ void __launch_bounds__(BLOCK_WARPS * 32) dense_solve_small_backward_##T(const Walks w, const T *arena) { walk<T, true>(w, arena); }
SMALL(f64)
SMALL(f32)
