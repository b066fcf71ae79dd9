//! The machine this program runs on, and how fast one of its threads is.
//!
//! [`calibrate`] times a handful of fronts and fits [`FrontRates`] to them by weighted least
//! squares, each front weighted by the inverse of its time, so that small fronts, of which there
//! are many, are met as well as large ones. Cost: under a second.

use std::cell::Cell;
use std::hint::black_box;
use std::time::{Duration, Instant};

use tamarack_dense::{BlockColumns, Floor, UpdateMode, Workspace, partial_cholesky};
use tamarack_numeric::Value;
use tamarack_plan::{FrontRates, PlanOptions, front_assembly_bytes, front_flops};
use tamarack_sparse::Scalar;

use crate::options::Rates;

/// How long an answer of the operating system is good for: it takes 30 to 80 microseconds on Linux, which reads it from files, and a small
/// analysis takes little more.
const ANSWER: Duration = Duration::from_millis(10);

/// Threads that the operating system offers this program, or the calling thread where that may use some cores only; 1 where it does not
/// say. An answer is kept for a hundredth of a second, by each thread for itself.
pub fn available_threads() -> usize {
    thread_local! {
        static ANSWERED: Cell<Option<(Instant, usize)>> = const { Cell::new(None) };
    }
    let kept = ANSWERED.get().filter(|(since, _)| since.elapsed() < ANSWER);
    let (since, count) = kept.unwrap_or_else(|| {
        let count = std::thread::available_parallelism().map_or(1, |n| n.get());
        (Instant::now(), count)
    });
    ANSWERED.set(Some((since, count)));
    count
}

/// Measures the rates of one thread, in both precisions.
///
/// What a noisy machine makes of it is a rough figure: the fit never gives a negative rate.
pub fn calibrate() -> Rates {
    let default = Rates::default();
    Rates {
        f64: measure::<f64>(&default.f64),
        f32: measure::<f32>(&default.f32),
    }
}

/// Pivots and rows below of the fronts that are timed.
const FRONTS: [(usize, usize); 10] = [
    (1, 4),
    (2, 30),
    (8, 24),
    (4, 150),
    (16, 16),
    (32, 200),
    (64, 64),
    (64, 600),
    (256, 500),
    (600, 200),
];

/// Seconds spent on one front.
const SECS_PER_FRONT: f64 = 0.02;

/// Terms of the model of a front's time; see [`FrontRates`].
const TERMS: usize = 5;

fn measure<T: Value>(default: &FrontRates) -> FrontRates {
    let block = PlanOptions::default().block;
    let mut workspace = Workspace::<T>::new(block);
    let mut rows = Vec::with_capacity(FRONTS.len());
    for (npiv, nupd) in FRONTS {
        let secs = time_front(npiv, nupd, block, &mut workspace);
        let bytes = size_of::<T>();
        let panel = (npiv * nupd + npiv * (npiv + 1) / 2) * bytes;
        let terms = [
            1.0,
            npiv as f64,
            panel as f64,
            front_assembly_bytes(nupd, bytes) as f64,
            front_flops(npiv, nupd) as f64,
        ];
        rows.push((terms, secs));
    }
    let [
        overhead_secs,
        per_pivot_secs,
        per_panel_byte_secs,
        per_assembly_byte_secs,
        per_flop_secs,
    ] = fit(&rows);
    if per_flop_secs > 0.0 {
        FrontRates {
            overhead_secs,
            per_pivot_secs,
            per_panel_byte_secs,
            per_assembly_byte_secs,
            per_flop_secs,
        }
    } else {
        *default
    }
}

/// Median seconds to clear a front, to eliminate its pivots and to add its update matrix to
/// another array: what the factorization does with it, entries of A and index lists excepted.
fn time_front<T: Value>(npiv: usize, nupd: usize, block: usize, ws: &mut Workspace<T>) -> f64 {
    let panel_layout = BlockColumns::panel(npiv, nupd, block);
    let mut panel = vec![T::default(); panel_layout.len()];
    let mut update = vec![T::default(); BlockColumns::update(nupd, block).len()];
    let mut parent = update.clone();
    let mut times = Vec::new();
    let began = Instant::now();
    while times.len() < 5 || (began.elapsed().as_secs_f64() < SECS_PER_FRONT && times.len() < 2000)
    {
        let start = Instant::now();
        panel.fill(T::default());
        for j in 0..npiv {
            panel[panel_layout.index(j, j)] = <T as Scalar>::ONE;
        }
        // The identity: its elimination takes as long as any other and always succeeds.
        let mode = UpdateMode::Overwrite;
        if partial_cholesky(
            &mut panel,
            &mut update,
            (npiv, nupd),
            block,
            (mode, Floor::NONE),
            ws,
        )
        .is_err()
        {
            return f64::INFINITY;
        }
        for (to, from) in parent.iter_mut().zip(&update) {
            *to += *from;
        }
        black_box(&mut parent);
        times.push(start.elapsed().as_secs_f64());
    }
    times.sort_unstable_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Nonnegative least squares on relative residuals: coordinate descent on the normal equations,
/// which are 5 × 5, so that a few thousand sweeps cost nothing.
fn fit(rows: &[([f64; TERMS], f64)]) -> [f64; TERMS] {
    let mut gram = [[0.0; TERMS]; TERMS];
    let mut right = [0.0; TERMS];
    for (terms, secs) in rows
        .iter()
        .filter(|(_, secs)| secs.is_finite() && *secs > 0.0)
    {
        let scaled = terms.map(|t| t / secs);
        for (i, a) in scaled.iter().enumerate() {
            right[i] += a;
            for (j, b) in scaled.iter().enumerate() {
                gram[i][j] += a * b;
            }
        }
    }
    let mut x = [0.0f64; TERMS];
    for _ in 0..20_000 {
        for i in 0..TERMS {
            if gram[i][i] > 0.0 {
                let rest: f64 = (0..TERMS)
                    .filter(|&j| j != i)
                    .map(|j| gram[i][j] * x[j])
                    .sum();
                x[i] = ((right[i] - rest) / gram[i][i]).max(0.0);
            }
        }
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_that_is_kept_is_the_systems() {
        let told = std::thread::available_parallelism().map_or(1, |n| n.get());
        let both = [available_threads(), available_threads()];
        let other = std::thread::spawn(available_threads).join().unwrap();
        assert_eq!((both, other), ([told; 2], told));
    }

    #[test]
    fn the_fit_finds_known_rates() {
        let truth = [3e-7, 2e-8, 2e-10, 0.0, 1e-11];
        let rows: Vec<_> = FRONTS
            .iter()
            .map(|&(p, u)| {
                let (panel, half) = (p * u + p * (p + 1) / 2, u * (u + 1) / 2);
                let flops = front_flops(p, u) as f64;
                let terms = [1.0, p as f64, 8.0 * panel as f64, 32.0 * half as f64, flops];
                (terms, terms.iter().zip(truth).map(|(a, b)| a * b).sum())
            })
            .collect();
        let found = fit(&rows);
        for (terms, secs) in &rows {
            let again: f64 = terms.iter().zip(found).map(|(a, b)| a * b).sum();
            assert!((again / secs - 1.0).abs() < 0.02, "{again} {secs}");
        }
    }

    #[test]
    fn measured_rates_are_positive_and_quick() {
        let began = Instant::now();
        let rates = calibrate();
        for r in [rates.f64, rates.f32] {
            assert!(r.per_flop_secs > 0.0 && r.per_flop_secs < 1e-8, "{r:?}");
            assert!(
                r.overhead_secs >= 0.0 && r.per_panel_byte_secs >= 0.0,
                "{r:?}"
            );
        }
        assert!(began.elapsed().as_secs() < 20);
    }
}
