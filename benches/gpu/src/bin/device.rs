//! What the device layer itself costs: launches, graphs, copies, allocations.

use std::process::ExitCode;
use std::time::Instant;

use tamarack_gpu::{Gpu, GpuError, GpuOptions, Launch, Program};
use tamarack_gpu_benches::{Case, Suite};

const SELFTEST: Program = Program::at("selftest.cu");
/// Kernels in a row.
const LAUNCHES: u32 = 200;

fn main() -> ExitCode {
    let mut suite = match Suite::from_args("device") {
        Ok(suite) => suite,
        Err(code) => return code,
    };
    let outcome = run(&mut suite);
    suite.finish(outcome)
}

fn run(suite: &mut Suite) -> Result<(), GpuError> {
    launches(suite)?;
    copies(suite)?;
    transfers(suite)?;
    allocations(suite)?;
    programs(suite)
}

/// Small kernels in a row, one by one and as a graph, on the host's clock until all are done.
fn launches(suite: &mut Suite) -> Result<(), GpuError> {
    let gpu = suite.gpu().clone();
    let stream = gpu.stream()?;
    let axpy = gpu.load(&SELFTEST)?.kernel("selftest_axpy")?;
    let (x, y) = (gpu.alloc::<f64>(256)?, gpu.alloc::<f64>(256)?);
    let enqueue = || -> Result<(), GpuError> {
        for _ in 0..LAUNCHES {
            // SAFETY: the kernel's arguments; both buffers outlive the synchronization below.
            unsafe {
                axpy.launch(
                    &stream,
                    Launch::new(1, 256),
                    &[&256_u64, &0.5_f64, &x.ptr(), &y.ptr()],
                )?;
            }
        }
        Ok(())
    };
    let mut graph = stream.capture(enqueue)?;
    let (mut bare, mut replayed, mut profiled) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..30 {
        stream.synchronize()?;
        let start = Instant::now();
        enqueue()?;
        stream.synchronize()?;
        bare.push(start.elapsed().as_secs_f64() / f64::from(LAUNCHES));
        let start = Instant::now();
        // SAFETY: module and buffers are alive until the synchronization.
        unsafe { graph.replay(&stream)? };
        stream.synchronize()?;
        replayed.push(start.elapsed().as_secs_f64() / f64::from(LAUNCHES));
    }
    for _ in 0..10 {
        gpu.start_profile()?;
        let start = Instant::now();
        enqueue()?;
        stream.synchronize()?;
        profiled.push(start.elapsed().as_secs_f64() / f64::from(LAUNCHES));
        gpu.finish_profile()?;
    }
    suite.add(Case::new("launch", "1 of 200", "one by one"), bare);
    suite.add(Case::new("launch", "1 of 200", "graph"), replayed);
    suite.add(Case::new("launch", "1 of 200", "profiled"), profiled);
    Ok(())
}

/// Copies on the device, bytes read plus bytes written.
fn copies(suite: &mut Suite) -> Result<(), GpuError> {
    if !suite.wants("copy") {
        return Ok(());
    }
    let gpu = suite.gpu().clone();
    for bytes in [1_usize << 20, 1 << 26, 1 << 31] {
        let (from, mut to) = (gpu.alloc::<u8>(bytes)?, gpu.alloc::<u8>(bytes)?);
        suite.stream().fill_bytes(&mut to, 0x5A)?;
        let size = format!("{} MiB", bytes >> 20);
        let case = Case::new("copy", &size, "cuMemcpyDtoD").bytes(2.0 * bytes as f64);
        suite.time(case, |stream| stream.copy(&from, &mut to))?;
    }
    Ok(())
}

/// Copies between host and device, from pinned and from ordinary memory, on the host's clock.
fn transfers(suite: &mut Suite) -> Result<(), GpuError> {
    if !suite.wants("upload") && !suite.wants("download") {
        return Ok(());
    }
    let gpu = suite.gpu().clone();
    let stream = gpu.stream()?;
    let bytes = 256_usize << 20;
    let size = format!("{} MiB", bytes >> 20);
    let mut device = gpu.alloc::<u8>(bytes)?;
    let mut pinned = gpu.pinned::<u8>(bytes)?;
    let mut ordinary = vec![1_u8; bytes];
    let start = Instant::now();
    pinned.pin(..)?;
    let pinning = start.elapsed().as_secs_f64();
    let case = |problem, by| Case::new(problem, &size, by).bytes(bytes as f64);
    suite.add(case("pin", "cuMemHostRegister"), vec![pinning]);
    let (mut up, mut down, mut up_ordinary, mut down_ordinary) =
        <(Vec<_>, Vec<_>, Vec<_>, Vec<_>)>::default();
    let mut up_lanes = Vec::new();
    for _ in 0..7 {
        let start = Instant::now();
        // SAFETY: the pinned buffer is not touched before the synchronization.
        unsafe { pinned.upload_async(&stream, .., &mut device)? };
        stream.synchronize()?;
        up.push(start.elapsed().as_secs_f64());
        let start = Instant::now();
        // SAFETY: as above.
        unsafe { pinned.download_async(&stream, &device, ..)? };
        stream.synchronize()?;
        down.push(start.elapsed().as_secs_f64());
        let start = Instant::now();
        stream.upload(&ordinary, &mut device)?;
        up_ordinary.push(start.elapsed().as_secs_f64());
        let start = Instant::now();
        gpu.upload_all(&ordinary, &mut device)?;
        up_lanes.push(start.elapsed().as_secs_f64());
        let start = Instant::now();
        stream.download(&device, &mut ordinary)?;
        down_ordinary.push(start.elapsed().as_secs_f64());
    }
    suite.add(case("upload", "pinned"), up);
    suite.add(case("upload", "ordinary memory"), up_ordinary);
    suite.add(case("upload", "ordinary memory, several threads"), up_lanes);
    suite.add(case("download", "pinned"), down);
    suite.add(case("download", "ordinary memory"), down_ordinary);
    Ok(())
}

/// A program from NVRTC and from the cache, on the host's clock, in a device opened for it.
fn programs(suite: &mut Suite) -> Result<(), GpuError> {
    let folder = std::env::temp_dir().join(format!("tamarack-bench-{}", std::process::id()));
    let mut options = GpuOptions::default();
    options.cache = Some(folder.clone());
    options.nvrtc = suite.nvrtc().map(Into::into);
    for by in ["NVRTC, compiled", "NVRTC, cached"] {
        let gpu = Gpu::open_with(0, options.clone())?;
        let start = Instant::now();
        gpu.load(&SELFTEST)?;
        let case = Case::new("load a program", "selftest", by);
        suite.add(case, vec![start.elapsed().as_secs_f64()]);
    }
    // A folder left behind harms nobody.
    let _ = std::fs::remove_dir_all(folder);
    Ok(())
}

/// Allocating and freeing, on the host's clock.
fn allocations(suite: &mut Suite) -> Result<(), GpuError> {
    let gpu = suite.gpu().clone();
    for bytes in [1_usize << 12, 1 << 26] {
        let mut secs = Vec::new();
        for _ in 0..20 {
            let start = Instant::now();
            drop(gpu.alloc::<u8>(bytes)?);
            secs.push(start.elapsed().as_secs_f64());
        }
        let size = format!("{} KiB", bytes >> 10);
        suite.add(Case::new("allocate and free", &size, "cuMemAlloc"), secs);
    }
    Ok(())
}
