// One tile of a product A B^T, accumulated in the registers of a block: the inner loop of all kernels, in f64 and f32.
//
// Shapes: tile T x N (128 x 128, 64 x 64, 128 x 64); A and B: rows x inner, column-major or packed block columns.
// Shared: STAGES slabs of 16 columns of both operands, columns 32 bytes further apart than T numbers. These make
//         the reads of fragments free of bank conflicts: the 8 (or 16) lanes that are served together fall
//         into different banks.
// Warps:  N / 16, each with a part WM x WN of the tile. A lane's rows are pairs (2 g, 2 g + 1) in 16, so that
//         they are read and written as pairs; its columns are 2 t, 2 t + 1 in 8.
// Defined before: DEPTH64, columns of a step with tiles of 64 in f64: 8 is faster, 4 takes 30 registers less. STAGES64, slabs with them.
// Order:  one accumulator per entry, columns in ascending order: bits depend on the operands alone.
#pragma once
#include "dense/copy.cuh"
#include "dense/layout.cuh"
#include "dense/mma.cuh"

#ifndef DEPTH64
#define DEPTH64 4
#endif
#ifndef STAGES64
#define STAGES64 4
#endif
#define SLAB 16u

// Rows of an operand that a tile needs: `base` is entry (first row, 0) of the whole operand.
template <class R> struct Operand {
    const R *base;
    Layout layout;
    u32 rows; // rows of this tile that are there, at least 1; the others are read as something
};

template <class R, int T, int N = T> struct Shape {
    static constexpr int WARPS = N / 16;
    static constexpr int THREADS = WARPS * 32;
    static constexpr int WM = T / 2;  // rows of a warp's part
    static constexpr int WN = 32;
    static constexpr int ROWS = WM / 16; // fragments of 16 rows
    static constexpr int COLUMNS = WN / 8;
    static constexpr int DEPTH = sizeof(R) == 4 ? 8 : T == 128 ? 4 : DEPTH64; // columns of a step: as many as registers allow
    static constexpr int PITCH = T + Number<R>::PAD, PITCH_B = N + Number<R>::PAD;
    static constexpr int STAGES = sizeof(R) == 8 && T == 64 ? STAGES64 : 4;
    static constexpr int SLAB_A = SLAB * PITCH, STAGE_NUMBERS = SLAB * (PITCH + PITCH_B); // of A's slab; of both
};

template <class R, int T> struct Accumulators {
    static constexpr int TILE = T;
    R c[Shape<R, T>::ROWS][Shape<R, T>::COLUMNS][4];
};

// First row and column of this thread's warp in the tile.
template <int T> __device__ __forceinline__ u32 warp_row() { return (threadIdx.x / 32 % 2) * Shape<f64, T>::WM; }
template <int T> __device__ __forceinline__ u32 warp_column() { return (threadIdx.x / 64) * Shape<f64, T>::WN; }

// Calls f(i, j, x, y) for each of this thread's entries, two rows at a time: x at row i, y at row i + 1
// of column j of the tile.
template <class R, int T, class F> __device__ __forceinline__ void for_each_pair(Accumulators<R, T> &acc, F f) {
    const u32 g = lane_id() / 4, t = lane_id() % 4;
#pragma unroll
    for (int m = 0; m < Shape<R, T>::ROWS; m++) {
#pragma unroll
        for (int n = 0; n < Shape<R, T>::COLUMNS; n++) {
            const u32 i = warp_row<T>() + 16 * m + 2 * g, j = warp_column<T>() + 8 * n + 2 * t;
            f(i, j, acc.c[m][n][0], acc.c[m][n][2]);
            f(i, j + 1, acc.c[m][n][1], acc.c[m][n][3]);
        }
    }
}

// A tile of C in device memory: `rows` x `columns` of it are there; of one on the diagonal only the entries
// on and below it are touched: (i, j) with i >= j + `right`.
template <class R> struct Target {
    R *at;
    u32 pitch, rows, columns;
    bool diagonal;
    u32 right = 0;

    // All of the tile is there, if it is no wider than high.
    template <int T> __device__ __forceinline__ bool whole() const { return rows >= T && columns >= T && !diagonal; }
    __device__ __forceinline__ bool has(u32 i, u32 j) const { return i < rows && j < columns && (!diagonal || i >= j + right); }

    // acc <- scale * C
    template <int T, class A> __device__ __forceinline__ void read(A &acc, R scale) const {
        if (whole<T>()) {
            for_each_pair(acc, [&](u32 i, u32 j, R &x, R &y) {
                const Pair<R> v = *(const Pair<R> *)(at + (u64)j * pitch + i);
                x = v.x * scale, y = v.y * scale;
            });
        } else {
            for_each_pair(acc, [&](u32 i, u32 j, R &x, R &y) {
                const R *p = at + (u64)j * pitch + i;
                x = has(i, j) ? p[0] * scale : 0;
                y = has(i + 1, j) ? p[1] * scale : 0;
            });
        }
    }

    // C <- sign * acc
    template <int T, class A> __device__ __forceinline__ void write(A &acc, R sign) const {
        if (whole<T>()) {
            for_each_pair(acc, [&](u32 i, u32 j, R &x, R &y) { store_pair(at + (u64)j * pitch + i, x * sign, y * sign); });
        } else {
            for_each_pair(acc, [&](u32 i, u32 j, R &x, R &y) {
                R *p = at + (u64)j * pitch + i;
                if (has(i, j)) p[0] = x * sign;
                if (has(i + 1, j)) p[1] = y * sign;
            });
        }
    }
};

// acc <- 0
template <class A> __device__ __forceinline__ void clear(A &acc) {
    for_each_pair(acc, [](u32, u32, auto &x, auto &y) { x = y = 0; });
}

// Starts the copy of columns 16 slab .. of a plain operand of T rows, all within it.
template <class R, int T> __device__ __forceinline__ void fetch(R *to, const R *from, u32 pitch, u32 slab) {
    constexpr int GRAIN = Number<R>::GRAIN, CHUNKS = T / GRAIN, COLUMNS = Shape<R, T>::THREADS / CHUNKS; // chunks of 16 bytes in a column
    const u32 k = threadIdx.x / CHUNKS, row = threadIdx.x % CHUNKS * GRAIN;
#pragma unroll
    for (int s = 0; s < SLAB; s += COLUMNS) copy16(shared_address(to + (k + s) * Shape<R, T>::PITCH + row), from + (u64)(slab * SLAB + k + s) * pitch + row);
}

// One operand's slabs, copied in ascending order. A slab costs 4 (f32: 2) copies and the addition of a stride to an
// address for each: more would show, since a warp that computes addresses leaves the tensor cores idle.
template <class R, int T, int THREADS> struct Reader {
    static constexpr int GRAIN = Number<R>::GRAIN, CHUNKS = T / GRAIN, COLUMNS = THREADS / CHUNKS, PITCH = T + Number<R>::PAD;
    const char *from; // this thread's 16 bytes in its first column of the next slab
    u32 stride;       // bytes between its columns
    u32 shrink;

    // Rows that are not there repeat the last: nobody looks at them.
    __device__ __forceinline__ Reader(const Operand<R> &a) : shrink(a.layout.shrink) {
        const u32 k = threadIdx.x / CHUNKS, row = smaller(threadIdx.x % CHUNKS * GRAIN, (a.rows - 1) / GRAIN * GRAIN);
        from = (const char *)(a.base + (u64)k * a.layout.rows + row);
        stride = COLUMNS * a.layout.rows * sizeof(R);
    }

    // This thread's place in the first column of a slab.
    static __device__ __forceinline__ u32 place() { return threadIdx.x / CHUNKS * PITCH + threadIdx.x % CHUNKS * GRAIN; }

    // Copies slab number `slab`, columns below `inner`, to `to`, the place above.
    __device__ __forceinline__ void copy(u32 to, u32 slab, u32 inner) {
        const u32 k = threadIdx.x / CHUNKS, left = inner - slab * SLAB; // columns
        if (slab % (NB / SLAB) == 0 && slab > 0) { // the next block column: lower, and so are its columns before this one
            from -= shrink * (k + 1) * sizeof(R);
            stride -= COLUMNS * shrink * sizeof(R);
        }
        if (left >= SLAB) {
#pragma unroll
            for (int s = 0; s < SLAB / COLUMNS; s++, from += stride) copy16(to + s * COLUMNS * PITCH * sizeof(R), from);
        } else {
#pragma unroll
            for (int s = 0; s < SLAB / COLUMNS; s++, from += stride) copy16(to + s * COLUMNS * PITCH * sizeof(R), from, k + s * COLUMNS < left ? 16 : 0);
        }
    }
};

// What a warp needs of both operands for DEPTH columns.
template <class R, int T> struct Fragments {
    using S = Shape<R, T>;
    static constexpr int DEPTH = S::DEPTH, SHARE = S::COLUMNS / S::ROWS; // columns of B that come with a row of A
    R a[S::ROWS][DEPTH / 2], b[S::COLUMNS][DEPTH / 4];

    // p, q: this thread's places in the first of the columns.
    template <int PITCH_B> __device__ __forceinline__ void load(int m, const R *p, const R *q) {
#pragma unroll
        for (int h = 0; h < DEPTH / 4; h++) {
            const Pair<R> v = *(const Pair<R> *)(p + 4 * h * S::PITCH + 16 * m);
            a[m][2 * h] = v.x, a[m][2 * h + 1] = v.y;
#pragma unroll
            for (int n = m * SHARE; n < (m + 1) * SHARE; n++) b[n][h] = q[4 * h * PITCH_B + 8 * n];
        }
    }
    __device__ __forceinline__ void begin() {}
    __device__ __forceinline__ void multiply(int m, Accumulators<R, T> &acc) const {
#pragma unroll
        for (int n = 0; n < S::COLUMNS; n++) {
            if constexpr (DEPTH == 8) mma_16x8x8(acc.c[m][n], a[m], b[n][0], b[n][1]);
            else mma_16x8x4(acc.c[m][n], a[m][0], a[m][1], b[n][0]);
        }
    }
};

// In f32 those of B are split when the step begins, those of A when their turn comes.
template <int T> struct Fragments<f32, T> {
    using S = Shape<f32, T>;
    static constexpr int SHARE = S::COLUMNS / S::ROWS;
    f32 a[S::ROWS][4], b[S::COLUMNS][2];
    Split split_b[S::COLUMNS][2];

    template <int PITCH_B> __device__ __forceinline__ void load(int m, const f32 *p, const f32 *q) {
#pragma unroll
        for (int h = 0; h < 2; h++) {
            const float2 v = *(const float2 *)(p + 4 * h * S::PITCH + 16 * m);
            a[m][2 * h] = v.x, a[m][2 * h + 1] = v.y;
#pragma unroll
            for (int n = m * SHARE; n < (m + 1) * SHARE; n++) b[n][h] = q[4 * h * PITCH_B + 8 * n];
        }
    }
    __device__ __forceinline__ void begin() {
#pragma unroll
        for (int n = 0; n < S::COLUMNS; n++) split_b[n][0] = split(b[n][0]), split_b[n][1] = split(b[n][1]);
    }
    __device__ __forceinline__ void multiply(int m, Accumulators<f32, T> &acc) const {
        const Split row[4] = {split(a[m][0]), split(a[m][1]), split(a[m][2]), split(a[m][3])};
        mma_16x8x8(acc.c[m], row, split_b);
    }
};

// Panels that never have to be waited for.
struct AllReady {
    __device__ __forceinline__ u32 wait(u32) const { return 0xffffffffu; }
    __device__ __forceinline__ u32 look() const { return 0xffffffffu; }
    __device__ __forceinline__ u32 tiles() const { return 0xffffffffu; }
    static constexpr bool ALWAYS = true;
};

// acc += A B^T over columns 0 .. inner. `same`: B is A, of as many rows, and is copied once. `idle`: this warp's part is
// not wanted. `ready` says how many slabs may be read: wait(s) returns once slab s may be, look() returns
// at once; both are called by thread 0. `meanwhile` runs once the first copies are on their way.
//
// Copies run STAGES - 1 slabs ahead of the products, fragments one step of DEPTH columns ahead, also across
// slabs: the tensor cores have work while a warp copies, waits for the others, and loads.
// On return other warps may still read the shared memory.
template <class R, int T, int N, class Ready, class Meanwhile>
__device__ __forceinline__ void accumulate(Accumulators<R, T> &acc, const Operand<R> &a, const Operand<R> &b, bool same, u32 inner,
                                           R *shared, const Ready &ready, Meanwhile meanwhile) {
    using S = Shape<R, T, N>;
    __shared__ u32 told[3];
    const u32 slabs = ceil_div(inner, SLAB);
    u32 issued = 0, limit = Ready::ALWAYS ? slabs : 0;
    Reader<R, T, S::THREADS> left(a);
    Reader<R, N, S::THREADS> right(b);
    const u32 place_a = shared_address(shared + left.place()), place_b = shared_address(shared + S::SLAB_A + right.place());
    auto stage = [](u32 slab) { return slab % S::STAGES * S::STAGE_NUMBERS; };
    auto issue_left = [&] { left.copy(place_a + stage(issued) * sizeof(R), issued, inner); };
    auto issue_right = [&] {
        if (!same) right.copy(place_b + stage(issued) * sizeof(R), issued, inner);
        commit_copies();
        issued++;
    };
    // Has slab s arrived for all threads; afterwards slab s - 1 may be overwritten.
    auto arrive = [&](u32 s) {
        if (!Ready::ALWAYS && issued == s) { // nothing under way: there is no choice but to wait
            if (threadIdx.x == 0) told[2] = ready.wait(s);
            __syncthreads();
            limit = told[2];
            while (issued < smaller(smaller(slabs, limit), s + S::STAGES - 1)) issue_left(), issue_right();
        }
        if (issued - s - 1 >= S::STAGES - 2) wait_copies<S::STAGES - 2>();
        else wait_copies<0>();
        const bool ask = !Ready::ALWAYS && limit < smaller(slabs, s + S::STAGES);
        if (ask && threadIdx.x == 0) told[s % 2] = ready.look();
        __syncthreads();
        if (ask) limit = told[s % 2];
    };
    if (Ready::ALWAYS) {
        while (issued < smaller(slabs, S::STAGES - 1u)) issue_left(), issue_right();
    }
    meanwhile();
    if (slabs == 0) return;

    constexpr int DEPTH = S::DEPTH, STEPS = SLAB / DEPTH;
    const u32 g = lane_id() / 4, t = lane_id() % 4;
    const R *p = shared + t * S::PITCH + warp_row<T>() + 2 * g, *q = shared + t * S::PITCH_B + warp_column<T>() + g;
    if (!same) q += S::SLAB_A;
    const u32 turn = STEPS > 2 ? threadIdx.x / 128 * 2 : 0; // of two warps on one scheduler, one copies while the other multiplies
    Fragments<R, T> fragments[2];
    arrive(0);
#pragma unroll
    for (int m = 0; m < S::ROWS; m++) fragments[0].template load<S::PITCH_B>(m, p, q);
    for (u32 s = 0; s < slabs; s++) {
        const bool more = issued < smaller(smaller(slabs, limit), s + S::STAGES), last = s + 1 == slabs;
        const u32 here = stage(s), there = stage(s + 1);
#pragma unroll
        for (int k = 0; k < STEPS; k++) {
            Fragments<R, T> &now = fragments[k % 2], &next = fragments[(k + 1) % 2];
            now.begin();
            if (k + 1 < STEPS) { // loads stand between products, so that neither waits for the other
                const u32 at = here + (k + 1) * DEPTH * S::PITCH, bt = here + (k + 1) * DEPTH * S::PITCH_B;
#pragma unroll
                for (int m = 0; m < S::ROWS; m++) next.template load<S::PITCH_B>(m, p + at, q + bt), now.multiply(m, acc);
            } else { // half of the products before the barrier, half behind it
#pragma unroll
                for (int m = 0; m < S::ROWS / 2; m++) now.multiply(m, acc);
                if (!last) arrive(s + 1);
#pragma unroll
                for (int m = 0; m < S::ROWS; m++) {
                    if (!last) next.template load<S::PITCH_B>(m, p + there, q + there);
                    if (m >= S::ROWS / 2) now.multiply(m, acc);
                }
            }
            if (k % 2 == 0 && k < STEPS - 1 && k == turn && more) issue_left(), issue_right();
        }
    }
}
