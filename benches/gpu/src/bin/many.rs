//! Solves with many right-hand sides in the host's memory on the first GPU: all in one call, and sixteen a call.
//!
//! `many COLUMNS MODEL…`; medians of seven turns, milliseconds.

use std::process::ExitCode;
use std::time::Instant;

use tamarack::models::Model;
use tamarack::{Analysis, Device, Error, Factor, Options, SymmetricCsc};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let columns = arguments.next().and_then(|c| c.parse().ok());
    let Some(columns) = columns else {
        eprintln!("many COLUMNS MODEL…");
        return ExitCode::FAILURE;
    };
    println!(
        "| model | columns | solve, 16 a call | one call | solve and refine, 16 a call | one call |"
    );
    println!("|---|--:|--:|--:|--:|--:|");
    for name in arguments {
        if let Err(error) = run(&name, columns) {
            eprintln!("many: {name}: {error}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn run(name: &str, columns: usize) -> Result<(), Error> {
    let a = name.parse::<Model>()?.generate()?;
    let mut options = Options::default();
    options.device = Device::Gpu(0);
    let analysis = Analysis::new(a.pattern(), &options)?;
    let mut factor = analysis.factorize(&a)?;
    let n = a.n();
    let b: Vec<f64> = (0..n * columns)
        .map(|i| (i * 37 % 101) as f64 - 50.5)
        .collect();
    let mut times = [const { Vec::new() }; 4];
    for _ in 0..8 {
        for (at, times) in times.iter_mut().enumerate() {
            let mut x = b.clone();
            let refine = at >= 2;
            let a_call = if at % 2 == 0 { 16 * n } else { x.len() };
            let start = Instant::now();
            for x in x.chunks_mut(a_call) {
                solve(&mut factor, &a, x, refine)?;
            }
            times.push(start.elapsed().as_secs_f64() * 1e3);
        }
    }
    let medians = times.map(|mut times| {
        times.remove(0); // recorded graphs, memory
        times.sort_by(f64::total_cmp);
        format!("{:.1} ({:.1}–{:.1})", times[3], times[0], times[6])
    });
    println!("| `{name}` | {columns} | {} |", medians.join(" | "));
    Ok(())
}

fn solve(
    factor: &mut Factor,
    a: &SymmetricCsc<f64>,
    x: &mut [f64],
    refine: bool,
) -> Result<(), Error> {
    match refine {
        true => factor.solve_refined(a, x).map(|_| ()),
        false => factor.solve(x),
    }
}
