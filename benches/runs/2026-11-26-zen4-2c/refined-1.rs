//! `refined-1 THREADS[,THREADS..] FILE|model:NAME..`: solves with one right-hand side, then refined ones, 15 of each in one process. Times in
//! ms: medians, and the first refined one. An own crate that depends on `crates/tamarack`, its release profile the workspace's.

use std::time::Instant;

use tamarack::models::Model;
use tamarack::{Analysis, Options, SymmetricCsc};

fn load(source: &str) -> SymmetricCsc<f64> {
    match source.strip_prefix("model:") {
        Some(name) => name.parse::<Model>().unwrap().generate().unwrap(),
        None => tamarack::io::read_matrix(source, &Default::default()).unwrap(),
    }
}

fn ms(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    for (name, threads) in args[2..]
        .iter()
        .flat_map(|name| args[1].split(',').map(move |threads| (name, threads)))
    {
        let a = load(name);
        let mut options = Options::default();
        options.threads = Some(threads.parse().unwrap());
        let b: Vec<f64> = (0..a.n()).map(|i| 1.0 + (i % 7) as f64).collect();
        let mut x = b.clone();
        let analysis = Analysis::new(a.pattern(), &options).unwrap();
        let mut factor = analysis.factorize(&a).unwrap();
        factor.solve(&mut x).unwrap();
        let (mut bare, mut refined, mut steps) = (Vec::new(), Vec::new(), 0);
        for _ in 0..15 {
            x.copy_from_slice(&b);
            let start = Instant::now();
            factor.solve(&mut x).unwrap();
            bare.push(ms(start));
        }
        for _ in 0..15 {
            x.copy_from_slice(&b);
            let start = Instant::now();
            steps = factor.solve_refined(&a, &mut x).unwrap().steps();
            refined.push(ms(start));
        }
        let first = refined[0];
        bare.sort_by(f64::total_cmp);
        refined.sort_by(f64::total_cmp);
        println!(
            "{name} {threads} solve {:.2} refined first {first:.2} median {:.2} steps {steps}",
            bare[7], refined[7]
        );
    }
}
