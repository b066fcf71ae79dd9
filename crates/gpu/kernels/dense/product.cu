// C <- beta C + A B^T or beta C - A B^T over a list of tiles of many problems: GEMM NT, and SYRK into
// packed block columns, on tensor cores: in f64, and in f32 as three products of TF32 numbers.
//
// Shapes: problem: A rows x inner, B columns x inner, C rows x columns; `lower`: C is square, B is A, and
//         only tiles and entries on and below the diagonal are touched. With beta = 0, C is not read.
// Grid:   one block for each item of the list (a tile of a problem); tiles are 128 x 128, 128 x 64 or 64 x 64. Warpgroups: one
//         block a multiprocessor, which takes every so many-th item.
// Needs:  offsets and stored heights multiples of 16 bytes; shared memory for a block: 132 KiB or 51 KiB, in f32 68 and 36; warpgroups 213 KiB, in f32 196.
// Order:  every entry is one accumulator, columns of A ascending, whatever the tile size and the list.
// Ref:    Volkov, Demmel 2008; NVIDIA's PTX manual for the fragments.
#define DEPTH64 8
#define STAGES64 3
#include "dense/bulk.cuh"
#include "dense/persistent.cuh"
#include "dense/problem.cuh"
#include "dense/warpgroup_tile.cuh"

template <class R, int T, int N> __device__ __forceinline__ void product_tile(R *arena, const Product *problems, const Item *items) {
    f64 *dynamic = dynamic_shared();
    const Problem<R> p(arena, problems, items, T, N);
    Accumulators<R, T> acc; // sign * C
    accumulate<R, T, N>(acc, p.a, p.b, T == N && p.diagonal, p.inner, (R *)dynamic, AllReady{}, [&] { p.begin(acc); });
    p.c.template write<T>(acc, p.sign);
}

extern "C" __global__ void __launch_bounds__(256, 1)
dense_product_128_f64(f64 *arena, const Product *problems, const Item *items) {
    product_tile<f64, 128, 128>(arena, problems, items);
}

extern "C" __global__ void __launch_bounds__(128, 3)
dense_product_64_f64(f64 *arena, const Product *problems, const Item *items) {
    product_tile<f64, 64, 64>(arena, problems, items);
}

extern "C" __global__ void __launch_bounds__(256, 1)
dense_product_128_f32(f32 *arena, const Product *problems, const Item *items) {
    product_tile<f32, 128, 128>(arena, problems, items);
}

// On other architectures the registers of three blocks would not suffice.
extern "C" __global__ void __launch_bounds__(128, __CUDA_ARCH__ == 900 || __CUDA_ARCH__ == 1000 ? 3 : 2)
dense_product_tall_f32(f32 *arena, const Product *problems, const Item *items) {
    product_tile<f32, 128, 64>(arena, problems, items);
}

extern "C" __global__ void __launch_bounds__(128, 3)
dense_product_64_f32(f32 *arena, const Product *problems, const Item *items) {
    product_tile<f32, 64, 64>(arena, problems, items);
}

#if __CUDA_ARCH__ >= 900
template <class R, int T> __device__ __forceinline__ void product_bulk(R *arena, const Product *problems, const Item *items) {
    f64 *dynamic = dynamic_shared();
    const Problem<R> p(arena, problems, items, T, T);
    Accumulators<R, T> acc; // sign * C
    accumulate_bulk<R, T>(acc, p.a, p.b, p.inner, (R *)dynamic, [&] { p.begin(acc); });
    p.c.template write<T>(acc, p.sign);
}

extern "C" __global__ void __launch_bounds__(256, 1)
dense_product_bulk_f64(f64 *arena, const Product *problems, const Item *items) {
    product_bulk<f64, 128>(arena, problems, items);
}
#endif

#if __CUDA_ARCH_FEAT_SM90_ALL
__device__ __forceinline__ void product_by_warpgroups(f32 *arena, const Product *problems, const Item *items, u32 count) {
    f64 *dynamic = dynamic_shared();
    Stage stage = {(char *)dynamic, 0};
    Stage::init(stage.shared);
    if (threadIdx.x >= 256) {
        give_registers<104>();
        Bringer bringer;
        for (u32 item = blockIdx.x; item < count; item += gridDim.x) {
            const Problem<f32> p(arena, problems, items, item, 128, 128);
            if (p.beta != 0) Bringer::expect(p.c);
            bringer.run(stage, p.a, p.b, p.inner, AllReady{});
        }
        wait_all_copies();
    } else {
        take_registers<104>();
        for (u32 item = blockIdx.x; item < count; item += gridDim.x) {
            const Problem<f32> p(arena, problems, items, item, 128, 128);
            Sums acc; // sign * C
            multiply(acc, stage, p.inner, [&] { p.begin(acc); });
            p.c.template write<128>(acc, p.sign);
        }
    }
}

extern "C" __global__ void __launch_bounds__(WARPGROUP_THREADS, 1)
dense_product_warpgroups_f32(f32 *arena, const Product *problems, const Item *items, u32 count) {
    product_by_warpgroups(arena, problems, items, count);
}

extern "C" __global__ void __launch_bounds__(WARPGROUP_THREADS, 1)
dense_product_warpgroups_f64(f64 *arena, const Product *problems, const Item *items, u32 count) {
    product_persistent({arena, problems, items, count});
}
#endif
