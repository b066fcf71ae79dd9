// Assembly: the update matrices of children, added up in their parents (extend-add).
//
// Shapes: parent: a front of pivots + updates rows; child: an update matrix, packed block columns; its rows are rows
//         of the parent, in the same order.
// Grid:   one block for each tile of 64 x 64 of a parent; a tile is all in the panel or all in the update
//         matrix. It gathers: a thread keeps 16 entries of the tile in registers. What it needs to know of a child
//         are two masks, which of the tile's rows and columns the child has; counting their bits gives the child's.
// Needs:  the entries of the matrix in the panel, which is added to; nothing of the update matrix, which is written.
// Order:  what stands there, then children in the order of the list, each entry at most once by each: no atomics, bits repeat.
// Ref:    Duff, Reid 1983.
#include "dense/part.cuh"

#define THREADS 256u
#define WARPS (THREADS / WARP)

struct Tile {
    u64 to; // where its first entry stands
    u32 lead;
    u32 first_part, parts; // children that have rows and columns of it
    u8 rows, columns;
    u8 diagonal; // it is on the diagonal
    u8 adds;     // what stands there belongs to the sum
};

template <class R> __device__ __forceinline__ void extend_add(R *arena, const Tile *tiles, const Part *parts) {
    constexpr u32 COLUMNS = SIDE / WARPS, ROWS = SIDE / WARP;
    const Tile tile = tiles[blockIdx.x];
    const u32 lane = lane_id(), warp = threadIdx.x / WARP;
    auto inside = [&](u32 row, u32 column) { return !tile.diagonal || row >= column; };
    R sum[COLUMNS][ROWS];
#pragma unroll
    for (u32 k = 0; k < COLUMNS; k++) {
        const u32 column = warp + WARPS * k;
        const R *from = arena + tile.to + (u64)column * tile.lead;
#pragma unroll
        for (u32 h = 0; h < ROWS; h++) {
            const u32 row = lane + WARP * h;
            sum[k][h] = 0;
            if (tile.adds && column < tile.columns && row < tile.rows && inside(row, column)) sum[k][h] = from[row];
        }
    }
    for (const Part *part = parts + tile.first_part, *end = part + tile.parts; part != end; part++) {
        const Part p = *part;
        const Layout layout = {p.height(), NB};
        const R *update = arena + p.update;
        R v[COLUMNS][ROWS];
#pragma unroll
        for (u32 k = 0; k < COLUMNS; k++) {
            const u32 column = warp + WARPS * k;
            const R *from = update + layout.at(p.first_row(), p.first_column() + before(p.columns, column));
#pragma unroll
            for (u32 h = 0; h < ROWS; h++) {
                const u32 row = lane + WARP * h;
                v[k][h] = 0;
                if (has(p.columns, column) && has(p.rows, row) && inside(row, column)) v[k][h] = from[before(p.rows, row)];
            }
        }
#pragma unroll
        for (u32 k = 0; k < COLUMNS; k++) {
#pragma unroll
            for (u32 h = 0; h < ROWS; h++) sum[k][h] += v[k][h];
        }
    }
#pragma unroll
    for (u32 k = 0; k < COLUMNS; k++) {
        const u32 column = warp + WARPS * k;
        R *to = arena + tile.to + (u64)column * tile.lead;
#pragma unroll
        for (u32 h = 0; h < ROWS; h++) {
            const u32 row = lane + WARP * h;
            if (column < tile.columns && row < tile.rows && inside(row, column)) to[row] = sum[k][h];
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 3)
dense_extend_add_f64(f64 *arena, const Tile *tiles, const Part *parts) {
    extend_add(arena, tiles, parts);
}

extern "C" __global__ void __launch_bounds__(THREADS, 4)
dense_extend_add_f32(f32 *arena, const Tile *tiles, const Part *parts) {
    extend_add(arena, tiles, parts);
}
