// A symmetric matrix of which every entry off the diagonal is kept once, read by whole rows.
//
// Row i has the entries of line i, which stand side by side, and those of other lines with index i: of these it knows the line and
// the entry's number in there. So no row is added to by two threads, and the values need not be there twice.
#pragma once
#include "spmv/spmv.cuh"

#define DEPTH 4u // entries of a lane that are under way at once

struct Half {
    const u32 *starts, *indices;
    const u32 *elsewhere_starts, *elsewhere; // lines
    const void *numbers;                     // within these lines, in 2 bytes, or in 4 where a line is long
    const f64 *values;
    u32 n, wide;
};

// Calls each(column, value) for every LANES-th entry of a row, from number `lane` on.
template <u32 LANES, class Each> __device__ __forceinline__ void each_of_row(const Half &a, u64 row, u32 lane, Each each) {
    if (row >= a.n) return;
    const u32 begin = a.starts[row], own = a.starts[row + 1] - begin;
    const u32 others = a.elsewhere_starts[row], count = own + a.elsewhere_starts[row + 1] - others;
    for (u32 first = lane; first < count; first += DEPTH * LANES) {
        u32 column[DEPTH], source[DEPTH];
        f64 value[DEPTH];
#pragma unroll
        for (u32 k = 0; k < DEPTH; k++) {
            const u32 at = first + k * LANES;
            column[k] = NONE, source[k] = begin + at;
            if (at < own) column[k] = __ldg(a.indices + begin + at);
            else if (at < count) {
                const u32 e = others + (at - own);
                const u32 number = a.wide ? __ldg((const u32 *)a.numbers + e) : __ldg((const u16 *)a.numbers + e);
                column[k] = __ldg(a.elsewhere + e), source[k] = __ldg(a.starts + column[k]) + number;
            }
        }
#pragma unroll
        for (u32 k = 0; k < DEPTH; k++) value[k] = column[k] != NONE ? __ldg(a.values + source[k]) : 0;
#pragma unroll
        for (u32 k = 0; k < DEPTH; k++) {
            if (column[k] != NONE) each(column[k], value[k]);
        }
    }
}
