// Entries of a sparse symmetric matrix on their way into the panels of fronts: each finds its place from the pattern.
//
// Shapes: A: n lines of entries, line j from starts[j] to starts[j + 1], each entry off the diagonal once, in either half; values as
//         many. unknowns[j]: the elimination number of unknown j and its front.
//         rows: elimination numbers of the rows below the pivots, ascending, front after front. scale: n numbers, or none.
//         kept: what the lines in `late` have, line kept_starts[l] on for number l of them.
// Grid:   any; groups of 1 << lanes threads take a line, and go on with a stride.
// Needs:  panels of zeros from `begin` to `end`, where panels of others begin.
// Order:  no sums, no place twice. An entry in a row that its front does not have is left out.
#include "dense/layout.cuh"

#define THREADS 256u

struct __align__(8) Unknown {
    u32 position, front;
};

struct __align__(32) EntryFront {
    u64 panel;  // where its panel stands
    u32 rows;   // where its rows do in the list of all
    u32 column; // elimination number of its first pivot
    u32 pivots, updates;
    u32 height, first_update; // stored rows of the panel, and the first one below the pivots
};

struct Lines {
    const u32 *starts, *indices;
    const Unknown *unknowns;
    const EntryFront *fronts;
    const u32 *rows;
    const u32 *late, *kept_starts;
    u64 begin, end; // of the panels that are filled
    u32 count;      // of lines: all, or late ones
    u32 lanes;
};

// Calls f(line, the line's number of those that are visited, number of the entry) for each entry of these lines.
template <bool LATE, class F> __device__ __forceinline__ void each(const Lines &a, F f) {
    const u64 group = (u64)(blockIdx.x * THREADS + threadIdx.x) >> a.lanes, groups = (u64)gridDim.x * THREADS >> a.lanes;
    const u32 step = 1u << a.lanes;
    for (u64 l = group; l < a.count; l += groups) {
        const u32 j = LATE ? a.late[l] : l, end = a.starts[j + 1];
        for (u64 k = (u64)a.starts[j] + threadIdx.x % step; k < end; k += step) f(j, l, k);
    }
}

__device__ __forceinline__ u64 kept_place(const Lines &a, u32 j, u32 l, u64 k) { return a.kept_starts[l] + (k - a.starts[j]); }

// scale[i] value scale[j]
template <class R, class V> __device__ __forceinline__ R scaled(V value, const f64 *scale, u32 i, u32 j) {
    return (R)(scale == nullptr ? value : (V)(value * scale[i] * scale[j]));
}

// arena[the place of an entry] <- value
template <class R> __device__ __forceinline__ void place(R *arena, const Lines &a, u32 i, u32 j, R value) {
    const Unknown p = a.unknowns[i], q = a.unknowns[j];
    const bool upright = q.position <= p.position;
    const u32 column = upright ? q.position : p.position, row = upright ? p.position : q.position;
    const EntryFront f = a.fronts[upright ? q.front : p.front];
    if (f.panel < a.begin || f.panel >= a.end) return;
    u32 stored = row - f.column;
    if (stored >= f.pivots) {
        const u32 *rows = a.rows + f.rows, at = lower_bound(rows, f.updates, row);
        if (at == f.updates || rows[at] != row) return;
        stored = f.first_update + at;
    }
    const Layout panel = {f.height, NB};
    arena[f.panel + panel.at(stored, column - f.column)] = value;
}

template <class R, class V> __device__ __forceinline__ void enter(R *arena, const Lines &a, const V *values, const f64 *scale) {
    each<false>(a, [&](u32 j, u32, u64 k) {
        const u32 i = a.indices[k];
        place(arena, a, i, j, scaled<R>(values[k], scale, i, j));
    });
}

template <class R, class V> __device__ __forceinline__ void keep(R *kept, const Lines &a, const V *values, const f64 *scale) {
    each<true>(a, [&](u32 j, u32 l, u64 k) { kept[kept_place(a, j, l, k)] = scaled<R>(values[k], scale, a.indices[k], j); });
}

template <class R> __device__ __forceinline__ void enter_kept(R *arena, const Lines &a, const R *kept) {
    each<true>(a, [&](u32 j, u32 l, u64 k) { place(arena, a, a.indices[k], j, kept[kept_place(a, j, l, k)]); });
}

#define ENTER(R, V) \
    extern "C" __global__ void __launch_bounds__(THREADS, 4) \
    dense_enter_##V##_as_##R(R *arena, const Lines a, const V *values, const f64 *scale) { enter(arena, a, values, scale); } \
    extern "C" __global__ void __launch_bounds__(THREADS, 4) \
    dense_keep_##V##_as_##R(R *kept, const Lines a, const V *values, const f64 *scale) { keep(kept, a, values, scale); }

ENTER(f64, f64)
ENTER(f32, f32)
ENTER(f32, f64)

extern "C" __global__ void __launch_bounds__(THREADS, 4)
dense_enter_kept_f64(f64 *arena, const Lines a, const f64 *kept) {
    enter_kept(arena, a, kept);
}

extern "C" __global__ void __launch_bounds__(THREADS, 4)
dense_enter_kept_f32(f32 *arena, const Lines a, const f32 *kept) {
    enter_kept(arena, a, kept);
}
