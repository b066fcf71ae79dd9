//! `steps-3 REPETITIONS amd|nd FILE|model:NAME..`: ordering, symbolic analysis and plan for one thread, in one process, medians and the
//! least, and operations of the factor. As `steps-1`, but columns are not sorted, as in the library with orders of its own. Run with RAYON_NUM_THREADS=1. An own crate that depends on `sparse`, `ordering`, `symbolic` and `plan`, release, one codegen unit.

use std::sync::Arc;
use std::time::Instant;

use tamarack_ordering::{Method, Workspace, order};
use tamarack_plan::{FactorPlan, Machine, PlanOptions};
use tamarack_sparse::models::Model;
use tamarack_sparse::{Runs, SymmetricCsc};
use tamarack_symbolic::{SymbolicDraft, SymbolicOptions};

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let repetitions: usize = args[1].parse().unwrap();
    let method: Method = args[2].parse().unwrap();
    for source in &args[3..] {
        let a: SymmetricCsc<f64> = match source.strip_prefix("model:") {
            Some(name) => name.parse::<Model>().unwrap().generate().unwrap(),
            None => tamarack_sparse::io::read_matrix(source, &Default::default()).unwrap(),
        };
        let machine = Machine { threads: 1, ..Machine::default() };
        let mut flops = 0;
        let mut micros = [(); 3].map(|()| Vec::new());
        for _ in 0..repetitions {
            let mut since = Instant::now();
            let mut lap = || {
                let last = std::mem::replace(&mut since, Instant::now());
                (since - last).as_secs_f64() * 1e6
            };
            let permutation = order(a.pattern(), &method, &mut Workspace::default()).unwrap();
            micros[0].push(lap());
            let runs = Runs::find(a.pattern()); // an ordering has them already, if it goes by them
            lap();
            let options = SymbolicOptions {
                sorted_columns: false,
                ..SymbolicOptions::default()
            };
            let draft = SymbolicDraft::with_runs(a.pattern(), runs.as_ref(), &permutation, &options);
            let symbolic = Arc::new(draft.unwrap().finish().unwrap());
            flops = symbolic.stats().flops;
            micros[1].push(lap());
            FactorPlan::new(symbolic, &machine, &PlanOptions::default()).unwrap();
            micros[2].push(lap());
        }
        print!("{} {}", source.rsplit('/').next().unwrap(), args[2]);
        for (name, list) in ["order", "symbolic", "plan"].iter().zip(&mut micros) {
            list.sort_by(f64::total_cmp);
            print!(" {name} {:.1} (least {:.1})", list[list.len() / 2], list[0]);
        }
        println!(" us, flops {flops}");
    }
}
