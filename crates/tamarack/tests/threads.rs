//! Which threads a process gets by being asked for some. One test: it counts the threads of its own process.
#![cfg(target_os = "linux")]

use tamarack::{Analysis, Factor, Options, SymmetricCsc, models::Model};

fn model(name: &str) -> SymmetricCsc<f64> {
    name.parse::<Model>().unwrap().generate().unwrap()
}

fn options(threads: Option<usize>) -> Options {
    let mut options = Options::default();
    options.threads = threads;
    options
}

/// Threads of this process now.
fn count() -> usize {
    std::fs::read_dir("/proc/self/task").unwrap().count()
}

/// An analysis and a factor that has been used.
fn used(a: &SymmetricCsc<f64>, options: &Options) -> (Analysis, Factor) {
    let analysis = Analysis::new(a.pattern(), options).unwrap();
    let mut factor = analysis.factorize(a).unwrap();
    factor.refactorize(a).unwrap();
    factor.solve_refined(a, &mut vec![1.0; a.n()]).unwrap();
    (analysis, factor)
}

/// Waits until there are so many threads again: one that was joined is listed for a moment more.
fn wait_for(before: usize) {
    for _ in 0..1000 {
        if count() == before {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    panic!("{} threads are left of dropped factors", count() - before);
}

#[test]
fn one_thread_is_the_callers_and_many_factors_share_theirs() {
    let before = count();
    let mut dissected = options(None);
    dissected.ordering = "nd".parse().unwrap();
    for name in [
        "p2d5_30",
        "el3d_5",
        "el3d_8",
        "p3d7_17",
        "p2d5_90",
        "p3d27_16",
        "circuit_5000",
        "lpnorm_900",
    ] {
        let a = model(name);
        for ordering in ["auto", "amd", "amf", "rcm", "md", "nd"] {
            let mut options = options(Some(1));
            options.ordering = ordering.parse().unwrap();
            let _one = used(&a, &options);
            assert_eq!(count(), before, "{name} by one thread, {ordering}");
        }
        // Small patterns are analyzed by the caller, whatever the threads.
        for options in [options(Some(4)), options(None), dissected.clone()] {
            Analysis::new(a.pattern(), &options).unwrap();
            assert_eq!(count(), before, "{name}, {options:?}");
        }
    }
    // A large one, which is dissected, with everything that is done in parts.
    let a = model("p3d7_40");
    let _one = used(&a, &options(Some(1)));
    assert_eq!(count(), before, "a large one by one thread");
    // A plan may be for a larger machine; threads are not started for it.
    let (analysis, factor) = used(&a, &options(Some(200)));
    assert_eq!(analysis.plan().threads(), 200);
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    assert!(
        count() < before + (4 * cores).max(16),
        "{} threads",
        count()
    );
    drop((analysis, factor));
    wait_for(before);

    let a = model("p3d7_12");
    let all: Vec<_> = (0..10).map(|_| used(&a, &options(Some(4)))).collect();
    assert_eq!(count(), before + 3, "ten analyses held");
    drop(all);
    wait_for(before);
}
