//! Fuzzes the readers: `fuzz_readers FORMAT SECONDS [SEED]`, FORMAT one of mtx, array, rb, npz, gz,
//! perm.
//!
//! Valid files are made in memory and broken in ways that keep some of their structure. A run ends
//! with an error if a reader panics, needs more than two seconds of processor time, allocates more
//! than 64 MiB + 64 times its input, or reads a matrix that does not come back when it is written.
//! The input is then printed as hex, with the seed that makes it again.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tamarack_sparse::io::{
    IoError, MatrixFormat, ReadOptions, read_matrix_from, read_permutation_from, read_vectors_from,
    write_matrix_to,
};
use tamarack_sparse::{Duplicates, SymmetricCsc};

mod meter;
mod mutate;
mod seeds;

#[global_allocator]
static METER: meter::Meter = meter::Meter;

const ROOM_BYTES: usize = 64 << 20;
const MOST_SECS: u64 = 2;

/// The input at work, and its number from 1.
static CURRENT: Mutex<Vec<u8>> = Mutex::new(Vec::new());
static NUMBER: AtomicU64 = AtomicU64::new(0);

fn fail(what: &str, format: &str, seed: u64, input: &[u8]) -> ! {
    eprintln!("{format}: {what}; seed {seed}, {} bytes", input.len());
    let hex: String = input.iter().map(|b| format!("{b:02x}")).collect();
    eprintln!("{hex}");
    std::process::exit(1);
}

/// Processor time of the main thread; wall time where the system does not tell.
fn busy_ns(start: Instant) -> u64 {
    let pid = std::process::id();
    std::fs::read_to_string(format!("/proc/self/task/{pid}/schedstat"))
        .ok()
        .and_then(|s| s.split_whitespace().next()?.parse().ok())
        .unwrap_or(start.elapsed().as_nanos() as u64)
        .max(1)
}

fn watch(format: String, seed: u64, start: Instant) {
    let (mut seen, mut since) = (0, 0);
    loop {
        std::thread::sleep(Duration::from_millis(200));
        let (now, input) = (busy_ns(start), NUMBER.load(Ordering::Relaxed));
        if input != seen {
            (seen, since) = (input, now);
        }
        if now - since > MOST_SECS * 1_000_000_000 {
            let input = CURRENT.lock().map(|i| i.clone()).unwrap_or_default();
            fail("more than two seconds", &format, seed, &input);
        }
    }
}

/// Reads one input; the error is a property that does not hold.
fn check(format: &str, input: &[u8]) -> Result<bool, String> {
    let result = match format {
        "array" => read_vectors_from(input, "x.mtx").map(|_| ()),
        "perm" => read_permutation_from(input, "p.txt", 40).map(|_| ()),
        _ => {
            let duplicates = if input.len().is_multiple_of(3) {
                Duplicates::Refuse
            } else {
                Duplicates::Sum
            };
            let options = ReadOptions {
                duplicates,
                ..Default::default()
            };
            let name = ["A.mtx", "A.rb"][usize::from(format == "rb")];
            read_matrix_from(input, name, &options).and_then(|a| {
                if a.n() < 10_000 {
                    comes_back(&a)?;
                }
                Ok(())
            })
        }
    };
    match result {
        Ok(()) => Ok(true),
        Err(IoError::Write { .. }) => Err("a matrix does not come back".to_owned()),
        Err(e) if e.to_string().len() > 1000 => Err(format!("a long message: {e}")),
        Err(_) => Ok(false),
    }
}

/// Writes a matrix and reads it again; a difference is reported as an error in writing.
fn comes_back(a: &SymmetricCsc<f64>) -> Result<(), IoError> {
    for format in [MatrixFormat::MatrixMarket, MatrixFormat::RutherfordBoeing] {
        let mut text = Vec::new();
        let write = |source| IoError::Write {
            file: "memory".to_owned(),
            source,
        };
        write_matrix_to(&mut text, a, format).map_err(write)?;
        let b = read_matrix_from(&text[..], "B", &ReadOptions::default());
        if !b.is_ok_and(|b| b == *a) {
            return Err(write(std::io::Error::other(String::from_utf8_lossy(&text))));
        }
    }
    Ok(())
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let usage = || -> ! {
        eprintln!("usage: fuzz_readers mtx|array|rb|npz|gz|perm SECONDS [SEED]");
        std::process::exit(2);
    };
    let (Some(format), Some(Ok(seconds))) = (args.first(), args.get(1).map(|s| s.parse::<u64>()))
    else {
        usage()
    };
    if !["mtx", "array", "rb", "npz", "gz", "perm"].contains(&format.as_str()) {
        usage();
    }
    let seed = args.get(2).and_then(|s| s.parse().ok()).unwrap_or(1);
    let start = Instant::now();
    let watched = format.clone();
    std::thread::spawn(move || watch(watched, seed, start));
    std::panic::set_hook(Box::new(|info| eprintln!("{info}")));

    let (mut runs, mut accepted, mut most) = (0u64, 0u64, 0usize);
    while start.elapsed().as_secs() < seconds {
        let this = seed.wrapping_add(runs);
        let input = seeds::broken(format, &mut mutate::Rng::new(this));
        if let Ok(mut current) = CURRENT.lock() {
            current.clone_from(&input);
        }
        NUMBER.store(runs + 1, Ordering::Relaxed);
        meter::reset();
        let result = catch_unwind(AssertUnwindSafe(|| check(format, &input)));
        let peak = meter::peak();
        most = most.max(peak);
        match result {
            Err(_) => fail("panic", format, this, &input),
            Ok(Err(what)) => fail(&what, format, this, &input),
            Ok(Ok(read)) => accepted += u64::from(read),
        }
        if peak > ROOM_BYTES + 64 * input.len() {
            fail(&format!("{peak} bytes allocated"), format, this, &input);
        }
        runs += 1;
    }
    println!(
        "{format}: {runs} inputs from seed {seed} in {seconds} s, {accepted} of them valid, \
         no failure, at most {:.1} MiB",
        most as f64 / f64::from(1 << 20)
    );
}
