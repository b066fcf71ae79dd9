// Symmetric A from its lower half alone: each entry is read once and used twice, without atomics.
//
// An entry (i, j) adds to y[i] and to y[j]. Atomic additions would come in any order, so bits would not
// repeat; instead the rows are cut into chunks, and a block keeps the part of x and y that a chunk touches (its
// window) in shared memory. Within a chunk the rows are cut into pieces of at most 8 * DEPTH entries and the
// pieces dealt into rounds so that no two pieces of a round touch the same place: a round runs in parallel
// without conflict, a barrier follows, and every place receives its additions in the order of the rounds.
// What a chunk adds to rows outside is stored apart and added by symmetric_finish in the order of the chunks.
// Places are 16 bits wide, so that an entry costs size + 2 bytes instead of twice size + 4.
//
// Shapes: chunks: the words of Chunk for each. places, values: entries in the order of the rounds.
//         pieces: place of the row | first entry << 16, from the chunk's first entry; one more closes a chunk.
//         rounds: first piece of each round within the chunk; one more closes a chunk. outside: rows of the
//         window beyond the chunk's own. own: m sums; outer: sums of `outside`. add_starts (m + 1), adds: for
//         each row the positions in outer that belong to it, ascending.
// Grid:   symmetric_chunks: a block of 256 threads a chunk, 8 threads a piece. symmetric_finish: a thread a row.
// Needs:  dynamic shared memory: 2 * size * window + 4 * pieces + 4 * rounds bytes, rounded up, of the largest
//         chunk; all chunks below 2^16 entries and places.
// Order:  fixed by the structure: bits repeat.
// Ref:    Buluç, Williams, Oliker, Demmel 2011 (each entry once, windows with short indices); the dealing into
//         rounds is a greedy coloring; (size + 2) * entries of the lower half and about 70 bytes a row.
#include "primitives/later.cuh"
#include "spmv/spmv.cuh"

#define GROUP 8
#define GROUPS (THREADS / GROUP)

struct Chunk {
    u32 entry, piece, round, outside;        // where the chunk begins in each array
    u32 row, rows, outside_count, rounds;    // its own rows, and counts
    u32 pieces, unused[3];
};

template <class T, u32 DEPTH> struct Piece {
    T value[DEPTH];
    u32 place[DEPTH], row;

    // The group's piece of a round, or an empty one.
    __device__ void load(u32 piece, u32 end, const u32 *pieces, const T *__restrict__ values,
                         const u16 *__restrict__ places) {
        u32 lane = threadIdx.x % GROUP, first = 0, last = 0;
        row = NONE;
        if (piece < end) {
            u32 word = pieces[piece];
            row = word & 0xffff, first = word >> 16, last = pieces[piece + 1] >> 16;
        }
#pragma unroll
        for (u32 k = 0; k < DEPTH; ++k) {
            u32 at = first + k * GROUP + lane;
            place[k] = at < last ? places[at] : NONE;
            if (at < last) value[k] = values[at];
        }
    }

    __device__ void apply(const T *xs, T *ys) const {
        T x_row = row != NONE ? xs[row] : 0, sum = 0;
#pragma unroll
        for (u32 k = 0; k < DEPTH; ++k) {
            if (place[k] == NONE) continue;
            sum = fma(value[k], xs[place[k]], sum);
            if (place[k] != row) ys[place[k]] = fma(value[k], x_row, ys[place[k]]);
        }
        sum = group_sum<GROUP>(sum);
        if (row != NONE && threadIdx.x % GROUP == 0) ys[row] += sum;
    }
};

template <class T, u32 DEPTH, u32 STAGES>
__device__ inline void symmetric(const Chunk *__restrict__ chunks, u32 window, u32 most_pieces,
                                 const u32 *__restrict__ pieces, const u32 *__restrict__ rounds,
                                 const u32 *__restrict__ outside, const u16 *__restrict__ places,
                                 const T *__restrict__ values, const T *__restrict__ x, T *__restrict__ own,
                                 T *__restrict__ outer) {
    extern __shared__ u64 memory[];
    Chunk c = chunks[blockIdx.x];
    T *xs = (T *)memory, *ys = xs + window;
    u32 *piece_here = (u32 *)(ys + window), *round_here = piece_here + most_pieces;
    values += c.entry, places += c.entry, pieces += c.piece, rounds += c.round, outside += c.outside;

    // Everything that the rounds need is on its way before the first of it is waited for.
    for (u32 k = threadIdx.x; k <= c.rounds; k += THREADS) copy_later(round_here + k, rounds + k);
    for (u32 k = threadIdx.x; k <= c.pieces; k += THREADS) copy_later(piece_here + k, pieces + k);
    for (u32 k = threadIdx.x; k < c.rows; k += THREADS) copy_later(xs + k, x + c.row + k), ys[k] = 0;
    for (u32 k = threadIdx.x; k < c.outside_count; k += THREADS)
        copy_later(xs + c.rows + k, x + outside[k]), ys[c.rows + k] = 0;
    wait_for_copies();
    __syncthreads();

    // A ring of STAGES rounds: while one is added, the entries of the next ones are on their way.
    u32 group = threadIdx.x / GROUP;
    Piece<T, DEPTH> ring[STAGES];
    auto load = [&](Piece<T, DEPTH> &piece, u32 r) {
        bool exists = r < c.rounds;
        u32 begin = exists ? round_here[r] : 0, end = exists ? round_here[r + 1] : 0;
        piece.load(begin + group, end, piece_here, values, places);
    };
#pragma unroll
    for (u32 s = 0; s < STAGES; ++s) load(ring[s], s);
    for (u32 r = 0; r < c.rounds; r += STAGES) {
#pragma unroll
        for (u32 s = 0; s < STAGES; ++s) {
            if (r + s < c.rounds) {
                ring[s].apply(xs, ys);
                load(ring[s], r + s + STAGES);
                __syncthreads();
            }
        }
    }
    for (u32 k = threadIdx.x; k < c.rows; k += THREADS) own[c.row + k] = ys[k];
    for (u32 k = threadIdx.x; k < c.outside_count; k += THREADS) outer[c.outside + k] = ys[c.rows + k];
}

template <class T>
__device__ inline void finish(u32 m, const u32 *__restrict__ add_starts, const u32 *__restrict__ adds,
                              const T *__restrict__ own, const T *__restrict__ outer, Update<T> update) {
    u64 row = (u64)blockIdx.x * THREADS + threadIdx.x;
    if (row >= m) return;
    u32 first = add_starts[row], last = add_starts[row + 1];
    T sum = own[row];
    for (; first + 2 <= last; first += 2) {
        T a = outer[adds[first]], b = outer[adds[first + 1]];
        sum += a + b;
    }
    if (first < last) sum += outer[adds[first]];
    update.store(row, sum);
}

#define SYMMETRIC(T, DEPTH, STAGES)                                                                                           \
    extern "C" __global__ void __launch_bounds__(THREADS) symmetric_chunks_##T##_##DEPTH(                             \
        const Chunk *__restrict__ chunks, u32 window, u32 most_pieces, const u32 *__restrict__ pieces,                \
        const u32 *__restrict__ rounds, const u32 *__restrict__ outside, const u16 *__restrict__ places,              \
        const T *__restrict__ values, const T *__restrict__ x, T *__restrict__ own, T *__restrict__ outer) {          \
        symmetric<T, DEPTH, STAGES>(chunks, window, most_pieces, pieces, rounds, outside, places, values, x, own, outer);     \
    }
#define SYMMETRIC_ALL(T)                                                                                              \
    SYMMETRIC(T, 1, 4)                                                                                                   \
    SYMMETRIC(T, 2, 4)                                                                                                   \
    SYMMETRIC(T, 4, 3)                                                                                                   \
    SYMMETRIC(T, 6, 2)                                                                                                   \
    extern "C" __global__ void __launch_bounds__(THREADS)                                                             \
        symmetric_finish_##T(u32 m, const u32 *__restrict__ add_starts, const u32 *__restrict__ adds,                 \
                             const T *__restrict__ own, const T *__restrict__ outer, T alpha, T beta, const T *z,     \
                             T *y) {                                                                                  \
        finish(m, add_starts, adds, own, outer, Update<T>{alpha, beta, z, y});                                        \
    }
SYMMETRIC_ALL(f64)
SYMMETRIC_ALL(f32)
