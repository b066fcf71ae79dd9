// Copies from device memory into shared memory that run while a block computes (cp.async).
#pragma once
#include "common.cuh"

__device__ __forceinline__ u32 shared_address(const void *p) { return (u32)__cvta_generic_to_shared(p); }

// The block's dynamic shared memory, from a line of 128 bytes on, whatever else it has: a warp that copies 512 bytes would meet five lines
// instead of four (f64 products by warpgroups took 8 % longer).
__device__ __forceinline__ f64 *dynamic_shared() {
    extern __shared__ __align__(128) f64 dynamic[];
    return dynamic;
}

// Copies 16 bytes to shared memory.
__device__ __forceinline__ void copy16(u32 to, const void *from) {
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}

// Likewise, where what stands around it is not wanted: only the sector of 32 bytes is asked for, not a line of 128.
__device__ __forceinline__ void copy16_alone(u32 to, const void *from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}

// Copies `bytes` (0 to 16) of 16 to shared memory; the rest of the 16 becomes zero.
__device__ __forceinline__ void copy16(u32 to, const void *from, u32 bytes) {
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
}

// Asks for what will be read soon to be in the second-level cache.
__device__ __forceinline__ void prefetch(const void *from) { asm volatile("prefetch.global.L2 [%0];" ::"l"(from)); }

// Policies of the second-level cache. What is used once makes room first.
__device__ __forceinline__ u64 used_once() {
    u64 policy;
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}
// What is read to be written makes room last; writing takes the policy off again.
__device__ __forceinline__ u64 until_written() {
    u64 policy;
    asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}

// Copies 16 bytes by a policy, and no more than their sector.
__device__ __forceinline__ void copy16_by(u64 policy, u32 to, const void *from) {
    asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "l"(policy) : "memory");
}

// Ends a group of copies.
__device__ __forceinline__ void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Waits until at most N of this thread's latest groups are under way.
template <int N> __device__ __forceinline__ void wait_copies() { asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory"); }

// Waits for all of this thread's copies. No thread should end before: nothing else is promised to complete them.
__device__ __forceinline__ void wait_all_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }
