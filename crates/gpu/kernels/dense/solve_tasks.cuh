// Tasks of a substitution that wait for each other within a launch: how a block draws its task, and the mail by which solved
// numbers are handed on.
//
// Tickets are drawn in the order of the list, in which a task stands behind those it waits for: whoever is waited for is running.
// A letter is 16 bytes, a number of which every half carries the launch's number: who waits looks at the numbers
// themselves, and no fence stands between (the protocol LL of NCCL). Tickets and the launch's number look after themselves:
// nothing is cleared between launches.
#pragma once
#include "dense/solve.cuh"

struct SolveTask {
    u32 front;
    u16 tile, chunk;
};

struct Tasks {
    Vectors vectors;
    const SolveFront *fronts;
    const u32 *index;
    const SolveTask *tasks;
    uint4 *mail;
    u64 mail_rows;    // for each right-hand side
    u32 *state;       // ticket, blocks that are done, launches
};

// A task of a group of right-hand sides.
template <class T> struct Drawn {
    SolveFront f;
    Group x;
    SolveTask task;
    uint4 *mail;
    u32 flag; // the launch's number

    // This block's task. Tickets begin again after the last.
    __device__ static Drawn draw(const Tasks &s) {
        __shared__ u32 drawn[2];
        if (threadIdx.x == 0) {
            drawn[0] = atomicInc(s.state, gridDim.x - 1);
            drawn[1] = *(volatile u32 *)(s.state + 2) + 1;
        }
        __syncthreads();
        const u32 groups = s.vectors.groups, group = drawn[0] % groups;
        const SolveTask task = s.tasks[drawn[0] / groups];
        const SolveFront f = s.fronts[task.front];
        return {f, group_of(s.vectors, group), task, s.mail + RHS * (s.mail_rows * group), drawn[1]};
    }
    // The last block gives the next launch another number.
    __device__ static void done(const Tasks &s, u32 flag) {
        if (threadIdx.x == 0 && atomicInc(s.state + 1, gridDim.x - 1) == gridDim.x - 1) *(volatile u32 *)(s.state + 2) = flag;
    }
    __device__ uint4 *letter(u32 row, u32 r) const { return mail + (f.mail + row) * x.width + r; }
};

__device__ __forceinline__ uint4 peek(const uint4 *p) {
    uint4 v;
    asm volatile("ld.volatile.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p) : "memory");
    return v;
}

__device__ __forceinline__ void post(uint4 *p, f64 value, u32 flag) {
    asm volatile("st.volatile.global.v4.u32 [%0], {%1, %2, %3, %2};" ::"l"(p), "r"(__double2loint(value)), "r"(flag), "r"(__double2hiint(value)) : "memory");
}

// The numbers in two letters that were first seen as `seen`, 0 for those that are not wanted: waits until they have come. Who is in
// no hurry looks less often.
__device__ __forceinline__ void receive(const uint4 *p, const uint4 *q, uint4 (&seen)[2], u32 flag, const bool (&wanted)[2], bool hurry, f64 (&b)[2]) {
    for (;;) {
        const bool p_here = !wanted[0] || (seen[0].y == flag && seen[0].w == flag);
        const bool q_here = !wanted[1] || (seen[1].y == flag && seen[1].w == flag);
        if (p_here && q_here) break;
        if (!hurry) __nanosleep(100);
        if (!p_here) seen[0] = peek(p);
        if (!q_here) seen[1] = peek(q);
    }
#pragma unroll
    for (u32 h = 0; h < 2; h++) b[h] = wanted[h] ? __hiloint2double(seen[h].z, seen[h].x) : 0;
    __syncwarp();
}
