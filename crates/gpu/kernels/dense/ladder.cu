// The products of product.cu as they were before tensor cores and asynchronous copies: the lower steps of the ladder, kept to
// be timed, and in f32 the product with one rounding for each addition.
//
// Shapes, Order: as problem.cuh says; one accumulator per entry, columns ascending.
// Grid:   256 threads for each tile of the list: 16 x 16 in the first two steps, 64 x 64, then 128 x 128.
// Ref:    Volkov, Demmel 2008 for register blocks.
#include "dense/problem.cuh"

#define LADDER_THREADS 256u

// Writes entry (i, j) of the tile.
template <class R> __device__ __forceinline__ void finish(const Problem<R> &p, u32 i, u32 j, R sum) {
    if (!p.c.has(i, j)) return;
    R *at = p.c.at + (u64)j * p.c.pitch + i;
    *at = (p.beta == 0 ? 0 : p.beta * *at) + p.sign * sum;
}

// Step 1: every thread reads what its entry needs from device memory.
template <class R> __device__ __forceinline__ void naive(R *arena, const Product *problems, const Item *items) {
    const Problem<R> p(arena, problems, items, 16, 16);
    const u32 i = threadIdx.x % 16, j = threadIdx.x / 16;
    if (!p.c.has(i, j)) return;
    R sum = 0;
    for (u32 k = 0; k < p.inner; k++) sum = fma(p.a.base[p.a.layout.at(i, k)], p.b.base[p.b.layout.at(j, k)], sum);
    finish(p, i, j, sum);
}

// Step 2: a block reads its 16 rows of A and B once, 16 columns at a time, into shared memory.
template <class R> __device__ __forceinline__ void shared_tiles(R *arena, const Product *problems, const Item *items) {
    __shared__ R a[16][17], b[16][17];
    const Problem<R> p(arena, problems, items, 16, 16);
    const u32 i = threadIdx.x % 16, j = threadIdx.x / 16;
    R sum = 0;
    for (u32 k0 = 0; k0 < p.inner; k0 += 16) {
        const u32 k = k0 + j;
        a[j][i] = k < p.inner ? p.a.base[p.a.layout.at(smaller(i, p.a.rows - 1), k)] : 0;
        b[j][i] = k < p.inner ? p.b.base[p.b.layout.at(smaller(i, p.b.rows - 1), k)] : 0;
        __syncthreads();
#pragma unroll
        for (u32 q = 0; q < 16; q++) sum = fma(a[q][i], b[q][j], sum);
        __syncthreads();
    }
    finish(p, i, j, sum);
}

// Steps 3 to 5: a thread computes SIDE x SIDE entries of a tile of T x T. VECTORS: shared memory is filled and read 16 bytes at
// a time. TWICE: the next slab is read into registers while this one is multiplied, and there are two buffers.
template <class R, int T, int SIDE, bool VECTORS, bool TWICE>
__device__ __forceinline__ void blocked(R *arena, const Product *problems, const Item *items) {
    constexpr u32 K = 8, GRAIN = VECTORS ? Number<R>::GRAIN : 1, ACROSS = T / SIDE; // columns of a slab; threads of a tile's side
    constexpr u32 CHUNKS = T / GRAIN, EACH = K * CHUNKS / LADDER_THREADS, GROUPS = SIDE / GRAIN;
    struct alignas(GRAIN * sizeof(R)) Chunk {
        R v[GRAIN];
    };
    __shared__ alignas(16) R s[TWICE ? 2 : 1][2][K][T];
    const Problem<R> p(arena, problems, items, T, T);
    const u32 x = threadIdx.x % ACROSS, y = threadIdx.x / ACROSS;
    // rows and columns of a thread: groups of GRAIN, ACROSS groups apart, so that a warp's reads meet different banks
    auto place = [&](u32 thread, u32 entry) { return (entry / GRAIN * ACROSS + thread) * GRAIN + entry % GRAIN; };

    R acc[SIDE][SIDE] = {};
    Chunk held[2][EACH];
    auto read = [&](u32 k0) {
#pragma unroll
        for (u32 o = 0; o < 2; o++) {
            const Operand<R> &from = o ? p.b : p.a;
#pragma unroll
            for (u32 e = 0; e < EACH; e++) {
                const u32 n = threadIdx.x + e * LADDER_THREADS, k = k0 + n / CHUNKS, row = smaller(n % CHUNKS * GRAIN, (from.rows - 1) / GRAIN * GRAIN);
                held[o][e] = k < p.inner ? *(const Chunk *)(from.base + from.layout.at(row, k)) : Chunk{};
            }
        }
    };
    auto write = [&](u32 buffer) {
#pragma unroll
        for (u32 o = 0; o < 2; o++) {
#pragma unroll
            for (u32 e = 0; e < EACH; e++) {
                const u32 n = threadIdx.x + e * LADDER_THREADS;
                *(Chunk *)&s[buffer][o][n / CHUNKS][n % CHUNKS * GRAIN] = held[o][e];
            }
        }
    };
    auto multiply = [&](u32 buffer) {
#pragma unroll
        for (u32 k = 0; k < K; k++) {
            Chunk a[GROUPS], b[GROUPS];
#pragma unroll
            for (u32 q = 0; q < GROUPS; q++) {
                a[q] = *(const Chunk *)&s[buffer][0][k][(q * ACROSS + x) * GRAIN];
                b[q] = *(const Chunk *)&s[buffer][1][k][(q * ACROSS + y) * GRAIN];
            }
#pragma unroll
            for (u32 i = 0; i < SIDE; i++) {
#pragma unroll
                for (u32 j = 0; j < SIDE; j++) acc[i][j] = fma(a[i / GRAIN].v[i % GRAIN], b[j / GRAIN].v[j % GRAIN], acc[i][j]);
            }
        }
    };
    if (TWICE && p.inner > 0) read(0), write(0);
    __syncthreads();
    for (u32 k = 0, buffer = 0; k < p.inner; k += K, buffer = 1 - buffer) {
        if (TWICE) {
            if (k + K < p.inner) read(k + K);
            multiply(buffer);
            if (k + K < p.inner) write(1 - buffer);
        } else {
            read(k), write(0);
            __syncthreads();
            multiply(0);
        }
        __syncthreads();
    }
#pragma unroll
    for (u32 j = 0; j < SIDE; j++) {
#pragma unroll
        for (u32 i = 0; i < SIDE; i++) finish(p, place(x, i), place(y, j), acc[i][j]);
    }
}

#define STEP(name, R, ...)                                                                \
    extern "C" __global__ void __launch_bounds__(LADDER_THREADS)                          \
    dense_product_##name##_##R(R *arena, const Product *problems, const Item *items) {    \
        __VA_ARGS__(arena, problems, items);                                              \
    }

STEP(naive, f64, naive)
STEP(naive, f32, naive)
STEP(shared_tiles, f64, shared_tiles)
STEP(shared_tiles, f32, shared_tiles)
STEP(register_blocks, f64, blocked<f64, 64, 4, false, false>)
STEP(register_blocks, f32, blocked<f32, 64, 4, false, false>)
STEP(vector_loads, f64, blocked<f64, 128, 8, true, false>)
STEP(vector_loads, f32, blocked<f32, 128, 8, true, false>)
STEP(double_buffer, f64, blocked<f64, 128, 8, true, true>)
STEP(double_buffer, f32, blocked<f32, 128, 8, true, true>)
