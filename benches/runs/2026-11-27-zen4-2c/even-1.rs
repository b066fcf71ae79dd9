//! `even-1 SEEDS FILE|model:NAME..`: dissections with seeds 0, 1, ..; operations in the order of the seeds, and milliseconds each in the
//! mean. An own crate that depends on `sparse`, `ordering` and `symbolic`, release.

use std::time::Instant;

use tamarack_ordering::{Method, NdOptions, Workspace, order};
use tamarack_sparse::models::Model;
use tamarack_sparse::SymmetricCsc;
use tamarack_symbolic::{SymbolicDraft, SymbolicOptions};

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let seeds: u64 = args[1].parse().unwrap();
    for source in &args[2..] {
        let a: SymmetricCsc<f64> = match source.strip_prefix("model:") {
            Some(name) => name.parse::<Model>().unwrap().generate().unwrap(),
            None => tamarack_sparse::io::read_matrix(source, &Default::default()).unwrap(),
        };
        print!("{}", source.rsplit('/').next().unwrap());
        let mut millis = 0.0;
        for seed in 0..seeds {
            let mut options = NdOptions::default();
            options.seed = seed;
            let since = Instant::now();
            let permutation = order(a.pattern(), &Method::NestedDissection(options), &mut Workspace::default()).unwrap();
            millis += since.elapsed().as_secs_f64() * 1e3;
            let draft = SymbolicDraft::new(a.pattern(), &permutation, &SymbolicOptions::default()).unwrap();
            print!(" {:.4e}", draft.flops() as f64);
        }
        println!(" {:.2} ms", millis / seeds as f64);
    }
}
