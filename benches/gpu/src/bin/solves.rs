//! Substitution with the panels of fronts, and residuals with backward errors.
//!
//! Bytes are those of the panels (or of the matrix), read once; vectors are not counted. Cases whose panels fit into the second-level
//! cache find them there: what they show is latency.

use std::process::ExitCode;

use tamarack_gpu::dense::{
    FrontShape, Fronts, PanelSolves, Real, SmallSolves, SolveChild, SolveFront, SolveOrder,
    SolveSpace,
};
use tamarack_gpu::primitives::{MatrixView, MatrixViewMut};
use tamarack_gpu::spmv::{BackwardError, HalfPattern, Residuals};
use tamarack_gpu::{DeviceBuffer, GpuError};
use tamarack_gpu_benches::{Case, Suite};

fn main() -> ExitCode {
    let mut suite = match Suite::from_args("solves") {
        Ok(suite) => suite,
        Err(code) => return code,
    };
    let outcome = run(&mut suite);
    suite.finish(outcome)
}

fn run(suite: &mut Suite) -> Result<(), GpuError> {
    for (pivots, updates, count) in [
        (4, 12, 100_000),
        (8, 24, 50_000),
        (16, 32, 20_000),
        (32, 32, 10_000),
        (48, 80, 5_000),
        (128, 0, 2_000),
    ] {
        small::<f64>(suite, pivots, updates, count, 1)?;
        small::<f32>(suite, pivots, updates, count, 1)?;
    }
    small::<f64>(suite, 4, 12, 7_000, 15)?;
    small::<f64>(suite, 4, 12, 1_000, 1)?;
    for (pivots, updates, count) in [
        (64, 128, 500),
        (128, 256, 64),
        (192, 400, 200),
        (512, 1024, 1),
        (256, 8000, 1),
        (1000, 4000, 2),
        (4096, 0, 1),
        (4096, 8192, 1),
        (16384, 0, 1),
    ] {
        large::<f64>(suite, pivots, updates, count)?;
        large::<f32>(suite, pivots, updates, count)?;
    }
    orders(suite)?;
    for (side, unknowns) in [(160, 1), (50, 3)] {
        residuals(suite, side, unknowns)?;
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
fn random<T: Real>(suite: &Suite, len: u64, scale: f64) -> Result<DeviceBuffer<T>, GpuError> {
    let (gpu, stream) = (suite.gpu(), suite.stream());
    let mut array = gpu.alloc(len as usize)?;
    let piece = numbers((len as usize).min((1 << 22) - 3));
    let piece: Vec<T> = piece.iter().map(|&v| T::from_f64(scale * v)).collect();
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

/// Fronts of one size, which do not depend on each other, with two children each that cover its rows.
struct Stage {
    pivots: u32,
    updates: u32,
    count: u32,
    rows: Vec<u32>,
    relative: Vec<u32>,
    children: Vec<[SolveChild<'static>; 2]>,
    panel_len: u64,
    each: u64,
}

impl Stage {
    fn new<T: Real>(pivots: u32, updates: u32, count: u32) -> Result<Self, GpuError> {
        let panel_len = FrontShape::of::<T>(pivots, updates)?.panel_len;
        // behind all pivots, in two pieces
        let first = pivots * count;
        let rows = (0..updates)
            .map(|i| first + i + if 2 * i > updates { 5 } else { 0 })
            .collect();
        Ok(Self {
            pivots,
            updates,
            count,
            rows,
            relative: (0..pivots + updates).collect(),
            children: Vec::new(),
            panel_len,
            each: panel_len + Fronts::inverse_len(pivots),
        })
    }

    fn entries(&self) -> u32 {
        self.pivots * self.count + self.updates + 6
    }

    /// Places: each front's own updates, then its two children's.
    fn places(&self) -> u64 {
        u64::from(self.updates + 2 * (self.pivots + self.updates)) * u64::from(self.count)
    }

    fn children(&mut self) {
        let relative: &'static [u32] = self.relative.clone().leak();
        let order = u64::from(self.pivots + self.updates);
        let own = u64::from(self.updates) * u64::from(self.count);
        let child = |i: u64| SolveChild {
            update: own + order * i,
            relative,
        };
        self.children = (0..self.count.into())
            .map(|i| [child(2 * i), child(2 * i + 1)])
            .collect();
    }

    fn fronts(&self) -> Vec<SolveFront<'_>> {
        let front = |i: u32| SolveFront {
            pivots: self.pivots,
            panel: u64::from(i) * self.each,
            inverse: u64::from(i) * self.each + self.panel_len,
            column: i * self.pivots,
            rows: &self.rows,
            update: u64::from(i) * u64::from(self.updates),
            children: &self.children[i as usize],
        };
        (0..self.count).map(front).collect()
    }

    /// Bytes of the panels that are read at least: the lower half of the pivots' block, and what stands below.
    fn bytes<T>(&self) -> f64 {
        let (p, u) = (f64::from(self.pivots), f64::from(self.updates));
        (p * (p + 1.0) / 2.0 + p * u) * f64::from(self.count) * size_of::<T>() as f64
    }
}

fn name<T>(what: &str) -> String {
    format!("{what} {}", if size_of::<T>() == 8 { "f64" } else { "f32" })
}

const RHS: [u32; 3] = [1, 8, 16];

fn small<T: Real>(
    suite: &mut Suite,
    pivots: u32,
    updates: u32,
    count: u32,
    run: u32,
) -> Result<(), GpuError> {
    let problem = name::<T>("small solves");
    if !suite.wants(&problem) {
        return Ok(());
    }
    let (gpu, stream) = (suite.gpu().clone(), suite.gpu().stream()?);
    let mut stage = Stage::new::<T>(pivots, updates, count * run)?;
    stage.children();
    let arena = random::<T>(
        suite,
        stage.each * u64::from(stage.count),
        1.0 / f64::from(pivots + updates),
    )?;
    let list = SmallSolves::<T>::new(&gpu, &stream, &stage.fronts(), &vec![run; count as usize])?;
    let (entries, places) = (stage.entries(), stage.places());
    let mut space = SolveSpace::new(&gpu, &stream, entries, places, 0, 16)?;
    let order: Vec<u32> = (0..entries).collect();
    let order = SolveOrder::new(&gpu, &stream, &order)?;
    let b = random::<f64>(suite, 16 * u64::from(entries), 1.0)?;
    suite.stream().synchronize()?;
    for rhs in RHS {
        space.take(&stream, &order, &b, entries.into(), rhs)?;
        stream.synchronize()?;
        let runs = if run > 1 {
            format!(" in runs of {run}")
        } else {
            String::new()
        };
        let size = format!("{} of {pivots}+{updates}{runs}, {rhs} rhs", stage.count);
        let case = |by: &str| Case::new(&problem, &size, by).bytes(stage.bytes::<T>());
        suite.time(case("forward"), |s| list.forward(s, &arena, &mut space))?;
        suite.time(case("backward"), |s| list.backward(s, &arena, &mut space))?;
    }
    Ok(())
}

fn large<T: Real>(
    suite: &mut Suite,
    pivots: u32,
    updates: u32,
    count: u32,
) -> Result<(), GpuError> {
    let problem = name::<T>("large solves");
    if !suite.wants(&problem) {
        return Ok(());
    }
    let (gpu, stream) = (suite.gpu().clone(), suite.gpu().stream()?);
    let mut stage = Stage::new::<T>(pivots, updates, count)?;
    stage.children();
    let arena = random::<T>(
        suite,
        stage.each * u64::from(count),
        1.0 / f64::from(pivots + updates),
    )?;
    let list = PanelSolves::<T>::new(&gpu, &stream, &stage.fronts())?;
    let (entries, places) = (stage.entries(), stage.places());
    let mut space = SolveSpace::new(&gpu, &stream, entries, places, list.mail_rows(), 16)?;
    let order: Vec<u32> = (0..entries).collect();
    let order = SolveOrder::new(&gpu, &stream, &order)?;
    let b = random::<f64>(suite, 16 * u64::from(entries), 1.0)?;
    suite.stream().synchronize()?;
    for rhs in RHS {
        space.take(&stream, &order, &b, entries.into(), rhs)?;
        stream.synchronize()?;
        let size = format!("{count} of {pivots}+{updates}, {rhs} rhs");
        let case = |by: &str| Case::new(&problem, &size, by).bytes(stage.bytes::<T>());
        suite.time(case("forward"), |s| list.forward(s, &arena, &mut space))?;
        suite.time(case("backward"), |s| list.backward(s, &arena, &mut space))?;
    }
    Ok(())
}

fn orders(suite: &mut Suite) -> Result<(), GpuError> {
    let problem = "solve order f64";
    if !suite.wants(problem) {
        return Ok(());
    }
    let (gpu, stream) = (suite.gpu().clone(), suite.gpu().stream()?);
    let n = 1_000_003_u32;
    let scattered: Vec<u32> = (0..n)
        .map(|k| (u64::from(k) * 7919 % u64::from(n)) as u32)
        .collect();
    let order = SolveOrder::new(&gpu, &stream, &scattered)?;
    let mut b = random::<f64>(suite, 16 * u64::from(n), 1.0)?;
    let mut space = SolveSpace::new(&gpu, &stream, n, 0, 0, 16)?;
    suite.stream().synchronize()?;
    for rhs in [1, 16] {
        let bytes = f64::from(n) * (16.0 * f64::from(rhs) + 4.0);
        let case = |by: &str| Case::new(problem, &format!("n={n}, {rhs} rhs"), by).bytes(bytes);
        suite.time(case("take"), |s| space.take(s, &order, &b, n.into(), rhs))?;
        suite.time(case("give"), |s| {
            space.give(s, &order, &mut b, n.into(), false)
        })?;
        suite.time(case("add"), |s| {
            space.give(s, &order, &mut b, n.into(), true)
        })?;
    }
    Ok(())
}

/// A grid of side³ nodes with so many unknowns each, coupled to the 6 neighbors, or with several unknowns to all 26.
fn residuals(suite: &mut Suite, side: u32, unknowns: u32) -> Result<(), GpuError> {
    let problem = "backward error f64";
    if !suite.wants(problem) {
        return Ok(());
    }
    let (gpu, stream) = (suite.gpu().clone(), suite.gpu().stream()?);
    let n = side.pow(3) * unknowns;
    let (mut starts, mut indices) = (vec![0], Vec::new());
    let near = |c: u32| c.saturating_sub(1)..(c + 2).min(side);
    for node in 0..side.pow(3) {
        let (i, j, k) = (node % side, node / side % side, node / side / side);
        let mut nodes = Vec::new();
        for c in near(k) {
            for b in near(j) {
                for a in near(i) {
                    let apart = a.abs_diff(i) + b.abs_diff(j) + c.abs_diff(k);
                    let other = (c * side + b) * side + a;
                    if other >= node && (unknowns > 1 || apart <= 1) {
                        nodes.push(other);
                    }
                }
            }
        }
        for u in 0..unknowns {
            let column = node * unknowns + u;
            let rows = nodes
                .iter()
                .flat_map(|&m| (0..unknowns).map(move |v| m * unknowns + v));
            indices.extend(rows.filter(|&row| row >= column));
            starts.push(indices.len() as u64);
        }
    }
    let pattern = HalfPattern::new(&gpu, &starts, &indices)?;
    let mut list = Residuals::new(&gpu, &stream, &pattern, 8, &mut |len| gpu.alloc(len))?;
    let entries = 2 * indices.len() as u64 - u64::from(n);
    let values = random::<f64>(suite, indices.len() as u64, 1.0)?;
    let x = random::<f64>(suite, 8 * u64::from(n), 1.0)?;
    let b = random::<f64>(suite, 8 * u64::from(n), 1.0)?;
    let mut r = gpu.alloc::<f64>(8 * n as usize)?;
    let size = format!("n={n}, {} a row", entries / u64::from(n));
    for rhs in [1, 8] {
        let mut errors = gpu.alloc::<BackwardError>(rhs as usize)?;
        let size = format!("{size}, {rhs} rhs");
        let vectors = 24.0 * f64::from(n) * f64::from(rhs);
        let case = Case::new(problem, &size, "Residuals").bytes(12.0 * entries as f64 + vectors);
        suite.time(case, |s| {
            let view = |data| MatrixView::new(data, n, rhs, n as usize);
            let out = MatrixViewMut::new(&mut r, n, rhs, n as usize)?;
            list.launch(
                s,
                &values,
                view(b.view())?,
                view(x.view())?,
                out,
                &mut errors,
            )
        })?;
    }
    Ok(())
}
