//! Dense products and Cholesky of fronts, beside cuBLAS and cuSOLVER.
//!
//! Operations: 2 m n k of a product, n² k of a symmetric update, n³/3 of Cholesky. A factorization that is
//! repeated in place soon works on what it made of its input: it is restored before each. The table has the time of that
//! copy and of both together, for us and the peer, measured alike; their difference is printed as the net time.

use std::process::ExitCode;

use tamarack_gpu::dense::{
    Front, FrontShape, Fronts, Placed, Product, Products, SmallFronts, Step, Tile,
};
use tamarack_gpu::primitives::Copies;
use tamarack_gpu::{DeviceBuffer, GpuError, Stream};
use tamarack_gpu_benches::nvidia::{Batch, Number, Nvidia};
use tamarack_gpu_benches::{Calls, Case, Suite};

fn main() -> ExitCode {
    let mut suite = match Suite::from_args("dense") {
        Ok(suite) => suite,
        Err(code) => return code,
    };
    let outcome = run(&mut suite);
    suite.finish(outcome)
}

fn run(suite: &mut Suite) -> Result<(), GpuError> {
    all::<f64>(suite)?;
    all::<f32>(suite)
}

fn all<T: Number>(suite: &mut Suite) -> Result<(), GpuError> {
    let peer = Nvidia::<T>::find(suite.gpu(), suite.stream());
    if peer.is_none() {
        eprintln!("cuBLAS or cuSOLVER is not there");
    }
    let peer = peer.as_ref();
    for (n, k) in [(2048, 256), (8192, 512), (8192, 4096)] {
        product(suite, peer, n, k, false)?;
    }
    for (n, k) in [
        (1024, 128),
        (2048, 256),
        (4096, 256),
        (8192, 128),
        (8192, 256),
        (8192, 512),
        (8192, 1024),
        (8192, 4096),
    ] {
        product(suite, peer, n, k, true)?;
    }
    for n in [256, 512, 1024, 2048, 4096, 8192, 16384] {
        cholesky(suite, peer, n)?;
    }
    for (pivots, updates, count) in [
        (512, 1024, 1),
        (512, 4096, 1),
        (2048, 8192, 1),
        (128, 256, 64),
        (64, 128, 500),
    ] {
        fronts::<T>(suite, pivots, updates, count)?;
    }
    for order in [16, 32, 48, 64, 96, 128] {
        small(suite, peer, order / 2, order / 2)?;
    }
    for (pivots, updates) in [
        (2, 6),
        (4, 20),
        (8, 24),
        (8, 56),
        (16, 80),
        (16, 200),
        (32, 200),
    ] {
        small::<T>(suite, None, pivots, updates)?;
    }
    Ok(())
}

/// Numbers of both signs, the same in every run.
fn numbers(n: usize) -> Vec<f64> {
    let mut state = 88_172_645_463_325_252_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    };
    (0..n).map(|_| next()).collect()
}

/// A device array of `len` numbers, which repeat after a few millions.
fn random<T: Number>(suite: &Suite, len: u64) -> Result<DeviceBuffer<T>, GpuError> {
    let (gpu, stream) = (suite.gpu(), suite.stream());
    let mut array = gpu.alloc::<T>(len as usize)?;
    let piece = numbers((len as usize).min((1 << 22) - 3));
    let piece: Vec<T> = piece.into_iter().map(T::from_f64).collect();
    let piece = stream.to_device(gpu, &piece)?;
    let mut at = 0;
    while at < array.len() {
        let n = piece.len().min(array.len() - at);
        let mut view = array.view_mut();
        stream.copy(piece.view().slice(..n)?, view.slice_mut(at..at + n)?)?;
        at += n;
    }
    Ok(array)
}

fn product<T: Number>(
    suite: &mut Suite,
    peer: Option<&Nvidia<T>>,
    n: u32,
    k: u32,
    lower: bool,
) -> Result<(), GpuError> {
    let problem = if lower { "dense syrk" } else { "dense gemm" };
    let problem = &format!("{problem} {}", T::NAME);
    if !suite.wants(&format!("{problem} n={n} k={k}")) {
        return Ok(());
    }
    let (gpu, stream) = (suite.gpu().clone(), suite.gpu().stream()?);
    let (order, inner) = (f64::from(n), f64::from(k));
    let flops = if lower { 1.0 } else { 2.0 } * order * order * inner;
    let case = |by: &str| Case::new(problem, &format!("n={n} k={k}"), by).flops(flops);
    let size = u64::from(n) * u64::from(k);
    let mut arena = random::<T>(suite, 2 * size + u64::from(n) * u64::from(n))?;
    let a = Placed::plain(0, n);
    let fast = [
        None,
        Some(Step::Pipeline(Tile::Warpgroups)),
        Some(Step::Pipeline(Tile::T64)),
        Some(Step::Pipeline(Tile::T128)),
        Some(Step::Pipeline(Tile::Tall)),
        Some(Step::Bulk),
    ];
    let slow = [
        Some(Step::Naive),
        Some(Step::SharedTiles),
        Some(Step::RegisterBlocks),
        Some(Step::VectorLoads),
        Some(Step::DoubleBuffer),
    ];
    for beta in [1.0, 0.0] {
        let ladder = beta == 1.0 && n == 8192 && k == 512; // whose lower steps take long
        let steps = slow.iter().filter(|_| ladder).chain(&fast).copied();
        let p = if lower {
            Product::syrk(a, Placed::packed(size, n), n, k, beta)
        } else {
            let b = Placed::plain(size, n);
            let c = Placed::plain(2 * size, n);
            Product {
                b,
                c,
                lower,
                ..Product::syrk(a, c, n, k, beta)
            }
        };
        for step in steps {
            let list = Products::<T>::new(&gpu, &stream, &[p], step)?;
            if step.is_some_and(|step| step != list.step()) {
                continue; // not on this device, or not for these numbers
            }
            let chosen = if step.is_none() { "chosen: " } else { "" };
            let by = format!("{chosen}{:?}, beta {beta}", list.step());
            suite.time(case(&by), |s| list.launch(s, &mut arena))?;
        }
    }
    if let Some(peer) = peer {
        suite.time(case("cuBLAS, beta 1").peer(), |_| {
            if lower {
                peer.syrk(n, k, &arena)
            } else {
                peer.gemm(n, k, &arena)
            }
        })?;
    }
    Ok(())
}

/// Fronts behind each other, all of one size, with heavy diagonals; and the arena's length.
fn place<T: Number>(
    pivots: u32,
    updates: u32,
    count: u32,
    tile: Option<Tile>,
) -> Result<(Vec<Front>, u64), GpuError> {
    let shape = FrontShape::of::<T>(pivots, updates)?;
    let inverse = tile.map_or(0, |_| Fronts::inverse_len(pivots));
    let each = shape.panel_len + shape.update_len + inverse;
    let front = |i: u32| {
        let panel = u64::from(i) * each;
        let update = panel + shape.panel_len;
        Front {
            pivots,
            updates,
            panel,
            update,
            inverse: update + shape.update_len,
            fresh: false,
        }
    };
    Ok(((0..count).map(front).collect(), each * u64::from(count)))
}

/// Makes every pivot heavy.
fn strengthen<T: Number>(
    suite: &Suite,
    arena: &mut DeviceBuffer<T>,
    fronts: &[Front],
) -> Result<(), GpuError> {
    let mut places = Vec::new();
    for front in fronts {
        let shape = FrontShape::of::<T>(front.pivots, front.updates)?;
        let panel = Placed::packed(front.panel, shape.panel_height);
        places.extend((0..front.pivots).map(|j| panel.index(j, j)));
    }
    let heavy = fronts.first().map_or(0, |f| f.pivots + f.updates);
    set(suite, arena, places, 2.0 * f64::from(heavy))
}

/// Writes `value` to some places, below 2^32, of an arena.
fn set<T: Number>(
    suite: &Suite,
    arena: &mut DeviceBuffer<T>,
    places: impl IntoIterator<Item = u64>,
    value: f64,
) -> Result<(), GpuError> {
    let (gpu, stream) = (suite.gpu(), suite.stream());
    let places: Vec<u32> = places.into_iter().map(|place| place as u32).collect();
    let values = stream.to_device(gpu, &vec![T::from_f64(value); places.len()])?;
    let places = stream.to_device(gpu, &places)?;
    Copies::new(gpu)?.scatter(stream, &places, &values, arena)?;
    stream.synchronize() // the lists go
}

/// Times `work` after a copy of `source` into `arena`, and the copy alone.
fn restored<T: Number>(
    suite: &mut Suite,
    case: &Case,
    source: &DeviceBuffer<T>,
    arena: &mut DeviceBuffer<T>,
    mut work: impl FnMut(&Stream, &mut DeviceBuffer<T>) -> Result<(), GpuError>,
) -> Result<(), GpuError> {
    let copy = Case {
        by: format!("the copy before {}", case.by),
        flops: 0.0,
        ..case.clone()
    };
    let both = Case {
        by: format!("{}, with the copy", case.by),
        ..case.clone()
    };
    let both = suite.time_as(both, Calls::Auto, |s| {
        s.copy(source, &mut *arena)?;
        work(s, arena)
    })?;
    let Some((both, replayed)) = both.map(|row| (row.median_secs, row.graph)) else {
        return Ok(());
    };
    let calls = if replayed {
        Calls::Replayed
    } else {
        Calls::Bare
    };
    let copy = suite.time_as(copy, calls, |s| s.copy(source, &mut *arena))?;
    if let Some(copy) = copy {
        let net = both - copy.median_secs;
        let rate = case.flops / net * 1e-12;
        eprintln!(
            "{} {}: {:.4} ms net, {rate:.2} TFLOP/s",
            case.size,
            case.by,
            1e3 * net
        );
    }
    Ok(())
}

fn cholesky<T: Number>(
    suite: &mut Suite,
    peer: Option<&Nvidia<T>>,
    n: u32,
) -> Result<(), GpuError> {
    let problem = &format!("dense cholesky {}", T::NAME);
    if !suite.wants(&format!("{problem} n={n}")) {
        return Ok(());
    }
    let (gpu, stream) = (suite.gpu().clone(), suite.gpu().stream()?);
    let case =
        |by: &str| Case::new(problem, &format!("n={n}"), by).flops(f64::from(n).powi(3) / 3.0);
    let chosen = Fronts::<T>::tile_for(&gpu, n);
    for tile in [Tile::Warpgroups, Tile::T64, Tile::Tall, Tile::T128] {
        let (list, len) = place::<T>(n, 0, 1, Some(tile))?;
        let mut source = random::<T>(suite, len)?;
        strengthen(suite, &mut source, &list)?;
        let mut arena = gpu.alloc::<T>(len as usize)?;
        let mut fronts = Fronts::<T>::new(&gpu, &stream, &list, tile)?;
        let mark = if tile == chosen { ", chosen" } else { "" };
        let case = case(&format!("Fronts, {tile:?}{mark}"));
        restored(suite, &case, &source, &mut arena, |s, a| {
            fronts.launch(s, a)
        })?;
    }
    let Some(peer) = peer else { return Ok(()) };
    let mut source = random::<T>(suite, u64::from(n) * u64::from(n))?;
    let diagonal = (0..u64::from(n)).map(|i| i * (u64::from(n) + 1));
    set(suite, &mut source, diagonal, 2.0 * f64::from(n))?;
    let mut square = gpu.alloc(source.len())?;
    let work = peer.potrf_work(n)?;
    let case = case("cuSOLVER").peer();
    restored(suite, &case, &source, &mut square, |_, a| {
        peer.potrf(n, a, &work)
    })
}

/// Operations of a partial factorization.
fn flops(pivots: u32, updates: u32) -> f64 {
    let rows = |k: u32| f64::from(pivots + updates - k - 1);
    (0..pivots).map(|k| rows(k) * (rows(k) + 2.0) + 1.0).sum()
}

fn fronts<T: Number>(
    suite: &mut Suite,
    pivots: u32,
    updates: u32,
    count: u32,
) -> Result<(), GpuError> {
    let problem = &format!("dense fronts {}", T::NAME);
    if !suite.wants(problem) {
        return Ok(());
    }
    let (gpu, stream) = (suite.gpu().clone(), suite.gpu().stream()?);
    for tile in [Tile::Warpgroups, Tile::T64, Tile::Tall, Tile::T128] {
        let (list, len) = place::<T>(pivots, updates, count, Some(tile))?;
        let mut source = random::<T>(suite, len)?;
        strengthen(suite, &mut source, &list)?;
        let mut arena = gpu.alloc::<T>(len as usize)?;
        let mut fronts = Fronts::<T>::new(&gpu, &stream, &list, tile)?;
        let size = format!("{count} of {pivots}+{updates}");
        let case = Case::new(problem, &size, &format!("Fronts, {tile:?}"));
        let case = case.flops(f64::from(count) * flops(pivots, updates));
        restored(suite, &case, &source, &mut arena, |s, a| {
            fronts.launch(s, a)
        })?;
    }
    Ok(())
}

fn small<T: Number>(
    suite: &mut Suite,
    peer: Option<&Nvidia<T>>,
    pivots: u32,
    updates: u32,
) -> Result<(), GpuError> {
    let problem = &format!("dense small fronts {}", T::NAME);
    if !suite.wants(&format!("{problem} 10000 of {pivots}+{updates}"))
        || !SmallFronts::fits(suite.gpu(), pivots, updates)
    {
        return Ok(());
    }
    let count = 10_000;
    let (gpu, stream) = (suite.gpu().clone(), suite.gpu().stream()?);
    let (list, len) = place::<T>(pivots, updates, count, None)?;
    let mut source = random::<T>(suite, len)?;
    strengthen(suite, &mut source, &list)?;
    let mut arena = gpu.alloc::<T>(len as usize)?;
    let order = pivots + updates;
    let half = f64::from(order);
    let bytes = f64::from(count) * half * (half + 1.0) * size_of::<T>() as f64; // read and written once
    let size = format!("{count} of {pivots}+{updates}");
    let case = |by: &str| Case::new(problem, &size, by).bytes(bytes);
    let mut fronts = SmallFronts::<T>::new(&gpu, &stream, &list)?;
    restored(suite, &case("SmallFronts"), &source, &mut arena, |s, a| {
        fronts.launch(s, a)
    })?;
    let Some(peer) = peer else { return Ok(()) };
    let square = u64::from(order * order);
    let mut source = random::<T>(suite, square * u64::from(count))?;
    let diagonal =
        |i: u64| (0..u64::from(order)).map(move |j| i * square + j * (u64::from(order) + 1));
    let diagonals = (0..u64::from(count)).flat_map(diagonal);
    set(suite, &mut source, diagonals, 2.0 * half)?;
    let mut squares = gpu.alloc(source.len())?;
    let batch = Batch::new(&gpu, &stream, order, &squares)?;
    let case = case("POTRF + TRSM + GEMM, batched").peer();
    restored(suite, &case, &source, &mut squares, |_, _| batch.run(peer))
}
