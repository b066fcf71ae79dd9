// Assembly and partial Cholesky of small fronts in one go, in the shared memory of one block.
//
// Shapes: front: pivots + updates, each rounded up to 8, at most 128; children: update matrices of orders at most
//         that, all of their block columns the first.
// Grid:   one block for each item of the list: fronts that it makes one after the other, so that a front may read
//         what the block wrote for those before it. Threads: the order of the largest, rounded up to 32.
// Shared: order x (lines of 128 bytes + 32 bytes).
// Needs:  nothing of panels and update matrices: they are written, not added to.
// Order:  entries of the matrix, then children in the order of the list, each entry at most once by each; bits repeat.
// Ref:    Duff, Reid 1983; the 8 x 8 steps are those of eliminate.cuh.
#include "dense/eliminate.cuh"

// Fronts of the list that one block makes.
struct __align__(8) Item {
    u32 first, count;
};

// `pivots` columns of the identity behind the pivots make them whole blocks of 8; so in shared memory.
struct __align__(16) Fused {
    u64 panel, update; // where they stand
    u32 first_child, children;
    u32 first_entry, entries;
    u32 status; // number of this front's status
    u16 pivots, updates;
    u16 panel_rows, first_update, update_rows;
    u16 order; // in shared memory
};

struct __align__(16) Child {
    u64 update;   // where its update matrix stands
    u32 relative; // where its rows in the parent begin: numbers of rows in shared memory, as bytes, ascending
    u16 order, height;
};

struct __align__(8) Entry {
    u32 from;  // number of the value
    u32 place; // in shared memory
};

// Two rows of a child as they stand in the parent.
struct Rows {
    u32 pair;
    __device__ __forceinline__ u32 first() const { return pair & 255; }
    __device__ __forceinline__ u32 second() const { return pair >> 8; }
};

__device__ __forceinline__ Rows rows_of(const u8 *relative, const Child &child, u32 row) {
    return {row < child.order ? *(const u16 *)(relative + child.relative + row) : 0u};
}

// Adds rows `row`, `row` + 1 of column j, which is column `column` of the parent.
template <class R>
__device__ __forceinline__ void add_pair(R *s, u32 pitch, Pair<R> v, u32 row, u32 j, u32 order, Rows rows, u32 column) {
    R *to = s + column * pitch;
    if (row >= j && row < order) to[rows.first()] += v.x;
    if (row + 1 >= j && row + 1 < order) to[rows.second()] += v.y;
}

// Adds a child of an order up to 2 LANES. A warp takes 32 / LANES columns at a time, LANES lanes each; four such
// are on their way together.
template <class R, u32 LANES> __device__ __forceinline__ void add_narrow(R *s, u32 pitch, const R *arena, const Child &child, Rows rows) {
    constexpr u32 STEP = 32 / LANES, DEEP = 4;
    const u32 row = lane_id() % LANES * 2, first = lane_id() / LANES;
    const R *from = arena + child.update + row;
    for (u32 begin = 0; begin < child.order; begin += STEP * DEEP) {
        Pair<R> v[DEEP];
#pragma unroll
        for (u32 k = 0; k < DEEP; k++) {
            const u32 j = begin + STEP * k + first;
            if (j < child.order && row + 1 >= j && row < child.order) v[k] = *(const Pair<R> *)(from + j * child.height);
        }
#pragma unroll
        for (u32 k = 0; k < DEEP; k++) {
            const u32 j = begin + STEP * k + first;
            const Rows columns = {__shfl_sync(FULL_MASK, rows.pair, j / 2)};
            if (j < child.order) add_pair<R>(s, pitch, v[k], row, j, child.order, rows, j % 2 ? columns.second() : columns.first());
        }
    }
}

// Adds the columns of a child that are this warp's: so warps need not wait for each other from child to child.
template <class R> __device__ __forceinline__ void add_wide(R *s, u32 pitch, const R *arena, const Child &child, const Rows (&rows)[2]) {
    constexpr u32 DEEP = 4;
    const u32 lane = lane_id(), warp = threadIdx.x / 32, warps = blockDim.x / 32;
#pragma unroll
    for (u32 q = 0; q < 2; q++) {
        if (64 * q >= child.order) break;
#pragma unroll
        for (u32 odd = 0; odd < 2; odd++) {
            const u32 mine = odd ? rows[q].second() : rows[q].first();
            u32 left = __ballot_sync(FULL_MASK, 64 * q + 2 * lane + odd < child.order && mine % warps == warp);
            while (left != 0) {
                u32 j[DEEP];
                Pair<R> v[DEEP][2];
#pragma unroll
                for (u32 k = 0; k < DEEP; k++) {
                    j[k] = left == 0 ? 0x10000u : 64 * q + 2 * (__ffs(left) - 1) + odd;
                    left &= left - 1;
#pragma unroll
                    for (u32 p = q; p < 2; p++) {
                        const u32 row = 64 * p + 2 * lane;
                        if (row + 1 >= j[k] && row < child.order) v[k][p] = *(const Pair<R> *)(arena + child.update + j[k] * child.height + row);
                    }
                }
#pragma unroll
                for (u32 k = 0; k < DEEP; k++) {
                    if (j[k] >= child.order) break;
                    const u32 column = __shfl_sync(FULL_MASK, mine, j[k] / 2 % 32);
#pragma unroll
                    for (u32 p = q; p < 2; p++) add_pair<R>(s, pitch, v[k][p], 64 * p + 2 * lane, j[k], child.order, rows[p], column);
                }
            }
        }
    }
}

// Adds all children. The warp reads 32 of them at a time, and the rows of the next before it adds one.
template <class R, u32 LANES>
__device__ __forceinline__ void add_children(R *s, u32 pitch, const R *arena, const Fused &f, const Child *children, const u8 *relative) {
    const u32 lane = lane_id(), row = lane % LANES * 2;
    for (u32 base = 0; base < f.children; base += 32) {
        Child own = {};
        if (base + lane < f.children) own = children[f.first_child + base + lane];
        const u32 count = smaller(32u, f.children - base);
        for (u32 c = 0; c < count; c++) {
            Child child;
            child.update = __shfl_sync(FULL_MASK, own.update, c);
            child.relative = __shfl_sync(FULL_MASK, own.relative, c);
            const u32 both = __shfl_sync(FULL_MASK, own.order | (u32)own.height << 16, c);
            child.order = both & 0xffff, child.height = both >> 16;
            if (LANES < 32) {
                add_narrow<R, LANES>(s, pitch, arena, child, rows_of(relative, child, row));
            } else {
                const Rows rows[2] = {rows_of(relative, child, row), rows_of(relative, child, row + 64)};
                add_wide<R>(s, pitch, arena, child, rows);
            }
            __syncwarp(); // the next child adds to what other lanes have added to
        }
    }
}

// Eliminates in one warp, a lane for each row: the pivots' rows are told by shuffles, which takes half the registers of
// eliminate.cuh and stops at the last pivot. The same arithmetic, the same bits.
template <class R> __device__ __forceinline__ void eliminate_warp(R *s, u32 pitch, u32 order, u32 pivots, Status *status) {
    const u32 lane = lane_id();
    Status bad = {~0ull, 0};
    for (u32 p = 0; 8 * p < pivots; p++) {
        __syncwarp();
        if (p > 0) {
            for (u32 m = p / 2; 16 * m < order; m++) {
                Strip<R, 1> strip;
                strip.load(s, pitch, m, p);
                strip.template subtract<false>(s, pitch, nullptr, nullptr, m, p, 0, p);
                strip.template store<false>(s, pitch, m, p);
            }
            __syncwarp();
        }
        R x[8];
        R *own = s + 8 * p * pitch + smaller(lane, order - 1);
#pragma unroll
        for (u32 k = 0; k < 8; k++) x[k] = own[k * pitch];
#pragma unroll
        for (u32 k = 0; k < 8; k++) {
            if (8 * p + k >= pivots) break;
            const R pivot = __shfl_sync(FULL_MASK, x[k], 8 * p + k), inverse = reciprocal_root(pivot);
            if (!is_finite(inverse) && bad.pivot == ~0ull) bad = {8 * p + k, pivot};
            x[k] *= inverse;
#pragma unroll
            for (u32 i = k + 1; i < 8; i++) x[i] = fma(-x[k], __shfl_sync(FULL_MASK, x[k], 8 * p + i), x[i]);
        }
        if (lane >= 8 * p && lane < order) {
#pragma unroll
            for (u32 k = 0; k < 8; k++) own[k * pitch] = x[k];
        }
    }
    __syncwarp();
    if (lane == 0) *status = bad;
}

template <class R> __device__ __forceinline__ void clear(R *s, u32 count) {
    for (u32 e = threadIdx.x; e < count / Number<R>::GRAIN; e += blockDim.x) ((int4 *)s)[e] = {0, 0, 0, 0};
}

template <class R> __device__ __forceinline__ void write_panel(const R *s, u32 pitch, R *arena, const Fused &f, u32 top) {
    const u32 wide = f.order <= 16 ? 8 : f.order <= 32 ? 16 : 32, column = threadIdx.x / wide, columns = blockDim.x / wide;
    for (u32 i = threadIdx.x % wide * 2; i < f.order; i += 2 * wide) {
        const u32 end = i < top ? f.pivots : top + f.updates; // of these rows' part
        R *to = arena + f.panel + column * f.panel_rows + (i < top ? i : f.first_update + i - top);
        const R *at = s + column * pitch + i;
        const u32 stride = columns * f.panel_rows;
        u32 j = column;
        if (i + 1 < end) {
#pragma unroll 4
            for (; j < smaller((u32)f.pivots, i + 1); j += columns, to += stride, at += columns * pitch) *(Pair<R> *)to = *(const Pair<R> *)at;
            if (j == i + 1 && j < f.pivots) to[1] = at[1]; // on the diagonal
        } else if (i < end) {
            for (; j < smaller((u32)f.pivots, i + 1); j += columns, to += stride, at += columns * pitch) to[0] = at[0];
        }
    }
}

// The update matrix: tiles of 16 x 8, straight from the accumulators.
template <class R> __device__ __forceinline__ void write_update(const R *s, u32 pitch, R *arena, const Fused &f, u32 top) {
    const u32 warp = threadIdx.x / 32, warps = blockDim.x / 32;
    const u32 t8 = top / 8, u8s = (f.order - top) / 8, g = lane_id() / 4, t = lane_id() % 4;
    for (u32 c = 0; c < u8s; c++) {
        for (u32 m = (t8 + c) / 2 + (warp + c) % warps; 16 * m < f.order; m += warps) {
            Strip<R, 1> strip;
            strip.load(s, pitch, m, t8 + c);
            strip.template subtract<false>(s, pitch, nullptr, nullptr, m, t8 + c, 0, t8);
            const u32 i = 16 * m + 2 * g - top; // wraps above the update matrix
#pragma unroll
            for (int h = 0; h < 2; h++) {
                const u32 j = 8 * c + t + 4 * h;
                R *at = arena + f.update + j * f.update_rows + i;
                const R x = strip.c[0][h], y = strip.c[0][2 + h];
                if (j >= f.updates || i >= f.updates) continue;
                if (i >= j && i + 1 < f.updates) *(Pair<R> *)at = {x, y};
                else if (i >= j) at[0] = x;
                else if (i + 1 >= j && i + 1 < f.updates) at[1] = y;
            }
        }
    }
}

template <class R, u32 LANES>
__device__ __forceinline__ void fused(R *arena, const Item *items, const Fused *fronts, const Child *children, const u8 *relative, const Entry *entries, const R *values, Status *status) {
    extern __shared__ f64 dynamic[];
    R *s = (R *)dynamic;
    const Item item = items[blockIdx.x];
    for (const Fused *front = fronts + item.first, *end = front + item.count; front != end; front++) {
        u32 pitch, order, top;
        {
            const Fused f = *front;
            order = f.order, pitch = eliminate_pitch<R>(order), top = ceil_div((u32)f.pivots, 8u) * 8;
            __syncthreads(); // the front before has been written
            clear(s, order * pitch);
            if (LANES == 32 && threadIdx.x == 0) status[f.status] = {~0ull, 0};
            __syncthreads();
            for (u32 e = threadIdx.x; e < f.entries; e += blockDim.x) {
                const Entry entry = entries[f.first_entry + e];
                s[entry.place] = values[entry.from];
            }
            if (threadIdx.x < top - f.pivots) s[(f.pivots + threadIdx.x) * (pitch + 1)] = 1;
            __syncthreads();
            add_children<R, LANES>(s, pitch, arena, f, children, relative);
        }
        if (LANES < 32) eliminate_warp(s, pitch, order, (u32)front->pivots, status + front->status);
        else eliminate(s, pitch, order, top, status + front->status);
        const Fused f = *front; // again: registers are scarce until here
        write_panel(s, pitch, arena, f, top);
        write_update(s, pitch, arena, f, top);
    }
}

// Orders up to 16, one warp.
extern "C" __global__ void __launch_bounds__(32, 20)
dense_front_fused_16_f64(f64 *arena, const Item *items, const Fused *fronts, const Child *children, const u8 *relative, const Entry *entries, const f64 *values, Status *status) {
    fused<f64, 8>(arena, items, fronts, children, relative, entries, values, status);
}

// Orders up to 32, one warp.
extern "C" __global__ void __launch_bounds__(32, 20)
dense_front_fused_32_f64(f64 *arena, const Item *items, const Fused *fronts, const Child *children, const u8 *relative, const Entry *entries, const f64 *values, Status *status) {
    fused<f64, 16>(arena, items, fronts, children, relative, entries, values, status);
}

// Orders up to 128.
extern "C" __global__ void __launch_bounds__(128, 2)
dense_front_fused_128_f64(f64 *arena, const Item *items, const Fused *fronts, const Child *children, const u8 *relative, const Entry *entries, const f64 *values, Status *status) {
    fused<f64, 32>(arena, items, fronts, children, relative, entries, values, status);
}

extern "C" __global__ void __launch_bounds__(32, 20)
dense_front_fused_16_f32(f32 *arena, const Item *items, const Fused *fronts, const Child *children, const u8 *relative, const Entry *entries, const f32 *values, Status *status) {
    fused<f32, 8>(arena, items, fronts, children, relative, entries, values, status);
}

extern "C" __global__ void __launch_bounds__(32, 20)
dense_front_fused_32_f32(f32 *arena, const Item *items, const Fused *fronts, const Child *children, const u8 *relative, const Entry *entries, const f32 *values, Status *status) {
    fused<f32, 16>(arena, items, fronts, children, relative, entries, values, status);
}

extern "C" __global__ void __launch_bounds__(128, 2)
dense_front_fused_128_f32(f32 *arena, const Item *items, const Fused *fronts, const Child *children, const u8 *relative, const Entry *entries, const f32 *values, Status *status) {
    fused<f32, 32>(arena, items, fronts, children, relative, entries, values, status);
}
