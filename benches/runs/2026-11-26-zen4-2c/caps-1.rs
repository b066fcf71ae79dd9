//! `caps-1 FILE|model:NAME THREADS REPETITIONS SMALL:LARGE:COLUMNS..`: solves and refactorizations by turns with other caps on amalgamation's zeros
//! (shares of small and of larger supernodes, columns up to which one is small). Needs the crate `tamarack` alone; nested dissection.

use std::time::Instant;

use tamarack::models::Model;
use tamarack::{Analysis, Options, Ordering, SymmetricCsc};

fn median(list: &mut [f64]) -> f64 {
    list.sort_by(f64::total_cmp);
    list[list.len() / 2]
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let a: SymmetricCsc<f64> = match args[1].strip_prefix("model:") {
        Some(name) => name.parse::<Model>().unwrap().generate().unwrap(),
        None => tamarack::io::read_matrix(&args[1], &Default::default()).unwrap(),
    };
    let (threads, repetitions): (usize, usize) =
        (args[2].parse().unwrap(), args[3].parse().unwrap());
    let mut factors = Vec::new();
    for caps in &args[4..] {
        let shares: Vec<f64> = caps.split(':').map(|x| x.parse().unwrap()).collect();
        let mut options = Options::default();
        options.threads = Some(threads);
        options.ordering = Ordering::Method("nd".parse().unwrap());
        let amalgamation = options.symbolic.amalgamation.as_mut().unwrap();
        amalgamation.small_zero_fraction = shares[0];
        amalgamation.max_zero_fraction = shares[1];
        amalgamation.small_columns = shares[2] as u32;
        let analysis = Analysis::new(a.pattern(), &options).unwrap();
        let factor = analysis.factorize(&a).unwrap();
        factors.push((caps, analysis, factor, Vec::new(), Vec::new()));
    }
    let b = vec![1.0; a.n()];
    let mut x = b.clone();
    let ms = |since: Instant| since.elapsed().as_secs_f64() * 1e3;
    for _ in 0..repetitions {
        for (_, _, factor, solves, _) in &mut factors {
            x.copy_from_slice(&b);
            let start = Instant::now();
            factor.solve(&mut x).unwrap();
            solves.push(ms(start));
        }
    }
    for _ in 0..repetitions / 4 {
        for (_, _, factor, _, refactorizations) in &mut factors {
            let start = Instant::now();
            factor.refactorize(&a).unwrap();
            refactorizations.push(ms(start));
        }
    }
    for (caps, analysis, _, solves, refactorizations) in &mut factors {
        let stats = analysis.symbolic().stats();
        println!(
            "{} x{threads} {caps}: solve {:.2} ({:.2}) refactor {:.1} ({:.1}) kept {:.1}M of {:.1}M fronts {}",
            args[1],
            median(solves),
            solves[0],
            median(refactorizations),
            refactorizations[0],
            stats.nnz_l_stored as f64 * 1e-6,
            stats.nnz_l as f64 * 1e-6,
            analysis.symbolic().supernodes(),
        );
    }
}
