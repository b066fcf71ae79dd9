//! The device layer on a real device; skipped, visibly, where there is none.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use tamarack_gpu::{
    DeviceBuffer, Gpu, GpuError, GpuOptions, Kernel, Launch, Program, Stream, testing,
};

const SELFTEST: Program = Program::at("selftest.cu");

/// `y = a x + y` on the device.
fn axpy(
    stream: &Stream,
    kernel: &Kernel,
    a: f64,
    x: &DeviceBuffer<f64>,
    y: &mut DeviceBuffer<f64>,
) {
    let n = x.len() as u64;
    let shape = Launch::new(x.len().div_ceil(256) as u32, 256);
    // SAFETY: the arguments are those of `selftest_axpy`; both buffers have `n` elements, and the tests
    // wait for the stream before they drop them.
    unsafe {
        kernel
            .launch(stream, shape, &[&n, &a, &x.ptr(), &y.ptr()])
            .unwrap();
    }
}

fn numbers(n: usize) -> Vec<f64> {
    (0..n).map(|i| (i as f64).sin()).collect()
}

#[test]
fn a_kernel_computes_what_the_host_does() {
    let Some(gpu) = testing::gpu() else { return };
    let stream = gpu.stream().unwrap();
    let axpy = gpu
        .load(&SELFTEST)
        .unwrap()
        .kernel("selftest_axpy")
        .unwrap();
    for n in [0_usize, 1, 255, 256, 257, 10_007] {
        let x: Vec<f64> = (0..n).map(|i| (i as f64).sin()).collect();
        let y: Vec<f64> = (0..n).map(|i| (i as f64).cos()).collect();
        let dx = stream.to_device(gpu, &x).unwrap();
        let dy = stream.to_device(gpu, &y).unwrap();
        let shape = Launch::new((n as u32).div_ceil(256), 256);
        // SAFETY: the arguments are those of `selftest_axpy`; both buffers have `n` elements and
        // outlive the copy below, which waits.
        unsafe {
            axpy.launch(
                &stream,
                shape,
                &[&(n as u64), &1.5_f64, &dx.ptr(), &dy.ptr()],
            )
            .unwrap();
        }
        let got = stream.to_host(&dy).unwrap();
        for i in 0..n {
            assert_eq!(got[i].to_bits(), 1.5_f64.mul_add(x[i], y[i]).to_bits());
        }
    }
}

#[test]
fn a_block_gets_all_the_shared_memory_it_asks_for() {
    let Some(gpu) = testing::gpu() else { return };
    let stream = gpu.stream().unwrap();
    let reverse = gpu
        .load(&SELFTEST)
        .unwrap()
        .kernel("selftest_reverse")
        .unwrap();
    let n = gpu.info().shared_per_block_bytes / 8;
    let x: Vec<f64> = (0..n).map(f64::from).collect();
    let dx = stream.to_device(gpu, &x).unwrap();
    let mut out = gpu.alloc::<f64>(x.len()).unwrap();
    stream.fill_bytes(&mut out, 0xFF).unwrap();
    // SAFETY: the arguments are those of `selftest_reverse`; both buffers outlive the copy below.
    unsafe {
        reverse
            .launch(
                &stream,
                Launch::new(1, 1024).shared(8 * n),
                &[&n, &dx.ptr(), &out.ptr()],
            )
            .unwrap();
    }
    let mut want = x;
    want.reverse();
    assert_eq!(stream.to_host(&out).unwrap(), want);
    assert!(matches!(
        gpu.load(&SELFTEST).unwrap().kernel("no_such_kernel"),
        Err(GpuError::NoKernel { .. })
    ));
}

#[test]
fn events_order_two_streams() {
    let Some(gpu) = testing::gpu() else { return };
    let (one, two) = (gpu.stream().unwrap(), gpu.stream().unwrap());
    let kernel = gpu
        .load(&SELFTEST)
        .unwrap()
        .kernel("selftest_axpy")
        .unwrap();
    let n = 1 << 22;
    let x = one.to_device(gpu, &vec![1.0_f64; n]).unwrap();
    let mut y = one.to_device(gpu, &vec![0.0_f64; n]).unwrap();
    let mut z = gpu.alloc::<f64>(n).unwrap();
    let (first, second) = (gpu.event().unwrap(), gpu.event().unwrap());
    // By turns, one stream adds one and the other doubles.
    for _ in 0..4 {
        axpy(&one, &kernel, 1.0, &x, &mut y);
        one.record(&first).unwrap();
        two.wait(&first).unwrap();
        two.copy(&y, &mut z).unwrap();
        axpy(&two, &kernel, 1.0, &z, &mut y);
        two.record(&second).unwrap();
        one.wait(&second).unwrap();
    }
    // ((((0 + 1) 2 + 1) 2 + 1) 2 + 1) 2
    assert!(one.to_host(&y).unwrap().iter().all(|&v| v == 30.0));
}

#[test]
fn timed_events_measure() {
    let Some(gpu) = testing::gpu() else { return };
    let stream = gpu.stream().unwrap();
    let (start, end) = (gpu.timing_event().unwrap(), gpu.timing_event().unwrap());
    let mut buffer = gpu.alloc::<u8>(256 << 20).unwrap();
    stream.record(&start).unwrap();
    stream.fill_bytes(&mut buffer, 1).unwrap();
    stream.record(&end).unwrap();
    end.synchronize().unwrap();
    let secs = end.secs_since(&start).unwrap();
    // 256 MiB at no more than 20 TB/s; other tests share the device, so there is no strict upper bound.
    assert!((1e-5..1.0).contains(&secs), "{secs}");
    let untimed = gpu.event().unwrap();
    stream.record(&untimed).unwrap();
    assert!(untimed.secs_since(&start).is_err());
}

#[test]
fn a_graph_repeats_what_was_recorded() {
    let Some(gpu) = testing::gpu() else { return };
    let (stream, other) = (gpu.stream().unwrap(), gpu.stream().unwrap());
    let kernel = gpu
        .load(&SELFTEST)
        .unwrap()
        .kernel("selftest_axpy")
        .unwrap();
    let x = stream.to_device(gpu, &[1.0, 2.0, 3.0]).unwrap();
    let mut y = stream.to_device(gpu, &[0.0; 3]).unwrap();
    let mut z = stream.to_device(gpu, &[0.0; 3]).unwrap();
    let (fork, join) = (gpu.event().unwrap(), gpu.event().unwrap());
    let mut graph = stream
        .capture(|| {
            stream.record(&fork)?;
            other.wait(&fork)?;
            axpy(&stream, &kernel, 1.0, &x, &mut y);
            axpy(&other, &kernel, 10.0, &x, &mut z);
            other.record(&join)?;
            stream.wait(&join)
        })
        .unwrap();
    assert_eq!(graph.nodes(), 2);
    assert_eq!(
        stream.to_host(&y).unwrap(),
        [0.0; 3],
        "recording runs nothing"
    );
    for _ in 0..5 {
        // SAFETY: the buffers and the module live until the copies below.
        unsafe { graph.replay(&stream).unwrap() };
    }
    assert_eq!(stream.to_host(&y).unwrap(), [5.0, 10.0, 15.0]);
    assert_eq!(stream.to_host(&z).unwrap(), [50.0, 100.0, 150.0]);
    let failed = stream.capture(|| stream.copy(x.view().slice(1..)?, &mut y));
    assert!(matches!(failed, Err(GpuError::Shape { .. })));
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        stream.capture(|| -> Result<(), GpuError> { panic!("on purpose") })
    }));
    assert!(panicked.is_err());
    axpy(&stream, &kernel, 1.0, &x, &mut y);
    assert_eq!(stream.to_host(&y).unwrap(), [6.0, 12.0, 18.0]);
}

#[test]
fn too_much_memory_is_an_error_and_nothing_is_lost() {
    let Some(gpu) = testing::gpu() else { return };
    let (free, total) = gpu.memory().unwrap();
    assert!(free <= total && total > 0);
    for elements in [total as usize, usize::MAX] {
        match gpu.alloc::<f64>(elements) {
            Err(GpuError::OutOfMemory {
                requested_bytes,
                free_bytes,
            }) => {
                assert!(requested_bytes > free_bytes);
            }
            other => panic!("{other:?}"),
        }
    }
    let stream = gpu.stream().unwrap();
    let buffer = stream.to_device(gpu, &[1_u32, 2, 3]).unwrap();
    assert_eq!(
        stream.to_host(buffer.view().slice(1..).unwrap()).unwrap(),
        [2, 3]
    );
    assert!(buffer.view().slice(2..5).is_err());
    assert!(stream.download(&buffer, &mut [0; 2]).is_err());
    let nothing = gpu.alloc::<f64>(0).unwrap();
    assert!(stream.to_host(&nothing).unwrap().is_empty());
}

#[test]
fn a_profile_lists_kernels_and_copies() {
    let Some(_) = testing::gpu() else { return };
    // A context's profile is of everything on it, so this test shares the device and not its time.
    let gpu = Gpu::open_with(0, GpuOptions::default()).unwrap();
    let stream = gpu.stream().unwrap();
    let kernel = testing::gpu().unwrap().load(&SELFTEST).unwrap();
    let kernel = kernel.kernel("selftest_axpy").unwrap();
    let x = stream.to_device(&gpu, &numbers(1 << 20)).unwrap();
    let mut y = stream.to_device(&gpu, &numbers(1 << 20)).unwrap();
    gpu.start_profile().unwrap();
    for group in 0..3 {
        gpu.group_profile(group);
        axpy(&stream, &kernel, 0.5, &x, &mut y);
    }
    let mut graph = stream
        .capture(|| {
            axpy(&stream, &kernel, 0.5, &x, &mut y);
            Ok::<(), GpuError>(())
        })
        .unwrap();
    // SAFETY: the buffers outlive the copy below.
    unsafe { graph.replay(&stream).unwrap() };
    stream.copy(&x, &mut y).unwrap();
    let profile = gpu.finish_profile().unwrap();
    let names: Vec<_> = profile.spans.iter().map(|s| s.name.as_str()).collect();
    let groups: Vec<_> = profile.spans.iter().map(|s| s.group).collect();
    assert_eq!(groups, [0, 1, 2, 2, 2]);
    let want = ["selftest_axpy"; 3]
        .into_iter()
        .chain(["cuGraphLaunch", "cuMemcpyDtoDAsync"]);
    assert_eq!(names, want.collect::<Vec<_>>());
    let mut end = 0.0;
    for span in &profile.spans {
        assert!(span.start_secs >= end - 2e-6 && span.secs > 0.0, "{span:?}");
        end = span.start_secs + span.secs;
    }
    assert_eq!(profile.spans[4].bytes, 8 << 20);
    let totals = profile.totals();
    assert_eq!(totals.iter().map(|t| t.count).sum::<u64>(), 5);
    axpy(&stream, &kernel, 0.5, &x, &mut y);
    assert!(gpu.finish_profile().unwrap().spans.is_empty());
}

#[test]
fn kernels_report_what_they_take() {
    let Some(gpu) = testing::gpu() else { return };
    let module = gpu.load(&SELFTEST).unwrap();
    let names: Vec<_> = module.reports().iter().map(|k| k.name.as_str()).collect();
    assert_eq!(names, ["selftest_axpy", "selftest_reverse"]);
    for compiled in module.reports() {
        let kernel = module.kernel(&compiled.name).unwrap();
        let loaded = kernel.report().unwrap();
        assert_eq!(loaded.registers, compiled.registers);
        assert_eq!(loaded.local_bytes, compiled.local_bytes);
        let info = gpu.info();
        let threads = info.threads_per_multiprocessor;
        assert!((1..=threads / 256).contains(&kernel.blocks_per_multiprocessor(256, 0).unwrap()));
        let all = info.shared_per_block_bytes;
        assert_eq!(kernel.blocks_per_multiprocessor(256, all).unwrap(), 1);
    }
}

#[test]
fn a_cooperative_grid_must_fit() {
    let Some(gpu) = testing::gpu() else { return };
    let stream = gpu.stream().unwrap();
    let kernel = gpu
        .load(&SELFTEST)
        .unwrap()
        .kernel("selftest_axpy")
        .unwrap();
    let x = stream.to_device(gpu, &numbers(1000)).unwrap();
    let y = stream.to_device(gpu, &[0.0; 1000]).unwrap();
    let fit = kernel.blocks_per_multiprocessor(256, 0).unwrap() * gpu.info().multiprocessors;
    let launch = |blocks| {
        let shape = Launch::new(blocks, 256).cooperative();
        // SAFETY: the kernel's arguments; the buffers outlive the copy below.
        unsafe { kernel.launch(&stream, shape, &[&1000_u64, &1.0_f64, &x.ptr(), &y.ptr()]) }
    };
    launch(fit).unwrap();
    assert!(launch(fit + 1).is_err());
    launch(0).unwrap();
    assert_eq!(stream.to_host(&y).unwrap(), numbers(1000));
}

#[test]
fn one_device_copies_from_another() {
    let Some(gpu) = testing::gpu() else { return };
    assert!(gpu.reach(gpu).unwrap());
    let count = Gpu::count().unwrap();
    assert!(matches!(Gpu::open(count), Err(GpuError::BadIndex { .. })));
    if count < 2 {
        return;
    }
    let other = Gpu::open(1).unwrap();
    let data = numbers(100_003);
    let from = other.stream().unwrap().to_device(&other, &data).unwrap();
    let stream = gpu.stream().unwrap();
    let mut to = gpu.alloc::<f64>(data.len()).unwrap();
    for _ in 0..2 {
        stream.fill_bytes(&mut to, 0xFF).unwrap();
        stream.copy_from(&other, &from, &mut to).unwrap();
        assert_eq!(stream.to_host(&to).unwrap(), data);
        // Once through the host, and once directly where there is a way.
        gpu.reach(&other).unwrap();
    }
}

#[test]
fn waiting_for_the_device_spoils_no_recording() {
    let Some(gpu) = testing::gpu() else { return };
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                gpu.synchronize().unwrap();
                let mut pinned = gpu.pinned::<u32>(64).unwrap();
                pinned.pin(..).unwrap();
                thread::yield_now();
            }
        });
        let record = || -> Result<(), GpuError> {
            let stream = gpu.stream()?;
            let mut buffer = gpu.alloc::<u32>(256)?;
            let mut graph = stream.capture(|| {
                (0..200_u8).try_for_each(|byte| stream.fill_bytes(&mut buffer, byte))
            })?;
            // SAFETY: the buffer lives until the stream has been waited for.
            unsafe { graph.replay(&stream)? };
            assert_eq!(stream.to_host(&buffer)?, [0xC7C7_C7C7; 256]);
            Ok(())
        };
        let outcome = (0..200).try_for_each(|_| record());
        done.store(true, Ordering::Relaxed);
        outcome.unwrap();
    });
}
