// What the tasks of a front do with a tile, whatever its height: where its operands are, what they wait for, how a diagonal
// tile is factored and inverted, and how a tile below one is multiplied by the inverse.
#pragma once
#include "dense/eliminate.cuh"
#include "dense/front.cuh"
#include "dense/part.cuh"
#include "dense/tasks.cuh"
#include "dense/tile.cuh"

struct Task {
    u32 front;
    u16 row, column;
};

// How many column tiles, T wide, of two row tiles are finished.
template <int T> struct Progress {
    const u32 *row, *column;
    static constexpr bool ALWAYS = false;
    __device__ __forceinline__ u32 tiles() const {
        u32 n = read_acquire(row);
        return row == column ? n : smaller(n, read_acquire(column));
    }
    __device__ __forceinline__ u32 look() const { return tiles() * (T / SLAB); }
    __device__ __forceinline__ u32 wait(u32 slab) const {
        u32 n;
        while ((n = look()) <= slab) __nanosleep(20);
        return n;
    }
};

// Up to H rows from row tile `tile` on, of T rows each.
template <class R, int T, int H> __device__ __forceinline__ Operand<R> row_tile(const Front &f, const R *panel, u32 tile) {
    const u32 before = ceil_div(f.pivots, (u32)T);
    const u32 row = tile < before ? tile * T : f.first_update + (tile - before) * T;
    const u32 rows = tile < before ? f.pivots - tile * T : f.updates - (tile - before) * T;
    return {panel + row, {f.panel_rows, NB}, smaller(rows, (u32)H)};
}

// Factors and inverts the tile in s, of which `pivots` columns are real. To c goes L, and above the diagonal, where nothing else
// is, V = L^-T; the diagonal of V goes to `inverse`.
template <class R, int T>
__device__ __forceinline__ void diagonal_tile(R *s, R *corners, u32 pivots, R *c, u32 pitch, R *inverse, Status *status,
                                              u32 first, u32 *counter, u32 tiles) {
    constexpr u32 P = Shape<R, T>::PITCH;
    eliminate_invert<R, T>(s, P, ceil_div(pivots, 8u) * 8, corners, status, first);
    const u32 i = threadIdx.x % (T / 2) * 2; // two rows
#pragma unroll 8
    for (u32 j = threadIdx.x / (T / 2); j < pivots; j += 4) {
        const Pair<R> v = *(const Pair<R> *)(i / 8 == j / 8 ? corners + 8 * j + i % 8 : s + j * P + i);
        R *at = c + (u64)j * pitch + i;
        if (i + 1 < j) *(Pair<R> *)at = v;
        else if (i < j) at[0] = v.x, inverse[j] = v.y;
        else if (i == j) inverse[j] = v.x;
    }
    publish<Shape<R, T>::THREADS>(counter, tiles); // nobody waits for L
#pragma unroll 4
    for (u32 j = threadIdx.x / (T / 2); j < pivots; j += 4) {
        const Pair<R> v = *(const Pair<R> *)(s + j * P + i);
        R *at = c + (u64)j * pitch + i;
        if (i >= j && i + 1 < pivots) *(Pair<R> *)at = v;
        else if (i >= j && i < pivots) at[0] = v.x;
        else if (i + 1 == j && i + 1 < pivots) at[1] = v.y;
    }
}

// V of a diagonal tile: above the diagonal of `order` columns at `at`, and its diagonal.
template <class R> struct Inverse {
    const R *at, *diagonal;
    u32 pitch, order;

    // Starts the copy of columns 16 slab .. to `to`; what is not there becomes zero.
    template <int T> __device__ __forceinline__ void fetch(R *to, u32 slab) const {
        constexpr int GRAIN = Number<R>::GRAIN, CHUNKS = T / GRAIN, COLUMNS = Shape<R, T>::THREADS / CHUNKS;
        const u32 k = threadIdx.x / CHUNKS, row = threadIdx.x % CHUNKS * GRAIN;
#pragma unroll
        for (int s = 0; s < SLAB; s += COLUMNS) {
            const u32 column = slab * SLAB + k + s;
            copy16(shared_address(to + (k + s) * Shape<R, T>::PITCH + row), at + (u64)column * pitch + row, column < order && row < order ? 16 : 0);
        }
    }
    template <int T> __device__ __forceinline__ void fetch_diagonal(R *to) const {
        const u32 k = threadIdx.x * Number<R>::GRAIN;
        if (k < T) copy16(shared_address(to + k), diagonal + k, k < order ? 16 : 0);
    }
};

// X = S V for a tile S of H rows in s, into rows x columns at c: 32 columns at a time, each warp 16 of every T rows. V is upper
// triangular, so columns J .. J + 31 need rows up to J + 31; below its diagonal stands something else, which is not used.
template <class R, int T, int H>
__device__ __forceinline__ void solve_tile(const R *s, R *buffer, const Inverse<R> &inverse, R *c, u32 pitch, u32 rows) {
    constexpr u32 P = Shape<R, T>::PITCH, PS = Shape<R, H>::PITCH;
    constexpr int M = H / T;
    const u32 g = lane_id() / 4, t = lane_id() % 4, i0 = threadIdx.x / 32 * 16 + 2 * g;
    R *diagonal = buffer + 64 * P;
    auto group = [&](u32 n) {
        R *to = buffer + n % 2 * 32 * P;
        inverse.template fetch<T>(to, 2 * n);
        inverse.template fetch<T>(to + 16 * P, 2 * n + 1);
        commit_copies();
    };
    inverse.template fetch_diagonal<T>(diagonal);
    group(0);
#pragma unroll
    for (u32 n = 0; n < T / 32; n++) {
        if (n + 1 < T / 32) group(n + 1), wait_copies<1>();
        else wait_copies<0>();
        meet<Shape<R, T>::THREADS>();
        const R *b = buffer + n % 2 * 32 * P + g * P + t;
#pragma unroll 1
        for (int m = 0; m < M; m++) {
            const R *a = s + t * PS + i0 + m * T;
            R acc[4][4] = {};
            auto row = [&](u32 k, R(&w)[4]) {
                const Pair<R> u = *(const Pair<R> *)(a + k * PS), v = *(const Pair<R> *)(a + (k + 4) * PS);
                w[0] = u.x, w[1] = u.y, w[2] = v.x, w[3] = v.y;
            };
#pragma unroll 2
            for (u32 k = 0; k < 32 * n; k += 8) {
                R w[4];
                row(k, w);
#pragma unroll
                for (int q = 0; q < 4; q++) mma_16x8x8(acc[q], w, b[8 * q * P + k], b[8 * q * P + k + 4]);
            }
#pragma unroll
            for (int d = 0; d < 4; d++) { // rows 8 d .. of the square on the diagonal
                const u32 k = 32 * n + 8 * d;
                R w[4];
                row(k, w);
                const R own = diagonal[k + g], above = b[8 * d * P + k], below = b[8 * d * P + k + 4];
                mma_16x8x8(acc[d], w, select(t < g, above, select(t == g, own, 0)), select(t + 4 < g, below, select(t + 4 == g, own, 0)));
#pragma unroll
                for (int q = d + 1; q < 4; q++) mma_16x8x8(acc[q], w, b[8 * q * P + k], b[8 * q * P + k + 4]);
            }
            const u32 i = i0 + m * T;
#pragma unroll
            for (int q = 0; q < 4; q++) {
#pragma unroll
                for (int h = 0; h < 2; h++) {
                    const u32 j = 32 * n + 8 * q + 2 * t + h;
                    R *at = c + (u64)j * pitch + i;
                    if (j < inverse.order) {
                        if (i + 1 < rows) store_pair(at, acc[q][h], acc[q][2 + h]);
                        else if (i < rows) at[0] = acc[q][h];
                    }
                }
            }
        }
        meet<Shape<R, T>::THREADS>(); // before the buffer is filled again
    }
}

// The next task of the list.
__device__ __forceinline__ Task draw(const Task *tasks, u32 *tickets) {
    __shared__ u32 drawn;
    if (threadIdx.x == 0) drawn = atomicAdd(tickets, 1);
    __syncthreads();
    return tasks[drawn];
}

// A task whose tile is as high as wide.
template <class R, int T> struct Square {
    const Front &f;
    u32 before, i0, j0; // tiles of pivots; this tile's row and column
    bool final, diagonal;
    R *panel;
    Operand<R> a, b;
    u32 *row_progress;
    Progress<T> ready;
    Layout layout;
    u32 column, pitch, inner;
    R *at;
    Target<R> c;

    __device__ __forceinline__ Square(R *arena, const Front &front, const Task &task, u32 *progress)
        : f(front), before(ceil_div(f.pivots, (u32)T)), i0(task.row), j0(task.column), final(j0 >= before), diagonal(i0 == j0),
          panel(arena + f.panel), a(row_tile<R, T, T>(f, panel, i0)), b(row_tile<R, T, T>(f, panel, j0)),
          row_progress(progress + f.progress + i0), ready{row_progress, progress + f.progress + j0},
          layout{final ? f.update_rows : f.panel_rows, NB}, column((final ? j0 - before : j0) * T), pitch(layout.height(column / NB)),
          inner(final ? f.pivots : column),
          at(final ? arena + f.update + layout.at((i0 - before) * T, column) : panel + layout.at(a.base - panel, column)),
          c{at, pitch, a.rows, b.rows, diagonal} {}

    // acc <- -C
    template <class A> __device__ __forceinline__ void begin(A &acc) const {
        if (final && f.fresh) clear(acc);
        else c.template read<T>(acc, -1);
    }

    // What is left of the tile when the columns before it have been taken off: acc, its negative.
    template <class A> __device__ __forceinline__ void finish(A &acc, R *arena, R *shared, u32 *progress, Status *status) const {
        if (final) {
            c.template write<T>(acc, -1);
            return;
        }
        meet<Shape<R, T>::THREADS>(); // the slabs have been read
        for_each_pair(acc, [&](u32 i, u32 j, R &x, R &y) {
            const bool real = j < b.rows;
            const R first = i < a.rows && real && (!diagonal || i >= j) ? -x : 0; // eliminate needs zeros above
            const R second = i + 1 < a.rows && real && (!diagonal || i + 1 >= j) ? -y : 0;
            const bool one = diagonal && !real; // columns beyond the last pivot are those of the identity
            *(Pair<R> *)(shared + j * Shape<R, T>::PITCH + i) = {one && i == j ? (R)1 : first, one && i + 1 == j ? (R)1 : second};
        });
        R *inverse = arena + f.inverse + j0 * T;
        if (diagonal) {
            R *corners = shared + T * Shape<R, T>::PITCH;
            for (u32 e = threadIdx.x; e < T * 8 + 2; e += Shape<R, T>::THREADS) corners[e] = e < T * 8 && e / 8 % 8 == e % 8; // beyond the last pivot
            diagonal_tile<R, T>(shared, corners, b.rows, at, pitch, inverse, status + f.status, column, row_progress, j0 + 1);
        } else {
            await<Shape<R, T>::THREADS>(progress + f.progress + j0, j0 + 1);
            const Inverse<R> v = {panel + layout.at(column, column), inverse, pitch, b.rows};
            solve_tile<R, T, T>(shared, shared + T * Shape<R, T>::PITCH, v, at, pitch, a.rows);
            publish<Shape<R, T>::THREADS>(row_progress, j0 + 1);
        }
    }
};

// acc <- -C for a tile of an update matrix that is gathered: child after child, as an assembly adds them. A warp's part of the tile is
// within one tile of 64 x 64.
template <class R, int T>
__device__ __forceinline__ void gather(Accumulators<R, T> &acc, const R *arena, const Square<R, T> &t, const Gathered &lists) {
    using S = Shape<R, T>;
    const u32 rows = ceil_div(t.f.updates, SIDE);
    const u32 row = (t.i0 - t.before) * (T / SIDE) + warp_row<T>() / SIDE, column = (t.j0 - t.before) * (T / SIDE) + warp_column<T>() / SIDE;
    constexpr u32 NONE = 0xffffffffu;
    clear(acc);
    if (row >= rows || column > row) return;
    const u32 tile = t.f.gathered + triangle(rows, row, column);
    const u32 i0 = warp_row<T>() % SIDE + 2 * (lane_id() / 4), j0 = warp_column<T>() % SIDE + 2 * (lane_id() % 4);
    const bool diagonal = row == column;
    for (const Part *part = lists.parts + lists.first[tile], *end = lists.parts + lists.first[tile + 1]; part != end; part++) {
        const Part p = *part;
        const Layout layout = {p.height(), NB};
        const R *update = arena + p.update;
        u32 at[S::ROWS][2]; // the child's rows
#pragma unroll
        for (int m = 0; m < S::ROWS; m++) {
#pragma unroll
            for (u32 h = 0; h < 2; h++) {
                const u32 i = i0 + 16 * m + h;
                at[m][h] = has(p.rows, i) ? before(p.rows, i) : NONE;
            }
        }
#pragma unroll
        for (int n = 0; n < S::COLUMNS; n++) {
#pragma unroll
            for (u32 k = 0; k < 2; k++) {
                const u32 j = j0 + 8 * n + k;
                const R *from = update + layout.at(p.first_row(), p.first_column() + before(p.columns, j));
                R v[S::ROWS][2];
#pragma unroll
                for (int m = 0; m < S::ROWS; m++) {
#pragma unroll
                    for (u32 h = 0; h < 2; h++) {
                        v[m][h] = 0;
                        if (has(p.columns, j) && at[m][h] != NONE && (!diagonal || i0 + 16 * m + h >= j)) v[m][h] = from[at[m][h]];
                    }
                }
#pragma unroll
                for (int m = 0; m < S::ROWS; m++) acc.c[m][n][k] -= v[m][0], acc.c[m][n][2 + k] -= v[m][1];
            }
        }
    }
}

// What a task begins with, if its tile is gathered. Nothing but acc is kept across: what the compiler kept besides took registers from the
// products behind it (n = 4096 with tiles of 64: 1.36 instead of 1.25 ms).
template <class R, int T>
__device__ __forceinline__ bool gather(Accumulators<R, T> &acc, R *arena, const Front *fronts, Task &task, u32 *progress, const Gathered &lists) {
    const Front f = fronts[task.front];
    const Square<R, T> t(arena, f, task, progress);
    const bool gathers = t.final && f.gathered != NOT_GATHERED;
    if (gathers) gather(acc, arena, t, lists);
    u32 tile = task.row | (u32)task.column << 16;
    asm volatile("" : "+r"(task.front), "+r"(tile)::"memory");
    task.row = tile, task.column = tile >> 16;
    return gathers;
}

// `begun`: acc is what the tile begins with, negative; else it is read.
template <class R, int T>
__device__ __forceinline__ void square_task(Accumulators<R, T> &acc, bool begun, R *arena, R *shared, const Front &f, const Task &task, u32 *progress,
                                            Status *status) {
    const Square<R, T> t(arena, f, task, progress);
    if (!begun) t.begin(acc);
    accumulate<R, T, T>(acc, t.a, t.b, t.diagonal, t.inner, shared, t.ready, [] {});
    t.finish(acc, arena, shared, progress, status);
}
