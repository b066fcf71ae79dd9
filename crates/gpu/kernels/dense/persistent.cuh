// Products in f64 by blocks that stay (Hopper): tiles of specialized_tile.cuh, whose C two more warps keep.
//
// Shapes: tile 128 x 128, 384 threads; a block takes every gridDim.x-th item of the list.
// Shared: five slabs; one tile of C, whose columns are 130 numbers apart, so that pairs of rows are read without bank conflicts;
//         two barriers for it; a note.
// Method: those who multiply never touch device memory. The C of the next tile comes while this one is multiplied. Between
//         two tiles every thread changes its results for the next tile's C in place; those who keep C take the results from
//         there while the next tile is multiplied.
// Order:  as in specialized_tile.cuh.
#pragma once
#include "dense/problem.cuh"
#include "dense/specialized_tile.cuh"

#if __CUDA_ARCH_FEAT_SM90_ALL

// What those who multiply must know of a tile.
struct Note {
    f64 sign, scale; // of the results; of what C begins with
    u32 inner;
    u32 end;         // there is no tile
};

// The shared memory of a block.
struct Room {
    using Ring = Slabs<5>;
    static constexpr u32 T = 128, PITCH = T + 2, KEEPERS = 64; // threads
    static constexpr u32 BARRIERS_AT = Ring::NUMBERS + T * PITCH;

    f64 *shared;

    __device__ __forceinline__ f64 *c(u32 i, u32 j) const { return shared + Ring::NUMBERS + j * PITCH + i; }
    __device__ __forceinline__ u32 come() const { return shared_address(shared + BARRIERS_AT); } // the next tile's C and note are there
    __device__ __forceinline__ u32 changed() const { return come() + 8; }                        // its C has been changed for results
    __device__ __forceinline__ Note &note() const { return *(Note *)(shared + BARRIERS_AT + 2); }

    __device__ __forceinline__ void init() const {
        if (threadIdx.x == 0) barrier_init(come(), KEEPERS + 1), barrier_init(changed(), MULTIPLIERS);
    }
};

// The items of this block.
struct Share {
    f64 *arena;
    const Product *problems;
    const Item *items;
    u32 count;

    __device__ __forceinline__ Problem<f64> at(u32 item) const { return Problem<f64>(arena, problems, items, item, Room::T, Room::T); }
};

__device__ __forceinline__ void bring_tiles(const Room room, const Share share, bool right) {
    Room::Ring ring = {room.shared};
    for (u32 item = blockIdx.x; item < share.count; item += gridDim.x) {
        const Problem<f64> p = share.at(item);
        const Layout layout = {right ? p.b.layout.rows : p.a.layout.rows, right ? p.b.layout.shrink : p.a.layout.shrink};
        bring_slabs(ring, right, right ? p.b.base : p.a.base, layout, right ? p.b.rows : p.a.rows, p.inner, [](u32) {});
    }
    wait_all_copies();
}

// The C of a tile, kept by two warps: of each column a lane has two pairs of rows, the same in both directions, so that it waits for no
// other lane.
struct Keeper {
    static constexpr int ON_THEIR_WAY = 16; // columns
    const Room room;
    const u32 first = threadIdx.x / 32 % 2, i = 2 * lane_id();

    // To shared memory, pairs of which at least one row is there. All at once would stand before slabs that are wanted
    // sooner (k = 256: 41 TFLOP/s instead of 46).
    __device__ __forceinline__ void bring(const Target<f64> &c) const {
        const f64 *from = c.at + (u64)first * c.pitch + i;
        u32 to = shared_address(room.c(i, first));
        const bool whole = c.whole<Room::T>();
        const u32 columns = smaller(c.columns, Room::T);
#pragma unroll 1
        for (u32 j = first; j < columns; j += 2, from += 2 * c.pitch, to += 2 * Room::PITCH * sizeof(f64)) {
            if (whole || c.has(i, j) || c.has(i + 1, j)) copy16_by(used_once(), to, from);
            if (whole || c.has(i + 64, j) || c.has(i + 65, j)) copy16_by(used_once(), to + 64 * sizeof(f64), from + 64);
            commit_copies();
            wait_copies<ON_THEIR_WAY>();
        }
    }

    // From shared memory.
    __device__ __forceinline__ void take(const Target<f64> &c) const {
        f64 *to = c.at + (u64)first * c.pitch + i;
        const f64 *from = room.c(i, first);
        if (c.whole<Room::T>()) {
#pragma unroll 1
            for (u32 j = first; j < Room::T; j += 4, from += 4 * Room::PITCH) {
                double2 v[4];
#pragma unroll
                for (u32 h = 0; h < 4; h++) v[h] = *(const double2 *)(from + h % 2 * 64 + h / 2 * 2 * Room::PITCH);
#pragma unroll
                for (u32 h = 0; h < 4; h += 2, to += 2 * c.pitch) __stcs((double2 *)to, v[h]), __stcs((double2 *)(to + 64), v[h + 1]);
            }
        } else {
            const u32 columns = smaller(c.columns, Room::T);
#pragma unroll 1
            for (u32 j = first; j < columns; j += 2, from += 2 * Room::PITCH, to += 2 * c.pitch) {
#pragma unroll
                for (u32 h = 0; h < 4; h++) {
                    const u32 r = h / 2 * 64 + h % 2;
                    if (c.has(i + r, j)) to[r] = from[r];
                }
            }
        }
    }
};

__device__ __forceinline__ void keep_tiles(const Room room, const Share share) {
    const bool writes = threadIdx.x % Room::KEEPERS == 0;
    const Keeper keeper = {room};
    for (u32 item = blockIdx.x, i = 0;; item += gridDim.x, i++) { // item i comes; the results of the one before the last are taken
        if (i > 0) barrier_wait(room.changed(), (i - 1) % 2);
        if (i > 1) keeper.take(share.at(item - 2 * gridDim.x).c);
        Note note = {0, 0, 0, 1};
        if (item < share.count) {
            const Problem<f64> p = share.at(item);
            note = {p.sign, p.sign * p.beta, p.inner, 0};
            if (note.scale != 0) keeper.bring(p.c);
        }
        if (writes) room.note() = note;
        barrier_arrive_after_copies(room.come());
        if (writes) barrier_arrive(room.come());
        if (item >= share.count) {
            barrier_wait(room.changed(), i % 2);
            if (i > 0) keeper.take(share.at(item - gridDim.x).c);
            return;
        }
    }
}

// Leaves this tile's results to those who keep them, and takes the next tile's C. `leave` and `take`: 0 for neither.
__device__ __forceinline__ void change(Accumulators<f64, 128> &acc, const Room room, f64 leave, f64 take) {
    for_each_pair(acc, [&](u32 i, u32 j, f64 &x, f64 &y) {
        double2 *at = (double2 *)room.c(i, j);
        double2 v = {0, 0};
        if (take != 0) v = *at;
        if (leave != 0) *at = {x * leave, y * leave};
        x = v.x * take, y = v.y * take;
    });
}

__device__ __forceinline__ void multiply_tiles(const Room room) {
    Accumulators<f64, 128> acc; // sign * C
    Room::Ring ring = {room.shared};
    f64 leave = 0;
    for (u32 i = 0;; i++) {
        barrier_wait(room.come(), i % 2);
        const Note note = room.note();
        change(acc, room, leave, note.scale);
        barrier_arrive(room.changed());
        if (note.end) return;
        multiply_slabs(acc, ring, ceil_div(note.inner, ring.COLUMNS));
        leave = note.sign;
    }
}

__device__ __forceinline__ void product_persistent(const Share share) {
    f64 *dynamic = dynamic_shared();
    const Room room = {dynamic};
    Room::Ring{dynamic}.init();
    room.init();
    __syncthreads();
    const u32 role = threadIdx.x / 32;
    if (role < MULTIPLIERS / 32) {
        take_registers<56>();
        multiply_tiles(room);
    } else {
        give_registers<56>();
        if (role < MULTIPLIERS / 32 + 2) bring_tiles(room, share, role > MULTIPLIERS / 32);
        else keep_tiles(room, share);
    }
}

#endif
