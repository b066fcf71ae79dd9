// Partial Cholesky of fronts of any size in one launch: tiles of all fronts are tasks that wait for each
// other on the device.
//
// Shapes: front: pivots + updates of any order; tile T x T, 128 or 64; with warpgroups (Hopper) 128. A front's rows are cut into tiles of
//         pivots (the last may be narrower) and tiles of update rows; task (i, j) computes tile (i, j).
// Method: left-looking. A task gathers all earlier columns into its accumulators, as soon as each is
//         finished, so a tile is read and written once and the inner dimension is as long as can be. Then a
//         diagonal tile is factored and inverted, a tile below multiplied by the inverse; a tile of the
//         update matrix is done. What children give to an update matrix may be gathered by its tasks: then the sum is
//         never in memory. The inverse stands above the diagonal of the tile, where nothing else is, and its own
//         diagonal apart: it takes a number for each pivot.
// Grid:   one block for each task. Blocks draw tickets, so tasks begin in the order of the list, in
//         which every task stands behind those it waits for: no deadlock, however few blocks are resident.
// Needs:  tickets and progress zero, status all ones before; 199 KiB or 69 KiB of shared memory, in f32 half; warpgroups 199 KiB, in f32 196.
// Order:  every entry is one accumulator, columns ascending, whatever the schedule: bits repeat.
// Ref:    Buttari, Langou, Kurzak, Dongarra 2009 for Cholesky as tasks on tiles.
#define DEPTH64 4
#include "dense/front_tile.cuh"
#include "dense/specialized_tile.cuh"
#include "dense/warpgroup_tile.cuh"

template <class R, int T>
__device__ __forceinline__ void front_task(R *arena, const Front *fronts, const Task *tasks, u32 *tickets, u32 *progress, Status *status,
                                           const Gathered &lists) {
    f64 *dynamic = dynamic_shared();
    Task task = draw(tasks, tickets);
    Accumulators<R, T> acc; // the negative of what remains
    const bool gathered = gather(acc, arena, fronts, task, progress, lists);
    const Front f = fronts[task.front];
    square_task(acc, gathered, arena, (R *)dynamic, f, task, progress, status);
}

extern "C" __global__ void __launch_bounds__(256, 1)
dense_front_128_f64(f64 *arena, const Front *fronts, const Task *tasks, u32 *tickets, u32 *progress, Status *status, const u32 *first,
                   const Part *parts) {
    front_task<f64, 128>(arena, fronts, tasks, tickets, progress, status, {first, parts});
}

extern "C" __global__ void __launch_bounds__(128, 3)
dense_front_64_f64(f64 *arena, const Front *fronts, const Task *tasks, u32 *tickets, u32 *progress, Status *status, const u32 *first,
                   const Part *parts) {
    front_task<f64, 64>(arena, fronts, tasks, tickets, progress, status, {first, parts});
}

extern "C" __global__ void __launch_bounds__(256, 1)
dense_front_128_f32(f32 *arena, const Front *fronts, const Task *tasks, u32 *tickets, u32 *progress, Status *status, const u32 *first,
                   const Part *parts) {
    front_task<f32, 128>(arena, fronts, tasks, tickets, progress, status, {first, parts});
}

extern "C" __global__ void __launch_bounds__(128, 3)
dense_front_64_f32(f32 *arena, const Front *fronts, const Task *tasks, u32 *tickets, u32 *progress, Status *status, const u32 *first,
                   const Part *parts) {
    front_task<f32, 64>(arena, fronts, tasks, tickets, progress, status, {first, parts});
}

#if __CUDA_ARCH_FEAT_SM90_ALL
__device__ __forceinline__ void front_task_by_warpgroups(f32 *arena, const Front *fronts, const Task *tasks, u32 *tickets, u32 *progress, Status *status) {
    f64 *dynamic = dynamic_shared();
    Stage stage = {(char *)dynamic, 0};
    const Task task = draw(tasks, tickets);
    const Front f = fronts[task.front];
    const Square<f32, 128> t(arena, f, task, progress);
    Stage::init(stage.shared);
    if (threadIdx.x >= 256) {
        give_registers<88>();
        Bringer bringer;
        if (!(t.final && f.fresh)) Bringer::expect(t.c);
        bringer.run(stage, t.a, t.b, t.inner, t.ready);
        wait_all_copies();
    } else {
        take_registers<88>();
        Sums acc; // the negative of what remains
        multiply(acc, stage, t.inner, [&] { t.begin(acc); });
        t.finish(acc, arena, (f32 *)dynamic, progress, status); // its barriers are of those who multiply
    }
}

// The same in f64: warps 8 and 9 bring A and B, each as soon as its own row of tiles is ready. Update matrices may be gathered.
__device__ __forceinline__ void front_task_by_specialized(f64 *arena, const Front *fronts, const Task *tasks, u32 *tickets, u32 *progress, Status *status,
                                                          const Gathered &lists) {
    f64 *dynamic = dynamic_shared();
    Slabs<12> ring = {dynamic};
    ring.init();
    Task task = draw(tasks, tickets); // its barrier is that of the ring, too
    const u32 role = threadIdx.x / 32, first = MULTIPLIERS / 32;
    if (role >= first) {
        give_registers<56>();
        if (role > first + 1) return;
        const Front f = fronts[task.front];
        const Square<f64, 128> t(arena, f, task, progress);
        const bool right = role > first;
        const u32 *finished = right ? t.ready.column : t.ready.row;
        u32 tiles = 0; // of the operand's row, that are finished
        bring_slabs(ring, right, right ? t.b.base : t.a.base, t.a.layout, right ? t.b.rows : t.a.rows, t.inner, [&](u32 k) {
            while (tiles * NB <= k) {
                tiles = read_acquire(finished);
                if (tiles * NB <= k) __nanosleep(20);
            }
        });
        wait_all_copies();
    } else {
        take_registers<56>();
        Accumulators<f64, 128> acc; // the negative of what remains
        const bool gathered = gather(acc, arena, fronts, task, progress, lists);
        const Front f = fronts[task.front];
        const Square<f64, 128> t(arena, f, task, progress);
        if (!gathered) t.begin(acc);
        multiply_slabs(acc, ring, ceil_div(t.inner, ring.COLUMNS));
        t.finish(acc, arena, dynamic, progress, status);
    }
}

extern "C" __global__ void __launch_bounds__(WARPGROUP_THREADS, 1)
dense_front_warpgroups_f64(f64 *arena, const Front *fronts, const Task *tasks, u32 *tickets, u32 *progress, Status *status, const u32 *first,
                           const Part *parts) {
    front_task_by_specialized(arena, fronts, tasks, tickets, progress, status, {first, parts});
}

extern "C" __global__ void __launch_bounds__(WARPGROUP_THREADS, 1)
dense_front_warpgroups_f32(f32 *arena, const Front *fronts, const Task *tasks, u32 *tickets, u32 *progress, Status *status) {
    front_task_by_warpgroups(arena, fronts, tasks, tickets, progress, status);
}
#endif
