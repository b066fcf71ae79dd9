//! `solve-27 REPETITIONS THREADS[,THREADS..] FILE|model:NAME..`: solves with one right-hand side by turns with reads of 512 MiB of other
//! memory in order, by as many threads: how far solves are from the rate that the memory has at that time. Needs the crate `tamarack`
//! alone; release, one codegen unit. Nested dissection.

use std::hint::black_box;
use std::time::Instant;

use tamarack::models::Model;
use tamarack::{Analysis, Options, Ordering, SymmetricCsc};

fn load(source: &str) -> SymmetricCsc<f64> {
    match source.strip_prefix("model:") {
        Some(name) => name.parse::<Model>().unwrap().generate().unwrap(),
        None => tamarack::io::read_matrix(source, &Default::default()).unwrap(),
    }
}

/// Reads all numbers, a part each.
fn read(numbers: &[f64], threads: usize) {
    let part = |part: &[f64]| {
        let mut sums = [0.0; 64];
        for line in part.chunks_exact(64) {
            sums.iter_mut().zip(line).for_each(|(sum, x)| *sum += x);
        }
        black_box(sums);
    };
    std::thread::scope(|scope| {
        for own in numbers.chunks(numbers.len() / threads) {
            scope.spawn(move || part(own));
        }
    });
}

fn huge_pages() -> String {
    let all = std::fs::read_to_string("/proc/self/smaps_rollup").unwrap_or_default();
    let of = |name: &str| {
        let line = all.lines().find(|line| line.starts_with(name));
        let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
        kib.unwrap_or(0) >> 10
    };
    format!("{} of {} MiB in huge pages", of("AnonHugePages"), of("Rss"))
}

fn median(list: &mut [f64]) -> f64 {
    list.sort_by(f64::total_cmp);
    list[list.len() / 2]
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let repetitions: usize = args[1].parse().unwrap();
    for source in &args[3..] {
        let a = load(source);
        let b = vec![1.0; a.n()];
        for threads in args[2].split(',').map(|threads| threads.parse().unwrap()) {
            let mut options = Options::default();
            options.threads = Some(threads);
            options.ordering = Ordering::Method("nd".parse().unwrap());
            let analysis = Analysis::new(a.pattern(), &options).unwrap();
            let mut factor = analysis.factorize(&a).unwrap();
            let pages = huge_pages();
            let numbers = vec![1.0; 64 << 20];
            let mut x = b.clone();
            let (mut solves, mut reads) = (Vec::new(), Vec::new());
            for _ in 0..repetitions {
                x.copy_from_slice(&b);
                let start = Instant::now();
                factor.solve(&mut x).unwrap();
                solves.push(start.elapsed().as_secs_f64());
                let start = Instant::now();
                read(&numbers, threads);
                reads.push(start.elapsed().as_secs_f64());
            }
            let nnz = analysis.symbolic().stats().nnz_l as f64;
            let rate = 8.0 * numbers.len() as f64 / median(&mut reads);
            let mut ratios: Vec<f64> = solves.iter().map(|t| t * rate / (16.0 * nnz)).collect();
            println!(
                "{} x{threads}: L {:.1}M, solve {:.2} ms (least {:.2}), reads {:.1} GB/s, over the floor {:.2}; {pages}",
                source.rsplit('/').next().unwrap(),
                nnz * 1e-6,
                median(&mut solves) * 1e3,
                solves[0] * 1e3,
                rate * 1e-9,
                median(&mut ratios),
            );
        }
    }
}
