//! `analysis-1 THREADS auto|METHOD FILE|model:NAME..`: one analysis, first factorization and solve. Prints ms of the order, of symbolic and plan together, of all three,
//! and to the solution, then operations and the method. An own crate that depends on `tamarack` and `tamarack-sparse`, release, one codegen unit.

use std::time::Instant;

use tamarack::{Analysis, Method, Options, Ordering};
use tamarack_sparse::SymmetricCsc;
use tamarack_sparse::models::Model;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let mut options = Options::default();
    options.threads = Some(args[1].parse().unwrap());
    options.ordering = match args[2].as_str() {
        "auto" => Ordering::Auto,
        name => name.parse::<Method>().unwrap().into(),
    };
    for source in &args[3..] {
        let a: SymmetricCsc<f64> = match source.strip_prefix("model:") {
            Some(name) => name.parse::<Model>().unwrap().generate().unwrap(),
            None => tamarack_sparse::io::read_matrix(source, &Default::default()).unwrap(),
        };
        let since = Instant::now();
        let analysis = Analysis::new(a.pattern(), &options).unwrap();
        let whole = since.elapsed().as_secs_f64() * 1e3;
        let seconds = analysis.seconds();
        let rest = (seconds.symbolic_secs + seconds.plan_secs) * 1e3;
        let mut total = f64::NAN; // solids have factors of many GB
        if source.contains("p2d5") {
            analysis.factorize(&a).unwrap().solve(&mut vec![1.0; a.n()]).unwrap();
            total = since.elapsed().as_secs_f64() * 1e3;
        }
        let flops = analysis.symbolic().stats().flops as f64;
        println!(
            "{source} {} {} {:.0} {rest:.0} {whole:.0} {total:.0} {flops:.4e} {}",
            args[1], args[2], seconds.order_secs * 1e3, analysis.ordering()
        );
    }
}
