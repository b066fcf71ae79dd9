// Partial Cholesky of a small front by one warp.
//
// Shapes: front: pivots and updates, each rounded up to 8, at most 16 M rows; at most 16 U updates.
// Shared: the panel alone, column j at j PITCH; update rows from `top`, the pivots rounded up to 8, on.
// Method: everything is asked for at the beginning: the panel by copies into shared memory, the update matrix straight into
//         the accumulators that it is computed in. Then left-looking, eight columns at a time: tensor cores take the product of
//         all earlier columns off the next eight, and a lane, which has one row or two neighboring ones in registers, eliminates
//         them column by column. A column is shown to all before it is scaled, so that its pivot's root is taken by all lanes at once and
//         a bad pivot is still there to be told. Last come products again, for the update matrix.
// Bytes:  no row above the diagonal is read or written but for the neighbor of an entry: device memory is the limit.
// Order:  fixed: bits repeat.
#pragma once
#include "dense/copy.cuh"
#include "dense/eliminate.cuh"
#include "dense/front.cuh"

template <class R, int M, int U> struct WarpFront {
    static constexpr u32 GRAIN = Number<R>::GRAIN;
    // Between columns: a lane reads pairs of rows 2 g of columns 2 t, and single rows g, without bank conflicts.
    static constexpr u32 PITCH = 16 * M + GRAIN;
    static constexpr int ROWS = M > 2 ? 2 : 1; // of a lane
    static constexpr int AT_ONCE = 2;          // columns that are shown together
    // Whether what is read is to stay in the second-level cache until it is written: where it was measured to be faster, large fronts.
    static constexpr bool KEPT = sizeof(R) == 8 ? M > 2 : M > 3 && U < 4;

    const Front &f;
    R *s, *panel, *update;
    u32 lane, top, order;

    __device__ __forceinline__ WarpFront(const Front &f, R *s, R *arena) : f(f), s(s), panel(arena + f.panel), update(arena + f.update) {
        lane = threadIdx.x % 32;
        top = ceil_div(f.pivots, 8u) * 8;
        order = top + ceil_div(f.updates, 8u) * 8;
    }

    // Where a row of shared memory stands in a column of the panel.
    __device__ __forceinline__ u32 place(u32 row) const { return row < top ? row : f.first_update + row - top; }
    // Rows of this row's part that are there end here.
    __device__ __forceinline__ u32 end(u32 row) const { return row < top ? f.pivots : top + f.updates; }

    // Begins to copy the panel. A lane keeps its rows, 16 bytes of a column, and goes from column to column.
    __device__ __forceinline__ void load() const {
        constexpr u32 PIECES = 16 * M / GRAIN, WIDE = PIECES > 16 ? 32 : PIECES > 8 ? 16 : PIECES > 4 ? 8 : 4, COLUMNS = 32 / WIDE;
        const u32 row = lane % WIDE * GRAIN, column = lane / WIDE;
        const i32 columns = row < end(row) ? smaller(f.pivots, row + GRAIN) - column : 0; // of this lane's rows, from its first on
        const R *from = panel + place(row) + column * f.panel_rows;
        const u64 policy = until_written(); // made here: where it is used, compilers would make it anew behind every condition
        // At least the lane's number in any case. Without it CUDA 13.0's compiler adds the beginning of shared memory within the copy, and out of
        // that and a policy comes what the card calls an illegal instruction.
        const u32 to = larger(lane, shared_address(s + column * PITCH + row)), stride = COLUMNS * f.panel_rows;
#pragma unroll
        for (u32 c = 0; c < 2 * M; c++) {
            if (8 * c >= f.pivots) break;
#pragma unroll
            for (u32 j = 8 * c; j < 8 * c + 8; j += COLUMNS, from += stride) {
                if ((i32)j >= columns) continue;
                if constexpr (KEPT) copy16_by(policy, to + j * PITCH * sizeof(R), from);
                else copy16_alone(to + j * PITCH * sizeof(R), from);
            }
        }
        commit_copies();
    }

    // Waits for the panel; pivots that are not there become zero.
    __device__ __forceinline__ void wait() const {
        wait_copies<0>();
        __syncwarp();
        if (f.pivots < top) {
            for (u32 j = 0; j < f.pivots; j++) {
                if (f.pivots + lane < top) s[j * PITCH + f.pivots + lane] = 0;
            }
            for (u32 j = f.pivots; j < top; j++) {
                for (u32 i = lane; i < order; i += 32) s[j * PITCH + i] = 0;
            }
            __syncwarp();
        }
    }

    // Takes the columns before block column p off N tiles of it, which reach down to the end. A lane's rows are 2 g, 2 g + 1 of the 16 of a
    // tile, its columns 2 t, 2 t + 1.
    template <int N> __device__ __forceinline__ void subtract(u32 p) const {
        const u32 g = lane / 4, t = lane % 4;
        R *rows = s + 2 * t * PITCH + 2 * g + p / 2 * 16, *own = rows + 8 * p * PITCH;
        const R *right = s + 2 * t * PITCH + 8 * p + g;
        R c[N][4];
#pragma unroll
        for (int m = 0; m < N; m++) {
            const Pair<R> u = *(const Pair<R> *)(own + 16 * m), v = *(const Pair<R> *)(own + PITCH + 16 * m);
            c[m][0] = u.x, c[m][1] = v.x, c[m][2] = u.y, c[m][3] = v.y;
        }
#pragma unroll 1
        for (u32 q = 0; q < p; q++, rows += 8 * PITCH, right += 8 * PITCH) {
            const R b0 = -right[0], b1 = -right[PITCH];
#pragma unroll
            for (int m = 0; m < N; m++) {
                const Pair<R> u = *(const Pair<R> *)(rows + 16 * m), v = *(const Pair<R> *)(rows + PITCH + 16 * m);
                const R a[4] = {u.x, u.y, v.x, v.y};
                mma_16x8x8(c[m], a, b0, b1);
            }
        }
#pragma unroll
        for (int m = 0; m < N; m++) {
            *(Pair<R> *)(own + 16 * m) = {c[m][0], c[m][2]};
            *(Pair<R> *)(own + PITCH + 16 * m) = {c[m][1], c[m][3]};
        }
        __syncwarp();
    }

    // Says which of `count` pivots is the first bad one, if any.
    __device__ __forceinline__ static bool report(const R (&pivots)[8], u32 first, u32 count, Status *status) {
        bool bad = false;
#pragma unroll
        for (int k = 0; k < 8; k++) {
            if (bad || k >= count || is_finite(reciprocal_root(pivots[k]))) continue;
            bad = true;
            if (threadIdx.x % 32 == 0) {
                status->value = pivots[k];
                status->pivot = first + k;
            }
        }
        return bad;
    }

    // Block column p after its predecessors have been taken off: the factor, to `s` and to the arena. Returns whether a pivot was bad.
    __device__ __forceinline__ bool solve(u32 p, bool bad, Status *status) const {
        const bool active = ROWS * 32 == 16 * M || ROWS * lane < 16 * M;
        R *block = s + 8 * p * (PITCH + 1), *own = s + 8 * p * PITCH + ROWS * lane;
        if (8 * p + 8 > f.pivots) { // columns that are not there become those of the identity
            if (lane < 8 && 8 * p + lane >= f.pivots) block[lane * (PITCH + 1)] = 1;
            __syncwarp();
        }
        R x[8][ROWS] = {}, pivots[8], last;
        if (active) {
#pragma unroll
            for (int k = 0; k < 8; k++) load_rows(x[k], own + k * PITCH);
        }
#pragma unroll
        for (int first = 0; first < 8; first += AT_ONCE) {
            if (first > 0) {
                if (active) {
#pragma unroll
                    for (int k = first; k < first + AT_ONCE; k++) store_rows(own + k * PITCH, x[k]);
                }
                __syncwarp();
            }
            R a[AT_ONCE][8];
#pragma unroll
            for (int w = 0; w < AT_ONCE; w++) {
#pragma unroll
                for (int j = (first + w) / 2 * 2; j < 8; j += 2) {
                    const Pair<R> v = *(const Pair<R> *)(block + (first + w) * PITCH + j);
                    a[w][j] = v.x, a[w][j + 1] = v.y;
                }
            }
#pragma unroll
            for (int w = 0; w < AT_ONCE; w++) {
                const int k = first + w;
                pivots[k] = a[w][k];
                last = reciprocal_root(a[w][k]);
#pragma unroll
                for (int v = w + 1; v < AT_ONCE; v++) { // what the owners of these rows compute of them, by the same operations
                    const R factor = -(a[w][first + v] * last * last);
#pragma unroll
                    for (int j = first + v; j < 8; j++) a[v][j] = fma(factor, a[w][j], a[v][j]);
                }
#pragma unroll
                for (int r = 0; r < ROWS; r++) {
                    x[k][r] *= last;
                    const R factor = -(x[k][r] * last);
#pragma unroll
                    for (int j = k + 1; j < 8; j++) x[j][r] = fma(factor, a[w][j], x[j][r]);
                }
            }
        }
        if (!bad && !is_finite(last)) bad = report(pivots, 8 * p, smaller(8u, f.pivots - 8 * p), status);
        __syncwarp(); // all have seen the last columns
        if (active) {
#pragma unroll
            for (int k = 0; k < 8; k++) store_rows(own + k * PITCH, x[k]);
            write(p, x);
        }
        __syncwarp();
        return bad;
    }

    static __device__ __forceinline__ void load_rows(R (&x)[1], const R *from) { x[0] = *from; }
    static __device__ __forceinline__ void load_rows(R (&x)[2], const R *from) {
        const Pair<R> v = *(const Pair<R> *)from;
        x[0] = v.x, x[1] = v.y;
    }
    static __device__ __forceinline__ void store_rows(R *to, const R (&x)[1]) { *to = x[0]; }
    static __device__ __forceinline__ void store_rows(R *to, const R (&x)[2]) { *(Pair<R> *)to = {x[0], x[1]}; }

    // How many columns from block column p on a row of the panel has; not positive above the diagonal.
    __device__ __forceinline__ i32 columns(u32 row, u32 p) const { return row >= end(row) ? 0 : smaller(f.pivots, row + 1) - 8 * p; }

    // A lane's rows of block column p to the arena.
    __device__ __forceinline__ void write(u32 p, const R (&x)[8][1]) const {
        R *to = panel + 8 * p * f.panel_rows + place(lane);
        const i32 end = columns(lane, p);
#pragma unroll
        for (int k = 0; k < 8; k++, to += f.panel_rows) {
            if (k < end) *to = x[k][0];
        }
    }
    __device__ __forceinline__ void write(u32 p, const R (&x)[8][2]) const {
        R *to = panel + 8 * p * f.panel_rows + place(2 * lane);
        const i32 first = columns(2 * lane, p), second = columns(2 * lane + 1, p), both = smaller(first, second);
#pragma unroll
        for (int k = 0; k < 8; k++) {
            R *at = to + k * f.panel_rows;
            if (k < both) store_pair(at, x[k][0], x[k][1]);
            if (k % 2 == 1 && k == first && k < second) at[1] = x[k][1]; // on the diagonal
        }
        if (f.pivots % 2 != 0 || f.updates % 2 != 0) {
#pragma unroll
            for (int k = 0; k < 8; k++) {
                if (second <= 0 && k < first) to[k * f.panel_rows] = x[k][0];
            }
        }
    }

    __device__ __forceinline__ void eliminate(Status *status) const {
        bool bad = false;
#pragma unroll 1
        for (u32 p = 0; 8 * p < top; p++) {
            if (p > 0) {
                const u32 n = ceil_div(order, 16u) - p / 2;
                if (M >= 4 && n >= 4) subtract<M < 4 ? M : 4>(p);
                else if (M >= 3 && n == 3) subtract<M < 3 ? M : 3>(p);
                else if (M >= 2 && n == 2) subtract<M < 2 ? M : 2>(p);
                else subtract<1>(p);
            }
            bad = solve(p, bad, status);
        }
        if (!bad && lane == 0) status->pivot = ~0ull;
    }
};

// Columns 16 H .. 16 H + 15 of an update matrix in tiles of 16 columns and 8 rows, from row 16 H on to 16 U. A lane's columns are 2 g, 2 g + 1
// of the 16, its rows 2 t, 2 t + 1 of the 8: transposed, so that the neighbors of an accumulator are those of memory.
template <class R, int U, int H> struct UpdateStrip {
    static constexpr int TILES = 2 * (U - H);
    R c[TILES][4];

    template <class Front> __device__ __forceinline__ void load(const Front &o) {
        const i32 g = o.lane / 4, t = o.lane % 4, n = o.f.updates - 16 * H; // rows and columns of this strip
#pragma unroll
        for (int m = 0; m < TILES; m++) c[m][0] = c[m][1] = c[m][2] = c[m][3] = 0;
        if (n <= 0 || o.f.fresh) return;
        const u64 policy = until_written();
        const R *even = o.update + (16 * H + 2 * g) * o.f.update_rows + 16 * H + 2 * t, *odd = even + o.f.update_rows;
#pragma unroll
        for (int m = 0; m < TILES; m++) {
            const i32 i = 8 * m + 2 * t;
            if (i < n && (m > 1 || i >= 2 * g)) {
                load_pair<Front::KEPT>(policy, c[m][0], c[m][1], even + 8 * m);
                if (m > 1 || 2 * g + 1 < n) load_pair<Front::KEPT>(policy, c[m][2], c[m][3], odd + 8 * m);
            }
        }
    }

    template <bool KEPT> static __device__ __forceinline__ void load_pair(u64 policy, R &x, R &y, const R *from) {
        if constexpr (KEPT) return load_pair_by(policy, x, y, from);
        const Pair<R> v = *(const Pair<R> *)from;
        x = v.x, y = v.y;
    }

    template <class Front> __device__ __forceinline__ void store(const Front &o) const {
        const i32 g = o.lane / 4, t = o.lane % 4, n = o.f.updates - 16 * H;
        if (n <= 0) return;
        R *even = o.update + (16 * H + 2 * g) * o.f.update_rows + 16 * H + 2 * t, *odd = even + o.f.update_rows;
#pragma unroll
        for (int m = 0; m < TILES; m++) {
            const i32 i = 8 * m + 2 * t;
            if (i + 1 < n && (m > 1 || i >= 2 * g)) {
                store_pair(even + 8 * m, c[m][0], c[m][1]);
                if (m > 1 || i > 2 * g) store_pair(odd + 8 * m, c[m][2], c[m][3]);
                else odd[8 * m + 1] = c[m][3];
            }
        }
        if (n % 2 != 0) { // the last row has no neighbor
#pragma unroll
            for (int m = 0; m < TILES; m++) {
                const i32 i = 8 * m + 2 * t;
                if (i + 1 == n && (m > 1 || i >= 2 * g)) {
                    even[8 * m] = c[m][0];
                    if (m > 1 || i > 2 * g) odd[8 * m] = c[m][2];
                }
            }
        }
    }

    // Minus the product of the panel's rows.
    template <class Front> __device__ __forceinline__ void subtract(const Front &o) {
        constexpr u32 PITCH = Front::PITCH;
        const u32 g = o.lane / 4, t = o.lane % 4;
        if (16 * H >= o.f.updates) return;
        const R *right = o.s + 2 * t * PITCH + o.top + 16 * H + g, *columns = right + g;
#pragma unroll 1
        for (u32 q = 0; q < o.top; q += 8, columns += 8 * PITCH, right += 8 * PITCH) {
            const Pair<R> u = *(const Pair<R> *)columns, v = *(const Pair<R> *)(columns + PITCH);
            const R a[4] = {u.x, u.y, v.x, v.y};
#pragma unroll
            for (int m = 0; m < TILES; m++) mma_16x8x8(c[m], a, -right[8 * m], -right[8 * m + PITCH]);
        }
    }
};

// Strips from H on, of which the first two are there or on their way.
template <int H, class R, int U, class Front>
__device__ __forceinline__ void update_strips(const Front &o, UpdateStrip<R, U, H> &now, UpdateStrip<R, U, H + 1> &next) {
    now.subtract(o);
    now.store(o);
    if constexpr (H + 2 < U) {
        UpdateStrip<R, U, H + 2> later;
        later.load(o);
        update_strips<H + 1>(o, next, later);
    } else {
        next.subtract(o);
        next.store(o);
    }
}

template <class R, int M, int U> __device__ __forceinline__ void warp_front(R *arena, const Front *fronts, Status *status, u32 count) {
    extern __shared__ f64 dynamic[];
    const u32 ahead = 32 * blockIdx.x + threadIdx.x; // the first blocks ask for the list, which the others then need not wait for
    if (ahead < count) prefetch(fronts + count - 1 - ahead);
    const Front f = fronts[count - 1 - blockIdx.x]; // what was written last is still in the second-level cache
    const WarpFront<R, M, U> own(f, (R *)dynamic, arena);
    own.load();
    UpdateStrip<R, U, 0> first;
    first.load(own);
    if constexpr (U > 1) {
        UpdateStrip<R, U, 1> second;
        if (U == 2) second.load(own);
        own.wait();
        own.eliminate(status + f.status);
        if (U > 2) second.load(own); // registers are too few for both before
        update_strips<0>(own, first, second);
    } else {
        own.wait();
        own.eliminate(status + f.status);
        first.subtract(own);
        first.store(own);
    }
}
