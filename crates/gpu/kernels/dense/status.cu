// The first bad pivot of a factorization, from what the lists of fronts wrote about theirs.
//
// Shapes: status: two words for each front, the first its first bad pivot or all ones; columns: number of the
//         front's first pivot column; first: one number, all ones before the first list.
// Grid:   any; each thread goes on with a stride.
// Order:  a minimum of integers: the same whatever the order.
#include "common.cuh"

#define THREADS 256u

extern "C" __global__ void __launch_bounds__(THREADS)
dense_first_bad_pivot(const u64 *status, const u32 *columns, u32 count, u64 *first) {
    for (u32 f = blockIdx.x * THREADS + threadIdx.x; f < count; f += gridDim.x * THREADS) {
        const u64 pivot = status[2 * (u64)f];
        if (pivot != ~0ull) atomicMin(first, columns[f] + pivot);
    }
}
