//! Host memory pinned as it is used, and where it cannot be; skipped visibly without a device, but for what needs none.

use super::*;

#[test]
fn pinned_memory_is_pinned_where_it_is_used() {
    if let Some(gpu) = crate::testing::gpu() {
        copies_both_ways(gpu, Chunk::Pinned);
    }
}

#[test]
fn memory_that_cannot_be_pinned_is_copied_all_the_same() {
    if let Some(gpu) = crate::testing::pageable_gpu() {
        copies_both_ways(&gpu, Chunk::Pageable);
    }
}

#[test]
fn a_device_that_has_failed_is_no_refusal() {
    use CUresult as Code;
    for code in [
        Code::CUDA_ERROR_OUT_OF_MEMORY,
        Code::CUDA_ERROR_OPERATING_SYSTEM,
        Code::CUDA_ERROR_NOT_PERMITTED,
        Code::CUDA_ERROR_NOT_SUPPORTED,
        Code::CUDA_ERROR_INVALID_VALUE,
    ] {
        assert!(is_refusal(code), "{code:?}");
    }
    for code in [
        Code::CUDA_SUCCESS,
        Code::CUDA_ERROR_DEINITIALIZED,
        Code::CUDA_ERROR_INVALID_CONTEXT,
        Code::CUDA_ERROR_ILLEGAL_ADDRESS,
        Code::CUDA_ERROR_LAUNCH_FAILED,
        Code::CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
        Code::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
    ] {
        assert!(!is_refusal(code), "{code:?}");
    }
}

#[test]
fn pieces_end_where_chunks_do() {
    let per_chunk = chunk_bytes::<[u64; 3]>() / 24;
    let (start, len) = (1000, 2 * per_chunk);
    let cut: Vec<_> = pieces::<[u64; 3]>(start, len).collect();
    let ends = [start, per_chunk, 2 * per_chunk, start + len];
    let expected = ends
        .windows(2)
        .map(|w| (w[0]..w[1], w[0] - start..w[1] - start));
    assert!(cut.iter().cloned().eq(expected), "{cut:?}");
    assert_eq!(pieces::<u8>(5, 0).count(), 0);
}

fn copies_both_ways(gpu: &Gpu, pinned: Chunk) {
    let stream = gpu.stream().unwrap();
    // Three chunks of 24-byte elements; the copied range crosses both borders.
    let len = (160 << 20) / 24;
    let mut host = gpu.pinned::<[u64; 3]>(len).unwrap();
    assert!(host.chunks.iter().all(|chunk| *chunk == Chunk::Fresh));
    for (i, element) in host.as_mut_slice().iter_mut().enumerate() {
        *element = [i as u64, 2 * i as u64, 3 * i as u64];
    }
    let range = 1000..len - 7;
    let mut device = gpu.alloc::<[u64; 3]>(range.len()).unwrap();
    // SAFETY: the buffer is not touched before the synchronization.
    unsafe {
        host.upload_async(&stream, range.clone(), &mut device)
            .unwrap()
    };
    stream.synchronize().unwrap();
    assert_eq!(host.chunks, [pinned; 3]);
    let got = stream.to_host(&device).unwrap();
    assert!(got == host.as_slice()[range.clone()]);
    host.as_mut_slice().fill([0; 3]);
    // SAFETY: as above.
    unsafe {
        host.download_async(&stream, &device, range.clone())
            .unwrap()
    };
    stream.synchronize().unwrap();
    assert!(got == host.as_slice()[range]);
    assert!(host.as_slice()[..1000].iter().all(|e| *e == [0; 3]));

    let mut small = gpu.pinned::<u8>(100 << 20).unwrap();
    small.pin(70 << 20..71 << 20).unwrap();
    assert_eq!(small.chunks, [Chunk::Fresh, pinned]);
    assert!(matches!(
        small.pin(..(100 << 20) + 1),
        Err(GpuError::Shape { .. })
    ));
}
