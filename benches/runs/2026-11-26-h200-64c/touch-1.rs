//! `touch MIB THREADS[,THREADS..]`: pages of 2 MiB of a new map touched by several threads, one at a time each (`MADV_POPULATE_WRITE`), as a
//! first factorization does: GB/s of all together, and milliseconds a page takes the thread that touches it (median, 0.9, 0.99, most).
//! Three turns each, the first perhaps in memory that the machine has never touched; then small pages, and how many cores' worth of
//! spinning so many threads get.
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

const PAGE: usize = 2 << 20;

fn turn(pages: usize, threads: usize, huge: bool) {
    let bytes = pages * PAGE;
    let map = unsafe {
        let at = libc::mmap(
            std::ptr::null_mut(),
            bytes + PAGE,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        );
        at as usize
    };
    let from = map.next_multiple_of(PAGE);
    let advice = if huge { libc::MADV_HUGEPAGE } else { libc::MADV_NOHUGEPAGE };
    unsafe { libc::madvise(from as *mut _, bytes, advice) };
    let (next, times) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let mut own = Vec::new();
                loop {
                    let page = next.fetch_add(1, Relaxed);
                    if page >= pages {
                        break;
                    }
                    let since = Instant::now();
                    unsafe { libc::madvise((from + page * PAGE) as *mut _, PAGE, 23) };
                    own.push(since.elapsed().as_secs_f64() * 1e3);
                }
                times.lock().unwrap().extend(own);
            });
        }
    });
    let secs = start.elapsed().as_secs_f64();
    let mut times = times.into_inner().unwrap();
    times.sort_by(f64::total_cmp);
    let at = |q: f64| times[((times.len() - 1) as f64 * q) as usize];
    println!(
        "{threads} threads, {} pages: {:.1} GB/s, ms a page {:.2} {:.2} {:.2} {:.2}",
        if huge { "huge" } else { "small" },
        bytes as f64 / secs * 1e-9,
        at(0.5),
        at(0.9),
        at(0.99),
        at(1.0)
    );
    unsafe { libc::munmap(map as *mut _, bytes + PAGE) };
}

fn spin(threads: usize) -> (f64, f64) {
    let (done, sum, longest) = (AtomicBool::new(false), AtomicU64::new(0), Mutex::new(0.0f64));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let (mut count, mut last, mut gap) = (0u64, Instant::now(), 0.0f64);
                while !done.load(Relaxed) {
                    for _ in 0..1000 {
                        count = std::hint::black_box(count + 1);
                    }
                    let now = Instant::now();
                    gap = gap.max((now - last).as_secs_f64());
                    last = now;
                }
                sum.fetch_add(count, Relaxed);
                let mut longest = longest.lock().unwrap();
                *longest = longest.max(gap);
            });
        }
        std::thread::sleep(Duration::from_secs(2));
        done.store(true, Relaxed);
    });
    (sum.load(Relaxed) as f64 / 2.0, longest.into_inner().unwrap())
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let pages = args[1].parse::<usize>().unwrap() << 20 >> 21;
    let threads: Vec<usize> = args[2].split(',').map(|t| t.parse().unwrap()).collect();
    for &threads in &threads {
        for huge in [true, true, true, false] {
            turn(pages, threads, huge);
        }
    }
    let (one, gap) = spin(1);
    println!("spinning: 1 thread, longest gap {:.2} ms", gap * 1e3);
    for &threads in &threads {
        let (all, gap) = spin(threads);
        println!("spinning: {threads} threads do the work of {:.1}, longest gap {:.2} ms", all / one, gap * 1e3);
    }
}
