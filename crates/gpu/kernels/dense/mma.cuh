// Tensor core products on fragments of a warp, in f64, and in f32 as three products of TF32 numbers.
//
// In all of them lane l = 4 g + t. The fragments of m16n8k4: a0 = A(g, t), a1 = A(g + 8, t),
// b = B(t, g), c0, c1 = C(g, 2 t .. 2 t + 1), c2, c3 = C(g + 8, 2 t .. 2 t + 1). Which rows and columns
// of a matrix "g" and "t" stand for is the caller's choice, made so that shared memory is read 16
// bytes at a time: see tile.cuh.
#pragma once
#include "dense/number.cuh"

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

// A number as the sum of two TF32 numbers, which have 11 bits: the first rounded, the second cut off by the tensor core,
// which looks at the upper 19 bits of a register; exact to 2^-22. What is not finite stays so. `cvt.rna.tf32` does the same
// in eight instructions; they took more time than the products.
struct Split {
    u32 high, low;
};

__device__ __forceinline__ Split split(f32 x) {
    Split s;
    s.high = (__float_as_uint(x) + 0x1000u) & 0xffffe000u;
    s.low = __float_as_uint(x - __uint_as_float(s.high));
    return s;
}

// D <- C + A B
__device__ __forceinline__ void mma_tf32(f32 (&d)[4], u32 a0, u32 a1, u32 a2, u32 a3, u32 b0, u32 b1, f32 c0, f32 c1, f32 c2, f32 c3) {
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};"
        : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1), "f"(c0), "f"(c1), "f"(c2), "f"(c3));
}

// C += A B, 16 x 8 x 8 for N matrices B, of split numbers: small terms first. Tensor cores cut off what they add to a
// large sum; so these three sums begin at zero, and are added to C by a rounding addition.
template <int N> __device__ __forceinline__ void mma_16x8x8(f32 (&c)[N][4], const Split (&a)[4], const Split (&b)[N][2]) {
    f32 part[N][4]; // N products that do not wait for each other
#pragma unroll
    for (int n = 0; n < N; n++) mma_tf32(part[n], a[0].low, a[1].low, a[2].low, a[3].low, b[n][0].high, b[n][1].high, 0, 0, 0, 0);
#pragma unroll
    for (int n = 0; n < N; n++) mma_tf32(part[n], a[0].high, a[1].high, a[2].high, a[3].high, b[n][0].low, b[n][1].low, part[n][0], part[n][1], part[n][2], part[n][3]);
#pragma unroll
    for (int n = 0; n < N; n++) mma_tf32(part[n], a[0].high, a[1].high, a[2].high, a[3].high, b[n][0].high, b[n][1].high, part[n][0], part[n][1], part[n][2], part[n][3]);
#pragma unroll
    for (int n = 0; n < N; n++) {
#pragma unroll
        for (int i = 0; i < 4; i++) c[n][i] += part[n][i];
    }
}

__device__ __forceinline__ void mma_16x8x8(f32 (&c)[4], const f32 (&a)[4], f32 b0, f32 b1) {
    const Split s[4] = {split(a[0]), split(a[1]), split(a[2]), split(a[3])};
    const Split t[1][2] = {{split(b0), split(b1)}};
    mma_16x8x8(reinterpret_cast<f32(&)[1][4]>(c), s, t);
}
