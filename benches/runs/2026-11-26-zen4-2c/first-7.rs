//! `first-7 THREADS[,THREADS..] FILE|model:NAME..`: first factorizations in one process, each followed by three later ones, R times
//! (9). With W in the environment each is preceded by touching and giving back half as much memory again as it takes, so that a virtual
//! machine's host has it there. Times in ms; that of the first of all, then the median of all first ones (and the least), then that of
//! the later ones. An own crate that depends on `crates/tamarack` and `libc`, its release profile the workspace's.

use std::time::Instant;

use tamarack::models::Model;
use tamarack::{Analysis, Options, SymmetricCsc};

fn load(source: &str) -> SymmetricCsc<f64> {
    match source.strip_prefix("model:") {
        Some(name) => name.parse::<Model>().unwrap().generate().unwrap(),
        None => tamarack::io::read_matrix(source, &Default::default()).unwrap(),
    }
}

/// Touches memory in huge pages, and gives it back.
fn warm(bytes: usize) {
    let len = (bytes * 3 / 2 + (8 << 20)) & !((2 << 20) - 1);
    // SAFETY: the memory is a map of this function's own.
    unsafe {
        let (prot, flags) = (
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
        );
        let at = libc::mmap(std::ptr::null_mut(), len, prot, flags, -1, 0);
        libc::madvise(at, len, libc::MADV_HUGEPAGE);
        for page in (0..len).step_by(4096) {
            *at.cast::<u8>().add(page) = 1;
        }
        libc::munmap(at, len);
    }
}

fn ms(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let turns = std::env::var("R").map_or(9, |turns| turns.parse().unwrap());
    let warmed = std::env::var("W").is_ok();
    for (name, threads) in args[2..]
        .iter()
        .flat_map(|name| args[1].split(',').map(move |threads| (name, threads)))
    {
        let a = load(name);
        let mut options = Options::default();
        options.threads = Some(threads.parse().unwrap());
        let analysis = Analysis::new(a.pattern(), &options).unwrap();
        let memory = analysis.plan().memory();
        let arena = memory.factor_bytes + memory.update_bytes;
        let (mut first, mut later) = (Vec::new(), Vec::new());
        for _ in 0..turns {
            if warmed {
                warm(arena as usize);
            }
            let start = Instant::now();
            let mut factor = analysis.factorize(&a).unwrap();
            first.push(ms(start));
            for _ in 0..3 {
                let start = Instant::now();
                factor.refactorize(&a).unwrap();
                later.push(ms(start));
            }
        }
        let very_first = first[0];
        first.sort_by(f64::total_cmp);
        later.sort_by(f64::total_cmp);
        let [median, refactor] = [&first, &later].map(|secs| secs[secs.len() / 2]);
        println!(
            "{name} {threads} first {very_first:.2} again {median:.2} ({:.2}) refactor {refactor:.2} ratio {:.2} arena {:.1} MB \
             factor {:.1} MB -> extra {:.2} ms per 2MiB",
            first[0],
            median / refactor,
            arena as f64 / 1e6,
            memory.factor_bytes as f64 / 1e6,
            (median - refactor) / (arena as f64 / f64::from(2 << 20)),
        );
    }
}
