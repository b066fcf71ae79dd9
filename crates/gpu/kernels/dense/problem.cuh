// A product C <- beta C + A B^T or beta C - A B^T and its tiles, as kernels see them.
//
// A: rows x inner, B: columns x inner, C: rows x columns, each column-major or in packed block columns. `lower`: C is square, B
// is A, and only tiles and entries on and below the diagonal are touched. With beta = 0, C is not read.
#pragma once
#include "dense/tile.cuh"

#define LOWER 1u
#define SUBTRACT 2u
#define A_PACKED 4u
#define B_PACKED 8u
#define C_PACKED 16u

struct Product {
    u64 a, b, c;                // where entry (0, 0) stands in the arena
    f64 beta;
    u32 a_rows, b_rows, c_rows; // stored heights
    u32 rows, columns, inner;
    u32 flags;
    u32 unused;
};

struct Item {
    u32 problem;
    u16 row, column; // of the tile, in tiles
};

// A tile of rows x columns: its operands, and where it stands. `sign` is that of the product.
template <class R> struct Problem {
    Operand<R> a, b;
    Target<R> c;
    R sign, beta;
    u32 inner;
    bool diagonal;

    __device__ __forceinline__ Problem(R *arena, const Product *problems, const Item *items, u32 height, u32 width)
        : Problem(arena, problems, items, blockIdx.x, height, width) {}

    __device__ __forceinline__ Problem(R *arena, const Product *problems, const Item *items, u32 number, u32 height, u32 width) {
        const Item item = items[number];
        const Product p = problems[item.problem];
        const u32 i0 = item.row * height, j0 = item.column * width;
        a = {arena + p.a + i0, {p.a_rows, p.flags & A_PACKED ? NB : 0}, p.rows - i0};
        b = {arena + p.b + j0, {p.b_rows, p.flags & B_PACKED ? NB : 0}, p.columns - j0};
        const Layout layout = {p.c_rows, p.flags & C_PACKED ? NB : 0};
        diagonal = (p.flags & LOWER) && i0 < j0 + width;
        c = {arena + p.c + layout.at(i0, j0), layout.height(j0 / NB), p.rows - i0, p.columns - j0, diagonal, j0 - i0};
        sign = p.flags & SUBTRACT ? -1 : 1;
        beta = p.beta;
        inner = p.inner;
    }

    // acc <- sign * beta * C
    template <class A> __device__ __forceinline__ void begin(A &acc) const {
        if (beta == 0) clear(acc);
        else c.template read<A::TILE>(acc, sign * beta);
    }
};
