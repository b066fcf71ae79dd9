//! `near-1 FILE|model:NAME..`: minimum degree by one thread, medians of five, and what it leads to. Run with RAYON_NUM_THREADS=1. An own
//! crate that depends on `sparse`, `ordering` and `symbolic`, release, one codegen unit.

use std::time::Instant;

use tamarack_ordering::{Method, Workspace, order};
use tamarack_sparse::SymmetricCsc;
use tamarack_sparse::models::Model;
use tamarack_symbolic::SymbolicFactor;

fn main() {
    for name in std::env::args().skip(1) {
        let a: SymmetricCsc<f64> = match name.strip_prefix("model:") {
            Some(name) => name.parse::<Model>().unwrap().generate().unwrap(),
            None => tamarack_sparse::io::read_matrix(&name, &Default::default()).unwrap(),
        };
        let run = || {
            let start = Instant::now();
            let order = order(a.pattern(), &Method::default(), &mut Workspace::new()).unwrap();
            (start.elapsed().as_secs_f64() * 1e3, order)
        };
        let mut ms: Vec<f64> = (0..5).map(|_| run().0).collect();
        ms.sort_by(f64::total_cmp);
        let symbolic = SymbolicFactor::analyze(a.pattern(), &run().1, &Default::default()).unwrap();
        let stats = symbolic.stats();
        let (flops, millions) = (stats.flops as f64, stats.nnz_l as f64 * 1e-6);
        println!("{name} order {:.1} (least {:.1}) ms, flops {flops:.3e}, L {millions:.2} million", ms[2], ms[0]);
    }
}
