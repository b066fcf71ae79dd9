// Products of warpgroups on Hopper (`wgmma`), in f32 as three products of TF32 numbers: what a multiprocessor's tensor cores take
// from shared memory and the registers of 128 threads at once, at half as much again as `mma.sync`.
//
// Shapes: C 64 x 128 a warpgroup, A 64 x 8 in registers, B 128 x 8 in shared memory. The fragments of A and C are those of
//         mma.cuh, warp w of the group having rows 16 w ..; B stands in cores of 8 rows x 4 numbers, 128 bytes each.
// Ref:    NVIDIA's PTX manual, "asynchronous warpgroup level matrix instructions".
#pragma once
#include "dense/mma.cuh"

#if __CUDA_ARCH_FEAT_SM90_ALL

// Threads of a block: two warpgroups multiply, one brings what they need.
#define WARPGROUP_THREADS 384u

// Registers for those who multiply, given up by those who bring: together 3 times 168 for each thread of a warpgroup.
template <int OWN> __device__ __forceinline__ void give_registers() { asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(OWN)); }
template <int OWN> __device__ __forceinline__ void take_registers() { asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"((504 - OWN) / 2)); }

// Of a matrix of rows x 4 k numbers without swizzle: cores of 8 rows are 128 bytes apart, those of the next 4 columns `next` bytes.
__device__ __forceinline__ u64 warpgroup_operand(u32 shared, u32 next) { return shared / 16 | (u64)(next / 16) << 16 | (u64)(128 / 16) << 32; }

// What registers hold is handed over to the products that follow.
__device__ __forceinline__ void warpgroup_begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void warpgroup_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

// Waits for all of this warp's products.
__device__ __forceinline__ void warpgroup_wait() { asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory"); }

// Keeps the compiler from reading sums before the wait that stands above, or writing them after what stands below.
__device__ __forceinline__ void warpgroup_hold(f32 (&d)[64]) {
#pragma unroll
    for (int i = 0; i < 64; i++) asm volatile("" : "+f"(d[i])::"memory");
}

// D <- A B^T, or D + A B^T where `add`, under way until waited for.
__device__ __forceinline__ void warpgroup_mma(f32 (&d)[64], u32 a0, u32 a1, u32 a2, u32 a3, u64 b, bool add) {
    asm volatile("{ .reg .pred add; setp.ne.u32 add, %69, 0;\n\t"
                 "wgmma.mma_async.sync.aligned.m64n128k8.f32.tf32.tf32 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
                 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
                 "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
                 "}, {%64,%65,%66,%67}, %68, add, 1, 1; }"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
                   "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
                   "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
                   "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]),
                   "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]),
                   "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]),
                   "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
                   "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
                 : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "l"(b), "r"((u32)add));
}

#endif
