//! scratch
use std::time::Instant;
use tamarack::*;
fn med(mut v: Vec<f64>) -> String { v.sort_by(|a, b| a.total_cmp(b)); format!("{:.4} (min {:.4})", v[v.len() / 2], v[0]) }
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let m: SymmetricCsc<f64> = tamarack::io::read_matrix(&a[1], &tamarack::io::ReadOptions::default()).unwrap();
    let perm = tamarack::io::read_permutation(&a[2], m.n()).unwrap();
    let mut o = Options::default();
    o.ordering = Ordering::Permutation(perm);
    o.threads = Some(a[3].parse().unwrap());
    let reps: usize = a.get(4).map_or(5, |s| s.parse().unwrap());
    let sreps: usize = a.get(5).map_or(9, |s| s.parse().unwrap());
    if let Some(v) = a.get(6) { let q: Vec<f64> = v.split(',').map(|x| x.parse().unwrap()).collect(); let m = o.symbolic.amalgamation.as_mut().unwrap(); m.small_zero_fraction = q[0]; m.small_columns = q[1] as u32; m.max_zero_fraction = q[2]; m.front_secs = q[3]; m.secs_per_byte=q[4]; }
    let t = Instant::now();
    let an = Analysis::new(m.pattern(), &o).unwrap();
    let ta = t.elapsed().as_secs_f64();
    let t = Instant::now();
    let mut f = an.factorize(&m).unwrap();
    let first = t.elapsed().as_secs_f64();
    let refac: Vec<f64> = (0..reps).map(|_| { let t = Instant::now(); f.refactorize(&m).unwrap(); t.elapsed().as_secs_f64() }).collect();
    let n = m.n();
    let mut x = vec![1.0; n];
    f.solve(&mut x).unwrap();
    let s1: Vec<f64> = (0..sreps).map(|_| { let mut x = vec![1.0; n]; let t = Instant::now(); f.solve(&mut x).unwrap(); t.elapsed().as_secs_f64() }).collect();
    let mut x = vec![1.0; 16 * n];
    f.solve(&mut x).unwrap();
    let s16: Vec<f64> = (0..if sreps > 50 { 1 } else { sreps }).map(|_| { let mut x = vec![1.0; 16 * n]; let t = Instant::now(); f.solve(&mut x).unwrap(); t.elapsed().as_secs_f64() }).collect();
    let st = an.symbolic().stats();
    println!("{:16} t{} ns {} an {ta:.3} first {first:.4} refac {} s1 {} s16 {}  L {:.0} MB", a[1].rsplit('/').next().unwrap(), a[3], an.symbolic().supernodes(), med(refac), med(s1), med(s16), an.plan().memory().factor_bytes as f64 * 1e-6);
    let _ = st;
}
