//! `flops MATRIX.bin ORDER.i32`: operations of a factorization in an order, for `rivals-1.py`. An own crate that depends on `benches` and `symbolic`, release.
use tamarack_benches::exchange;
use tamarack_symbolic::{SymbolicDraft, SymbolicOptions};
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let a = exchange::read_back(args[1].as_ref()).unwrap();
    let p = exchange::read_order(args[2].as_ref()).unwrap();
    println!("{}", SymbolicDraft::new(a.pattern(), &p, &SymbolicOptions::default()).unwrap().flops() as f64);
}
