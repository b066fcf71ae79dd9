// Partial Cholesky of many small fronts, each whole in the shared memory of one block.
//
// Shapes: front: pivots + updates <= 128 or so (what shared memory holds), pivots >= 1.
// Grid:   one block for each front of the list; threads: the order of the largest, rounded up to 32.
// Shared: order x (lines of 128 bytes + 32 bytes), with pivots and updates rounded up to 8 each.
// Order:  fixed: bits repeat.
// Ref:    the 8 x 8 steps are those of eliminate.cuh.
#include "dense/copy.cuh"
#include "dense/eliminate.cuh"
#include "dense/front.cuh"

// Starts the copy of one thread's 16 bytes of columns j, j + step, .. below `end`: from `from` on, to `to` on.
template <class R>
__device__ __forceinline__ void copy_columns(u32 j, u32 end, u32 step, u32 to, u32 pitch, const R *from, u32 height, u32 bytes) {
    const u64 stride = (u64)step * height;
    if (bytes == 16) {
#pragma unroll 4
        for (; j < end; j += step, to += step * pitch * sizeof(R), from += stride) copy16(to, from);
    } else {
        for (; j < end; j += step, to += step * pitch * sizeof(R), from += stride) copy16(to, from, bytes);
    }
}

template <class R> __device__ __forceinline__ void small_front(R *arena, const Front *fronts, Status *status) {
    constexpr u32 GRAIN = Number<R>::GRAIN;
    extern __shared__ f64 dynamic[];
    R *s = (R *)dynamic;
    const Front f = fronts[blockIdx.x];
    const u32 top = ceil_div(f.pivots, 8u) * 8; // pivots and their padding: columns of the identity
    const u32 order = top + ceil_div(f.updates, 8u) * 8, pitch = eliminate_pitch<R>(order);
    const u32 warp = threadIdx.x / 32, warps = blockDim.x / 32;
    R *panel = arena + f.panel, *update = arena + f.update;

    // A column is copied by `wide` threads, 16 bytes each; a thread keeps its rows and goes from column to column.
    const u32 wide = order <= 16 ? 8 : order <= 32 ? 16 : 32, column = threadIdx.x / wide, columns = blockDim.x / wide;
    for (u32 i = threadIdx.x % wide * GRAIN; i < order; i += GRAIN * wide) {
        const u32 end = i < top ? f.pivots : top + f.updates; // of these rows' part
        const u32 bytes = i < end ? smaller(16u, (end - i) * (u32)sizeof(R)) : 0, place = shared_address(s + column * pitch + i);
        const R *from = panel + (u64)column * f.panel_rows + (bytes == 0 ? 0 : i < top ? i : f.first_update + i - top);
        copy_columns(column, smaller(f.pivots, i + GRAIN), columns, place, pitch, from, f.panel_rows, bytes);
        for (u32 j = f.pivots + column; j < top; j += columns) { // padding
#pragma unroll
            for (u32 h = 0; h < GRAIN; h++) s[j * pitch + i + h] = i + h == j;
        }
        if (i >= top && bytes > 0) {
            from = update + (u64)column * f.update_rows + i - top;
            copy_columns(column, smaller(f.updates, i - top + GRAIN), columns, place + top * pitch * (u32)sizeof(R), pitch, from, f.update_rows, f.fresh ? 0 : bytes);
        }
    }
    commit_copies();
    wait_copies<0>();
    eliminate(s, pitch, order, top, status + f.status);

    for (u32 i = threadIdx.x % wide * 2; i < order; i += 2 * wide) {
        const u32 end = i < top ? f.pivots : top + f.updates;
        R *to = panel + (u64)column * f.panel_rows + (i < top ? i : f.first_update + i - top);
        const R *at = s + column * pitch + i;
        const u64 stride = (u64)columns * f.panel_rows;
        u32 j = column;
        if (i + 1 < end) {
#pragma unroll 4
            for (; j < smaller(f.pivots, i + 1); j += columns, to += stride, at += columns * pitch) *(Pair<R> *)to = *(const Pair<R> *)at;
            if (j == i + 1 && j < f.pivots) to[1] = at[1]; // on the diagonal
        } else if (i < end) {
            for (; j < smaller(f.pivots, i + 1); j += columns, to += stride, at += columns * pitch) to[0] = at[0];
        }
    }
    // The update matrix: tiles of 16 x 8, straight from the accumulators.
    const u32 t8 = top / 8, u8 = (order - top) / 8, g = lane_id() / 4, t = lane_id() % 4;
    for (u32 c = 0; c < u8; c++) {
        for (u32 m = (t8 + c) / 2 + (warp + c) % warps; 16 * m < order; m += warps) {
            Strip<R, 1> strip;
            strip.load(s, pitch, m, t8 + c);
            strip.template subtract<false>(s, pitch, nullptr, nullptr, m, t8 + c, 0, t8);
            const u32 i = 16 * m + 2 * g - top; // wraps above the update matrix
#pragma unroll
            for (int h = 0; h < 2; h++) {
                const u32 j = 8 * c + t + 4 * h;
                R *at = update + (u64)j * f.update_rows + i;
                const R x = strip.c[0][h], y = strip.c[0][2 + h];
                if (j >= f.updates || i >= f.updates) continue;
                if (i >= j && i + 1 < f.updates) *(Pair<R> *)at = {x, y};
                else if (i >= j) at[0] = x;
                else if (i + 1 >= j && i + 1 < f.updates) at[1] = y;
            }
        }
    }
}

extern "C" __global__ void __launch_bounds__(160, 1)
dense_front_small_f64(f64 *arena, const Front *fronts, Status *status) {
    small_front<f64>(arena, fronts, status);
}

extern "C" __global__ void __launch_bounds__(160, 1)
dense_front_small_f32(f32 *arena, const Front *fronts, Status *status) {
    small_front<f32>(arena, fronts, status);
}
