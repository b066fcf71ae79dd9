// Assembly: fronts from the update matrices of their children (extend-add) and from entries of the matrix.
//
// Shapes: parent: a front (front.cuh) of pivots + updates rows; child: an update matrix of order n with n relative
//         indices, ascending: its row i is row relative[i] of the parent.
// Grid:   extend_add: one block for each tile of 64 x 64 of a parent; a tile is all in the panel or all in the update
//         matrix. Since relative indices ascend, what a child gives to a tile is a rectangle of its own.
// Needs:  nothing of the parent: its tiles are written, not added to.
// Order:  children in the order of the list, each entry at most once by each: no atomics, bits repeat.
// Ref:    Duff, Reid 1983.
#include "dense/front.cuh"

#define SIDE 64u
#define SIDE_PITCH 65u
#define THREADS 256u

struct Child {
    u64 update;   // where its update matrix stands
    u64 relative; // where its relative indices begin
    u32 order;
    u32 height;   // stored height of its update matrix
};

struct Parent {
    u64 panel, update;
    u32 pivots, updates;
    u32 panel_rows, first_update, update_rows;
    u32 children, first_child; // how many, and which is the first
    u32 unused;
};

struct Tile {
    u32 parent;
    u16 row, column;
};

// First k in 0 .. n with index[k] >= bound.
__device__ __forceinline__ u32 lower_bound(const u32 *index, u32 n, u32 bound) {
    u32 low = 0;
    while (n > 0) {
        const u32 half = n / 2;
        if (index[low + half] < bound) low += half + 1, n -= half + 1;
        else n = half;
    }
    return low;
}

template <class R>
__device__ __forceinline__ void extend_add(R *arena, const Parent *parents, const Child *children, const u32 *relative, const Tile *tiles) {
    __shared__ R s[SIDE * SIDE_PITCH];
    __shared__ u32 bounds[4];
    const Tile tile = tiles[blockIdx.x];
    const Parent f = parents[tile.parent];
    const u32 before = ceil_div(f.pivots, SIDE), lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = THREADS / 32;
    // first row of a tile among the parent's rows, and the row behind its last
    auto first = [&](u32 t) { return t < before ? t * SIDE : f.pivots + (t - before) * SIDE; };
    auto end = [&](u32 t) { return t < before ? smaller(f.pivots, t * SIDE + SIDE) : smaller(f.pivots + f.updates, first(t) + SIDE); };
    const u32 i0 = first(tile.row), i1 = end(tile.row), j0 = first(tile.column), j1 = end(tile.column);

    for (u32 e = threadIdx.x; e < SIDE * SIDE_PITCH; e += THREADS) s[e] = 0;
    for (u32 c = 0; c < f.children; c++) {
        const Child child = children[f.first_child + c];
        const u32 *index = relative + child.relative;
        __syncthreads(); // the child before has been added
        if (threadIdx.x < 4) {
            const u32 bound = threadIdx.x == 0 ? i0 : threadIdx.x == 1 ? i1 : threadIdx.x == 2 ? j0 : j1;
            bounds[threadIdx.x] = lower_bound(index, child.order, bound);
        }
        __syncthreads();
        const u32 begin = bounds[0], stop = bounds[1];
        const Layout layout = {child.height, NB};
        for (u32 j = bounds[2] + warp; j < bounds[3]; j += warps) {
            const R *from = arena + child.update + layout.at(0, j); // only rows from j on are there
            R *to = s + (index[j] - j0) * SIDE_PITCH;
            for (u32 i = larger(begin, j) + lane; i < stop; i += 32) to[index[i] - i0] += from[i];
        }
    }
    __syncthreads();
    const bool panel = tile.column < before;
    const Layout layout = {panel ? f.panel_rows : f.update_rows, NB};
    const u32 row = !panel ? i0 - f.pivots : tile.row < before ? i0 : f.first_update + i0 - f.pivots; // where rows i0 .. stand
    for (u32 j = j0 + warp; j < j1; j += warps) {
        R *to = arena + (panel ? f.panel + layout.at(row, j) : f.update + layout.at(row, j - f.pivots));
        for (u32 i = lane; i < i1 - i0; i += 32) {
            if (i0 + i >= j) to[i] = s[(j - j0) * SIDE_PITCH + i];
        }
    }
}

// arena[to[e]] += values[from[e]]; no place twice.
template <class R> __device__ __forceinline__ void add_entries(R *arena, const u64 *to, const u32 *from, const R *values, u64 count) {
    const u64 stride = (u64)gridDim.x * THREADS;
    for (u64 e = (u64)blockIdx.x * THREADS + threadIdx.x; e < count; e += stride) arena[to[e]] += values[from[e]];
}

extern "C" __global__ void __launch_bounds__(THREADS, 4)
dense_extend_add_f64(f64 *arena, const Parent *parents, const Child *children, const u32 *relative, const Tile *tiles) {
    extend_add(arena, parents, children, relative, tiles);
}

extern "C" __global__ void __launch_bounds__(THREADS)
dense_add_entries_f64(f64 *arena, const u64 *to, const u32 *from, const f64 *values, u64 count) {
    add_entries(arena, to, from, values, count);
}

extern "C" __global__ void __launch_bounds__(THREADS, 4)
dense_extend_add_f32(f32 *arena, const Parent *parents, const Child *children, const u32 *relative, const Tile *tiles) {
    extend_add(arena, parents, children, relative, tiles);
}

extern "C" __global__ void __launch_bounds__(THREADS)
dense_add_entries_f32(f32 *arena, const u64 *to, const u32 *from, const f32 *values, u64 count) {
    add_entries(arena, to, from, values, count);
}
