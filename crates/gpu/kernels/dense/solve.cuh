// What the kernels of substitution share: fronts as they see them, the vectors, and tensor core products
// of pieces of a panel with several right-hand sides.
//
// Vectors are interleaved: RHS right-hand sides are a group, and entry k of the group's `width` vectors stand
// together, at k width. What is computed for one right-hand side does not depend on the others: they are columns of
// a tensor core product, and where there are fewer than RHS the others are zero.
#pragma once
#include "dense/layout.cuh"
#include "dense/mma.cuh"

#define RHS 8u       // right-hand sides of a group: columns of a tensor core product
#define NONE 0xffffffffu // no source
#define MORE 0x80000000u // beside a row's first source: the second number says where its other sources stand
#define LONG_ROW 32u     // from so many other sources on a row is summed by a whole warp

struct SolveFront {
    u64 panel;        // where the panel stands in the arena
    u64 inverse;      // where the diagonals of the inverses of its diagonal tiles stand: one number for each pivot
    u64 rows;         // where the elimination numbers of its update rows begin in `index`
    u64 pairs;        // where its rows' first two sources begin there, even: places in the vector of updates, or NONE
    u64 sources;      // where other sources begin there: how many, and their places, for each row that has more
    u64 mail;         // first row of its mail
    u32 pivots, updates;
    u32 panel_rows;   // stored height of the panel, even
    u32 first_update; // row of the panel in which the rows below the pivots begin, even
    u32 column;       // elimination number of the first pivot
    u32 update;       // place of its vector of updates
    u32 sourced;      // whether its rows have sources
    u32 chunks;       // pieces of its update rows in the backward substitution, 0: one task takes all rows
    u32 chunk_rows;   // rows of a piece
    u32 unused;
};

struct Vectors {
    f64 *x;         // n entries in elimination order
    f64 *updates;   // `length` entries: every front's updates have a place
    u64 n, length;
    u32 rhs, groups;
};

// The vectors of one group of right-hand sides.
struct Group {
    f64 *x, *updates;
    u32 width, inverse;

    // Row of entry e = row width + r, for e below 2^16.
    __device__ __forceinline__ u32 row(u32 e) const { return (u32)((u64)e * inverse >> 20); }
};

__device__ __forceinline__ Group group_of(const Vectors &v, u32 group) {
    const u32 width = smaller(RHS, v.rhs - group * RHS);
    return {v.x + v.n * (group * RHS), v.updates + v.length * (group * RHS), width, ((1u << 20) + width - 1) / width};
}

// Two neighboring entries of a column. The asm is volatile so that loads stay before the loops in which a block waits for others.
__device__ __forceinline__ double2 load_pair(const f64 *p) {
    double2 v;
    asm volatile("ld.global.nc.L1::no_allocate.L2::128B.v2.f64 {%0, %1}, [%2];" : "=d"(v.x), "=d"(v.y) : "l"(p));
    return v;
}

__device__ __forceinline__ float2 load_pair(const f32 *p) {
    float2 v;
    asm volatile("ld.global.nc.L1::no_allocate.L2::128B.v2.f32 {%0, %1}, [%2];" : "=f"(v.x), "=f"(v.y) : "l"(p));
    return v;
}

// c += L b, 16 rows x 8 columns: the lane 4 g + t holds rows 2 g, 2 g + 1 of columns t (p) and t + 4 (q), and
// b of columns t, t + 4 for right-hand side g. It gets c[0], c[1]: row 2 g, right-hand sides 2 t, 2 t + 1; c[2], c[3]: row 2 g + 1.
template <class P> __device__ __forceinline__ void multiply(f64 (&c)[4], const P &p, const P &q, f64 b0, f64 b1) {
    const f64 a[4] = {(f64)p.x, (f64)p.y, (f64)q.x, (f64)q.y};
    mma_16x8x8(c, a, b0, b1);
}

// c += L^T b, 8 rows x 16 columns of L: the lane 4 g + t holds rows 2 t, 2 t + 1 of columns g (p) and g + 8 (q), and b of rows
// 2 t, 2 t + 1 for right-hand side g. It gets c[0], c[1]: column g, right-hand sides 2 t, 2 t + 1; c[2], c[3]: column g + 8.
template <class P> __device__ __forceinline__ void multiply_transposed(f64 (&c)[4], const P &p, const P &q, f64 b0, f64 b1) {
    const f64 a[4] = {(f64)p.x, (f64)q.x, (f64)p.y, (f64)q.y};
    mma_16x8x8(c, a, b0, b1);
}

// Writes one row of a product's result: c0, c1 belong to right-hand sides 2 t, 2 t + 1.
__device__ __forceinline__ void put_row(f64 *row, u32 t, u32 width, f64 c0, f64 c1) {
    if (2 * t < width) row[2 * t] = c0;
    if (2 * t + 1 < width) row[2 * t + 1] = c1;
}

// What the children give to K entries of a front, row i and right-hand side r each: the sum over the row's sources in their
// order. All lanes of a warp call this; sums of entries that are not `there` are zero.
template <u32 K> __device__ __forceinline__ void gather(const SolveFront &f, const u32 *index, const Group &v, const u32 (&i)[K], const u32 (&r)[K], const bool (&there)[K], f64 (&sum)[K]) {
#pragma unroll
    for (u32 k = 0; k < K; k++) sum[k] = 0;
    if (f.sourced == 0) return;
    const uint2 *pairs = (const uint2 *)(index + f.pairs);
    uint2 pair[K];
    f64 second[K];
    bool more = false;
#pragma unroll
    for (u32 k = 0; k < K; k++) pair[k] = there[k] ? __ldg(pairs + i[k]) : uint2{NONE, NONE};
#pragma unroll
    for (u32 k = 0; k < K; k++) {
        const bool has_more = pair[k].x != NONE && (pair[k].x & MORE) != 0;
        sum[k] = pair[k].x != NONE ? v.updates[(u64)(pair[k].x & ~MORE) * v.width + r[k]] : 0;
        second[k] = pair[k].y != NONE && !has_more ? v.updates[(u64)pair[k].y * v.width + r[k]] : 0;
        more |= has_more;
    }
#pragma unroll
    for (u32 k = 0; k < K; k++) sum[k] += second[k];
    if (!__any_sync(FULL_MASK, more)) return;
    const u32 lane = lane_id();
#pragma unroll
    for (u32 k = 0; k < K; k++) { // long rows are cut into the warp's lanes
        const bool has_more = pair[k].x != NONE && (pair[k].x & MORE) != 0;
        const u32 *others = index + f.sources + (has_more ? pair[k].y : 0);
        const u32 count = has_more ? others[0] : 0;
        const bool is_long = count >= LONG_ROW;
        if (!is_long) {
#pragma unroll 4
            for (u32 e = 1; e <= count; e++) sum[k] += v.updates[(u64)others[e] * v.width + r[k]];
        }
        for (u32 todo = __ballot_sync(FULL_MASK, is_long); todo != 0; todo &= todo - 1) {
            const u32 from = __ffs(todo) - 1, own = __shfl_sync(FULL_MASK, r[k], from);
            const u32 place = __shfl_sync(FULL_MASK, pair[k].y, from), last = __shfl_sync(FULL_MASK, count, from);
            f64 part = 0;
#pragma unroll 4
            for (u32 e = 1 + lane; e <= last; e += 32) part += v.updates[(u64)(index + f.sources)[place + e] * v.width + own];
#pragma unroll
            for (u32 step = 16; step > 0; step /= 2) part += __shfl_xor_sync(FULL_MASK, part, step);
            if (lane == from) sum[k] += part;
        }
    }
}
