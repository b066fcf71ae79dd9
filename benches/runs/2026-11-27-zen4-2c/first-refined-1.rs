//! `first-refined-1 THREADS FILE|model:NAME`: the first three refined solves of a factor, ms, with what the process was charged meanwhile. As much memory as they
//! take is touched and given back before, so that a virtual machine's host has it. Run with RAYON_NUM_THREADS=THREADS. An own crate that
//! depends on `crates/tamarack` and `libc`, its release profile the workspace's.

use std::time::Instant;

use tamarack::models::Model;
use tamarack::{Analysis, Options, SymmetricCsc};

/// Page faults, and microseconds in the program and in the system.
fn usage() -> [i64; 3] {
    // SAFETY: the call fills the structure.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    let micros = |t: libc::timeval| t.tv_sec * 1_000_000 + t.tv_usec;
    [usage.ru_minflt, micros(usage.ru_utime), micros(usage.ru_stime)]
}

/// Touches memory in huge pages, and gives it back.
fn warm(bytes: usize) {
    // SAFETY: the memory is a map of this function's own.
    unsafe {
        let (prot, flags) = (
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
        );
        let at = libc::mmap(std::ptr::null_mut(), bytes, prot, flags, -1, 0);
        libc::madvise(at, bytes, libc::MADV_HUGEPAGE);
        for page in (0..bytes).step_by(4096) {
            *at.cast::<u8>().add(page) = 1;
        }
        libc::munmap(at, bytes);
    }
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let a: SymmetricCsc<f64> = match args[2].strip_prefix("model:") {
        Some(name) => name.parse::<Model>().unwrap().generate().unwrap(),
        None => tamarack::io::read_matrix(&args[2], &Default::default()).unwrap(),
    };
    let mut options = Options::default();
    options.threads = Some(args[1].parse().unwrap());
    let b: Vec<f64> = (0..a.n()).map(|i| 1.0 + (i % 7) as f64).collect();
    let mut x = b.clone();
    let analysis = Analysis::new(a.pattern(), &options).unwrap();
    let mut factor = analysis.factorize(&a).unwrap();
    factor.solve(&mut x).unwrap();
    warm(3 << 29);
    for k in 0..3 {
        x.copy_from_slice(&b);
        let (before, start) = (usage(), Instant::now());
        factor.solve_refined(&a, &mut x).unwrap();
        let ms = start.elapsed().as_secs_f64() * 1e3;
        let [faults, user, system] = std::array::from_fn(|k| usage()[k] - before[k]);
        println!("{k} {ms:.2} ms, {faults} faults, {user} us in the program, {system} us in the system");
    }
}
