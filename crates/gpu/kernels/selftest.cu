// y[i] = a * x[i] + y[i]: proves that compiling, loading, launching and copying work on a machine.
//
// Shapes: x, y of length n.
// Grid:   any number of blocks of any size; a grid-stride loop.
// Needs:  nothing.
// Order:  each element is written by one thread: bits repeat.
#include "common.cuh"

extern "C" __global__ void selftest_axpy(u64 n, f64 a, const f64 *__restrict__ x, f64 *__restrict__ y) {
    u64 stride = (u64)gridDim.x * blockDim.x;
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) y[i] = fma(a, x[i], y[i]);
}

// out[i] = x[n - 1 - i] for one block, through n * 8 bytes of dynamic shared memory.
extern "C" __global__ void selftest_reverse(u32 n, const f64 *__restrict__ x, f64 *__restrict__ out) {
    extern __shared__ f64 tile[];
    for (u32 i = threadIdx.x; i < n; i += blockDim.x) tile[i] = x[i];
    __syncthreads();
    for (u32 i = threadIdx.x; i < n; i += blockDim.x) out[i] = tile[n - 1 - i];
}
