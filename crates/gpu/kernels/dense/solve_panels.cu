// Substitution with the panels of fronts of any size: gather, solve and write in one launch for many fronts.
//
// Shapes: front: a panel, with the inverses V = L^-T of its diagonal tiles above the diagonal, and their diagonals apart; of
//         larger tiles the TILE x TILE blocks on the diagonal are used; x: n entries in elimination order, updates: the
//         fronts' vectors of updates, both interleaved (solve.cuh). Forward: v = [x at the pivots; 0] + the children's
//         updates, y = L11^-1 v1 to x, v2 - L21 y to the front's updates. Backward: x1 <- L11^-T (x1 - L21^T x2), x2 = x at
//         the rows.
// Grid:   one block for each task and group of right-hand sides. Forward: a task is TILE rows of a front. Backward: TILE
//         pivots, all rows below, or a piece of the update rows for TILE pivots. Blocks draw tickets; lists are such that a
//         task stands behind those it waits for.
// Shared: 64 rows, and eight warps' partial sums.
// Mail:   solved tiles are handed on as letters (solve_tasks.cuh).
// Order:  fixed: a warp sums the same eight of every 64 columns (forward) or rows (backward), in the order of the tiles; then
//         the warps are summed. Bits repeat, and do not depend on the number of right-hand sides.
// Ref:    the inverses make the solve of a diagonal tile a product.
#include "dense/copy.cuh"
#include "dense/solve_tasks.cuh"

#define TILE 64u
#define WARPS 8u

// 64 rows x 64 columns of a panel as a warp holds its eighth: columns 8 warp .. (forward) or rows 8 warp .. (backward).
template <class T> struct Slab {
    Pair<T> part[4][2];

    __device__ void multiply_forward(f64 (&c)[4][4], f64 b0, f64 b1) const {
#pragma unroll
        for (u32 m = 0; m < 4; m++) multiply(c[m], part[m][0], part[m][1], b0, b1);
    }
    __device__ void multiply_backward(f64 (&c)[4][4], f64 b0, f64 b1) const {
#pragma unroll
        for (u32 m = 0; m < 4; m++) multiply_transposed(c[m], part[m][0], part[m][1], b0, b1);
    }
};

// Where a thread stands: lane 4 g + t of its warp.
struct Place {
    u32 warp, g, t;
    __device__ Place() : warp(threadIdx.x / 32), g(threadIdx.x % 32 / 4), t(threadIdx.x % 4) {}
};

// Starts the copy of the diagonal of a tile's inverse; what is not there becomes zero.
template <class T> __device__ __forceinline__ void copy_diagonal(T *to, const T *from, u32 count) {
    const u32 k = threadIdx.x * Number<T>::GRAIN;
    if (k < TILE) copy16(shared_address(to + k), from + k, k < count ? 16 : 0);
    commit_copies();
}

// Adds up the warps' parts of entry e = row width + r.
__device__ __forceinline__ f64 sum_warps(const f64 *sums, u32 width, u32 e) {
    f64 part[WARPS];
#pragma unroll
    for (u32 w = 0; w < WARPS; w++) part[w] = sums[w * TILE * width + e];
#pragma unroll
    for (u32 n = WARPS / 2; n > 0; n /= 2) {
#pragma unroll
        for (u32 w = 0; w < n; w++) part[w] += part[w + n];
    }
    return part[0];
}

template <class T> __device__ __forceinline__ void forward(const Tasks &s, const T *arena) {
    f64 *shared = dynamic_shared();
    f64 *v = shared, *sums = v + TILE * RHS;
    const Drawn<T> d = Drawn<T>::draw(s);
    const SolveFront &f = d.f;
    const Place at;
    const u32 width = d.x.width, before = ceil_div(f.pivots, TILE), tile = d.task.tile, steps = smaller(tile, before);
    const bool pivot = tile < before;
    const u32 i0 = pivot ? tile * TILE : (tile - before) * TILE; // among the pivots, or the update rows
    const u32 rows = smaller(TILE, (pivot ? f.pivots : f.updates) - i0);
    const u32 stored = (pivot ? i0 : f.first_update + i0) + 2 * at.g; // this lane's rows in the panel: 16 m further on
    const Layout layout = {f.panel_rows, NB};
    const T *panel = arena + f.panel;

    auto load = [&](u32 p, Slab<T> &slab, uint4 (&seen)[2]) {
        const u32 column = p * TILE + 8 * at.warp + at.t;
        const T *l = panel + layout.at(stored, column);
        const u64 four = 4 * (u64)layout.height(p * TILE / NB);
#pragma unroll
        for (u32 h = 0; h < 2; h++) {
#pragma unroll
            for (u32 m = 0; m < 4; m++) {
                slab.part[m][h] = 2 * at.g + 16 * m < rows && column + 4 * h < f.pivots ? load_pair(l + 16 * m + h * four) : Pair<T>{0, 0};
            }
            if (at.g < width && column + 4 * h < f.pivots) seen[h] = peek(d.letter(column + 4 * h, at.g));
        }
    };
    // Rows 8 warp .. of V, whose columns end at the diagonal.
    auto load_inverse = [&](Slab<T> &slab) {
        const u32 row = 8 * at.warp + 2 * at.t, pitch = layout.height(i0 / NB);
        const T *from = panel + layout.at(i0, i0) + row;
#pragma unroll
        for (u32 m = 0; m < 4; m++) {
#pragma unroll
            for (u32 h = 0; h < 2; h++) {
                const u32 n = 16 * m + 8 * h + at.g;
                slab.part[m][h] = row <= n && n < rows ? load_pair(from + n * pitch) : Pair<T>{0, 0};
            }
        }
    };
    // What stands on and below the diagonal is not of V, whose own diagonal comes apart.
    __shared__ __align__(16) T diagonal[TILE];
    if (pivot) copy_diagonal(diagonal, arena + f.inverse + i0, rows);
    auto cut_inverse = [&](Slab<T> &slab) {
        const T corner = diagonal[8 * at.warp + at.g];
#pragma unroll
        for (u32 k = 0; k < 8; k++) {
            Pair<T> &own = slab.part[k / 2][k % 2];
            if (k != at.warp) continue;
            const bool even = 2 * at.t == at.g, odd = 2 * at.t + 1 == at.g;
            own = {select(even, corner, own.x), select(even, 0, select(odd, corner, own.y))};
        }
    };
    Slab<T> next;
    uint4 seen[2] = {};
    if (steps > 0) load(0, next, seen);
    else if (pivot) load_inverse(next);
    {
        u32 i[2], r[2];
        bool there[2];
        f64 own[2], sum[2];
#pragma unroll
        for (u32 k = 0; k < 2; k++) {
            const u32 e = threadIdx.x + k * WARPS * 32, row = d.x.row(e);
            r[k] = e - row * width, there[k] = row < rows, i[k] = i0 + row + (pivot ? 0 : f.pivots);
            own[k] = pivot && there[k] ? d.x.x[((u64)f.column + i0) * width + e] : 0;
        }
        gather(f, s.index, d.x, i, r, there, sum);
#pragma unroll
        for (u32 k = 0; k < 2; k++) {
            const u32 e = threadIdx.x + k * WARPS * 32;
            if (e < TILE * width) v[e] = own[k] + sum[k];
        }
    }
    f64 c[4][4] = {};
    for (u32 p = 0; p < steps; p++) {
        const Slab<T> slab = next;
        uint4 had[2] = {seen[0], seen[1]};
        if (p + 1 < steps) load(p + 1, next, seen);
        else if (pivot) load_inverse(next);
        const u32 column = p * TILE + 8 * at.warp + at.t;
        const bool wanted[2] = {at.g < width && column < f.pivots, at.g < width && column + 4 < f.pivots};
        const uint4 *letter = d.letter(column, at.g);
        f64 b[2];
        receive(letter, letter + 4 * width, had, d.flag, wanted, p + 1 == tile, b);
        slab.multiply_forward(c, b[0], b[1]);
    }
#pragma unroll
    for (u32 m = 0; m < 4; m++) {
        f64 *to = sums + (at.warp * TILE + 16 * m + 2 * at.g) * width;
        put_row(to, at.t, width, c[m][0], c[m][1]);
        put_row(to + width, at.t, width, c[m][2], c[m][3]);
    }
    __syncthreads();
    for (u32 e = threadIdx.x; e < TILE * width; e += WARPS * 32) {
        const f64 left = v[e] - sum_warps(sums, width, e);
        if (pivot) v[e] = left;
        else if (e < rows * width) d.x.updates[((u64)f.update + i0) * width + e] = left;
    }
    if (pivot) {
        wait_copies<0>();
        __syncthreads();
        // y <- V^T y
        cut_inverse(next);
        const u32 k = 8 * at.warp + 2 * at.t;
        const f64 b0 = at.g < width && k < rows ? v[k * width + at.g] : 0;
        const f64 b1 = at.g < width && k + 1 < rows ? v[(k + 1) * width + at.g] : 0;
#pragma unroll
        for (u32 m = 0; m < 4; m++) {
            f64 y[4] = {};
            if (at.warp / 2 <= m) multiply_transposed(y, next.part[m][0], next.part[m][1], b0, b1);
            f64 *to = sums + (at.warp * TILE + 16 * m + at.g) * width;
            put_row(to, at.t, width, y[0], y[1]);
            put_row(to + 8 * width, at.t, width, y[2], y[3]);
        }
        __syncthreads();
        for (u32 e = threadIdx.x; e < rows * width; e += WARPS * 32) {
            const f64 value = sum_warps(sums, width, e);
            post(d.letter(i0, 0) + e, value, d.flag);
            d.x.x[((u64)f.column + i0) * width + e] = value;
        }
    }
    Drawn<T>::done(s, d.flag);
}

template <class T> __device__ __forceinline__ void backward(const Tasks &s, const T *arena) {
    f64 *shared = dynamic_shared();
    f64 *v = shared, *sums = v + TILE * RHS, *x2 = sums; // the rows of a piece, until there are sums
    const Drawn<T> d = Drawn<T>::draw(s);
    const SolveFront &f = d.f;
    const Place at;
    const u32 width = d.x.width, tiles = ceil_div(f.pivots, TILE), tile = d.task.tile, chunk = d.task.chunk;
    const bool piece = chunk < f.chunks; // of the update rows, rather than all that is left
    const u32 j0 = tile * TILE, columns = smaller(TILE, f.pivots - j0), lane_row = 8 * at.warp + 2 * at.t;
    const Layout layout = {f.panel_rows, NB};
    const T *l = arena + f.panel + layout.at(0, j0 + at.g) + lane_row;
    const u64 eight = 8 * (u64)layout.height(j0 / NB);
    const u32 u0 = piece ? chunk * f.chunk_rows : 0; // update rows taken here
    const u32 u1 = piece || f.chunks == 0 ? smaller(f.updates, u0 + f.chunk_rows) : 0;

    // Rows `stored` .. of the panel, of which `rows` are there; the row behind the last is read as well.
    auto load = [&](u32 stored, u32 rows, Slab<T> &slab) {
#pragma unroll
        for (u32 m = 0; m < 4; m++) {
#pragma unroll
            for (u32 h = 0; h < 2; h++) {
                const bool there = lane_row < rows && 16 * m + 8 * h + at.g < columns;
                slab.part[m][h] = there ? load_pair(l + stored + (2 * m + h) * eight) : Pair<T>{0, 0};
            }
        }
    };
    // What is read behind the last row may be anything.
    auto cut = [&](u32 rows, Slab<T> &slab) {
        if (rows >= TILE || lane_row + 1 < rows) return;
#pragma unroll
        for (u32 m = 0; m < 4; m++) slab.part[m][0].y = slab.part[m][1].y = 0;
    };
    auto load_updates = [&](u32 u, Slab<T> &slab) { load(f.first_update + u, smaller(TILE, u1 - u), slab); };
    // Tile i of the pivots, and what has come of its x.
    auto load_pivots = [&](u32 i, Slab<T> &slab, uint4 (&seen)[2]) {
        load(i * TILE, smaller(TILE, f.pivots - i * TILE), slab);
#pragma unroll
        for (u32 h = 0; h < 2; h++) {
            const u32 row = i * TILE + lane_row + h;
            if (at.g < width && row < f.pivots) seen[h] = peek(d.letter(row, at.g));
        }
    };
    // Columns 8 warp .. of V, which end at the diagonal.
    auto load_inverse = [&](Slab<T> &slab) {
        const u32 pitch = layout.height(j0 / NB);
        const T *from = arena + f.panel + layout.at(j0, j0) + 2 * at.g;
#pragma unroll
        for (u32 h = 0; h < 2; h++) {
            const u32 n = 8 * at.warp + 4 * h + at.t;
#pragma unroll
            for (u32 m = 0; m < 4; m++) {
                slab.part[m][h] = 16 * m + 2 * at.g <= n && n < columns ? load_pair(from + n * pitch + 16 * m) : Pair<T>{0, 0};
            }
        }
    };
    // What stands on and below the diagonal is not of V, whose own diagonal comes apart.
    __shared__ __align__(16) T diagonal[TILE];
    if (!piece) copy_diagonal(diagonal, arena + f.inverse + j0, columns);
    auto cut_inverse = [&](Slab<T> &slab) {
#pragma unroll
        for (u32 h = 0; h < 2; h++) {
            const u32 n = 8 * (at.warp % 2) + 4 * h + at.t; // in its 16 rows
            const T corner = diagonal[8 * at.warp + 4 * h + at.t];
#pragma unroll
            for (u32 m = 0; m < 4; m++) {
                Pair<T> &own = slab.part[m][h];
                if (m != at.warp / 2) continue;
                const bool even = 2 * at.g == n, odd = 2 * at.g + 1 == n;
                own = {select(even, corner, own.x), select(even, 0, select(odd, corner, own.y))};
            }
        }
    };
    Slab<T> next;
    uint4 seen[2] = {};
    // What is taken behind the update rows: the last pivots if they are waited for, else the inverse.
    auto load_behind = [&]() {
        if (piece) return;
        if (tile + 1 < tiles) load_pivots(tiles - 1, next, seen);
        else load_inverse(next);
    };
    if (u0 < u1) load_updates(u0, next);
    else load_behind();

    f64 c[4][4] = {};
    if (u0 < u1) {
        const u32 *rows = s.index + f.rows + u0;
        const u32 all = ceil_div(u1 - u0, TILE) * TILE * width;
#pragma unroll 2
        for (u32 e = threadIdx.x; e < all; e += WARPS * 32) {
            const u32 row = d.x.row(e), r = e - row * width;
            x2[e] = row < u1 - u0 ? d.x.x[(u64)__ldg(rows + row) * width + r] : 0;
        }
        __syncthreads();
        for (u32 u = u0; u < u1; u += TILE) {
            Slab<T> slab = next;
            if (u + TILE < u1) load_updates(u + TILE, next);
            else load_behind();
            const f64 *in = x2 + (u - u0 + lane_row) * width + at.g;
            cut(u1 - u, slab);
            slab.multiply_backward(c, at.g < width ? in[0] : 0, at.g < width ? in[width] : 0);
        }
        __syncthreads(); // x2 makes room for sums
    }
    auto letters = [&](u32 chunk) { return d.letter(f.pivots + (tile * f.chunks + chunk) * TILE, 0); }; // what a chunk gives to this tile
    if (!piece) {
        for (u32 e = threadIdx.x; e < TILE * width; e += WARPS * 32) {
            const bool there = e < columns * width, wanted[2] = {there, there};
            f64 left = there ? d.x.x[((u64)f.column + j0) * width + e] : 0;
            for (u32 first = 0; first < f.chunks; first += 4) {
                uint4 came[2][2];
#pragma unroll
                for (u32 k = 0; k < 4; k++) came[k / 2][k % 2] = peek(letters(smaller(first + k, f.chunks - 1)) + e);
#pragma unroll
                for (u32 k = 0; k < 4; k += 2) {
                    f64 b[2];
                    receive(letters(smaller(first + k, f.chunks - 1)) + e, letters(smaller(first + k + 1, f.chunks - 1)) + e, came[k / 2], d.flag, wanted, tile + 1 == tiles, b);
                    if (first + k < f.chunks) left -= b[0];
                    if (first + k + 1 < f.chunks) left -= b[1];
                }
            }
            v[e] = left;
        }
        for (u32 i = tiles - 1; i > tile; i--) {
            Slab<T> slab = next;
            uint4 had[2] = {seen[0], seen[1]};
            if (i - 1 > tile) load_pivots(i - 1, next, seen);
            else load_inverse(next);
            const u32 row = i * TILE + lane_row;
            const bool wanted[2] = {at.g < width && row < f.pivots, at.g < width && row + 1 < f.pivots};
            const uint4 *letter = d.letter(row, at.g);
            f64 b[2];
            receive(letter, letter + width, had, d.flag, wanted, i == tile + 1, b);
            cut(f.pivots - i * TILE, slab);
            slab.multiply_backward(c, b[0], b[1]);
        }
    }
#pragma unroll
    for (u32 m = 0; m < 4; m++) {
        f64 *to = sums + (at.warp * TILE + 16 * m + at.g) * width;
        put_row(to, at.t, width, c[m][0], c[m][1]);
        put_row(to + 8 * width, at.t, width, c[m][2], c[m][3]);
    }
    __syncthreads();
    if (piece) {
        for (u32 e = threadIdx.x; e < TILE * width; e += WARPS * 32) post(letters(chunk) + e, sum_warps(sums, width, e), d.flag);
    } else {
        for (u32 e = threadIdx.x; e < TILE * width; e += WARPS * 32) v[e] -= sum_warps(sums, width, e);
        wait_copies<0>();
        __syncthreads();
        // x <- V x
        cut_inverse(next);
        const u32 n = 8 * at.warp + at.t;
        const f64 b0 = at.g < width && n < columns ? v[n * width + at.g] : 0;
        const f64 b1 = at.g < width && n + 4 < columns ? v[(n + 4) * width + at.g] : 0;
#pragma unroll
        for (u32 m = 0; m < 4; m++) {
            f64 y[4] = {};
            if (m <= at.warp / 2) multiply(y, next.part[m][0], next.part[m][1], b0, b1);
            f64 *to = sums + (at.warp * TILE + 16 * m + 2 * at.g) * width;
            put_row(to, at.t, width, y[0], y[1]);
            put_row(to + width, at.t, width, y[2], y[3]);
        }
        __syncthreads();
        for (u32 e = threadIdx.x; e < columns * width; e += WARPS * 32) {
            const f64 value = sum_warps(sums, width, e);
            post(d.letter(j0, 0) + e, value, d.flag);
            d.x.x[((u64)f.column + j0) * width + e] = value;
        }
    }
    Drawn<T>::done(s, d.flag);
}

#define PANELS(T)                                                                                                                      \
    extern "C" __global__ void __launch_bounds__(WARPS * 32, 2) dense_solve_panels_forward_##T(const Tasks s, const T *arena) { forward(s, arena); } \
    extern "C" __global__ void __launch_bounds__(WARPS * 32, 2) dense_solve_panels_backward_##T(const Tasks s, const T *arena) { backward(s, arena); }
PANELS(f64)
PANELS(f32)
