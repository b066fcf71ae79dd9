//! `parts-1 THREADS FILE|model:NAME..`: one analysis, first factorization and solve, then four refactorizations, by the defaults. Prints seconds of the
//! order and to the solution, the median refactorization, operations, million entries of L and the method. An own crate that depends on
//! `tamarack` and `tamarack-sparse`, release, one codegen unit.

use std::time::Instant;

use tamarack::{Analysis, Options};
use tamarack_sparse::SymmetricCsc;
use tamarack_sparse::models::Model;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let mut options = Options::default();
    options.threads = Some(args[1].parse().unwrap());
    for source in &args[2..] {
        let a: SymmetricCsc<f64> = match source.strip_prefix("model:") {
            Some(name) => name.parse::<Model>().unwrap().generate().unwrap(),
            None => tamarack_sparse::io::read_matrix(source, &Default::default()).unwrap(),
        };
        let since = Instant::now();
        let analysis = Analysis::new(a.pattern(), &options).unwrap();
        let mut factor = analysis.factorize(&a).unwrap();
        factor.solve(&mut vec![1.0; a.n()]).unwrap();
        let total = since.elapsed().as_secs_f64();
        let mut again: Vec<f64> = (0..4)
            .map(|_| {
                let since = Instant::now();
                factor.refactorize(&a).unwrap();
                since.elapsed().as_secs_f64()
            })
            .collect();
        again.sort_by(f64::total_cmp);
        let stats = analysis.symbolic().stats();
        println!(
            "{:.4} {total:.4} {:.4} {:.4e} {:.2} {}",
            analysis.seconds().order_secs,
            again[1],
            stats.flops as f64,
            stats.nnz_l as f64 * 1e-6,
            analysis.ordering()
        );
    }
}
