//! The primitives, beside CUB and the driver's own copy.
//!
//! Arrays are a gibibyte where the memory is to be measured: twenty times the second-level cache.

use std::process::ExitCode;

use tamarack_gpu::primitives::{
    Adjacency, Copies, Histogram, Levels, MatrixView, MatrixViewMut, Merge, RadixSort, Real,
    Reduce, Reduction, Scan, SortKey, Transpose,
};
use tamarack_gpu::{DeviceBuffer, Element, Gpu, GpuError, Stream};
use tamarack_gpu_benches::cub::Cub;
use tamarack_gpu_benches::{Case, Suite, matrices};

fn main() -> ExitCode {
    let mut suite = match Suite::from_args("primitives") {
        Ok(suite) => suite,
        Err(code) => return code,
    };
    let outcome = run(&mut suite);
    suite.finish(outcome)
}

fn run(suite: &mut Suite) -> Result<(), GpuError> {
    let mut cub = Cub::find(suite.gpu());
    if cub.is_none() {
        eprintln!("CUB's library is not there: see benches/gpu/peers/cub.cu");
    }
    moves::<f64>(suite)?;
    moves::<f32>(suite)?;
    reductions::<f64>(suite, &mut cub)?;
    reductions::<f32>(suite, &mut cub)?;
    scans(suite, &mut cub)?;
    counts(suite, &mut cub)?;
    sorts::<u32>(suite, &mut cub, |v| v as u32)?;
    sorts::<u64>(suite, &mut cub, |v| v)?;
    merges(suite, &mut cub)?;
    levels(suite)
}

/// Numbers that no kernel can guess.
fn random(k: usize) -> u64 {
    let z = (k as u64)
        .wrapping_add(1)
        .wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB) ^ z >> 31
}

/// `len` elements by `of`, a million of them repeated so that the host is quick.
fn filled<T: Element>(
    gpu: &Gpu,
    stream: &Stream,
    len: usize,
    of: impl Fn(u64) -> T,
) -> Result<DeviceBuffer<T>, GpuError> {
    let part: Vec<T> = (0..len.min(1 << 24)).map(|k| of(random(k))).collect();
    let mut buffer = gpu.alloc(len)?;
    for start in (0..len).step_by(1 << 24) {
        let end = len.min(start + (1 << 24));
        stream.upload(
            &part[..end - start],
            buffer.view_mut().slice_mut(start..end)?,
        )?;
    }
    Ok(buffer)
}

fn real<T: Real>(v: u64) -> T {
    T::from_f64(v as f64 / (1_u64 << 63) as f64 - 1.0)
}

fn moves<T: Real>(suite: &mut Suite) -> Result<(), GpuError> {
    let name = |what: &str| format!("{what} {}", T::NAME);
    if !["copy", "fill", "pack", "transpose", "gather"]
        .iter()
        .any(|w| suite.wants(&name(w)))
    {
        return Ok(());
    }
    let (gpu, stream) = (suite.gpu().clone(), suite.gpu().stream()?);
    let n = (1_usize << 30) / size_of::<T>();
    let from = filled(&gpu, &stream, n, real::<T>)?;
    let mut to = gpu.alloc::<T>(n)?;
    let copies = Copies::new(&gpu)?;
    let bytes = (2 * n * size_of::<T>()) as f64;
    let case = |what: &str, by: &str| Case::new(&name(what), "1 GiB", by).bytes(bytes);
    suite.time(case("copy", "cuMemcpyDtoD").peer(), |s| {
        s.copy(&from, &mut to)
    })?;
    suite.time(case("copy", "ours"), |s| copies.copy(s, &from, &mut to))?;
    let half = Case::new(&name("fill"), "1 GiB", "ours").bytes(bytes / 2.0);
    suite.time(half, |s| copies.fill(s, T::from_f64(1.5), &mut to))?;

    // A matrix of 1000 rows in columns of 1024, and the same without gaps.
    let columns = (n / 1024) as u32;
    let packed = 1000 * n / 1024;
    let moved = (2 * packed * size_of::<T>()) as f64;
    let view = MatrixView::new(&from, 1000, columns, 1024)?;
    let pack = Case::new(&name("pack"), "1000 of 1024", "ours").bytes(moved);
    suite.time(pack, |s| {
        copies.pack(s, view, to.view_mut().slice_mut(..packed)?)
    })?;
    let view = MatrixView::new(&from, 1001, columns, 1023)?;
    let packed = 1001 * n / 1024;
    let moved = (2 * packed * size_of::<T>()) as f64;
    let pack = Case::new(&name("pack"), "1001 of 1023", "ours").bytes(moved);
    suite.time(pack, |s| {
        copies.pack(s, view, to.view_mut().slice_mut(..packed)?)
    })?;

    let transpose = Transpose::new(&gpu)?;
    let (rows, columns) = (8192_u32, (n / 8192) as u32);
    for (rows, columns) in [(rows, columns), (10_007, (n / 10_007) as u32)] {
        let size = format!("{rows} x {columns}");
        let bytes = 2.0 * f64::from(rows) * f64::from(columns) * size_of::<T>() as f64;
        let case = Case::new(&name("transpose"), &size, "ours").bytes(bytes);
        let source = MatrixView::new(&from, rows, columns, rows as usize)?;
        suite.time(case, |s| {
            let target = MatrixViewMut::new(&mut to, columns, rows, columns as usize)?;
            transpose.run(s, source, target)
        })?;
    }
    let count = 1 << 26;
    let index: DeviceBuffer<u32> = filled(&gpu, &stream, count, |v| v as u32 % (1 << 20))?;
    let moved = (count * (4 + size_of::<T>())) as f64;
    let case = Case::new(&name("gather"), "2^26 of 2^20", "ours").bytes(moved);
    let few = from.view().slice(..1 << 20)?;
    suite.time(case, |s| {
        copies.gather(s, &index, few, to.view_mut().slice_mut(..count)?)
    })?;
    Ok(())
}

fn reductions<T: Real>(suite: &mut Suite, cub: &mut Option<Cub>) -> Result<(), GpuError> {
    let name = |what: &str| format!("{what} {}", T::NAME);
    if !["sum", "dot", "nrm2", "amax"]
        .iter()
        .any(|w| suite.wants(&name(w)))
    {
        return Ok(());
    }
    let (gpu, stream) = (suite.gpu().clone(), suite.gpu().stream()?);
    for bytes in [1_usize << 30, 8 << 20] {
        let n = bytes / size_of::<T>();
        let (x, y) = (
            filled(&gpu, &stream, n, real::<T>)?,
            filled(&gpu, &stream, n, real::<T>)?,
        );
        let mut out = gpu.alloc::<f64>(1)?;
        let mut reduce = Reduce::new(&gpu, &stream)?;
        let size = format!("{} MiB", bytes >> 20);
        let case = |what: &str| Case::new(&name(what), &size, "ours").bytes(bytes as f64);
        for (what, reduction) in [
            ("sum", Reduction::Sum),
            ("nrm2", Reduction::Nrm2),
            ("amax", Reduction::Amax),
        ] {
            suite.time(case(what), |s| reduce.run(s, reduction, &x, &mut out))?;
        }
        let twice = case("dot").bytes(2.0 * bytes as f64);
        suite.time(twice, |s| reduce.dot(s, &x, &y, &mut out))?;
        if let Some(cub) = cub {
            let peer = Case {
                by: "CUB".to_string(),
                ..case("sum")
            }
            .peer();
            let out = gpu.alloc::<T>(1)?;
            let function = format!("peer_sum_{}", T::NAME);
            suite.time(peer, |s| cub.unary(&function, s, &x, &out))?;
        }
    }
    Ok(())
}

fn scans(suite: &mut Suite, cub: &mut Option<Cub>) -> Result<(), GpuError> {
    if !suite.wants("scan") {
        return Ok(());
    }
    let (gpu, stream) = (suite.gpu().clone(), suite.gpu().stream()?);
    let scan = Scan::new(&gpu)?;
    for n in [1_usize << 28, 1 << 22] {
        let mut work = scan.workspace::<u64>(&gpu, n)?;
        let size = format!("2^{}", n.ilog2());
        let narrow = filled(&gpu, &stream, n, |v| v as u32 % 100)?;
        let wide = filled(&gpu, &stream, n, |v| v % 100)?;
        let (mut out32, mut out64) = (gpu.alloc::<u32>(n)?, gpu.alloc::<u64>(n)?);
        let case = |what: &str, by: &str, each: usize| {
            Case::new(&format!("scan {what}"), &size, by).bytes((n * each) as f64)
        };
        suite.time(case("u32", "ours", 8), |s| {
            scan.run(s, &mut work, &narrow, &mut out32)
        })?;
        suite.time(case("u32 to u64", "ours", 12), |s| {
            scan.run(s, &mut work, &narrow, &mut out64)
        })?;
        suite.time(case("u64", "ours", 16), |s| {
            scan.run(s, &mut work, &wide, &mut out64)
        })?;
        if let Some(cub) = cub {
            let peer = case("u32", "CUB", 8).peer();
            suite.time(peer, |s| cub.unary("peer_scan_u32", s, &narrow, &out32))?;
            let peer = case("u32 to u64", "CUB", 12).peer();
            suite.time(peer, |s| cub.unary("peer_scan_u32_u64", s, &narrow, &out64))?;
            let peer = case("u64", "CUB", 16).peer();
            suite.time(peer, |s| cub.unary("peer_scan_u64", s, &wide, &out64))?;
        }
    }
    Ok(())
}

fn counts(suite: &mut Suite, cub: &mut Option<Cub>) -> Result<(), GpuError> {
    if !suite.wants("histogram") {
        return Ok(());
    }
    let (gpu, stream) = (suite.gpu().clone(), suite.gpu().stream()?);
    let histogram = Histogram::new(&gpu)?;
    let n = 1_usize << 27;
    for (bins, equal) in [
        (256_usize, false),
        (256, true),
        (8192, false),
        (1 << 20, false),
    ] {
        let keys = filled(&gpu, &stream, n, |v| {
            if equal { 7 } else { v as u32 % bins as u32 }
        })?;
        let mut counts = gpu.alloc::<u32>(bins)?;
        let size = format!(
            "2^27, {bins} bins{}",
            if equal { ", equal keys" } else { "" }
        );
        let case = |by: &str| Case::new("histogram", &size, by).bytes(4.0 * n as f64);
        suite.time(case("ours"), |s| histogram.run(s, &keys, &mut counts))?;
        if let Some(cub) = cub {
            suite.time(case("CUB").peer(), |s| cub.histogram(s, &keys, &counts))?;
        }
    }
    Ok(())
}

/// Both sides sort fresh keys, which are copied in every time; the copy alone is timed too.
fn sorts<K: SortKey>(
    suite: &mut Suite,
    cub: &mut Option<Cub>,
    of: impl Fn(u64) -> K,
) -> Result<(), GpuError> {
    let problem = format!("sort u{} with u32", K::BITS);
    if !suite.wants(&problem) {
        return Ok(());
    }
    let (gpu, stream) = (suite.gpu().clone(), suite.gpu().stream()?);
    let sort = RadixSort::new(&gpu)?;
    for n in [1_usize << 27, 1 << 20] {
        let source = filled(&gpu, &stream, n, &of)?;
        let order = filled(&gpu, &stream, n, |v| v as u32)?;
        let (mut keys, mut values) = (gpu.alloc::<K>(n)?, gpu.alloc::<u32>(n)?);
        let (keys2, values2) = (gpu.alloc::<K>(n)?, gpu.alloc::<u32>(n)?);
        let mut work = sort.workspace::<K>(n)?;
        for bits in [K::BITS, 24] {
            let size = format!("2^{}, {bits} bits", n.ilog2());
            let passes = f64::from(bits / 8);
            let pair = size_of::<K>() as f64 + 4.0;
            let bytes = n as f64 * (passes * 2.0 * pair + pair - 4.0 + 2.0 * pair);
            let case = |by: &str| Case::new(&problem, &size, by).bytes(bytes);
            suite.time(case("ours"), |s| {
                s.copy(&source, &mut keys)?;
                s.copy(&order, &mut values)?;
                sort.run(s, &mut work, 0..bits, &mut keys, &mut values)
            })?;
            if let Some(cub) = cub {
                let name = format!("peer_sort_u{}", K::BITS);
                suite.time(case("CUB").peer(), |s| {
                    s.copy(&source, &mut keys)?;
                    s.copy(&order, &mut values)?;
                    cub.sort(&name, s, [&keys, &keys2], [&values, &values2], bits as i32)
                })?;
            }
        }
        let case = Case::new(&problem, &format!("2^{}, copy", n.ilog2()), "driver");
        suite.time(case, |s| {
            s.copy(&source, &mut keys)?;
            s.copy(&order, &mut values)
        })?;
    }
    Ok(())
}

fn merges(suite: &mut Suite, cub: &mut Option<Cub>) -> Result<(), GpuError> {
    if !suite.wants("merge") {
        return Ok(());
    }
    let (gpu, stream) = (suite.gpu().clone(), suite.gpu().stream()?);
    let merge = Merge::new(&gpu)?;
    let n = 1_usize << 26;
    let sorted = |shift: u32| -> Result<[DeviceBuffer<u32>; 2], GpuError> {
        let mut last = 0_u32;
        let keys: Vec<u32> = (0..n)
            .map(|k| {
                last += (random(k) >> shift & 127) as u32 / 2;
                last
            })
            .collect();
        let values: Vec<u32> = (0..n as u32).collect();
        Ok([
            stream.to_device(&gpu, &keys)?,
            stream.to_device(&gpu, &values)?,
        ])
    };
    let (a, b) = (sorted(10)?, sorted(40)?);
    let (mut keys, mut values) = (gpu.alloc::<u32>(2 * n)?, gpu.alloc::<u32>(2 * n)?);
    let mut work = merge.workspace(&gpu, 2 * n)?;
    let case = |by: &str| Case::new("merge u32", "2^26 + 2^26", by).bytes(32.0 * n as f64);
    suite.time(case("ours"), |s| {
        let (la, lb) = ((a[0].view(), a[1].view()), (b[0].view(), b[1].view()));
        merge.run(s, &mut work, la, lb, (keys.view_mut(), values.view_mut()))
    })?;
    if let Some(cub) = cub {
        suite.time(case("CUB").peer(), |s| {
            cub.merge(s, [&a[0], &a[1]], [&b[0], &b[1]], [&keys, &values])
        })?;
    }
    Ok(())
}

/// On the host's clock: finding levels waits for the device by itself.
fn levels(suite: &mut Suite) -> Result<(), GpuError> {
    if !suite.wants("levels") {
        return Ok(());
    }
    let (gpu, stream) = (suite.gpu().clone(), suite.gpu().stream()?);
    let levels = Levels::new(&gpu)?;
    for (size, matrix) in [
        ("grid 100³, 6 neighbors", matrices::grid(100, 1, 6)),
        ("power law, 2^20", matrices::power_law(1 << 20)),
    ] {
        let starts: Vec<u32> = matrix.starts.iter().map(|&s| s as u32).collect();
        let graph = Adjacency::new(&gpu, &stream, &starts, &matrix.columns)?;
        let roots = stream.to_device(&gpu, &[0_u32])?;
        let mut secs = Vec::new();
        for _ in 0..5 {
            let start = std::time::Instant::now();
            let sets = levels.run(&stream, &graph, &roots)?;
            secs.push(start.elapsed().as_secs_f64());
            eprintln!("{size}: {} levels", sets.depth());
        }
        suite.add(Case::new("levels", size, "ours"), secs);
    }
    Ok(())
}
