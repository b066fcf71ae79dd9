//! `dissect [-m METHOD] [-t THREADS] [-r RUNS] STEM...`: an ordering against another one that is kept.
//!
//! Reads `STEM.bin` (`i64` n and nnz, `i64` column offsets, `i32` rows; lower triangle with diagonal:
//! what `order_pattern` writes) and, where they are, `STEM.metis` (`i32` elimination order) and
//! `STEM.secs` (its processor seconds). Prints nnz(L), flops and processor seconds (wall seconds with
//! several threads), the ratios, wall seconds of the symbolic analysis, the most memory that the ordering
//! held at a time beside the pattern, in words of 4 bytes for each edge, and a hash of the permutation.

use std::alloc::{GlobalAlloc, Layout, System};
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Instant;

use tamarack_ordering::{Method, Workspace, order};
use tamarack_sparse::{Pattern, Permutation, Runs};
use tamarack_symbolic::{SymbolicDraft, SymbolicFactor, SymbolicOptions};

/// The system's memory, and how much of it is in use.
struct Counting;

static LIVE_BYTES: AtomicUsize = AtomicUsize::new(0);
static PEAK_BYTES: AtomicUsize = AtomicUsize::new(0);

fn count(more: usize, less: usize) {
    let live = LIVE_BYTES.fetch_add(more.wrapping_sub(less), Relaxed);
    PEAK_BYTES.fetch_max(live.wrapping_add(more.wrapping_sub(less)), Relaxed);
}

// SAFETY: every call goes to the system's allocator with the arguments it came with.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        // SAFETY: as the caller's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        // SAFETY: as the caller's.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size, layout.size());
        // SAFETY: as the caller's.
        unsafe { System.realloc(at, layout, size) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(0, layout.size());
        // SAFETY: as the caller's.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static MEMORY: Counting = Counting;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let (mut method, mut threads, mut runs) = ("nd".to_owned(), 1, 1);
    let mut stems = Vec::new();
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or("an option lacks its value");
        match arg.as_str() {
            "-m" => method = value()?,
            "-t" => threads = value()?.parse()?,
            "-r" => runs = value()?.parse()?,
            _ => stems.push(arg),
        }
    }
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()?;
    let method: Method = method.parse()?;
    let mut ratios = [(0.0f64, 0u32); 2];
    println!(
        "| matrix | n | nnz(L) | ratio | flops | ratio | secs | ratio | symbolic | words/edge | hash |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|");
    for stem in &stems {
        let pattern = Arc::new(read_pattern(&format!("{stem}.bin"))?);
        let before = LIVE_BYTES.load(Relaxed);
        PEAK_BYTES.store(before, Relaxed);
        let mut ws = Workspace::new();
        let mut secs = f64::INFINITY;
        let mut found = Permutation::identity(0);
        for _ in 0..runs {
            let (wall, cpu) = (Instant::now(), processor_secs());
            found = pool.install(|| order(&pattern, &method, &mut ws))?;
            let spent = match threads {
                1 => processor_secs() - cpu,
                _ => wall.elapsed().as_secs_f64(),
            };
            secs = secs.min(spent);
        }
        let held = PEAK_BYTES.load(Relaxed) - before;
        let edges = pattern.nnz_lower() - pattern.n() as u64;
        let per_edge = held as f64 / 4.0 / edges.max(1) as f64;
        // The ordering has found the twins before.
        let runs = pool.install(|| Runs::find(&pattern));
        let wall = Instant::now();
        let options = SymbolicOptions::default();
        let draft = || SymbolicDraft::with_runs(&pattern, runs.as_ref(), &found, &options);
        drop(pool.install(|| draft()?.finish())?);
        let symbolic = wall.elapsed().as_secs_f64();
        let hash = found.user_of_elim().iter().fold(0u64, |h, &v| {
            (h ^ u64::from(v)).wrapping_mul(0x0000_0100_0000_01B3)
        });
        let (nnz, flops) = counts(&pattern, &found)?;
        let (other_nnz, other_flops) = match std::fs::read(format!("{stem}.metis")) {
            Ok(bytes) => counts(
                &pattern,
                &Permutation::from_elimination_order(&words(&bytes))?,
            )?,
            Err(_) => (f64::NAN, f64::NAN),
        };
        let other_secs: f64 = match std::fs::read_to_string(format!("{stem}.secs")) {
            Ok(text) => text.trim().parse()?,
            Err(_) => f64::NAN,
        };
        for (sum, ratio) in ratios
            .iter_mut()
            .zip([flops / other_flops, secs / other_secs])
        {
            if ratio.is_finite() {
                *sum = (sum.0 + ratio.ln(), sum.1 + 1);
            }
        }
        println!(
            "| {} | {} | {nnz:.4e} | {:.3} | {flops:.4e} | {:.3} | {secs:.3} | {:.2} | {symbolic:.3} | {per_edge:.1} | {hash:016x} |",
            stem.rsplit('/').next().unwrap_or(stem),
            pattern.n(),
            nnz / other_nnz,
            flops / other_flops,
            secs / other_secs
        );
    }
    let [flops, secs] = ratios.map(|(sum, count)| (sum / f64::from(count)).exp());
    println!("geometric means: flops {flops:.3}, seconds {secs:.3}");
    Ok(())
}

/// nnz(L) and Σ (entries of a column)².
fn counts(pattern: &Arc<Pattern>, permutation: &Permutation) -> Result<(f64, f64)> {
    let options = SymbolicOptions {
        amalgamation: None,
        ..SymbolicOptions::default()
    };
    let factor = SymbolicFactor::analyze(pattern, permutation, &options)?;
    let stats = factor.stats();
    Ok((stats.nnz_l as f64, stats.flops as f64))
}

/// Processor seconds of this process.
fn processor_secs() -> f64 {
    let mut t = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `t` is a valid place for the result.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut t) };
    t.tv_sec as f64 + 1e-9 * t.tv_nsec as f64
}

fn words(bytes: &[u8]) -> Vec<u32> {
    let words = bytes.chunks_exact(4);
    words
        .map(|w| u32::from_ne_bytes([w[0], w[1], w[2], w[3]]))
        .collect()
}

fn read_pattern(path: &str) -> Result<Pattern> {
    let bytes = std::fs::read(path)?;
    let (heads, _) = bytes.as_chunks::<8>();
    let n = u64::from_ne_bytes(*heads.first().ok_or("short file")?) as usize;
    let ptr = heads.get(2..n + 3).ok_or("short file")?;
    let ptr: Vec<u64> = ptr.iter().map(|&w| u64::from_ne_bytes(w)).collect();
    Ok(Pattern::lower(n, &ptr, &words(&bytes[8 * (n + 3)..]))?)
}
