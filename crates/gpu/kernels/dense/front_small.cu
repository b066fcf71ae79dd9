// Partial Cholesky of many small fronts: one warp for each (`front_warp.cuh`), or four.
//
// Shapes: front: at most 128 pivots; pivots + updates, each rounded up to 8, at most 64 for a warp, 256 for four.
// Grid:   a block for each front, of 32 threads or of 128.
// Shared: for each front its panel alone, `pivots` columns: the update matrix is read straight into the accumulators
//         that it is computed in, so that many fronts are resident and hide each other's latencies.
// Method: of four warps: left-looking, eight columns at a time. Tensor cores take the product of all earlier columns off the next eight;
//         then every thread factors the 8 x 8 diagonal block for itself, which is cheaper than telling each other, and
//         solves its own rows. Last comes the update matrix, in tiles of 16 x 8.
// Order:  fixed: bits repeat.
#include "dense/copy.cuh"
#include "dense/eliminate.cuh"
#include "dense/front.cuh"
#include "dense/front_warp.cuh"

#define SMALL_WARPS 4
#define SMALL_THREADS (32u * SMALL_WARPS)
#define SMALL_BLOCKS (__CUDA_ARCH__ == 1200 ? 3 : 4) // of which a multiprocessor has the registers

// The part of a front that fits into 8 columns: d[k][i], i >= k, becomes the factor, with the reciprocals of its diagonal
// in the place of the diagonal; only `count` columns are real. Returns the last reciprocal, which is not finite if any
// pivot was bad.
template <class R> __device__ __forceinline__ R factor_block(R (&d)[8][8], u32 count) {
    R inverse = 1;
#pragma unroll
    for (int k = 0; k < 8; k++) {
        if (k < count) {
            inverse = d[k][k] = reciprocal_root(d[k][k]);
#pragma unroll
            for (int i = k + 1; i < 8; i++) d[k][i] *= inverse;
#pragma unroll
            for (int i = k + 1; i < 8; i++) {
#pragma unroll
                for (int j = k + 1; j <= i; j++) d[j][i] = fma(-d[k][i], d[k][j], d[j][i]);
            }
        }
    }
    return inverse;
}

// x <- x L^-T
template <class R> __device__ __forceinline__ void solve_block(const R (&d)[8][8], R (&x)[8], u32 count) {
#pragma unroll
    for (int k = 0; k < 8; k++) {
        if (k < count) x[k] *= d[k][k];
#pragma unroll
        for (int i = k + 1; i < 8; i++) x[i] = fma(-x[k], d[k][i], x[i]);
    }
}

// One front and the threads that eliminate it.
template <class R, int ROWS> struct SmallFront {
    static constexpr u32 THREADS = SMALL_THREADS, GRAIN = Number<R>::GRAIN;
    const Front &f;
    R *s;             // the panel: column j at j pitch, update rows from `top` on
    R *panel, *update;
    u32 thread, top, order, pitch;

    __device__ __forceinline__ SmallFront(const Front &f, R *s, R *arena) : f(f), s(s), panel(arena + f.panel), update(arena + f.update) {
        thread = threadIdx.x;
        top = ceil_div(f.pivots, 8u) * 8;
        order = top + ceil_div(f.updates, 8u) * 8;
        pitch = eliminate_pitch<R>(order);
    }

    // Copies the panel; what is not there becomes zero. A column is copied by `wide` threads, 16 bytes each; a thread keeps
    // its rows and goes from column to column.
    __device__ __forceinline__ void load() const {
        const u32 wide = order <= 8 * GRAIN ? 8 : order <= 16 * GRAIN ? 16 : 32, column = thread / wide, columns = THREADS / wide;
        const u64 stride = (u64)columns * f.panel_rows;
        for (u32 i = thread % wide * GRAIN; i < order; i += GRAIN * wide) {
            const u32 end = i < top ? f.pivots : top + f.updates; // of these rows' part
            const u32 bytes = i < end ? smaller(16u, (end - i) * (u32)sizeof(R)) : 0;
            const R *from = panel + (u64)column * f.panel_rows + (bytes == 0 ? 0 : i < top ? i : f.first_update + i - top);
            u32 j = column, to = shared_address(s + column * pitch + i);
#pragma unroll 4
            for (; j < smaller(f.pivots, i + GRAIN); j += columns, to += columns * pitch * sizeof(R), from += stride) copy16(to, from, bytes);
            for (j = f.pivots + column; j < top; j += columns) {
#pragma unroll
                for (u32 h = 0; h < GRAIN; h++) s[j * pitch + i + h] = 0;
            }
        }
        commit_copies();
        wait_copies<0>();
        __syncthreads();
    }

    // Takes the columns before block column p off a tile of it.
    __device__ __forceinline__ void subtract(u32 tile, u32 p) const {
        Strip<R, 1> strip;
        strip.load(s, pitch, tile, p);
        strip.template subtract<false>(s, pitch, nullptr, nullptr, tile, p, 0, p);
        strip.template store<false>(s, pitch, tile, p);
    }

    // Block column p after its predecessors have been taken off: the factor, to `s` and to the arena.
    __device__ __forceinline__ void solve(u32 p, Status *status) const {
        R *block = s + 8 * p * pitch + 8 * p;
        const u32 count = smaller(8u, f.pivots - 8 * p);
        R d[8][8];
#pragma unroll
        for (int k = 0; k < 8; k++) {
#pragma unroll
            for (int i = (k + 1) / 2 * 2; i < 8; i += 2) {
                const Pair<R> v = *(const Pair<R> *)(block + k * pitch + i);
                d[k][i] = v.x, d[k][i + 1] = v.y;
            }
            if (k % 2) d[k][k] = block[k * pitch + k];
        }
        __syncthreads(); // rows of the block are written below
        const bool bad = !is_finite(factor_block(d, count));
        if (bad) {
            if (thread == 0) report(block, pitch, 8 * p, status);
            __syncthreads();
        }
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            const u32 row = thread + r * THREADS, below = row < top ? row : f.first_update + row - top;
            if (row < 8 * p || row >= order) continue;
            R *column = s + 8 * p * pitch + row, *to = panel + 8 * p * (u64)f.panel_rows + below;
            R x[8];
#pragma unroll
            for (int k = 0; k < 8; k++) x[k] = column[k * pitch];
            solve_block(d, x, count);
            const bool real = row < top ? row < f.pivots : row - top < f.updates;
#pragma unroll
            for (int k = 0; k < 8; k++, to += f.panel_rows) {
                column[k * pitch] = x[k]; // above the diagonal something that nobody looks at
                if (real && k < count && row >= 8 * p + k) *to = x[k];
            }
        }
        __syncthreads();
    }

    __device__ __forceinline__ void eliminate(Status *status) const {
        const u32 warp = thread / 32, tiles = ceil_div(order, 16u);
        for (u32 p = 0; 8 * p < top; p++) {
            if (p > 0) {
                for (u32 tile = p / 2 + warp; tile < tiles; tile += SMALL_WARPS) subtract(tile, p);
                __syncthreads();
            }
            solve(p, status);
        }
    }
};

// M tiles of 16 x 8 of an update matrix: rows from 16 m on, counted as in shared memory, columns 8 c .. of the update matrix.
// A lane's rows are 2 g, 2 g + 1 of a tile, its columns t and t + 4.
template <class R, int M> struct UpdateTiles {
    Strip<R, M> strip;

    // Calls f(pair's place, entries, has first row, has second row) for what is there of the lower half.
    template <class Front, class F> __device__ __forceinline__ void for_each(const Front &o, u32 m, u32 c, F f) {
        const u32 g = lane_id() / 4, t = lane_id() % 4;
        const Layout layout = {o.f.update_rows, NB};
        R *first = o.update + layout.origin(8 * c / NB);
        const u32 height = layout.height(8 * c / NB);
#pragma unroll
        for (int h = 0; h < 2; h++) {
            const u32 j = 8 * c + t + 4 * h;
            R *column = first + (u64)(j % NB) * height;
#pragma unroll
            for (int r = 0; r < M; r++) {
                const u32 i = 16 * (m + r) + 2 * g - o.top; // wraps above the update matrix
                R *at = column + i;
                f(at, strip.c[r][h], strip.c[r][2 + h], j < o.f.updates && i < o.f.updates && i >= j, j < o.f.updates && i + 1 < o.f.updates && i + 1 >= j);
            }
        }
    }
    template <class Front> __device__ __forceinline__ void load(const Front &o, u32 m, u32 c) {
        for_each(o, m, c, [&](R *at, R &x, R &y, bool first, bool second) {
            Pair<R> v = {};
            if (!o.f.fresh && (first || second)) v = *(const Pair<R> *)at;
            x = v.x, y = v.y;
        });
    }
    template <class Front> __device__ __forceinline__ void store(const Front &o, u32 m, u32 c) {
        for_each(o, m, c, [&](R *at, R x, R y, bool first, bool second) {
            if (first && second) store_pair(at, x, y);
            else if (first) at[0] = x;
            else if (second) at[1] = y;
        });
    }
};

template <class R, int ROWS, int TILES>
__device__ __forceinline__ void small_front(R *arena, const Front *fronts, Status *status, u32 count) {
    extern __shared__ f64 dynamic[];
    const Front f = fronts[count - 1 - blockIdx.x]; // as in warp_front
    if (threadIdx.x == 0) *(volatile u64 *)&status[f.status].pivot = ~0ull;
    const SmallFront<R, ROWS> own(f, (R *)dynamic, arena);
    own.load();
    own.eliminate(status + f.status);

    // The update matrix: the next tiles are on their way while these are computed.
    const u32 t8 = own.top / 8, end = (own.order - own.top) / 8, tiles = ceil_div(own.order, 16u);
    UpdateTiles<R, TILES> now, next;
    u32 c = own.thread / 32, m = (t8 + c) / 2;
    if (c < end) next.load(own, m, c);
    while (c < end) {
        now = next;
        const u32 here = m, column = c;
        m += TILES;
        if (m >= tiles) c += SMALL_WARPS, m = (t8 + c) / 2;
        if (c < end) next.load(own, m, c);
        now.strip.template subtract<false>(own.s, own.pitch, nullptr, nullptr, here, t8 + column, 0, t8);
        now.store(own, here, column);
    }
}

// Fronts of up to ROWS rows, UPDATES of them updates, by blocks of a warp, of which a multiprocessor has registers for BLOCKS.
#define WARP_KERNEL(R, ROWS, UPDATES, BLOCKS)                                                                           \
    extern "C" __global__ void __launch_bounds__(32, BLOCKS)                                                           \
        dense_front_small_##ROWS##_##UPDATES##_##R(R *arena, const Front *fronts, Status *status, u32 count) {         \
        warp_front<R, ROWS / 16, UPDATES / 16>(arena, fronts, status, count);                                          \
    }
#define WARP_KERNELS(ROWS, UPDATES, F64, F32) WARP_KERNEL(f64, ROWS, UPDATES, F64) WARP_KERNEL(f32, ROWS, UPDATES, F32)

// Fronts of up to ROWS rows by blocks of four warps.
#define BLOCK_KERNEL(R, ROWS)                                                                                          \
    extern "C" __global__ void __launch_bounds__(SMALL_THREADS, SMALL_BLOCKS)                                          \
        dense_front_small_##ROWS##_##R(R *arena, const Front *fronts, Status *status, u32 count) {                     \
        small_front<R, ROWS / SMALL_THREADS, 2>(arena, fronts, status, count);                                         \
    }
#define BLOCK_KERNELS(ROWS) BLOCK_KERNEL(f64, ROWS) BLOCK_KERNEL(f32, ROWS)

WARP_KERNELS(16, 16, 20, 24)
WARP_KERNELS(32, 16, 16, 24)
WARP_KERNELS(32, 32, (__CUDA_ARCH__ < 900 ? 12 : 16), 16)
WARP_KERNELS(48, 32, 8, 16)
WARP_KERNELS(64, 32, 8, 12)
WARP_KERNELS(64, 64, 8, 12)
BLOCK_KERNELS(128)
BLOCK_KERNELS(256)
