//! `chains-1 FILE TURNS`: solves with one right-hand side by one thread, the median of so many, in one process. An own crate that depends on
//! `crates/tamarack`, its release profile the workspace's.

use std::time::Instant;
use tamarack::{Analysis, Options, SymmetricCsc};
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let a: SymmetricCsc<f64> = tamarack::io::read_matrix(&args[1], &Default::default()).unwrap();
    let mut o = Options::default();
    o.threads = Some(1);
    let analysis = Analysis::new(a.pattern(), &o).unwrap();
    let mut f = analysis.factorize(&a).unwrap();
    let b: Vec<f64> = (0..a.n()).map(|i| 1.0 + (i % 7) as f64).collect();
    let mut x = b.clone();
    let reps: usize = args[2].parse().unwrap();
    let mut t = Vec::new();
    for _ in 0..reps {
        x.copy_from_slice(&b);
        let s = Instant::now();
        f.solve(&mut x).unwrap();
        t.push(s.elapsed().as_secs_f64() * 1e6);
    }
    t.sort_by(f64::total_cmp);
    println!("{} solve {:.1} us", args[1], t[t.len() / 2]);
}
