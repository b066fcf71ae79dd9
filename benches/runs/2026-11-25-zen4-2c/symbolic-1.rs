//! Microseconds of the ordering and of the symbolic analysis given the order, repeated in one process: least and median.
//!
//! `symbolic-1 FILE REPETITIONS [nd]`, with RAYON_NUM_THREADS set.

use std::time::Instant;

use tamarack_ordering::{Method, Workspace, order};
use tamarack_sparse::{Runs, SymmetricCsc, io};
use tamarack_symbolic::{SymbolicDraft, SymbolicOptions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().collect();
    let a: SymmetricCsc<f64> = io::read_matrix(&args[1], &Default::default())?;
    let method: Method = args.get(3).map_or("amd", String::as_str).parse()?;
    let mut secs = [(); 2].map(|()| Vec::new());
    for _ in 0..args[2].parse()? {
        let start = Instant::now();
        let permutation = order(a.pattern(), &method, &mut Workspace::default())?;
        secs[0].push(1e6 * start.elapsed().as_secs_f64());
        let runs = Runs::find(a.pattern());
        let start = Instant::now();
        SymbolicDraft::with_runs(a.pattern(), runs.as_ref(), &permutation, &SymbolicOptions::default())?.finish()?;
        secs[1].push(1e6 * start.elapsed().as_secs_f64());
    }
    for (name, mut secs) in ["order", "symbolic"].into_iter().zip(secs) {
        secs.sort_by(f64::total_cmp);
        print!("{name} {:.1}/{:.1} ", secs[0], secs[secs.len() / 2]);
    }
    println!();
    Ok(())
}
