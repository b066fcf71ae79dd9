// Copies to shared memory that nobody waits for until they are needed.
#pragma once
#include "common.cuh"

// One value of 4, 8 or 16 bytes, aligned to its size on both sides. Needs sm_80.
template <class T> __device__ inline void copy_later(T *shared, const T *global) {
    u32 to = (u32)__cvta_generic_to_shared(shared);
    if constexpr (sizeof(T) == 16) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(global) : "memory");
    } else {
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(to), "l"(global), "n"(sizeof(T)) : "memory");
    }
}

// Waits for all copies of this thread; other threads see them after a barrier.
__device__ inline void wait_for_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }
