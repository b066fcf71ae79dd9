// Products by windows of rows that go through their entries in the order of columns, for columns that are anywhere.
//
// A gather that misses the first-level cache is one request to the second-level cache, which answers some 75 of them a
// clock (H100) however few bytes each asks for: 32 entries of a row or of neighboring rows that touch 32 lines of x
// wait for that, not for bytes. Here a block keeps the sums of a window of rows in shared memory and takes the window's
// entries by column, so that neighboring threads ask for the same lines. Atomic additions would come in any order, so
// the entries are dealt into rounds in which no sum occurs twice: a round runs in parallel, a barrier follows, and
// every sum receives its entries by ascending columns. A row of more than 16 entries has several sums, added at the
// end; a very long one is cut into segments, which are further rows whose sums by_column_segments adds.
//
// Shapes: windows: the words of Window for each. columns, values, places: rounds of 1024 * DEPTH entries; a padding
//         entry has column ~0. place: which sum of the window. several: for each row with several sums its place |
//         the place of its second sum << 16; one more closes a window. segment_starts (cut + 1), cut_rows: which
//         segments belong to which row.
// Grid:   by_column: a block of 1024 threads a window. by_column_segments: a warp a cut row, in blocks of 256 threads.
// Needs:  dynamic shared memory: size * places of the largest window; places below 2^16.
// Order:  a sum's entries by column, a row's sums and segments one after the other: bits depend on the row alone.
// Ref:    Buluç, Fineman, Frigo, Gilbert, Leiserson 2009 (blocks of rows and columns); the dealing is that of
//         symmetric.cu; (size + 6) * entries + 2 * size * rows bytes.
#include "spmv/spmv.cuh"

#define BLOCK 1024
// Entries of a thread in a round: one has more barriers and takes 165 us where two take 143 (f64), and as long in f32.
#define DEPTH 2

struct Window {
    u32 row, rows, round, rounds; // first of its rows, and of its rounds; how many
    u32 several, several_count, places, unused;
};

// A thread's entries of a round.
template <class T> struct Entries {
    u32 column[DEPTH];
    u16 place[DEPTH];
    T value[DEPTH], x[DEPTH];

    __device__ __forceinline__ void load(bool exists, u64 round, const u32 *__restrict__ columns,
                                         const u16 *__restrict__ places, const T *__restrict__ values) {
#pragma unroll
        for (u32 k = 0; k < DEPTH; ++k) {
            u64 at = (round * DEPTH + k) * BLOCK + threadIdx.x;
            column[k] = load_once_if(exists, columns + at, NONE);
            place[k] = load_once_if(exists, places + at, (u16)0);
            value[k] = load_once_if(exists, values + at, (T)0);
        }
    }

    __device__ __forceinline__ void gather(const T *__restrict__ from) {
#pragma unroll
        for (u32 k = 0; k < DEPTH; ++k) x[k] = load_if(column[k] != NONE, from + column[k], (T)0);
    }

    // No other entry of the round has these places, so all sums are read before any is written.
    __device__ __forceinline__ void add(T *sums) const {
        T sum[DEPTH];
#pragma unroll
        for (u32 k = 0; k < DEPTH; ++k) sum[k] = column[k] != NONE ? fma(value[k], x[k], sums[place[k]]) : 0;
#pragma unroll
        for (u32 k = 0; k < DEPTH; ++k)
            if (column[k] != NONE) sums[place[k]] = sum[k];
    }
};

template <class T>
__device__ inline void by_column(u32 m, const Window *__restrict__ windows, const u32 *__restrict__ columns,
                                 const u16 *__restrict__ places, const T *__restrict__ values,
                                 const u32 *__restrict__ several, const T *__restrict__ x, T *__restrict__ segments,
                                 Update<T> update) {
    extern __shared__ u64 memory[];
    T *sums = (T *)memory;
    const Window w = windows[blockIdx.x];
    // While a round is added, x of the next one is on its way, and the entries of the one after.
    Entries<T> loaded, gathered;
    loaded.load(w.rounds > 0, w.round, columns, places, values);
    for (u32 k = threadIdx.x; k < w.places; k += BLOCK) sums[k] = 0;
    gathered = loaded, gathered.gather(x);
    loaded.load(w.rounds > 1, w.round + 1, columns, places, values);
#pragma unroll 1
    for (u32 r = 0; r < w.rounds; ++r) {
        const Entries<T> now = gathered;
        gathered = loaded, gathered.gather(x);
        loaded.load(r + 2 < w.rounds, w.round + r + 2, columns, places, values);
        __syncthreads();
        now.add(sums);
    }
    __syncthreads();
    for (u32 k = threadIdx.x; k < w.several_count; k += BLOCK) {
        const u32 word = several[w.several + k], end = several[w.several + k + 1] >> 16;
        T sum = sums[word & 0xffff];
        for (u32 place = word >> 16; place < end; ++place) sum += sums[place];
        sums[word & 0xffff] = sum;
    }
    __syncthreads();
    for (u32 k = threadIdx.x; k < w.rows; k += BLOCK) {
        const u32 row = w.row + k;
        if (row < m) update.store(row, sums[k]);
        else segments[row - m] = sums[k];
    }
}

// Adds the segments' sums to the rows that were cut, which have beta * z so far.
template <class T>
__device__ inline void by_column_segments(u32 cut, const u32 *__restrict__ segment_starts,
                                          const u32 *__restrict__ cut_rows, const T *__restrict__ segments,
                                          Update<T> update) {
    const u32 k = (blockIdx.x * THREADS + threadIdx.x) / WARP;
    if (k >= cut) return;
    T sum = 0;
    for (u32 s = segment_starts[k] + lane_id(); s < segment_starts[k + 1]; s += WARP) sum += segments[s];
    sum = group_sum<WARP>(sum);
    if (lane_id() == 0) update.add(cut_rows[k], sum);
}

#define BY_COLUMN(T)                                                                                                  \
    extern "C" __global__ void __launch_bounds__(BLOCK) by_column_##T(                                                \
        u32 m, const Window *__restrict__ windows, const u32 *__restrict__ columns, const u16 *__restrict__ places,   \
        const T *__restrict__ values, const u32 *__restrict__ several, const T *__restrict__ x,                       \
        T *__restrict__ segments, T alpha, T beta, const T *z, T *y) {                                                \
        by_column(m, windows, columns, places, values, several, x, segments, Update<T>{alpha, beta, z, y});           \
    }                                                                                                                 \
    extern "C" __global__ void __launch_bounds__(THREADS) by_column_segments_##T(                                     \
        u32 cut, const u32 *__restrict__ segment_starts, const u32 *__restrict__ cut_rows,                            \
        const T *__restrict__ segments, T alpha, T *y) {                                                              \
        by_column_segments(cut, segment_starts, cut_rows, segments, Update<T>{alpha, 0, y, y});                       \
    }
BY_COLUMN(f64)
BY_COLUMN(f32)
