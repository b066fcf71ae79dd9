// Tensor core products on fragments of a warp.
//
// In all of them lane l = 4 g + t. The fragments of m16n8k4: a0 = A(g, t), a1 = A(g + 8, t),
// b = B(t, g), c0, c1 = C(g, 2 t .. 2 t + 1), c2, c3 = C(g + 8, 2 t .. 2 t + 1). Which rows and columns
// of a matrix "g" and "t" stand for is the caller's choice, made so that shared memory is read 16
// bytes at a time: see tile.cuh.
#pragma once
#include "common.cuh"

// C += A B, 16 x 8 x 4 in f64. Hopper does this shape at twice the rate of two 8 x 8 x 4.
__device__ __forceinline__ void mma_16x8x4(f64 (&c)[4], f64 a0, f64 a1, f64 b) {
#if __CUDA_ARCH__ >= 900
    asm("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
                 : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
                 : "d"(a0), "d"(a1), "d"(b));
#else
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
                 : "+d"(c[0]), "+d"(c[1])
                 : "d"(a0), "d"(b));
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
                 : "+d"(c[2]), "+d"(c[3])
                 : "d"(a1), "d"(b));
#endif
}

// C += A B, 16 x 8 x 8 in f64: two steps of the above in one instruction.
__device__ __forceinline__ void mma_16x8x8(f64 (&c)[4], const f64 (&a)[4], f64 b0, f64 b1) {
#if __CUDA_ARCH__ >= 900
    asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
                 : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b0), "d"(b1));
#else
    mma_16x8x4(c, a[0], a[1], b0);
    mma_16x8x4(c, a[2], a[3], b1);
#endif
}
