// CUB behind C functions, for the benches alone: CUB is a header library and cannot be loaded by name.
//
//   nvcc -O3 -std=c++17 -arch=sm_90 -shared -Xcompiler -fPIC -o libtamarack_peers.so benches/gpu/peers/cub.cu
//
// put beside the bench's program. Each function follows CUB: without `work` it only tells how many bytes it needs.
#include <cub/device/device_histogram.cuh>
#include <cub/device/device_merge.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>
#include <cstdint>

#define PEER extern "C" int

PEER peer_scan_u32(void *work, size_t *bytes, const uint32_t *in, uint32_t *out, int64_t n, cudaStream_t stream) {
    return cub::DeviceScan::ExclusiveSum(work, *bytes, in, out, n, stream);
}
PEER peer_scan_u64(void *work, size_t *bytes, const uint64_t *in, uint64_t *out, int64_t n, cudaStream_t stream) {
    return cub::DeviceScan::ExclusiveSum(work, *bytes, in, out, n, stream);
}
PEER peer_scan_u32_u64(void *work, size_t *bytes, const uint32_t *in, uint64_t *out, int64_t n, cudaStream_t stream) {
    return cub::DeviceScan::ExclusiveScan(work, *bytes, in, out, cuda::std::plus<>{}, uint64_t(0), n, stream);
}
PEER peer_sum_f64(void *work, size_t *bytes, const double *in, double *out, int64_t n, cudaStream_t stream) {
    return cub::DeviceReduce::Sum(work, *bytes, in, out, n, stream);
}
PEER peer_sum_f32(void *work, size_t *bytes, const float *in, float *out, int64_t n, cudaStream_t stream) {
    return cub::DeviceReduce::Sum(work, *bytes, in, out, n, stream);
}

// Sorts between two buffers, whichever holds the result in the end.
template <class K>
static int sort(void *work, size_t *bytes, K *keys, K *keys_other, uint32_t *values, uint32_t *values_other, int64_t n,
                int end_bit, cudaStream_t stream) {
    cub::DoubleBuffer<K> k(keys, keys_other);
    cub::DoubleBuffer<uint32_t> v(values, values_other);
    return cub::DeviceRadixSort::SortPairs(work, *bytes, k, v, n, 0, end_bit, stream);
}
PEER peer_sort_u32(void *work, size_t *bytes, uint32_t *k, uint32_t *k2, uint32_t *v, uint32_t *v2, int64_t n, int end_bit,
                   cudaStream_t stream) {
    return sort(work, bytes, k, k2, v, v2, n, end_bit, stream);
}
PEER peer_sort_u64(void *work, size_t *bytes, uint64_t *k, uint64_t *k2, uint32_t *v, uint32_t *v2, int64_t n, int end_bit,
                   cudaStream_t stream) {
    return sort(work, bytes, k, k2, v, v2, n, end_bit, stream);
}

PEER peer_histogram(void *work, size_t *bytes, const uint32_t *keys, uint32_t *counts, int bins, int64_t n,
                    cudaStream_t stream) {
    return cub::DeviceHistogram::HistogramEven(work, *bytes, keys, counts, bins + 1, 0u, (uint32_t)bins, n, stream);
}
PEER peer_merge(void *work, size_t *bytes, const uint32_t *ka, const uint32_t *va, int64_t na, const uint32_t *kb,
                const uint32_t *vb, int64_t nb, uint32_t *k, uint32_t *v, cudaStream_t stream) {
    return cub::DeviceMerge::MergePairs(work, *bytes, ka, va, na, kb, vb, nb, k, v, cuda::std::less<>{}, stream);
}
