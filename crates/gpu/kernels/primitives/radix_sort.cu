// Stable sort of pairs (key, u32 value) by the bits begin .. end of the key, eight bits a pass.
//
// Shapes: keys of u32 or u64, values of u32, length n < 2^30, two buffers of each. starts: 256 u32 a pass,
//         zero before: first how often each digit occurs, then where it begins. words: 256 u32 a tile, zero
//         before each pass; ticket: one u32, likewise.
// Grid:   sort_count: resident blocks of 256 threads; sort_starts: one block of 256 threads a pass; sort_pass:
//         one block of 384 threads a tile of 384 * ITEMS pairs (18 for u32, 10 for u64).
// Needs:  static shared memory, under 48 KiB.
// Order:  stable, integers: bits repeat.
// Ref:    Adinets, Merrill 2022 (one sweep a digit, with look-back a digit); (passes * 2 + 1) * size(key) +
//         passes * 8 bytes a pair.
#include "primitives/wide.cuh"

#define DIGITS 256
#define COUNT_THREADS 256
#define THREADS 384
#define WARPS (THREADS / WARP)
#define OWN (1u << 30)
#define ALL (2u << 30)
#define SUM (OWN - 1)

template <class K> __device__ inline u32 digit_of(K key, u32 shift, u32 mask) { return (u32)(key >> shift) & mask; }
__device__ inline u32 mask_of(u32 shift, u32 end) { return (1u << smaller(8u, end - shift)) - 1; }

// How often each digit of each pass occurs, all passes in one reading.
template <class K> __device__ inline void count(u32 n, u32 begin, u32 end, const K *__restrict__ keys, u32 *starts) {
    constexpr u32 PASSES = sizeof(K);
    __shared__ u32 own[PASSES * DIGITS];
    for (u32 k = threadIdx.x; k < PASSES * DIGITS; k += COUNT_THREADS) own[k] = 0;
    __syncthreads();
    constexpr u32 UNITS = 4;
    u64 stride = (u64)gridDim.x * COUNT_THREADS;
    for (u64 first = (u64)blockIdx.x * COUNT_THREADS + threadIdx.x; first < n; first += UNITS * stride) {
        K key[UNITS];
#pragma unroll
        for (u32 k = 0; k < UNITS; ++k)
            if (first + k * stride < n) key[k] = keys[first + k * stride];
#pragma unroll
        for (u32 k = 0; k < UNITS; ++k) {
            if (first + k * stride >= n) continue;
#pragma unroll
            for (u32 p = 0; p < PASSES; ++p) {
                u32 shift = begin + 8 * p;
                if (shift < end) atomicAdd(own + p * DIGITS + digit_of(key[k], shift, mask_of(shift, end)), 1);
            }
        }
    }
    __syncthreads();
    for (u32 k = threadIdx.x; k < PASSES * DIGITS; k += COUNT_THREADS)
        if (own[k] != 0) atomicAdd(starts + k, own[k]);
}

// Exclusive sum of 256 values, one from each of the first 256 threads; all threads must call it.
__device__ inline u32 scan_digits(u32 value) {
    __shared__ u32 of_warp[DIGITS / WARP];
    u32 lane = lane_id(), warp = threadIdx.x / WARP, sum = value;
#pragma unroll
    for (u32 d = 1; d < WARP; d *= 2) {
        u32 left = __shfl_up_sync(FULL_MASK, sum, d);
        if (lane >= d) sum += left;
    }
    if (lane == WARP - 1 && warp < DIGITS / WARP) of_warp[warp] = sum;
    __syncthreads();
    for (u32 w = 0; w < warp && w < DIGITS / WARP; ++w) sum += of_warp[w];
    return sum - value;
}

extern "C" __global__ void __launch_bounds__(DIGITS) sort_starts(u32 *starts) {
    u32 *mine = starts + blockIdx.x * DIGITS + threadIdx.x;
    *mine = scan_digits(*mine);
}

// The lanes of the warp with the same digit.
__device__ inline u32 peers_of(u32 digit) {
    u32 peers = FULL_MASK;
#pragma unroll
    for (u32 b = 0; b < 8; ++b) {
        u32 bit = digit >> b & 1;
        peers &= __ballot_sync(FULL_MASK, bit) ^ (bit - 1);
    }
    return peers;
}

// What the tiles before `tile` hold of this thread's digit, the digit's start included.
__device__ inline u32 look_back_digit(const u32 *words, u32 tile) {
    constexpr u32 DEPTH = 4;
    u32 sum = 0;
    for (i64 near = (i64)tile - 1;; near -= DEPTH) {
        u32 word[DEPTH];
#pragma unroll
        for (u32 k = 0; k < DEPTH; ++k) word[k] = near < k ? ALL : load_relaxed(words + (near - k) * DIGITS);
#pragma unroll
        for (u32 k = 0; k < DEPTH; ++k) {
            while (word[k] >> 30 == 0) word[k] = load_relaxed(words + (near - k) * DIGITS);
            sum += word[k] & SUM;
            if (word[k] & ALL) return sum;
        }
    }
}

template <class K, u32 ITEMS>
__device__ inline void pass(u32 n, u32 shift, u32 end, const u32 *__restrict__ starts, const K *__restrict__ keys_in,
                            const u32 *__restrict__ values_in, K *__restrict__ keys_out, u32 *__restrict__ values_out,
                            u32 *words, u32 *ticket) {
    constexpr u32 TILE = THREADS * ITEMS;
    __shared__ u32 ranks[WARPS][DIGITS];
    __shared__ K staged[TILE];
    __shared__ u32 starts_here[DIGITS], shifts[DIGITS], tile_taken;
    u32 lane = lane_id(), warp = threadIdx.x / WARP, mask = mask_of(shift, end);
    if (threadIdx.x == 0) tile_taken = atomicAdd(ticket, 1);
    for (u32 k = lane; k < DIGITS; k += WARP) ranks[warp][k] = 0;
    __syncthreads();
    u32 tile = tile_taken, base = tile * TILE, valid = smaller(n - base, TILE);
    u32 from = warp * (WARP * ITEMS) + lane;

    // Keys past the end have the largest digit and stand last, so they keep the places past the end.
    K key[ITEMS];
#pragma unroll
    for (u32 i = 0; i < ITEMS; ++i) {
        u32 k = from + i * WARP;
        key[i] = k < valid ? keys_in[base + k] : ~(K)0;
    }
    u32 value[ITEMS];
#pragma unroll
    for (u32 i = 0; i < ITEMS; ++i) {
        u32 k = from + i * WARP;
        value[i] = k < valid ? values_in[base + k] : 0;
    }
    // Rank among equal digits of the warp so far: peers read the counter, their first lane moves it on.
    u32 place[ITEMS];
#pragma unroll
    for (u32 i = 0; i < ITEMS; ++i) {
        u32 digit = digit_of(key[i], shift, mask), peers = peers_of(digit);
        u32 below = __popc(peers & ((1u << lane) - 1));
        u32 *counter = &ranks[warp][digit];
        u32 so_far = *counter;
        __syncwarp();
        if (below == 0) *counter = so_far + __popc(peers);
        __syncwarp();
        place[i] = so_far + below;
    }
    __syncthreads();
    u32 digit = threadIdx.x, own = 0;
    if (digit < DIGITS) {
#pragma unroll
        for (u32 w = 0; w < WARPS; ++w) {
            u32 of_warp = ranks[w][digit];
            ranks[w][digit] = own;
            own += of_warp;
        }
        u32 word = tile == 0 ? ALL | (starts[digit] + own) : OWN | own;
        store_relaxed(words + (u64)tile * DIGITS + digit, word);
    }
    u32 start_here = scan_digits(digit < DIGITS ? own : 0);
    if (digit < DIGITS) starts_here[digit] = start_here;
    __syncthreads();
#pragma unroll
    for (u32 i = 0; i < ITEMS; ++i) {
        u32 d = digit_of(key[i], shift, mask);
        place[i] += starts_here[d] + ranks[warp][d];
        staged[place[i]] = key[i];
    }
    if (digit < DIGITS) {
        u32 before = tile == 0 ? starts[digit] : look_back_digit(words + digit, tile);
        if (tile != 0) store_relaxed(words + (u64)tile * DIGITS + digit, ALL | (before + own));
        shifts[digit] = before - start_here;
    }
    __syncthreads();
    u32 to[ITEMS];
#pragma unroll
    for (u32 i = 0; i < ITEMS; ++i) {
        u32 k = threadIdx.x + i * THREADS;
        K staged_key = staged[k];
        to[i] = shifts[digit_of(staged_key, shift, mask)] + k;
        if (k < valid) keys_out[to[i]] = staged_key;
    }
    __syncthreads();
    u32 *staged_values = (u32 *)staged;
#pragma unroll
    for (u32 i = 0; i < ITEMS; ++i) staged_values[place[i]] = value[i];
    __syncthreads();
#pragma unroll
    for (u32 i = 0; i < ITEMS; ++i) {
        u32 k = threadIdx.x + i * THREADS;
        if (k < valid) values_out[to[i]] = staged_values[k];
    }
}

#define SORT(K, ITEMS)                                                                                             \
    extern "C" __global__ void __launch_bounds__(COUNT_THREADS)                                                    \
        sort_count_##K(u32 n, u32 begin, u32 end, const K *__restrict__ keys, u32 *starts) {                       \
        count(n, begin, end, keys, starts);                                                                        \
    }                                                                                                              \
    extern "C" __global__ void __launch_bounds__(THREADS, 2)                                                       \
        sort_pass_##K(u32 n, u32 shift, u32 end, const u32 *__restrict__ starts, const K *__restrict__ keys_in,    \
                      const u32 *__restrict__ values_in, K *__restrict__ keys_out, u32 *__restrict__ values_out,   \
                      u32 *words, u32 *ticket) {                                                                   \
        pass<K, ITEMS>(n, shift, end, starts, keys_in, values_in, keys_out, values_out, words, ticket);            \
    }
SORT(u32, 18)
SORT(u64, 10)
