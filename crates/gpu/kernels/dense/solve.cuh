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
#define LONG_ROW 48u // from so many sources on a row is summed by a whole warp

struct SolveFront {
    u64 panel;        // where the panel stands in the arena
    u64 inverse;      // where the inverses of its diagonal tiles stand
    u64 rows;         // where the elimination numbers of its update rows begin in `index`
    u64 starts;       // where its rows' starts begin there: row i has sources starts[i] .. starts[i + 1]
    u64 sources;      // where these begin there: places in the vector of updates
    u64 mail;         // first row of its mail
    u32 pivots, updates;
    u32 panel_rows;   // stored height of the panel, even
    u32 first_update; // row of the panel in which the rows below the pivots begin, even
    u32 column;       // elimination number of the first pivot
    u32 update;       // place of its vector of updates
    u32 sourced;      // whether its rows have sources
    u32 chunks;       // pieces of its update rows in the backward substitution, 0: one task takes all rows
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
    u32 width;
};

__device__ __forceinline__ Group group_of(const Vectors &v, u32 group) {
    return {v.x + v.n * (group * RHS), v.updates + v.length * (group * RHS), smaller(RHS, v.rhs - group * RHS)};
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

// What the children give to a front's row i, for right-hand side r: the sum over the row's sources in their order; long
// rows are cut into the warp's lanes. All lanes of a warp call this; only those with `there` get a sum.
__device__ __forceinline__ f64 gathered(const SolveFront &f, const u32 *index, const Group &v, u32 i, u32 r, bool there) {
    if (f.sourced == 0) return 0;
    const u32 *starts = index + f.starts, *sources = index + f.sources;
    const u32 begin = there ? starts[i] : 0, end = there ? starts[i + 1] : 0, lane = lane_id();
    const bool is_long = end - begin >= LONG_ROW;
    f64 sum = 0;
    if (!is_long) {
#pragma unroll 4
        for (u32 e = begin; e < end; e++) sum += v.updates[(u64)sources[e] * v.width + r];
    }
    for (u32 todo = __ballot_sync(FULL_MASK, is_long); todo != 0; todo &= todo - 1) {
        const u32 from = __ffs(todo) - 1, own = __shfl_sync(FULL_MASK, r, from);
        const u32 first = __shfl_sync(FULL_MASK, begin, from), last = __shfl_sync(FULL_MASK, end, from);
        f64 part = 0;
#pragma unroll 4
        for (u32 e = first + lane; e < last; e += 32) part += v.updates[(u64)sources[e] * v.width + own];
#pragma unroll
        for (u32 step = 16; step > 0; step /= 2) part += __shfl_xor_sync(FULL_MASK, part, step);
        if (lane == from) sum = part;
    }
    return sum;
}
