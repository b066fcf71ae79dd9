// C <- beta C + A B^T or beta C - A B^T over a list of tiles of many problems: GEMM NT, and SYRK into
// packed block columns, on tensor cores: in f64, and in f32 as three products of TF32 numbers.
//
// Shapes: problem: A rows x inner, B columns x inner, C rows x columns; `lower`: C is square, B is A, and
//         only tiles and entries on and below the diagonal are touched. With beta = 0, C is not read.
// Grid:   one block for each item of the list (a tile of a problem); tiles are 128 x 128 or 64 x 64.
// Needs:  offsets and stored heights multiples of 16 bytes; shared memory for a block: 132 KiB or 66 KiB, in f32 half.
// Order:  every entry is one accumulator, columns of A ascending, whatever the tile size and the list.
// Ref:    Volkov, Demmel 2008; NVIDIA's PTX manual for the fragments.
#define DEPTH64 8
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

template <class R, int T> __device__ __forceinline__ void product_tile(R *arena, const Product *problems, const Item *items) {
    extern __shared__ f64 dynamic[];
    R *shared = (R *)dynamic;
    const Item item = items[blockIdx.x];
    const Product p = problems[item.problem];
    const u32 i0 = item.row * T, j0 = item.column * T;
    const Operand<R> a = {arena + p.a + i0, {p.a_rows, p.flags & A_PACKED ? NB : 0}, p.rows - i0};
    const Operand<R> b = {arena + p.b + j0, {p.b_rows, p.flags & B_PACKED ? NB : 0}, p.columns - j0};
    const Layout layout = {p.c_rows, p.flags & C_PACKED ? NB : 0};
    const bool diagonal = (p.flags & LOWER) && i0 == j0;
    const Target<R> c = {arena + p.c + layout.at(i0, j0), layout.height(j0 / NB), p.rows - i0, p.columns - j0, diagonal};
    const R sign = p.flags & SUBTRACT ? -1 : 1;

    Accumulators<R, T> acc; // sign * C
    accumulate<R, T>(acc, a, b, diagonal, p.inner, shared, AllReady{}, [&] {
        if (p.beta == 0) clear(acc);
        else c.template read<T>(acc, sign * (R)p.beta);
    });
    c.template write<T>(acc, sign);
}

extern "C" __global__ void __launch_bounds__(256, 1)
dense_product_128_f64(f64 *arena, const Product *problems, const Item *items) {
    product_tile<f64, 128>(arena, problems, items);
}

extern "C" __global__ void __launch_bounds__(128, 3)
dense_product_64_f64(f64 *arena, const Product *problems, const Item *items) {
    product_tile<f64, 64>(arena, problems, items);
}

extern "C" __global__ void __launch_bounds__(256, 1)
dense_product_128_f32(f32 *arena, const Product *problems, const Item *items) {
    product_tile<f32, 128>(arena, problems, items);
}

extern "C" __global__ void __launch_bounds__(128, 3)
dense_product_64_f32(f32 *arena, const Product *problems, const Item *items) {
    product_tile<f32, 64>(arena, problems, items);
}
