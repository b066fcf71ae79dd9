// Barriers in shared memory that count arrivals, and bytes copied (mbarrier).
//
// Their words must not be written otherwise, as PTX says, even when all have met: fronts whose last step wrote there were
// right alone and wrong wherever the card was taken away from running blocks.
#pragma once
#include "dense/copy.cuh"

__device__ __forceinline__ void barrier_init(u32 barrier, u32 arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

__device__ __forceinline__ void barrier_arrive(u32 barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

// Arrives, and expects so many bytes before the phase ends.
__device__ __forceinline__ void barrier_expect(u32 barrier, u32 bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

// Waits for the end of a phase of this parity.
__device__ __forceinline__ void barrier_wait(u32 barrier, u32 parity) {
    asm volatile("{\n\t.reg .pred done;\n\t"
                 "again:\n\t"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t"
                 "@!done bra again;\n\t}"
                 ::"r"(barrier), "r"(parity) : "memory");
}

// Whether a phase of this parity has ended.
__device__ __forceinline__ bool barrier_try(u32 barrier, u32 parity) {
    u32 done;
    asm volatile("{\n\t.reg .pred done;\n\t"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%1], %2;\n\t"
                 "selp.u32 %0, 1, 0, done;\n\t}"
                 : "=r"(done) : "r"(barrier), "r"(parity) : "memory");
    return done;
}

// Arrives once the copies (copy16) that this thread has started so far have come.
__device__ __forceinline__ void barrier_arrive_after_copies(u32 barrier) {
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(barrier) : "memory");
}
