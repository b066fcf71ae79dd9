//! `down-1 MATRIX.bin THREADS COUNT ORDER.i32`: solves with one right-hand side, again and again: the least time, the lower quartile and the median
//! in ms, and the solution's bits in one number. An own crate that depends on `tamarack` and `benches`, release.

use std::time::Instant;
use tamarack::*;
use tamarack_benches::exchange;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let (m, threads, count): (_, usize, usize) = (exchange::read_back(a[1].as_ref()).unwrap(), a[2].parse().unwrap(), a[3].parse().unwrap());
    let nrhs: usize = std::env::var("NRHS").ok().map_or(1, |s| s.parse().unwrap());
    let mut o = Options::default();
    o.threads = Some(threads);
    if let Some(f) = a.get(4) { o.ordering = Ordering::Permutation(exchange::read_order(f.as_ref()).unwrap()); }
    let an = Analysis::new(m.pattern(), &o).unwrap();
    let f = an.factorize(&m).unwrap();
    let b = exchange::right_hand_side(&m);
    let mut x = exchange::right_hand_sides(&b, nrhs);
    let mut f = f;
    f.solve(&mut x).unwrap();
    let mut t: Vec<f64> = (0..count).map(|_| { for c in x.chunks_mut(b.len()) { c.copy_from_slice(&b); } let s = Instant::now(); f.solve(&mut x).unwrap(); s.elapsed().as_secs_f64()*1e3 }).collect();
    t.sort_by(f64::total_cmp);
    println!("{:.3} {:.3} {:.3} {:016x}", t[0], t[count/4], t[count/2], x.iter().fold(0u64, |h, v| h.rotate_left(5) ^ v.to_bits()));
}
