//! `adjust-1 MATRIX..`: analysis, factorizations and solves with one thread and with two, the default order, medians, ms, and a hash of the
//! answer. R is the number of refactorizations. An own crate that depends on `tamarack` by path, release, one codegen unit.

use std::time::Instant;
use tamarack::*;
fn load(s: &str) -> SymmetricCsc<f64> {
    match s.strip_prefix("model:") {
        Some(m) => m
            .parse::<tamarack::models::Model>()
            .unwrap()
            .generate()
            .unwrap(),
        None => tamarack::io::read_matrix(s, &Default::default()).unwrap(),
    }
}
fn med(v: &mut Vec<f64>) -> f64 {
    v.sort_by(f64::total_cmp);
    v[v.len() / 2]
}
fn main() {
    let r: usize = std::env::var("R").map_or(40, |r| r.parse().unwrap());
    for n in std::env::args().skip(1) {
        let a = load(&n);
        let ts = std::env::var("T").unwrap_or("1,2".into());
        for t in ts.split(',').map(|x| x.parse::<usize>().unwrap()) {
            let mut o = Options::default();
            o.threads = Some(t);
            let (mut an_t, mut ft, mut rt, mut st) = (vec![], vec![], vec![], vec![]);
            for _ in 0..(r / 8).max(1) {
                let s = Instant::now();
                let an = Analysis::new(a.pattern(), &o).unwrap();
                an_t.push(s.elapsed().as_secs_f64() * 1e3);
                let s = Instant::now();
                let f = an.factorize(&a).unwrap();
                ft.push(s.elapsed().as_secs_f64() * 1e3);
                drop(f);
            }
            let an = Analysis::new(a.pattern(), &o).unwrap();
            let mut f = an.factorize(&a).unwrap();
            let b = vec![1.0; a.n()];
            let mut x = b.clone();
            for _ in 0..r {
                let s = Instant::now();
                f.refactorize(&a).unwrap();
                rt.push(s.elapsed().as_secs_f64() * 1e3);
                x.copy_from_slice(&b);
                let s = Instant::now();
                f.solve(&mut x).unwrap();
                st.push(s.elapsed().as_secs_f64() * 1e3);
            }
            let h = x.iter().fold(0u64, |h, v| h.rotate_left(5) ^ v.to_bits());
            println!(
                "{n} x{t}: analysis {:.2} first {:.2} refactor {:.2} (least {:.2}) solve {:.3} bits {h:016x}",
                med(&mut an_t),
                med(&mut ft),
                med(&mut rt),
                rt[0],
                med(&mut st)
            );
        }
    }
}
