//! `reads-1 MODEL THREADS ROUNDS`: solves with one right-hand side beside the rate at which the same threads read memory, by turns, with the library's own
//! dissection. An example of `crates/tamarack`.

use std::time::Instant;

use tamarack::*;

/// As limits were measured before: from end to end, in the pages that an allocator gives.
fn plain_read(numbers: &[u64], threads: usize) -> f64 {
    let start = Instant::now();
    std::thread::scope(|scope| {
        for part in numbers.chunks(numbers.len().div_ceil(threads)) {
            scope.spawn(|| std::hint::black_box(part.iter().fold(0, |s: u64, x| s.wrapping_add(*x))));
        }
    });
    8e-9 * numbers.len() as f64 / start.elapsed().as_secs_f64()
}

fn main() {
    let mut args = std::env::args().skip(1);
    let (name, threads, rounds) = (args.next().unwrap(), args.next().unwrap(), args.next().unwrap());
    let (threads, rounds): (usize, usize) = (threads.parse().unwrap(), rounds.parse().unwrap());
    let a: SymmetricCsc<f64> = name.parse::<models::Model>().unwrap().generate().unwrap();
    let mut options = Options::default();
    options.threads = Some(threads);
    options.ordering = Ordering::Method("nd".parse().unwrap());
    let analysis = Analysis::new(a.pattern(), &options).unwrap();
    let mut factor = analysis.factorize(&a).unwrap();
    factor.refactorize(&a).unwrap();
    let gb = 16e-9 * analysis.symbolic().stats().nnz_l as f64;
    let numbers = vec![1u64; 1 << 25];
    let mut found = [const { Vec::new() }; 4];
    let mut x = vec![1.0; a.n()];
    for round in 0..=rounds {
        let start = Instant::now();
        (0..3).for_each(|_| factor.solve(&mut x).unwrap());
        let solve = 3.0 * gb / start.elapsed().as_secs_f64();
        x.fill(1.0);
        let read = Limits::measure(threads, PlanPrecision::F64).gb_per_sec;
        let plain = (0..5).map(|_| plain_read(&numbers, threads)).fold(0.0, f64::max);
        if round > 0 {
            let figures = [solve, plain, read, read / solve];
            found.iter_mut().zip(figures).for_each(|(f, x)| f.push(x));
        }
    }
    for (what, figures) in ["solve", "plain read", "read", "over floor"].iter().zip(&mut found) {
        figures.sort_by(f64::total_cmp);
        let at = |quarter: usize| figures[quarter * (figures.len() - 1) / 4];
        println!("{name} x{threads} {what}: least {:.2} quarter {:.2} median {:.2} three quarters {:.2} most {:.2}", at(0), at(1), at(2), at(3), at(4));
    }
}
