// Partial Cholesky of many small fronts, each whole in the shared memory of one block.
//
// Shapes: front: pivots + updates <= 128 or so (what shared memory holds), pivots >= 1.
// Grid:   one block for each front of the list; threads: the order of the largest, rounded up to 32.
// Shared: order x (order + 4) numbers, with pivots and updates rounded up to 8 each and the sum to 16.
// Order:  fixed: bits repeat.
// Ref:    the 8 x 8 steps are those of eliminate.cuh.
#include "dense/copy.cuh"
#include "dense/eliminate.cuh"
#include "dense/front.cuh"

// Starts the copy of one thread's 16 bytes of columns j, j + step, .. below `end`: from `from` on, to `to` on.
__device__ __forceinline__ void copy_columns(u32 j, u32 end, u32 step, u32 to, u32 pitch, const f64 *from, u32 height, u32 bytes) {
    const u64 stride = (u64)step * height;
    if (bytes == 16) {
#pragma unroll 4
        for (; j < end; j += step, to += step * pitch * 8, from += stride) copy16(to, from);
    } else {
        for (; j < end; j += step, to += step * pitch * 8, from += stride) copy16(to, from, bytes);
    }
}

extern "C" __global__ void __launch_bounds__(160, 1)
dense_front_small(f64 *arena, const Front *fronts, Status *status) {
    extern __shared__ f64 s[];
    const Front f = fronts[blockIdx.x];
    const u32 top = ceil_div(f.pivots, 8u) * 8; // pivots and their padding: columns of the identity
    const u32 order = top + ceil_div(f.updates, 8u) * 8, pitch = ceil_div(order, 16u) * 16 + 4;
    const u32 warp = threadIdx.x / 32, warps = blockDim.x / 32;
    f64 *panel = arena + f.panel, *update = arena + f.update;

    // A column is copied by `wide` threads, 2 rows each; a thread keeps its rows and goes from column to column.
    const u32 wide = order <= 16 ? 8 : order <= 32 ? 16 : 32, column = threadIdx.x / wide, columns = blockDim.x / wide;
    for (u32 i = threadIdx.x % wide * 2; i < order; i += 2 * wide) {
        const u32 end = i < top ? f.pivots : top + f.updates; // of these rows' part
        const u32 bytes = i < end ? smaller(16u, (end - i) * 8) : 0, place = shared_address(s + column * pitch + i);
        const f64 *from = panel + (u64)column * f.panel_rows + (bytes == 0 ? 0 : i < top ? i : f.first_update + i - top);
        copy_columns(column, smaller(f.pivots, i + 2), columns, place, pitch, from, f.panel_rows, bytes);
        for (u32 j = f.pivots + column; j < top; j += columns) { // padding
            *(double2 *)(s + j * pitch + i) = {i == j ? 1.0 : 0.0, i + 1 == j ? 1.0 : 0.0};
        }
        if (i >= top && bytes > 0) {
            from = update + (u64)column * f.update_rows + i - top;
            copy_columns(column, smaller(f.updates, i - top + 2), columns, place + top * pitch * 8, pitch, from, f.update_rows, f.fresh ? 0 : bytes);
        }
    }
    commit_copies();
    wait_copies<0>();
    eliminate(s, pitch, order, top, status + f.status);

    for (u32 i = threadIdx.x % wide * 2; i < order; i += 2 * wide) {
        const u32 end = i < top ? f.pivots : top + f.updates;
        f64 *to = panel + (u64)column * f.panel_rows + (i < top ? i : f.first_update + i - top);
        const f64 *at = s + column * pitch + i;
        const u64 stride = (u64)columns * f.panel_rows;
        u32 j = column;
        if (i + 1 < end) {
#pragma unroll 4
            for (; j < smaller(f.pivots, i + 1); j += columns, to += stride, at += columns * pitch) *(double2 *)to = *(const double2 *)at;
            if (j == i + 1 && j < f.pivots) to[1] = at[1]; // on the diagonal
        } else if (i < end) {
            for (; j < smaller(f.pivots, i + 1); j += columns, to += stride, at += columns * pitch) to[0] = at[0];
        }
    }
    // The update matrix: tiles of 16 x 8, straight from the accumulators.
    const u32 t8 = top / 8, u8 = (order - top) / 8, g = lane_id() / 4, t = lane_id() % 4;
    for (u32 c = 0; c < u8; c++) {
        for (u32 m = (t8 + c) / 2 + (warp + c) % warps; 16 * m < order; m += warps) {
            Strip<1> strip;
            strip.load(s, pitch, m, t8 + c);
            strip.subtract<false>(s, pitch, nullptr, nullptr, m, t8 + c, 0, t8);
            const u32 i = 16 * m + 2 * g - top; // wraps above the update matrix
#pragma unroll
            for (int h = 0; h < 2; h++) {
                const u32 j = 8 * c + t + 4 * h;
                f64 *at = update + (u64)j * f.update_rows + i;
                const f64 x = strip.c[0][h], y = strip.c[0][2 + h];
                if (j >= f.updates || i >= f.updates) continue;
                if (i >= j && i + 1 < f.updates) *(double2 *)at = {x, y};
                else if (i >= j) at[0] = x;
                else if (i + 1 >= j && i + 1 < f.updates) at[1] = y;
            }
        }
    }
}
