//! Analysis, first factorization and solve of a small system, over and over in one process.
//!
//! `tiny-1 MATRIX REPETITIONS [THREADS]`: without threads as many as there are. Needs the crate `tamarack` alone; release, one codegen unit.

use std::time::Instant;

use tamarack::{Analysis, Options};

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let repetitions: usize = args[2].parse().unwrap();
    let a = tamarack::io::read_matrix(&args[1], &Default::default()).unwrap();
    let mut options = Options::default();
    options.threads = args.get(3).map(|threads| threads.parse().unwrap());
    let b = vec![1.0; a.n()];
    let mut x = b.clone();
    let mut micros = [(); 4].map(|()| Vec::new());
    for _ in 0..repetitions {
        let start = Instant::now();
        let mut since = start;
        let mut lap = || {
            let last = std::mem::replace(&mut since, Instant::now());
            (since - last).as_secs_f64() * 1e6
        };
        let analysis = Analysis::new(a.pattern(), &options).unwrap();
        micros[0].push(lap());
        let mut factor = analysis.factorize(&a).unwrap();
        micros[1].push(lap());
        x.copy_from_slice(&b);
        factor.solve(&mut x).unwrap();
        micros[2].push(lap());
        drop((analysis, factor));
        micros[3].push(start.elapsed().as_secs_f64() * 1e6);
    }
    for (name, list) in ["analysis", "first", "solve", "whole"].iter().zip(&mut micros) {
        list.sort_by(f64::total_cmp);
        print!("{name} {:.1} (least {:.1}) ", list[list.len() / 2], list[0]);
    }
    println!("us");
}
