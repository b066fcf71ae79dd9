// CSR by rows: LANES threads a row, for rows of about the same length.
//
// Shapes: A: m x n; starts of length m + 1, columns and values of length starts[m]; x of length n (multi:
//         n x vectors, column-major, ld_x), y and z of length m (multi: ld_y, ld_z).
// Grid:   256 / LANES rows a block of 256 threads; multi: blockIdx.y counts groups of VECTORS.
// Needs:  starts[m] < 2^32.
// Order:  each lane takes every LANES-th entry, then a tree: bits depend on LANES alone.
// Ref:    Bell, Garland 2009; (size + 4) * entries + (4 + 2 * size) * rows bytes.
#include "spmv/spmv.cuh"

// How many entries of a lane are under way at once.
#define DEPTH 4

template <class T, u32 LANES>
__device__ inline void csr(u32 m, const u32 *__restrict__ starts, const u32 *__restrict__ columns,
                           const T *__restrict__ values, const T *__restrict__ x, Update<T> update) {
    u64 row = ((u64)blockIdx.x * THREADS + threadIdx.x) / LANES;
    u32 lane = threadIdx.x % LANES;
    T sum = 0;
    if (row < m) {
        u32 end = starts[row + 1];
        for (u32 first = starts[row] + lane; first < end; first += DEPTH * LANES) {
            u32 column[DEPTH];
            T value[DEPTH];
#pragma unroll
            for (u32 k = 0; k < DEPTH; ++k) {
                u32 at = first + k * LANES;
                column[k] = at < end ? columns[at] : NONE;
                value[k] = at < end ? values[at] : 0;
            }
#pragma unroll
            for (u32 k = 0; k < DEPTH; ++k)
                if (column[k] != NONE) sum = fma(value[k], x[column[k]], sum);
        }
    }
    sum = group_sum<LANES>(sum);
    if (lane == 0 && row < m) update.store(row, sum);
}

#define CSR(T, LANES)                                                                                                \
    extern "C" __global__ void __launch_bounds__(THREADS)                                                            \
        csr_##T##_##LANES(u32 m, const u32 *__restrict__ starts, const u32 *__restrict__ columns,                    \
                          const T *__restrict__ values, const T *__restrict__ x, T alpha, T beta, const T *z, T *y) { \
        csr<T, LANES>(m, starts, columns, values, x, Update<T>{alpha, beta, z, y});                                  \
    }
#define CSR_ALL(T) CSR(T, 1) CSR(T, 2) CSR(T, 4) CSR(T, 8) CSR(T, 16) CSR(T, 32)
CSR_ALL(f64)
CSR_ALL(f32)

// Several vectors: the matrix is read once for VECTORS of them.
template <class T, u32 LANES, u32 VECTORS>
__device__ inline void csr_multi(u32 m, u32 vectors, const u32 *__restrict__ starts, const u32 *__restrict__ columns,
                                 const T *__restrict__ values, const T *__restrict__ x, u64 ld_x, T alpha, T beta,
                                 const T *z, u64 ld_z, T *y, u64 ld_y) {
    u64 row = ((u64)blockIdx.x * THREADS + threadIdx.x) / LANES;
    u32 lane = threadIdx.x % LANES, first_vector = blockIdx.y * VECTORS;
    u32 here = smaller((u32)VECTORS, vectors - first_vector);
    x += first_vector * ld_x;
    T sum[VECTORS] = {};
    if (row < m) {
        u32 end = starts[row + 1];
#pragma unroll 2
        for (u32 at = starts[row] + lane; at < end; at += LANES) {
            const T *x_row = x + columns[at];
            T value = values[at];
#pragma unroll
            for (u32 v = 0; v < VECTORS; ++v)
                if (v < here) sum[v] = fma(value, x_row[v * ld_x], sum[v]);
        }
    }
#pragma unroll
    for (u32 v = 0; v < VECTORS; ++v) {
        T all = group_sum<LANES>(sum[v]);
        u64 vector = first_vector + v;
        if (lane == 0 && row < m && v < here) Update<T>{alpha, beta, z + vector * ld_z, y + vector * ld_y}.store(row, all);
    }
}

#define MULTI(T, LANES, VECTORS)                                                                                      \
    extern "C" __global__ void __launch_bounds__(THREADS) csr_multi_##T##_##LANES##_##VECTORS(                        \
        u32 m, u32 vectors, const u32 *__restrict__ starts, const u32 *__restrict__ columns,                          \
        const T *__restrict__ values, const T *__restrict__ x, u64 ld_x, T alpha, T beta, const T *z, u64 ld_z, T *y, \
        u64 ld_y) {                                                                                                   \
        csr_multi<T, LANES, VECTORS>(m, vectors, starts, columns, values, x, ld_x, alpha, beta, z, ld_z, y, ld_y);    \
    }
#define MULTI_ALL(T) MULTI(T, 2, 4) MULTI(T, 2, 8) MULTI(T, 8, 4) MULTI(T, 8, 8) MULTI(T, 32, 4) MULTI(T, 32, 8)
MULTI_ALL(f64)
MULTI_ALL(f32)
