// Sum, dot product, 2-norm and largest magnitude in one launch, in an order that depends on n alone.
//
// Shapes: x (and y) of length n; out: one f64; partials: 3 f64 a block; ticket: one u32, zero between launches.
// Grid:   ceil(n / chunk) blocks of 256 threads, at most 4096: chunk = TILE * ceil(n / (4096 * TILE)),
//         TILE = 256 threads * 4 accesses * 16 bytes. At least one block.
// Needs:  nothing beyond static shared memory. Accumulates in f64 for both types: products of f32 are exact.
// Order:  thread, warp, block, then the partials in the order of the blocks, summed by whichever block
//         finishes last. Addresses that are no multiple of 16 bytes are read in the same order. Bits repeat,
//         on every card. NaN and infinity are carried.
// Ref:    Blue 1978 for the norm in f64 (three accumulators: no overflow, no underflow); n * size bytes an
//         operand.
#include "primitives/wide.cuh"

#define THREADS 256
#define UNITS 4

// x and y are the same array where an operation has one operand; `pair` then keeps it from being read twice.
struct Sum {
    static constexpr bool pair = false;
    f64 a = 0;
    template <class T> __device__ void add(T x, T) { a += (f64)x; }
    __device__ void merge(const Sum &o) { a += o.a; }
    __device__ f64 result() const { return a; }
    __device__ void shuffle(Sum &o, u32 d) const { o.a = __shfl_down_sync(FULL_MASK, a, d); }
    __device__ void put(f64 *p) const { p[0] = a; }
    __device__ void get(const f64 *p) { a = p[0]; }
};

struct Dot : Sum {
    static constexpr bool pair = true;
    template <class T> __device__ void add(T x, T y) { a = fma((f64)x, (f64)y, a); }
    __device__ void merge(const Dot &o) { a += o.a; }
    __device__ void shuffle(Dot &o, u32 d) const { o.a = __shfl_down_sync(FULL_MASK, a, d); }
};

// Bits of nonnegative floating-point numbers are ordered as the numbers are, and NaN above infinity.
struct Amax {
    static constexpr bool pair = false;
    f64 a = 0;
    static __device__ f64 above(f64 x, f64 y) {
        return __longlong_as_double(larger(__double_as_longlong(x), __double_as_longlong(y)));
    }
    template <class T> __device__ void add(T x, T) { a = above(a, fabs((f64)x)); }
    __device__ void merge(const Amax &o) { a = above(a, o.a); }
    __device__ f64 result() const { return a; }
    __device__ void shuffle(Amax &o, u32 d) const { o.a = __shfl_down_sync(FULL_MASK, a, d); }
    __device__ void put(f64 *p) const { p[0] = a; }
    __device__ void get(const f64 *p) { a = p[0]; }
};

// Squares of f32 neither overflow nor underflow in f64.
struct Nrm2Narrow : Sum {
    template <class T> __device__ void add(T x, T) { a = fma((f64)x, (f64)x, a); }
    __device__ void merge(const Nrm2Narrow &o) { a += o.a; }
    __device__ f64 result() const { return sqrt(a); }
    __device__ void shuffle(Nrm2Narrow &o, u32 d) const { o.a = __shfl_down_sync(FULL_MASK, a, d); }
};

// Numbers below 2^-511 and above 2^486 are squared after scaling by 2^537 and 2^-538.
struct Nrm2 {
    static constexpr bool pair = false;
    f64 small = 0, middle = 0, big = 0;
    template <class T> __device__ void add(T x, T) {
        f64 m = fabs((f64)x);
        if (m > 0x1p486) {
            m *= 0x1p-538;
            big = fma(m, m, big);
        } else if (m < 0x1p-511) {
            m *= 0x1p537;
            small = fma(m, m, small);
        } else {
            middle = fma(m, m, middle);  // NaN too
        }
    }
    __device__ void merge(const Nrm2 &o) { small += o.small, middle += o.middle, big += o.big; }
    __device__ f64 result() const {
        bool has_middle = !(middle <= 0);
        if (big > 0 || big != big) {
            f64 all = has_middle ? big + middle * 0x1p-538 * 0x1p-538 : big;
            return sqrt(all) * 0x1p538;
        }
        if (!has_middle) return sqrt(small) * 0x1p-537;
        if (!(small > 0)) return sqrt(middle);
        f64 high = sqrt(middle), low = sqrt(small) * 0x1p-537, ratio = low / high;
        return high * sqrt(1 + ratio * ratio);
    }
    __device__ void shuffle(Nrm2 &o, u32 d) const {
        o.small = __shfl_down_sync(FULL_MASK, small, d);
        o.middle = __shfl_down_sync(FULL_MASK, middle, d);
        o.big = __shfl_down_sync(FULL_MASK, big, d);
    }
    __device__ void put(f64 *p) const { p[0] = small, p[1] = middle, p[2] = big; }
    __device__ void get(const f64 *p) { small = p[0], middle = p[1], big = p[2]; }
};

// The block's values, merged into thread 0's.
template <class Op> __device__ inline Op merge_block(Op acc) {
    __shared__ f64 warps[THREADS / WARP][3];
#pragma unroll
    for (u32 d = WARP / 2; d > 0; d /= 2) {
        Op other;
        acc.shuffle(other, d);
        acc.merge(other);
    }
    if (threadIdx.x % WARP == 0) acc.put(warps[threadIdx.x / WARP]);
    __syncthreads();
    if (threadIdx.x == 0)
        for (u32 w = 1; w < THREADS / WARP; ++w) {
            Op other;
            other.get(warps[w]);
            acc.merge(other);
        }
    return acc;
}

template <class Op, class T>
__device__ inline void reduce(u64 n, u64 chunk, const T *__restrict__ x, const T *__restrict__ y, f64 *partials,
                              u32 *ticket, f64 *out) {
    constexpr u32 COUNT = Wide<T>::COUNT, STRIDE = THREADS * COUNT, TILE = STRIDE * UNITS;
    bool aligned = is_wide(x) && is_wide(y);
    u64 begin = blockIdx.x * chunk, end = smaller(begin + chunk, n);
    Op acc[UNITS];
    u64 at = begin + threadIdx.x * COUNT;
    for (; begin + TILE <= end; begin += TILE, at += TILE) {
        Wide<T> a[UNITS], b[UNITS];
#pragma unroll
        for (u32 k = 0; k < UNITS; ++k) {
            a[k] = load_wide(x + at + k * STRIDE, aligned);
            if (Op::pair) b[k] = load_wide(y + at + k * STRIDE, aligned);
        }
#pragma unroll
        for (u32 k = 0; k < UNITS; ++k)
#pragma unroll
            for (u32 i = 0; i < COUNT; ++i) acc[k].add(a[k].v[i], Op::pair ? b[k].v[i] : a[k].v[i]);
    }
#pragma unroll
    for (u32 k = 0; k < UNITS; ++k)
        for (u32 i = 0; i < COUNT; ++i)
            if (at + k * STRIDE + i < end) acc[k].add(x[at + k * STRIDE + i], y[at + k * STRIDE + i]);
    acc[0].merge(acc[1]);
    acc[2].merge(acc[3]);
    acc[0].merge(acc[2]);
    Op mine = merge_block(acc[0]);

    __shared__ bool last;
    if (threadIdx.x == 0) {
        mine.put(partials + 3 * (u64)blockIdx.x);
        __threadfence();
        last = atomicAdd(ticket, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last) return;
    __threadfence();
    Op all;
    for (u32 b = threadIdx.x; b < gridDim.x; b += THREADS) {
        f64 p[3];
        for (u32 i = 0; i < 3; ++i) p[i] = __ldcg(partials + 3 * (u64)b + i);
        Op other;
        other.get(p);
        all.merge(other);
    }
    all = merge_block(all);
    if (threadIdx.x == 0) *out = all.result(), *ticket = 0;
}

#define REDUCE(NAME, OP, T)                                                                                  \
    extern "C" __global__ void __launch_bounds__(THREADS)                                                    \
        NAME##_##T(u64 n, u64 chunk, const T *__restrict__ x, const T *__restrict__ y, f64 *partials,        \
                   u32 *ticket, f64 *out) {                                                                  \
        reduce<OP>(n, chunk, x, y, partials, ticket, out);                                                   \
    }
REDUCE(sum, Sum, f64)
REDUCE(sum, Sum, f32)
REDUCE(dot, Dot, f64)
REDUCE(dot, Dot, f32)
REDUCE(nrm2, Nrm2, f64)
REDUCE(nrm2, Nrm2Narrow, f32)
REDUCE(amax, Amax, f64)
REDUCE(amax, Amax, f32)
