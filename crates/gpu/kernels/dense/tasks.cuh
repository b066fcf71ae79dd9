// Tasks that wait for each other on the device, through counters in device memory.
#pragma once
#include "common.cuh"

__device__ __forceinline__ u32 read_acquire(const u32 *p) {
    u32 v;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
    return v;
}

__device__ __forceinline__ void write_release(u32 *p, u32 v) {
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}

// A barrier of the first THREADS of a block, whatever the others do or did: some end before. Warps may meet from different places in the
// code, which `__syncthreads` does not allow, nor, by what synccheck reports, a barrier of all threads that is declared `.aligned`.
template <u32 THREADS> __device__ __forceinline__ void meet() { asm volatile("barrier.sync 0, %0;" ::"n"(THREADS) : "memory"); }

// Ends a task of so many threads: what they wrote is seen by whoever reads `counter` and finds `tiles`.
template <u32 THREADS> __device__ __forceinline__ void publish(u32 *counter, u32 tiles) {
    meet<THREADS>();
    if (threadIdx.x == 0) write_release(counter, tiles); // of all threads' writes: the barrier orders them before
}

// Lets so many threads wait until `counter` is at least `tiles`.
template <u32 THREADS> __device__ __forceinline__ void await(const u32 *counter, u32 tiles) {
    if (threadIdx.x == 0) {
        while (read_acquire(counter) < tiles) __nanosleep(20);
    }
    meet<THREADS>();
}
