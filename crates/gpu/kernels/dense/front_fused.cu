// Assembly and partial Cholesky of small fronts in one go, in the shared memory of one block.
//
// Shapes: front: pivots + updates, each rounded up to 8, at most 128; children: update matrices of orders at most
//         that, all of their block columns the first.
// Grid:   one block for each item of the list: fronts that it makes one after the other, so that a front may read
//         what the block wrote for those before it. Threads: the order of the largest, rounded up to 32.
// Shared: order x (lines of 128 bytes + 32 bytes).
// Needs:  the entries of the matrix in the panels; nothing of update matrices: they are written, not added to.
// Order:  what stands in the panel, then children in the order of the list, each entry at most once by each; bits repeat.
// Ref:    Duff, Reid 1983; the 8 x 8 steps are those of eliminate.cuh.
#include "dense/copy.cuh"
#include "dense/eliminate.cuh"

// Blocks on a multiprocessor: as many as registers allow without spilling.
#if __CUDA_ARCH__ >= 1000
#define BLOCKS_OF_32 16
#define BLOCKS_OF_64 6
#else
#define BLOCKS_OF_32 20
#define BLOCKS_OF_64 8
#endif

// Fronts of the list that one block makes.
struct __align__(8) Item {
    u32 first, count;
};

// `pivots` columns of the identity behind the pivots make them whole blocks of 8; so in shared memory.
struct __align__(8) Fused {
    u64 panel, update; // where they stand
    u32 first_child, children;
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

// Waits for all threads; a block of one warp has no others.
template <u32 LANES> __device__ __forceinline__ void sync() {
    if (LANES < 32) __syncwarp();
    else __syncthreads();
}

// Some columns of a child on their way to the front. LANES lanes take a column, two rows each, and the two 64 below
// with PASSES = 2; a column is taken by every unit of so many lanes, and DEEP times as many are on their way.
template <class R, u32 LANES, u32 PASSES> struct Columns {
    static constexpr u32 DEEP = 4;
    Pair<R> v[DEEP][PASSES];
    u32 places[PASSES]; // of this lane's rows in the front, two bytes
    u32 begin, order;

    static __device__ __forceinline__ u32 row(u32 p) { return 64 * p + lane_id() % LANES * 2; }
    static __device__ __forceinline__ u32 width() { return blockDim.x / LANES * DEEP; }
    __device__ __forceinline__ u32 column(u32 k) const { return begin + threadIdx.x / LANES + blockDim.x / LANES * k; }

    __device__ __forceinline__ void load(const R *arena, const u8 *relative, const Child &child, u32 from) {
        begin = from, order = child.order;
        const R *at = arena + child.update + column(0) * child.height;
        const u32 step = blockDim.x / LANES * child.height;
        i32 last[PASSES]; // column with one of these rows
#pragma unroll
        for (u32 p = 0; p < PASSES; p++) {
            places[p] = row(p) < order ? *(const u16 *)(relative + child.relative + row(p)) : 0;
            last[p] = row(p) < order ? smaller((i32)row(p) + 1, (i32)order - 1) : -1;
        }
#pragma unroll
        for (u32 k = 0; k < DEEP; k++, at += step) {
#pragma unroll
            for (u32 p = 0; p < PASSES; p++) {
                if ((i32)column(k) <= last[p]) v[k][p] = *(const Pair<R> *)(at + row(p));
            }
        }
    }

    __device__ __forceinline__ void add(R *s, u32 pitch) const {
#pragma unroll
        for (u32 k = 0; k < DEEP; k++) {
            const u32 j = column(k);
            u32 both = __shfl_sync(FULL_MASK, places[0], j / 2);
            if (PASSES > 1) {
                const u32 lower = __shfl_sync(FULL_MASK, places[PASSES - 1], j / 2);
                if (j >= 64) both = lower;
            }
            const u32 to = (both >> j % 2 * 8 & 255) * pitch;
#pragma unroll
            for (u32 p = 0; p < PASSES; p++) {
                if (row(p) >= j && row(p) < order) s[to + (places[p] & 255)] += v[k][p].x;
                if (row(p) + 1 >= j && row(p) + 1 < order) s[to + (places[p] >> 8)] += v[k][p].y;
            }
        }
    }
};

// The children of a front, one after the other; a warp reads 32 of them at a time.
struct Children {
    const Child *next;
    u32 left; // the present one and those behind it
    u32 lane; // of the present one
    Child own;

    __device__ __forceinline__ void fetch() {
        lane = 0, own.order = 0;
        if (lane_id() < left) own = next[lane_id()];
    }
    __device__ __forceinline__ Children(const Child *first, u32 count) : next(first), left(count) { fetch(); }

    __device__ __forceinline__ Child present() const {
        Child child;
        child.update = __shfl_sync(FULL_MASK, own.update, lane);
        child.relative = __shfl_sync(FULL_MASK, own.relative, lane);
        const u32 both = __shfl_sync(FULL_MASK, own.order | (u32)own.height << 16, lane);
        child.order = both & 0xffff, child.height = both >> 16;
        return child;
    }
    __device__ __forceinline__ void advance() {
        left--;
        if (++lane == 32) next += 32, fetch();
    }
};

// Adds all children, of which `now` are the first columns: the next columns are on their way while some are added.
template <class R, u32 LANES, u32 PASSES>
__device__ __forceinline__ void add_children(R *s, u32 pitch, const R *arena, const u8 *relative, Children &children, Columns<R, LANES, PASSES> &now) {
    while (children.left > 0) {
        Columns<R, LANES, PASSES> next;
        const bool last = now.begin + now.width() >= now.order; // of this child
        if (last) children.advance();
        if (children.left > 0) next.load(arena, relative, children.present(), last ? 0 : now.begin + now.width());
        now.add(s, pitch);
        if (last) sync<LANES>(); // the next child adds to what other threads have added to
        now = next;
    }
}

// Eliminates with a lane for each row. Every warp has the pivots' rows beside its own and tells them by shuffles, which
// takes half the registers of eliminate.cuh and stops at the last pivot; the same arithmetic, the same bits.
template <class R, u32 LANES> __device__ __forceinline__ void eliminate_rows(R *s, u32 pitch, u32 order, u32 pivots, Status *status) {
    const u32 lane = lane_id(), row = threadIdx.x, warp = threadIdx.x / 32;
    Status bad = {~0ull, 0};
    for (u32 p = 0; 8 * p < pivots; p++) {
        sync<LANES>();
        const bool works = 32 * warp + 31 >= 8 * p && 32 * warp < order; // the same in a warp
        if (p > 0) {
            for (u32 m = larger(2 * warp, p / 2); m < 2 * warp + 2 && 16 * m < order; m++) {
                Strip<R, 1> strip;
                strip.load(s, pitch, m, p);
                strip.template subtract<false>(s, pitch, nullptr, nullptr, m, p, 0, p);
                strip.template store<false>(s, pitch, m, p);
            }
            sync<LANES>();
        }
        R x[8], y[8];
        R *own = s + 8 * p * pitch + smaller(row, order - 1);
        const R *pivot_rows = s + 8 * p * pitch + 8 * p + lane % 8;
#pragma unroll
        for (u32 k = 0; k < 8; k++) {
            x[k] = own[k * pitch];
            if (LANES == 32) y[k] = pivot_rows[k * pitch];
        }
        sync<LANES>(); // all have the pivots' rows
        if (!works) continue;
        const u32 first = LANES == 32 ? 0 : 8 * p; // lane of the first pivot's row
        R pivot = 1; // this lane's
#pragma unroll
        for (u32 k = 0; k < 8; k++) {
            if (8 * p + k >= pivots) break;
            R *z = LANES == 32 ? y : x;
            if (lane == first + k) pivot = z[k];
            const R inverse = reciprocal_root(__shfl_sync(FULL_MASK, z[k], first + k));
            x[k] *= inverse;
            if (LANES == 32) y[k] *= inverse;
#pragma unroll
            for (u32 i = k + 1; i < 8; i++) {
                const R l = __shfl_sync(FULL_MASK, z[k], first + i);
                x[i] = fma(-x[k], l, x[i]);
                if (LANES == 32) y[i] = fma(-y[k], l, y[i]);
            }
        }
        const u32 wrong = __ballot_sync(FULL_MASK, !is_finite(reciprocal_root(pivot)));
        if (wrong != 0 && bad.pivot == ~0ull) {
            const u32 from = __ffs(wrong) - 1;
            bad = {8 * p + from - first, __shfl_sync(FULL_MASK, pivot, from)};
        }
        if (row >= 8 * p && row < order) {
#pragma unroll
            for (u32 k = 0; k < 8; k++) own[k * pitch] = x[k];
        }
    }
    sync<LANES>();
    // The last warp with rows works to the end.
    if (row == (order - 1) / 32 * 32) *status = bad;
}

template <class R> __device__ __forceinline__ void clear(R *s, u32 count) {
    for (u32 e = threadIdx.x; e < count / Number<R>::GRAIN; e += blockDim.x) ((int4 *)s)[e] = {0, 0, 0, 0};
}

// Starts the copy of the panel to shared memory: 16 bytes a thread, what lies behind its rows is left alone there.
template <class R> __device__ __forceinline__ void read_panel(R *s, u32 pitch, const R *arena, const Fused &f, u32 top) {
    constexpr u32 GRAIN = Number<R>::GRAIN;
    const u32 wide = f.order <= 8 * GRAIN ? 8 : f.order <= 16 * GRAIN ? 16 : 32, column = threadIdx.x / wide, columns = blockDim.x / wide;
    for (u32 i = threadIdx.x % wide * GRAIN; i < f.order; i += GRAIN * wide) {
        const u32 end = i < top ? f.pivots : top + f.updates; // of these rows' part
        if (i >= end) continue;
        const u32 bytes = smaller(16u, (end - i) * (u32)sizeof(R)), stride = columns * f.panel_rows;
        const R *from = arena + f.panel + column * f.panel_rows + (i < top ? i : f.first_update + i - top);
        u32 to = shared_address(s + column * pitch + i);
#pragma unroll 4
        for (u32 j = column; j < smaller((u32)f.pivots, i + GRAIN); j += columns, to += columns * pitch * sizeof(R), from += stride) copy16(to, from, bytes);
    }
    commit_copies();
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

template <class R, u32 LANES, u32 PASSES>
__device__ __forceinline__ void fused(R *arena, const Item *items, const Fused *fronts, const Child *children, const u8 *relative, Status *status) {
    extern __shared__ f64 dynamic[];
    R *s = (R *)dynamic;
    const Item item = items[blockIdx.x];
    for (const Fused *front = fronts + item.first, *end = front + item.count; front != end; front++) {
        u32 pitch, order, top;
        {
            const Fused f = *front;
            order = f.order, pitch = eliminate_pitch<R>(order), top = ceil_div((u32)f.pivots, 8u) * 8;
            // All that is read begins here, before anything waits.
            Children list(children + f.first_child, f.children);
            sync<LANES>(); // the front before has been written
            clear(s, order * pitch);
            Columns<R, LANES, PASSES> columns;
            if (list.left > 0) columns.load(arena, relative, list.present(), 0);
            sync<LANES>();
            read_panel(s, pitch, arena, f, top);
            if (threadIdx.x < top - f.pivots) s[(f.pivots + threadIdx.x) * (pitch + 1)] = 1;
            wait_copies<0>();
            sync<LANES>();
            add_children(s, pitch, arena, relative, list, columns);
        }
        eliminate_rows<R, LANES>(s, pitch, order, front->pivots, status + front->status);
        const Fused f = *front; // again: registers are scarce until here
        write_panel(s, pitch, arena, f, top);
        write_update(s, pitch, arena, f, top);
    }
}

// Orders up to 16 and 32: one warp. Up to 64, up to 128: as many threads as rows.
extern "C" __global__ void __launch_bounds__(32, BLOCKS_OF_32)
dense_front_fused_16_f64(f64 *arena, const Item *items, const Fused *fronts, const Child *children, const u8 *relative, Status *status) {
    fused<f64, 8, 1>(arena, items, fronts, children, relative, status);
}

extern "C" __global__ void __launch_bounds__(32, BLOCKS_OF_32)
dense_front_fused_32_f64(f64 *arena, const Item *items, const Fused *fronts, const Child *children, const u8 *relative, Status *status) {
    fused<f64, 16, 1>(arena, items, fronts, children, relative, status);
}

extern "C" __global__ void __launch_bounds__(64, BLOCKS_OF_64)
dense_front_fused_64_f64(f64 *arena, const Item *items, const Fused *fronts, const Child *children, const u8 *relative, Status *status) {
    fused<f64, 32, 1>(arena, items, fronts, children, relative, status);
}

extern "C" __global__ void __launch_bounds__(128, 3)
dense_front_fused_128_f64(f64 *arena, const Item *items, const Fused *fronts, const Child *children, const u8 *relative, Status *status) {
    fused<f64, 32, 2>(arena, items, fronts, children, relative, status);
}

extern "C" __global__ void __launch_bounds__(32, BLOCKS_OF_32)
dense_front_fused_16_f32(f32 *arena, const Item *items, const Fused *fronts, const Child *children, const u8 *relative, Status *status) {
    fused<f32, 8, 1>(arena, items, fronts, children, relative, status);
}

extern "C" __global__ void __launch_bounds__(32, BLOCKS_OF_32)
dense_front_fused_32_f32(f32 *arena, const Item *items, const Fused *fronts, const Child *children, const u8 *relative, Status *status) {
    fused<f32, 16, 1>(arena, items, fronts, children, relative, status);
}

extern "C" __global__ void __launch_bounds__(64, BLOCKS_OF_64)
dense_front_fused_64_f32(f32 *arena, const Item *items, const Fused *fronts, const Child *children, const u8 *relative, Status *status) {
    fused<f32, 32, 1>(arena, items, fronts, children, relative, status);
}

extern "C" __global__ void __launch_bounds__(128, 3)
dense_front_fused_128_f32(f32 *arena, const Item *items, const Fused *fronts, const Child *children, const u8 *relative, Status *status) {
    fused<f32, 32, 2>(arena, items, fronts, children, relative, status);
}
