// Partial Cholesky of fronts as in front_large.cu, with tiles of 128 rows x 64 columns: three quarters of the operands that tiles of
// 64 take, and two blocks on a multiprocessor, of which one computes while the other waits, reads or writes.
//
// Shapes: rows and columns are counted in tiles of 64, as for `dense_front_64`; task (i, j) computes tiles (i, j) and (i + 1, j), or
//         tile (i, j) alone where it stands in the square of 128 on the diagonal: only there are tiles factored
//         and inverted. Rows i and i + 1 are both of pivots or both of updates; i is even, counted from the first of its kind.
// Method, Grid, Order: as front_large.cu.
// Needs:  tickets and progress zero, status all ones before; 101 KiB of shared memory, in f32 52.
#define DEPTH64 4
#include "dense/front_tile.cuh"

// What a block works on; kept in shared memory, for the products need the registers.
struct Work {
    Front front;
    Task task;
};

// Where the result of a task goes.
template <class R> __device__ __forceinline__ Target<R> target_of(R *arena, const Work &w) {
    constexpr u32 T = 64;
    const Front &f = w.front;
    const u32 before = ceil_div(f.pivots, T), i0 = w.task.row, j0 = w.task.column;
    const bool final = j0 >= before, below = i0 >= before;
    const Layout layout = {final ? f.update_rows : f.panel_rows, NB};
    const u32 row = below ? (i0 - before) * T : i0 * T, column = (final ? j0 - before : j0) * T;
    R *at = arena + (final ? f.update : f.panel) + layout.at(row + (below && !final ? f.first_update : 0), column);
    const u32 rows = (below ? f.updates : f.pivots) - row, columns = (final ? f.updates : f.pivots) - column;
    return {at, layout.height(column / NB), rows, columns, final && j0 >= i0, (j0 - i0) * T};
}

template <class R> __device__ __forceinline__ void tall_task(R *arena, R *shared, const Work &w, u32 *progress) {
    constexpr int T = 64, H = 128;
    const Front &f = w.front;
    const Task &task = w.task;
    auto final = [&] { return task.column >= ceil_div(f.pivots, (u32)T); };
    Accumulators<R, H> acc; // the negative of what remains
    {
        const R *panel = arena + f.panel;
        const Operand<R> a = row_tile<R, T, H>(f, panel, task.row), b = row_tile<R, T, T>(f, panel, task.column);
        const u32 *own = progress + f.progress; // both rows of tiles are told together
        const Progress<T> ready = {own + task.row, own + task.column};
        accumulate<R, H, T>(acc, a, b, false, final() ? f.pivots : task.column * T, shared, ready, [&] {
            if (final() && f.fresh) clear(acc);
            else target_of(arena, w).template read<H>(acc, -1);
        });
    }
    const Target<R> c = target_of(arena, w);
    if (final()) {
        c.template write<H>(acc, -1);
        return;
    }
    __syncthreads(); // the slabs have been read
    for_each_pair(acc, [&](u32 i, u32 j, R &x, R &y) {
        const bool real = j < c.columns;
        *(Pair<R> *)(shared + j * Shape<R, H>::PITCH + i) = {i < c.rows && real ? -x : 0, i + 1 < c.rows && real ? -y : 0};
    });
    u32 *own = progress + f.progress;
    await<Shape<R, T>::THREADS>(own + task.column, task.column + 1);
    const u32 column = task.column * T;
    const Layout layout = {f.panel_rows, NB};
    const Inverse<R> v = {arena + f.panel + layout.at(column, column), arena + f.inverse + column, c.pitch, smaller(c.columns, (u32)T)};
    solve_tile<R, T, H>(shared, shared + T * Shape<R, H>::PITCH, v, c.at, c.pitch, c.rows);
    __syncthreads();
    if (threadIdx.x == 0) {
        write_release(own + task.row, task.column + 1);
        if (c.rows > T) write_release(own + task.row + 1, task.column + 1);
    }
}

template <class R>
__device__ __forceinline__ void front_task(R *arena, const Front *fronts, const Task *tasks, u32 *tickets, u32 *progress, Status *status) {
    f64 *dynamic = dynamic_shared();
    __shared__ Work w;
    if (threadIdx.x == 0) {
        w.task = tasks[atomicAdd(tickets, 1)];
        w.front = fronts[w.task.front];
    }
    __syncthreads();
    const bool corner = w.task.row < ceil_div(w.front.pivots, 64u) && w.task.row / 2 == w.task.column / 2;
    if (corner) {
        Accumulators<R, 64> acc;
        square_task(acc, false, arena, (R *)dynamic, w.front, w.task, progress, status);
    } else {
        tall_task<R>(arena, (R *)dynamic, w, progress);
    }
}

extern "C" __global__ void __launch_bounds__(128, 2)
dense_front_tall_f64(f64 *arena, const Front *fronts, const Task *tasks, u32 *tickets, u32 *progress, Status *status) {
    front_task<f64>(arena, fronts, tasks, tickets, progress, status);
}

// The registers of three blocks, as products in f32 have them, do not suffice for waiting besides.
extern "C" __global__ void __launch_bounds__(128, 2)
dense_front_tall_f32(f32 *arena, const Front *fronts, const Task *tasks, u32 *tickets, u32 *progress, Status *status) {
    front_task<f32>(arena, fronts, tasks, tickets, progress, status);
}
