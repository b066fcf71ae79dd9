// ELL and sliced ELL: entries of neighboring rows side by side, one thread a row.
//
// Shapes: ELL: columns and values of `width` lines of `pitch` >= m entries; a padding entry has column ~0 and
//         value 0. Sliced: slices of 32 rows, slice s in lines of 32 entries from starts[s] to starts[s + 1];
//         rows[k]: the row that stands at k, ~0 past the last; rows are sorted by length within windows.
//         multi: x and y are matrices of `vectors` columns, column-major, ld_x and ld_y apart; y = A x.
// Grid:   256 rows a block of 256 threads; multi: blockIdx.y counts groups of VECTORS.
// Needs:  width * pitch < 2^32; starts[slices] < 2^32.
// Order:  a row is summed by one thread from its first entry on: bits repeat.
// Ref:    Bell, Garland 2009; Kreutzer, Hager, Wellein, Fehske, Bishop 2014; (size + 4) * entries, padding
//         included, + 2 * size * rows bytes.
#include "spmv/spmv.cuh"

// How many entries of a row are under way at once.
#define DEPTH 8

template <class T>
__device__ inline T sum_lines(u32 lines, u64 pitch, const u32 *__restrict__ columns, const T *__restrict__ values,
                              const T *__restrict__ x) {
    T sum = 0;
    for (u32 first = 0; first < lines; first += DEPTH) {
        u32 column[DEPTH];
        T value[DEPTH];
#pragma unroll
        for (u32 k = 0; k < DEPTH; ++k) {
            column[k] = first + k < lines ? columns[(first + k) * pitch] : NONE;
            value[k] = first + k < lines ? values[(first + k) * pitch] : 0;
        }
#pragma unroll
        for (u32 k = 0; k < DEPTH; ++k)
            if (column[k] != NONE) sum = fma(value[k], x[column[k]], sum);
    }
    return sum;
}

// Several vectors: the matrix is read once for VECTORS of them.
template <class T, u32 VECTORS>
__device__ inline void sell_multi(u32 slices, u32 vectors, const u32 *__restrict__ starts, const u32 *__restrict__ rows,
                                  const u32 *__restrict__ columns, const T *__restrict__ values,
                                  const T *__restrict__ x, u64 ld_x, T *__restrict__ y, u64 ld_y) {
    u64 place = (u64)blockIdx.x * THREADS + threadIdx.x;
    u32 slice = (u32)(place / WARP), first_vector = blockIdx.y * VECTORS;
    if (slice >= slices) return;
    u32 here = smaller((u32)VECTORS, vectors - first_vector);
    u32 start = starts[slice], lines = (starts[slice + 1] - start) / WARP, row = rows[place];
    columns += (u64)start + threadIdx.x % WARP, values += (u64)start + threadIdx.x % WARP;
    x += first_vector * ld_x;
    T sum[VECTORS] = {};
    u32 next_column = lines > 0 ? columns[0] : NONE;
    T next_value = lines > 0 ? values[0] : 0;
    for (u32 k = 0; k < lines; ++k) {
        u32 column = next_column;
        T value = next_value;
        if (k + 1 < lines) next_column = columns[(k + 1) * WARP], next_value = values[(k + 1) * WARP];
        if (column == NONE) continue;
        const T *x_row = x + column;
#pragma unroll
        for (u32 v = 0; v < VECTORS; ++v)
            if (v < here) sum[v] = fma(value, x_row[v * ld_x], sum[v]);
    }
    if (row == NONE) return;
#pragma unroll
    for (u32 v = 0; v < VECTORS; ++v)
        if (v < here) y[(first_vector + v) * ld_y + row] = sum[v];
}

#define SELL_MULTI(T, VECTORS)                                                                                        \
    extern "C" __global__ void __launch_bounds__(THREADS) sell_multi_##T##_##VECTORS(                                 \
        u32 slices, u32 vectors, const u32 *__restrict__ starts, const u32 *__restrict__ rows,                        \
        const u32 *__restrict__ columns, const T *__restrict__ values, const T *__restrict__ x, u64 ld_x,             \
        T *__restrict__ y, u64 ld_y) {                                                                                \
        sell_multi<T, VECTORS>(slices, vectors, starts, rows, columns, values, x, ld_x, y, ld_y);                     \
    }
SELL_MULTI(f64, 4)
SELL_MULTI(f64, 8)
SELL_MULTI(f32, 4)
SELL_MULTI(f32, 8)

#define ELL(T)                                                                                                        \
    extern "C" __global__ void __launch_bounds__(THREADS)                                                             \
        ell_##T(u32 m, u32 width, u64 pitch, const u32 *__restrict__ columns, const T *__restrict__ values,           \
                const T *__restrict__ x, T alpha, T beta, const T *z, T *y) {                                         \
        u64 row = (u64)blockIdx.x * THREADS + threadIdx.x;                                                            \
        if (row >= m) return;                                                                                         \
        Update<T>{alpha, beta, z, y}.store(row, sum_lines(width, pitch, columns + row, values + row, x));             \
    }                                                                                                                 \
    extern "C" __global__ void __launch_bounds__(THREADS)                                                             \
        sell_##T(u32 slices, const u32 *__restrict__ starts, const u32 *__restrict__ rows,                            \
                 const u32 *__restrict__ columns, const T *__restrict__ values, const T *__restrict__ x, T alpha,     \
                 T beta, const T *z, T *y) {                                                                          \
        u64 place = (u64)blockIdx.x * THREADS + threadIdx.x;                                                          \
        u32 slice = (u32)(place / WARP), lane = threadIdx.x % WARP;                                                   \
        if (slice >= slices) return;                                                                                  \
        u32 start = starts[slice], lines = (starts[slice + 1] - start) / WARP, row = rows[place];                     \
        u64 first = (u64)start + lane;                                                                                \
        T sum = sum_lines<T>(lines, WARP, columns + first, values + first, x);                                        \
        if (row != NONE) Update<T>{alpha, beta, z, y}.store(row, sum);                                                \
    }
ELL(f64)
ELL(f32)
