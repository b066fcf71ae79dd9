//! Tamarack, timed phase by phase through its public library.

use std::time::Instant;

use tamarack::{Analysis, Options, Ordering, Permutation, SymmetricCsc};

use crate::timing::{MANY, MOST, cycle, peak_bytes, repeat, repeat_after, resident_bytes};
use crate::{Record, Result, exchange, machine};

/// Tamarack's own order of `a`, for solvers that are to have the same.
pub fn order(a: &SymmetricCsc<f64>) -> Result<Permutation> {
    let analysis = Analysis::new(a.pattern(), &Options::default())?;
    Ok(analysis.symbolic().permutation().clone())
}

/// All phases of Tamarack on `a`, in the given order or its own.
pub fn run(a: &SymmetricCsc<f64>, order: Option<Permutation>, threads: usize) -> Result<Record> {
    let (b, before) = (exchange::right_hand_side(a), resident_bytes());
    let mut options = Options::default();
    options.threads = Some(threads);
    if let Some(order) = order {
        options.ordering = Ordering::Permutation(order);
    }
    let start = Instant::now();
    let analysis = Analysis::new(a.pattern(), &options)?;
    let analysis_secs = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let mut factor = analysis.factorize(a)?;
    let first_secs = start.elapsed().as_secs_f64();
    let mut failed = None;
    let refactor_secs = repeat(MOST, || {
        failed = failed.take().or(factor.refactorize(a).err());
    });
    if let Some(error) = failed {
        return Err(error.into());
    }
    let mut solve = |nrhs: usize| -> Result<(Vec<f64>, Vec<f64>)> {
        let (mut x, mut failed) = (exchange::right_hand_sides(&b, nrhs), None);
        factor.solve(&mut x)?; // makes the workspace
        let mut secs = Vec::new();
        for _ in 0..MOST {
            x = exchange::right_hand_sides(&b, nrhs);
            secs.extend(repeat(1, || {
                failed = failed.take().or(factor.solve(&mut x).err());
            }));
        }
        failed.map_or(Ok((x, secs)), |error| Err(error.into()))
    };
    let (x, solve_1_secs) = solve(1)?;
    let peak = peak_bytes() - before;
    let (x16, solve_16_secs) = solve(MANY)?;
    // The wall's time as for the peers, all of the analysis but what it says that the order took.
    let order_secs = analysis.seconds().order_secs;
    let symbolic_secs = analysis_secs - order_secs;
    let phases_secs = analysis_secs + first_secs + solve_1_secs[0];
    let (mut x1, mut failed) = (b.clone(), None);
    let mut again = || -> std::result::Result<(), tamarack::Error> {
        factor.refactorize(a)?;
        x1.copy_from_slice(&b);
        factor.solve(&mut x1)
    };
    let again_secs = cycle(phases_secs, || failed = failed.take().or(again().err()));
    let mut whole = || -> std::result::Result<(), tamarack::Error> {
        let mut factor = Analysis::new(a.pattern(), &options)?.factorize(a)?;
        x1.copy_from_slice(&b);
        factor.solve(&mut x1)
    };
    let whole_secs = cycle(phases_secs, || failed = failed.take().or(whole().err()));
    drop(factor);
    let memory = analysis.plan().memory();
    let bytes = (memory.factor_bytes + memory.update_bytes) as usize;
    let mut refused = false;
    let mut first_again_secs = repeat_after(
        MOST,
        || refused |= machine::touch(2 * bytes).is_err(),
        || failed = failed.take().or(analysis.factorize(a).err()),
    );
    if refused {
        first_again_secs.clear();
    }
    if let Some(error) = failed {
        return Err(error.into());
    }
    let stats = analysis.symbolic().stats();
    Ok(Record {
        solver: "tamarack".into(),
        matrix: String::new(),
        threads,
        n: a.n(),
        order_secs,
        symbolic_secs,
        first_secs,
        first_again_secs,
        refactor_secs,
        solve_1_secs,
        solve_16_secs,
        nnz_l_millions: stats.nnz_l as f64 * 1e-6,
        gflop: stats.flops as f64 * 1e-9,
        whole_secs,
        again_secs,
        stored_millions: analysis.plan().memory().factor_bytes as f64 / 8e6,
        peak_bytes: peak,
        backward_error: exchange::backward_error(a, &x, &b),
        backward_error_16: exchange::backward_error(a, &x16, &b),
        order: String::new(),
    })
}
