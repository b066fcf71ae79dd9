// ELL and sliced ELL: entries of neighboring rows side by side, one thread a row.
//
// Shapes: ELL: columns and values of `width` lines of `pitch` >= m entries; a padding entry has column ~0 and
//         value 0. Sliced: slices of 32 rows, slice s in lines of 32 entries from starts[s] to starts[s + 1];
//         rows[k]: the row that stands at k, ~0 past the last; rows are sorted by length within windows.
// Grid:   256 rows a block of 256 threads.
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
