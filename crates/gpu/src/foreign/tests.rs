use super::*;

/// Numbers, and their place in memory of a context that the driver gave to somebody else.
fn numbers(count: usize) -> Vec<f64> {
    (0..count).map(|i| i as f64 - 0.5).collect()
}

#[test]
fn an_address_is_a_view_again() {
    let Some(gpu) = crate::testing::gpu() else {
        return;
    };
    let stream = gpu.stream().unwrap();
    let (first, second) = (numbers(1000), numbers(500));
    let mut buffer = stream.to_device(gpu, &first).unwrap();
    let address = buffer.ptr().address();
    // SAFETY: within the buffer, which is alive; the upload is done.
    let view = unsafe { DeviceView::<f64>::from_raw(gpu, address + 8 * 100, 900) }.unwrap();
    assert_eq!(stream.to_host(view).unwrap(), first[100..]);
    view.check_on(gpu, "the view").unwrap();
    // SAFETY: as above, and read only behind the upload.
    let to = unsafe { DeviceViewMut::<f64>::from_raw(gpu, address, 500) }.unwrap();
    stream.upload(&second, to).unwrap();
    let mut want = second;
    want.extend_from_slice(&first[500..]);
    assert_eq!(stream.to_host(&buffer).unwrap(), want);
    // SAFETY: nothing is read.
    let empty = unsafe { DeviceView::<f64>::from_raw(gpu, 0, 0) }.unwrap();
    assert!(empty.is_empty());
    stream.fill_bytes(&mut buffer, 0).unwrap();
    stream.synchronize().unwrap();
}

#[test]
fn addresses_elsewhere_are_errors() {
    let Some(gpu) = crate::testing::gpu() else {
        return;
    };
    let on_host = numbers(10);
    let mut pinned = gpu.pinned::<f64>(10).unwrap();
    pinned.pin(..).unwrap();
    let buffer = gpu.alloc::<f64>(10).unwrap();
    let address = buffer.ptr().address();
    // SAFETY: nothing is read.
    let error = |address, len| unsafe { DeviceView::<f64>::from_raw(gpu, address, len) }.err();
    let elsewhere = |error| matches!(error, Some(GpuError::Elsewhere { index: 0, .. }));
    assert!(elsewhere(error(0, 1)));
    assert!(elsewhere(error(on_host.as_ptr() as u64, 10)));
    assert!(elsewhere(error(pinned.as_slice().as_ptr() as u64, 10)));
    // far beyond the end of anything
    assert!(elsewhere(error(address, 1 << 44)));
    let shape = |error| matches!(error, Some(GpuError::Shape { .. }));
    assert!(shape(error(address + 4, 1)));
    assert!(shape(error(address, usize::MAX)));
    assert!(error(address, 10).is_none());
}

#[test]
fn another_context_s_memory_is_an_error() {
    let Some(gpu) = crate::testing::gpu() else {
        return;
    };
    // A context of one's own is current on this thread alone.
    let thread = std::thread::spawn(move || {
        let (mut own, mut address) = (ptr::null_mut(), 0);
        // SAFETY: all outlive the calls; the context is current from the first on.
        unsafe {
            let code = driver::cuCtxCreate_v2(&raw mut own, 0, gpu.context().device);
            check(code, "cuCtxCreate").unwrap();
            let code = driver::cuMemAlloc_v2(&raw mut address, 800);
            check(code, "cuMemAlloc").unwrap();
        }
        // SAFETY: nothing is read.
        let view = unsafe { DeviceView::<f64>::from_raw(gpu, address, 100) };
        let error = view.err().map(|error| error.to_string());
        assert!(
            error
                .as_ref()
                .is_some_and(|e| e.contains("another CUDA context")),
            "{error:?}"
        );
        // SAFETY: made once, destroyed once, with its memory.
        check(unsafe { driver::cuCtxDestroy_v2(own) }, "cuCtxDestroy").unwrap();
    });
    thread.join().unwrap();
}

#[test]
fn another_device_s_memory_is_an_error() {
    let Some(gpu) = crate::testing::gpu() else {
        return;
    };
    let Ok(other) = Gpu::open(1) else {
        eprintln!("skipped: there is one GPU");
        return;
    };
    let buffer = other.alloc::<f64>(10).unwrap();
    let error = buffer.view().check_on(gpu, "values").unwrap_err();
    assert!(
        matches!(
            error,
            GpuError::Elsewhere {
                what: "values",
                index: 0,
                ..
            }
        ),
        "{error}"
    );
    buffer.view().check_on(&other, "values").unwrap();
}

/// Bytes of a fill that takes longer than the host needs to enqueue what follows.
const LONG: usize = 1 << 30;

#[test]
fn work_waits_for_a_stream_of_somebody_else() {
    let Some(gpu) = crate::testing::gpu() else {
        return;
    };
    let (theirs, ours) = (gpu.stream().unwrap(), gpu.stream().unwrap());
    let mut large = gpu.alloc::<u8>(LONG).unwrap();
    let mut last = [0_u8];
    for byte in [1, 2, 3] {
        for _ in 0..20 {
            theirs.fill_bytes(&mut large, byte).unwrap();
        }
        // SAFETY: the stream is alive.
        unsafe { ours.wait_for_raw(theirs.raw_handle()) }.unwrap();
        let end = large.view().slice(LONG - 1..).unwrap();
        ours.download(end, &mut last).unwrap();
        assert_eq!(last, [byte]);
        theirs.fill_bytes(&mut large, 0).unwrap();
        theirs.synchronize().unwrap();
    }
    // SAFETY: null is the default stream.
    unsafe { ours.wait_for_raw(ptr::null_mut()) }.unwrap();
    ours.synchronize().unwrap();
}
