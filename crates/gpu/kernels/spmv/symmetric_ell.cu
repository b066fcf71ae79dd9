// Symmetric A of short rows near each other: values of the lower half alone, the pattern of whole rows.
//
// A row reads the values that it owns and, from rows below, those that stand there once for both. Where rows that know
// each other are near, the second reading is from the second-level cache, so that device memory gives each value once;
// nothing is added to other rows, and no window or round is needed.
//
// Shapes: values: `lower width` lines of `pitch` >= m entries, line s with the s-th entry of each row of the lower half.
//         words: `width` lines of `pitch`: column << bits | line of values; ~0 for padding. The value of an entry (i, j)
//         stands at place max(i, j) of its line.
// Grid:   256 rows a block of 256 threads.
// Needs:  width * pitch < 2^32; (column << bits | line) < 2^32 - 1.
// Order:  a row is summed by one thread by ascending columns: bits repeat.
// Ref:    Bell, Garland 2009 (ELL); (size / 2 + 4) * entries of the whole + 2 * size * rows bytes.
#include "spmv/spmv.cuh"

// How many entries of a row are under way at once.
#define DEPTH 8

template <class T>
__device__ inline void symmetric_ell(u32 m, u32 width, u64 pitch, u32 bits, const u32 *__restrict__ words,
                                     const T *__restrict__ values, const T *__restrict__ x, Update<T> update) {
    const u64 row = (u64)blockIdx.x * THREADS + threadIdx.x;
    if (row >= m) return;
    T sum = 0;
#pragma unroll 1
    for (u32 first = 0; first < width; first += DEPTH) {
        u32 word[DEPTH];
        T value[DEPTH], other[DEPTH];
#pragma unroll
        for (u32 k = 0; k < DEPTH; ++k) word[k] = load_once_if(first + k < width, words + (first + k) * pitch + row, NONE);
#pragma unroll
        for (u32 k = 0; k < DEPTH; ++k) {
            const u32 column = word[k] >> bits, line = word[k] - (column << bits);
            value[k] = load_if(word[k] != NONE, values + line * pitch + larger((u32)row, column), (T)0);
            other[k] = load_if(word[k] != NONE, x + column, (T)0);
        }
#pragma unroll
        for (u32 k = 0; k < DEPTH; ++k) sum = fma(value[k], other[k], sum);
    }
    update.store(row, sum);
}

#define SYMMETRIC_ELL(T)                                                                                              \
    extern "C" __global__ void __launch_bounds__(THREADS)                                                             \
        symmetric_ell_##T(u32 m, u32 width, u64 pitch, u32 bits, const u32 *__restrict__ words,                       \
                          const T *__restrict__ values, const T *__restrict__ x, T alpha, T beta, const T *z, T *y) { \
        symmetric_ell(m, width, pitch, bits, words, values, x, Update<T>{alpha, beta, z, y});                         \
    }
SYMMETRIC_ELL(f64)
SYMMETRIC_ELL(f32)
