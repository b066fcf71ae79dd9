// Eliminating pivots of a symmetric matrix that stands in shared memory, eight columns at a time.
//
// Shapes: s: order x order, entry (i, j) at j pitch + i; the first `pivots` columns are eliminated, the
//         update of the columns behind them is left to the caller.
// Needs:  pivots and order multiples of 8; rows up to the next multiple of 16 exist; pitch as `eliminate_pitch` says.
// Steps:  left-looking. (1) Tensor cores take the product of all earlier columns off the next eight. (2) Every
//         thread takes the 8 x 8 diagonal block into registers, factors it (the same in all threads, which is
//         cheaper than telling each other) and solves its own row.
// Invert: the rows of the identity are eliminated along, as if they stood below: they become the inverse,
//         transposed, V = L^-T, which is kept above the diagonal where nothing else is; its 8 x 8 diagonal
//         blocks stand apart in `corners`.
// Order:  fixed: bits repeat.
#pragma once
#include "dense/mma.cuh"
#include "dense/tasks.cuh"

// Between columns of `order` rows, free of bank conflicts: whole lines of 128 bytes, and 32 bytes.
template <class R> __device__ __forceinline__ u32 eliminate_pitch(u32 order) {
    constexpr u32 LINE = 128 / sizeof(R);
    return ceil_div(order, LINE) * LINE + Number<R>::PAD;
}

// The first bad pivot of a front and its value; {all ones, _} as long as there is none.
struct Status {
    u64 pivot;
    f64 value;
};

// Factors the lower triangle d[k][i], i >= k, in place, solves x <- x L^-T. Returns the last reciprocal, which is not
// finite if any pivot was bad.
template <class R> __device__ __forceinline__ R eliminate_row(R (&d)[8][8], R (&x)[8]) {
    R inverse;
#pragma unroll
    for (int k = 0; k < 8; k++) {
        inverse = reciprocal_root(d[k][k]);
        x[k] *= inverse;
#pragma unroll
        for (int i = k; i < 8; i++) d[k][i] *= inverse;
#pragma unroll
        for (int i = k + 1; i < 8; i++) {
            x[i] = fma(-x[k], d[k][i], x[i]);
#pragma unroll
            for (int j = k + 1; j <= i; j++) d[j][i] = fma(-d[k][i], d[k][j], d[j][i]);
        }
    }
    return inverse;
}

// Finds the first bad pivot of the 8 x 8 block at `block`, which is destroyed, and reports it as `first` + its
// number unless one before it was reported. One thread; the arithmetic of eliminate_row.
template <class R> __device__ __noinline__ void report(R *block, u32 pitch, u32 first, Status *status) {
    if (*(volatile u64 *)&status->pivot != ~0ull) return;
    for (u32 k = 0; k < 8; k++) {
        const R pivot = block[k * pitch + k], inverse = reciprocal_root(pivot);
        if (!is_finite(inverse)) {
            *(volatile f64 *)&status->value = pivot;
            *(volatile u64 *)&status->pivot = first + k;
            return;
        }
        for (u32 i = k + 1; i < 8; i++) block[k * pitch + i] *= inverse;
        for (u32 i = k + 1; i < 8; i++) {
            for (u32 j = k + 1; j <= i; j++) block[j * pitch + i] = fma(-block[k * pitch + i], block[k * pitch + j], block[j * pitch + i]);
        }
    }
}

// Pieces of block column c (8 columns) in M tiles of 16 rows, from row 16 m on; a lane's rows are 2 g, 2 g + 1 of a
// tile, its columns t and t + 4.
template <class R, int M> struct Strip {
    R c[M][4];

    __device__ __forceinline__ void load(const R *s, u32 pitch, u32 m, u32 c8) {
        const u32 g = lane_id() / 4, t = lane_id() % 4;
        const R *at = s + (8 * c8 + t) * pitch + 16 * m + 2 * g;
#pragma unroll
        for (int r = 0; r < M; r++) {
            const Pair<R> u = *(const Pair<R> *)(at + 16 * r), v = *(const Pair<R> *)(at + 4 * pitch + 16 * r);
            c[r][0] = u.x, c[r][1] = v.x, c[r][2] = u.y, c[r][3] = v.y;
        }
    }

    // Minus the product of block columns begin .. end with rows of block c8. INVERT: rows above block c8 belong to
    // the inverse, which begins at its diagonal. zeros: two of them.
    template <bool INVERT>
    __device__ __forceinline__ void subtract(const R *s, u32 pitch, const R *corners, const R *zeros, u32 m, u32 c8, u32 begin, u32 end) {
        const u32 g = lane_id() / 4, t = lane_id() % 4;
        const R *right = s + (8 * begin + t) * pitch + 8 * c8 + g / 2 + g % 2 * 4;
        const R *left[M];
        u32 step[M];
        // Block columns before `until` with these rows: those of this strip's own block columns, of which some rows
        // are in the inverse and some not, are told apart; behind them all rows are in the inverse, and before
        // them those that are read zeros.
        auto run = [&](u32 until) {
#pragma unroll 4
            for (; begin < until; begin++, right += 8 * pitch) {
                const R b0 = right[0], b1 = right[4 * pitch];
#pragma unroll
                for (int r = 0; r < M; r++) {
                    const Pair<R> u = *(const Pair<R> *)left[r], v = *(const Pair<R> *)(left[r] + step[r] / 2);
                    left[r] += step[r];
                    const R a[4] = {-u.x, -u.y, -v.x, -v.y};
                    mma_16x8x8(c[r], a, b0, b1);
                }
            }
        };
        auto aim = [&](auto valid) {
#pragma unroll
            for (int r = 0; r < M; r++) {
                const bool real = valid(2 * (m + r) + g / 4);
                left[r] = real ? s + (8 * begin + t) * pitch + 16 * (m + r) + 2 * g : zeros;
                step[r] = real ? 8 * pitch : 0;
            }
        };
        if (!INVERT) {
            aim([&](u32) { return true; });
            run(end);
        } else {
            if (begin < smaller(end, 2 * m)) {
                aim([&](u32 tile) { return tile >= c8; });
                run(smaller(end, 2 * m));
            }
            for (u32 stop = smaller(end, 2 * m + 2 * M); begin < stop;) {
                aim([&](u32 tile) { return tile >= c8 || tile < begin; });
#pragma unroll
                for (int r = 0; r < M; r++) {
                    if (2 * (m + r) + g / 4 == begin) left[r] = corners + 64 * begin + 8 * t + 2 * (g % 4), step[r] = 64;
                }
                run(begin + 1);
            }
            if (begin < end) {
                aim([&](u32) { return true; });
                run(end);
            }
        }
    }

    // Rows at or below block c8, and with INVERT those above as well.
    template <bool INVERT> __device__ __forceinline__ void store(R *s, u32 pitch, u32 m, u32 c8) const {
        const u32 g = lane_id() / 4, t = lane_id() % 4;
        R *at = s + (8 * c8 + t) * pitch + 16 * m + 2 * g;
#pragma unroll
        for (int r = 0; r < M; r++) {
            if (!INVERT && 2 * (m + r) + g / 4 < c8) continue;
            *(Pair<R> *)(at + 16 * r) = {c[r][0], c[r][2]};
            *(Pair<R> *)(at + 4 * pitch + 16 * r) = {c[r][1], c[r][3]};
        }
    }
};

// Factors block p of 8 pivots and solves row `row` of block column p; rows above p and within are those of the inverse. The factor's
// own block is written after a barrier of the 2 ORDER threads: they read it.
template <class R, int ORDER>
__device__ __forceinline__ void solve_row(R *s, u32 pitch, R *corners, u32 p, u32 row, Status *status, u32 first) {
    R *block = s + 8 * p * pitch + 8 * p, *column = s + 8 * p * pitch + row;
    const u32 inside = row - 8 * p; // wraps for rows above
    R d[8][8], x[8];
#pragma unroll
    for (int k = 0; k < 8; k++) {
#pragma unroll
        for (int i = (k + 1) / 2 * 2; i < 8; i += 2) {
            const Pair<R> v = *(const Pair<R> *)(block + k * pitch + i);
            d[k][i] = v.x, d[k][i + 1] = v.y;
        }
        if (k % 2) d[k][k] = block[k * pitch + k];
        x[k] = inside < 8 ? (R)(inside == k ? 1 : 0) : column[k * pitch];
    }
    const R last = eliminate_row(d, x);
#pragma unroll
    for (int k = 0; k < 8; k++) {
        if (inside >= 8) column[k * pitch] = x[k];
        else corners[64 * p + 8 * k + inside] = x[k];
    }
    meet<2 * ORDER>();
    if (inside == 0) {
        if (!is_finite(last)) report(block, pitch, first + 8 * p, status);
#pragma unroll
        for (int k = 0; k < 8; k++) {
#pragma unroll
            for (int i = k; i < 8; i++) block[k * pitch + i] = d[k][i];
        }
    }
}

// Eliminates and inverts with two threads for each row: the first half of the warps solves block column p while the
// second half prepares the next. Above the diagonal s is zero before; corners: 8 ORDER numbers and two zeros.
template <class R, int ORDER>
__device__ __forceinline__ void eliminate_invert(R *s, u32 pitch, u32 pivots, R *corners, Status *status, u32 first) {
    const bool solver = threadIdx.x < ORDER;
    const u32 m = (threadIdx.x - ORDER) / 32 * 2, p8 = pivots / 8; // m: of the second half
    for (u32 p = 0; p < p8; p++) {
        meet<2 * ORDER>();
        if (solver) {
            solve_row<R, ORDER>(s, pitch, corners, p, threadIdx.x, status, first);
        } else {
            Strip<R, 2> strip;
            const bool more = p + 1 < p8;
            if (more) {
                strip.load(s, pitch, m, p + 1);
                strip.template subtract<true>(s, pitch, corners, corners + 8 * ORDER, m, p + 1, 2 * m + 3 < p + 1 ? smaller(2 * m, p) : 0, p);
            }
            meet<2 * ORDER>();
            if (more) {
                strip.template subtract<true>(s, pitch, corners, corners + 8 * ORDER, m, p + 1, p, p + 1);
                strip.template store<true>(s, pitch, m, p + 1);
            }
        }
    }
    meet<2 * ORDER>();
}
