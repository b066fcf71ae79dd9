// Assembly of fronts with thousands of small children, column by column (extend-add).
//
// Shapes: parent: a front of pivots + updates rows; child: an update matrix, packed block columns; its rows are rows
//         of the parent, in the same order.
// Grid:   one block for each column of a parent. A visit is what one child gives to it: a column of the child's, from its
//         diagonal on, whose rows are scattered over the parent's. Each warp makes an equal share of the visits, one after the
//         other, a lane for each row, and sums them up in shared memory; what is read for four visits is asked for together.
// Shared: the column, once for each warp.
// Needs:  the entries of the matrix in the panel, which is added to; nothing of the update matrix, which is written.
// Order:  the visits of a warp in the order of the list, then warp by warp: no atomics, bits repeat.
// Ref:    Duff, Reid 1983.
#include "common.cuh"

#define AT_ONCE 4

struct Column {
    u64 to;    // where its diagonal entry stands, and `upper` rows from there on
    u64 below; // where its other rows stand
    u32 first_visit, visits;
    u32 number;      // in the front: that of its first row
    u32 rows, upper; // from the diagonal on
    u32 adds;        // what stands there belongs to the sum
};

// A column of a child, from its diagonal on.
struct __align__(16) Visit {
    u64 from;
    u32 relative; // the first of its rows in the list of the rows' places in the parent
    u32 rows;
};

template <class R>
__device__ __forceinline__ void extend_add_column(R *arena, const Column *columns, const Visit *visits, const u32 *relative) {
    extern __shared__ f64 dynamic[];
    const Column column = columns[blockIdx.x];
    const u32 lane = lane_id(), warp = threadIdx.x / WARP, warps = blockDim.x / WARP;
    R *all = (R *)dynamic, *own = all + warp * column.rows;
    for (u32 i = lane; i < column.rows; i += WARP) own[i] = 0;
    __syncwarp();
    const u32 first = column.first_visit + (u64)column.visits * warp / warps;
    const u32 end = column.first_visit + (u64)column.visits * (warp + 1) / warps;
    for (u32 at = first; at < end; at += WARP) {
        Visit mine = {};
        if (at + lane < end) mine = visits[at + lane];
        for (u32 k = 0; k < smaller(u32(WARP), end - at); k += AT_ONCE) {
            u64 from[AT_ONCE];
            u32 places[AT_ONCE], rows[AT_ONCE], to[AT_ONCE];
            R v[AT_ONCE];
#pragma unroll
            for (u32 u = 0; u < AT_ONCE; u++) { // behind the last visit there are some of no rows
                from[u] = __shfl_sync(FULL_MASK, mine.from, k + u);
                places[u] = __shfl_sync(FULL_MASK, mine.relative, k + u);
                rows[u] = __shfl_sync(FULL_MASK, mine.rows, k + u);
                to[u] = 0, v[u] = 0;
                if (lane < rows[u]) to[u] = relative[places[u] + lane], v[u] = arena[from[u] + lane];
            }
#pragma unroll
            for (u32 u = 0; u < AT_ONCE; u++) {
                if (lane < rows[u]) own[to[u] - column.number] += v[u];
                for (u32 i = WARP + lane; i < rows[u]; i += WARP) own[relative[places[u] + i] - column.number] += arena[from[u] + i];
                __syncwarp();
            }
        }
    }
    __syncthreads();
    for (u32 i = threadIdx.x; i < column.rows; i += blockDim.x) {
        R *to = arena + (i < column.upper ? column.to + i : column.below + i - column.upper);
        R sum = column.adds ? *to : 0;
        for (u32 w = 0; w < warps; w++) sum += all[w * column.rows + i];
        *to = sum;
    }
}

extern "C" __global__ void dense_extend_add_columns_f64(f64 *arena, const Column *columns, const Visit *visits, const u32 *relative) {
    extend_add_column(arena, columns, visits, relative);
}

extern "C" __global__ void dense_extend_add_columns_f32(f32 *arena, const Column *columns, const Visit *visits, const u32 *relative) {
    extend_add_column(arena, columns, visits, relative);
}
