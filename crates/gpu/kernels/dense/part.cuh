// What the children of a front give to tiles of 64 x 64 of it.
#pragma once
#include "dense/layout.cuh"

#define SIDE 64u

// What one child gives to one tile.
struct __align__(16) Part {
    u64 update;        // where its update matrix stands
    u64 rows, columns; // bit k: it has row, column k of the tile
    u64 numbers;       // 21 bits each: the child's first of those rows, of those columns, stored height of its update matrix

    __device__ __forceinline__ u32 first_row() const { return numbers & 0x1fffff; }
    __device__ __forceinline__ u32 first_column() const { return numbers >> 21 & 0x1fffff; }
    __device__ __forceinline__ u32 height() const { return numbers >> 42; }
};

__device__ __forceinline__ bool has(u64 mask, u32 k) { return mask >> k & 1; }
__device__ __forceinline__ u32 before(u64 mask, u32 k) { return __popcll(mask & ((1ull << k) - 1)); }

// The parts of all tiles of some update matrices: those of tile n are number first[n] to first[n + 1] - 1. The tiles of a matrix are
// those of its lower triangle, column by column.
struct Gathered {
    const u32 *first;
    const Part *parts;
};

// The number of a tile among those of a matrix of `rows` rows of tiles.
__device__ __forceinline__ u32 triangle(u32 rows, u32 row, u32 column) { return column * rows - column * (column - 1) / 2 + row - column; }
