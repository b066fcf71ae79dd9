//! Where the time of a refactorization goes, and what it costs to know:
//!
//! ```sh
//! cargo run --release -p tamarack --example profile -- model:p2d5_1000 2 9   # matrix, threads, turns
//! ```

use std::time::Instant;

use tamarack::io::{ReadOptions, read_matrix};
use tamarack::models::Model;
use tamarack::{Analysis, Options, Ordering, SymmetricCsc, io};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let matrix = args.next().unwrap_or_else(|| "model:p2d5_300".into());
    let threads = args.next().map(|t| t.parse()).transpose()?;
    let turns: usize = args.next().map_or(Ok(5), |t| t.parse())?;
    let a: SymmetricCsc<f64> = match matrix.strip_prefix("model:") {
        Some(name) => name.parse::<Model>()?.generate()?,
        None => read_matrix(&matrix, &ReadOptions::default())?,
    };
    let mut options = Options::default();
    options.threads = threads;
    if let Some(file) = args.next() {
        options.ordering = Ordering::Permutation(io::read_permutation(&file, a.n())?);
    }
    let plain = Analysis::new(a.pattern(), &options)?;
    options.profile = true;
    let profiled = Analysis::new(a.pattern(), &options)?;

    let mut factors = [plain.factorize(&a)?, profiled.factorize(&a)?];
    let mut secs = [Vec::new(), Vec::new()];
    profiled.take_profile(); // the first factorization waits for memory as well
    for _ in 0..turns {
        for (factor, secs) in factors.iter_mut().zip(&mut secs) {
            let start = Instant::now();
            factor.refactorize(&a)?;
            secs.push(start.elapsed().as_secs_f64());
        }
    }
    for secs in &mut secs {
        secs.sort_by(f64::total_cmp);
    }
    let [without, with] = secs.map(|secs| [secs[0], secs[secs.len() / 2]]);
    println!(
        "{matrix}: least {:.5} s plain, {:.5} s profiled ({:+.1} %); median {:.5} s, {:.5} s ({:+.1} %)",
        without[0],
        with[0],
        100.0 * (with[0] / without[0] - 1.0),
        without[1],
        with[1],
        100.0 * (with[1] / without[1] - 1.0)
    );

    let profile = profiled.take_profile().unwrap_or_default();
    for class in profile.classes.iter().filter(|class| class.fronts > 0) {
        println!(
            "fronts from order {:5}: {:8} of them, assembled in {:.4} s, eliminated in {:.4} s",
            class.smallest,
            class.fronts,
            class.entries_secs + class.extend_add_secs,
            class.factor_secs
        );
    }
    Ok(())
}
