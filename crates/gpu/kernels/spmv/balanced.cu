// Products cut into tiles of equal work, whatever the rows' lengths: CSR by merge path, and COO.
//
// Shapes: CSR as in csr.cu. COO: rows (ascending), columns and values of length `entries`. carries: a value a
//         tile: what it leaves for its last, unfinished row. cuts: one u32 a tile and one more: the row at
//         which the tile begins on the merge path of row ends and entries.
// Grid:   csr_merge_cuts: a thread a cut. csr_merge, coo: one block of 256 threads a tile of 256 * ITEMS steps
//         (row ends and entries together), or entries. *_carries: a thread a tile, after the tiles.
// Needs:  static shared memory; entries + rows < 2^32. coo adds to y, which coo_scale must have set to beta * z.
// Order:  the cuts are given by the structure; sums within a tile go thread by thread, then a tree: bits
//         repeat. A row is written by the one tile that ends it; its earlier parts are added afterwards.
// Ref:    Merrill, Garland 2016 (merge-based SpMV); bytes as in csr.cu, for COO another 4 an entry.
#include "spmv/spmv.cuh"

#define ITEMS 7  // odd: neighboring threads begin in different banks
#define TILE (THREADS * ITEMS)

// The first row whose end is not among the first `rank` steps of the path. A row ends when its entries are done.
__device__ inline u32 path_row(u32 rank, const u32 *ends, u32 rows, u32 entries) {
    u32 low = rank > entries ? rank - entries : 0, high = smaller(rank, rows);
    while (low < high) {
        u32 middle = low + (high - low) / 2;
        if (ends[middle] <= rank - middle - 1) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

extern "C" __global__ void __launch_bounds__(THREADS)
    csr_merge_cuts(u32 m, u32 cut_count, const u32 *__restrict__ starts, u32 *cuts) {
    u32 k = blockIdx.x * THREADS + threadIdx.x, entries = starts[m];
    if (k < cut_count) cuts[k] = path_row((u32)smaller((u64)k * TILE, (u64)m + entries), starts + 1, m, entries);
}

template <class T>
__device__ inline void csr_merge(u32 m, const u32 *__restrict__ starts, const u32 *__restrict__ columns,
                                 const T *__restrict__ values, const T *__restrict__ x, const u32 *__restrict__ cuts,
                                 T *__restrict__ carries, Update<T> update) {
    __shared__ T products[TILE];
    __shared__ u32 ends[TILE + 1];
    u32 row0 = cuts[blockIdx.x], row1 = cuts[blockIdx.x + 1], rows = row1 - row0;
    u32 steps = smaller((u32)TILE, m + starts[m] - blockIdx.x * TILE);
    u32 entry0 = blockIdx.x * TILE - row0, entries = steps - rows;

    // The matrix is read once: it should not push x out of the cache (3 to 9 % faster). In coo below, where
    // loads and uses alternate, the same hint keeps the compiler from putting loads first, and costs 30 %.
    u32 column[ITEMS];
    T value[ITEMS];
#pragma unroll
    for (u32 k = 0; k < ITEMS; ++k) {
        u32 i = threadIdx.x + k * THREADS;
        column[k] = i < entries ? __ldcs(columns + entry0 + i) : NONE;
        value[k] = i < entries ? __ldcs(values + entry0 + i) : 0;
    }
    for (u32 i = threadIdx.x; i <= rows; i += THREADS) ends[i] = row0 + i < m ? starts[row0 + i + 1] - entry0 : NONE;
#pragma unroll
    for (u32 k = 0; k < ITEMS; ++k)
        if (column[k] != NONE) products[threadIdx.x + k * THREADS] = value[k] * x[column[k]];
    __syncthreads();

    u32 step = smaller(threadIdx.x * ITEMS, steps), last = smaller(step + ITEMS, steps);
    u32 row_first = path_row(step, ends, rows, entries), row = row_first, entry = step - row;
    T sum = 0, ended[ITEMS];
    u32 is_end = 0;
#pragma unroll
    for (u32 k = 0; k < ITEMS; ++k) {
        if (step + k < last) {
            if (entry < ends[row]) {
                sum += products[entry++];
            } else {
                ended[k] = sum, sum = 0;
                is_end |= 1u << k;
                ++row;
            }
        }
    }
    T in = carry_in(sum, is_end != 0, carries + blockIdx.x);
    // All products are used: the rows' sums take their place, so that they are written in order.
    row = row_first;
#pragma unroll
    for (u32 k = 0; k < ITEMS; ++k)
        if (is_end >> k & 1) products[row++] = ended[k] + in, in = 0;
    __syncthreads();
    for (u32 i = threadIdx.x; i < rows; i += THREADS) update.store(row0 + i, products[i]);
}

template <class T>
__device__ inline void coo(u32 entries, const u32 *__restrict__ rows, const u32 *__restrict__ columns,
                           const T *__restrict__ values, const T *__restrict__ x, T *__restrict__ carries,
                           Update<T> update) {
    __shared__ T products[TILE];
    __shared__ u32 row_of[TILE + 1];
    u32 entry0 = blockIdx.x * TILE, here = smaller((u32)TILE, entries - entry0);
#pragma unroll
    for (u32 k = 0; k < ITEMS; ++k) {
        u32 i = threadIdx.x + k * THREADS;
        if (i < here) {
            row_of[i] = rows[entry0 + i];
            products[i] = values[entry0 + i] * x[columns[entry0 + i]];
        }
    }
    // The row after the tile tells whether the tile's last row ends here.
    if (threadIdx.x == 0) row_of[here] = entry0 + here < entries ? rows[entry0 + here] : NONE;
    __syncthreads();
    u32 first = smaller(threadIdx.x * ITEMS, here), last = smaller(first + ITEMS, here);
    T sum = 0, ended[ITEMS];
    u32 first_end = ITEMS;
#pragma unroll
    for (u32 k = 0; k < ITEMS; ++k) {
        if (first + k < last) {
            sum += products[first + k];
            if (row_of[first + k] != row_of[first + k + 1]) {
                ended[k] = sum, sum = 0;
                first_end = smaller(first_end, k);
            }
        }
    }
    T in = carry_in(sum, first_end < ITEMS, carries + blockIdx.x);
#pragma unroll
    for (u32 k = 0; k < ITEMS; ++k)
        if (first + k < last && row_of[first + k] != row_of[first + k + 1])
            update.add(row_of[first + k], k == first_end ? in + ended[k] : ended[k]);
}

template <class T> __device__ inline void scale(u64 n, Update<T> update) {
    u64 stride = (u64)gridDim.x * THREADS;
    for (u64 i = (u64)blockIdx.x * THREADS + threadIdx.x; i < n; i += stride)
        update.y[i] = update.beta != 0 ? update.beta * update.z[i] : 0;
}

#define BALANCED(T)                                                                                                   \
    extern "C" __global__ void __launch_bounds__(THREADS)                                                             \
        csr_merge_##T(u32 m, const u32 *__restrict__ starts, const u32 *__restrict__ columns,                         \
                      const T *__restrict__ values, const T *__restrict__ x, const u32 *__restrict__ cuts,            \
                      T *__restrict__ carries, T alpha, T beta, const T *z, T *y) {                                   \
        csr_merge(m, starts, columns, values, x, cuts, carries, Update<T>{alpha, beta, z, y});                        \
    }                                                                                                                 \
    extern "C" __global__ void __launch_bounds__(THREADS) csr_merge_carries_##T(                                      \
        u32 m, u32 tiles, const u32 *__restrict__ cuts, const T *__restrict__ carries, T alpha, T *y) {               \
        auto row_of = [&](u32 k) { return cuts[k + 1] < m ? cuts[k + 1] : NONE; };                                    \
        add_carries(tiles, row_of, carries, Update<T>{alpha, 0, y, y});                                               \
    }                                                                                                                 \
    extern "C" __global__ void __launch_bounds__(THREADS)                                                             \
        coo_##T(u32 entries, const u32 *__restrict__ rows, const u32 *__restrict__ columns,                           \
                const T *__restrict__ values, const T *__restrict__ x, T *__restrict__ carries, T alpha, T *y) {      \
        coo(entries, rows, columns, values, x, carries, Update<T>{alpha, 0, y, y});                                   \
    }                                                                                                                 \
    extern "C" __global__ void __launch_bounds__(THREADS) coo_carries_##T(                                            \
        u32 tiles, const u32 *__restrict__ rows, const T *__restrict__ carries, T alpha, T *y) {                      \
        /* The last tile ends its last row, so an entry follows every carry. */                                       \
        auto row_of = [&](u32 k) {                                                                                    \
            u64 next = (u64)(k + 1) * TILE;                                                                           \
            return k + 1 < tiles && rows[next] == rows[next - 1] ? rows[next] : NONE;                                 \
        };                                                                                                            \
        add_carries(tiles, row_of, carries, Update<T>{alpha, 0, y, y});                                               \
    }                                                                                                                 \
    extern "C" __global__ void __launch_bounds__(THREADS) coo_scale_##T(u64 n, T beta, const T *z, T *y) {            \
        scale(n, Update<T>{0, beta, z, y});                                                                           \
    }
BALANCED(f64)
BALANCED(f32)
