// Packed block columns on the device.
//
// A symmetric matrix of order m, or the trapezoid of a factor panel, is cut into block columns of NB
// columns. Block column b is a column-major rectangle of rows b NB .. `rows`; its leading dimension is
// `rows` - b NB, and it stands behind block column b - 1. `rows`, the stored height, is even, so that
// every column of every block column is aligned to 16 bytes. A plain column-major matrix of leading
// dimension `rows` is the same with `shrink` = 0: nothing is cut off above the diagonal.
#pragma once
#include "common.cuh"

#define NB 128u

struct Layout {
    u32 rows;   // stored height of block column 0: its leading dimension, even
    u32 shrink; // NB for packed block columns, 0 for a plain column-major matrix

    // Leading dimension of block column b.
    __device__ __forceinline__ u32 height(u32 b) const { return rows - b * shrink; }

    // Where row 0 of block column b's first column would stand (its rows begin at b * shrink).
    __device__ __forceinline__ u64 origin(u32 b) const {
        u64 triangle = (u64)b * (b - 1) / 2; // 0 for b = 0, although b - 1 wraps
        return NB * ((u64)b * rows - shrink * triangle) - (u64)b * shrink;
    }

    // Where entry (i, j) stands.
    __device__ __forceinline__ u64 at(u32 i, u32 j) const {
        u32 b = j / NB;
        return origin(b) + (u64)(j - b * NB) * height(b) + i;
    }
};
