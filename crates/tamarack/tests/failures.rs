//! Calls that fail, what they leave, and what comes after them; arguments at the edge of what there can be.

mod common;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use common::{diagonal, everywhere, factorized, options, tridiagonal};
use tamarack::{Analysis, Control, ErrorKind, FactorError, Options, Outcome, Precision, Progress};
use tamarack_testkit::model;

#[test]
fn a_solve_that_fails_leaves_the_right_hand_side() {
    let (good, bad) = (diagonal(&[100.0, 100.0]), diagonal(&[100.0, -1.0]));
    for options in everywhere() {
        let precision = options.precision;
        let mut factor = factorized(&good, &options);
        let refused = factor.refactorize(&bad).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::NotPositiveDefinite);
        let mut x = [3.0, 5.0];
        assert_eq!(factor.solve(&mut x).unwrap_err().kind(), ErrorKind::Stale);
        assert_eq!(x, [3.0, 5.0], "{precision:?}");
        assert!(factor.solve_refined(&good, &mut x).is_err());
        assert_eq!(x, [3.0, 5.0], "{precision:?}");
        factor.refactorize(&good).unwrap();
        factor.solve(&mut x).unwrap();
        assert!(
            (x[0] - 0.03).abs() < 1e-8 && (x[1] - 0.05).abs() < 1e-8,
            "{precision:?}: {x:?}"
        );
    }
}

#[test]
fn nothing_has_no_right_hand_sides() {
    let a = diagonal(&[]);
    for options in everywhere() {
        let precision = options.precision;
        let mut factor = factorized(&a, &options);
        factor.solve(&mut []).unwrap();
        let error = factor.solve(&mut [1.0]).unwrap_err();
        assert!(
            error.to_string().contains("expected 0"),
            "{precision:?}: {error}"
        );
        assert!(factor.solve_refined(&a, &mut [1.0]).is_err());
    }
}

#[test]
fn a_factor_in_double_precision_beside_one_in_single_keeps_to_the_memory_there_is() {
    // A solution that falls below what single precision can represent.
    let a = tridiagonal(&vec![4.0; 4000], -1.0);
    let mut b = vec![0.0; a.n()];
    b[0] = 1.0;
    let analysis = |precision| Analysis::new(a.pattern(), &options(precision)).unwrap();
    let (mixed, double) = (analysis(Precision::Mixed), analysis(Precision::F64));
    let held = mixed.plan().memory().own_bytes();
    let both = double.plan().memory().peak_bytes() + held;
    assert_eq!(mixed.fallback_bytes().unwrap(), Some(both));
    assert_eq!(double.fallback_bytes().unwrap(), None);
    let solved = |memory_bytes| {
        let mut options = options(Precision::Mixed);
        options.memory_bytes = Some(memory_bytes);
        let mut factor = factorized(&a, &options);
        let mut x = b.clone();
        let report = factor.solve_refined(&a, &mut x);
        report.map_err(|error| (error.kind(), error.to_string(), x))
    };
    let enough = solved(both).unwrap();
    assert_eq!(enough.outcome, Outcome::Double);
    // Enough for either of them.
    let (kind, text, x) = solved(both - held / 2).unwrap_err();
    assert_eq!(kind, ErrorKind::Resources);
    assert!(text.contains("single precision does not suffice"), "{text}");
    assert_eq!(x, b);
}

#[test]
fn a_flag_that_is_set_for_a_moment_stops_the_work() {
    let a = model("p2d5_200");
    let analysis = Analysis::new(a.pattern(), &options(Precision::F64)).unwrap();
    let flag = AtomicBool::new(false);
    let mut stopped = 0;
    for round in 0..20 {
        // Set by a report on the way, and cleared by another thread while fronts are left out.
        let reports = AtomicUsize::new(0);
        let progress = |_: Progress| {
            if reports.fetch_add(1, Relaxed) == 2 * round {
                flag.store(true, Relaxed);
            }
        };
        let control = Control {
            progress: Some(&progress),
            cancel: Some(&flag),
        };
        let done = AtomicBool::new(false);
        let outcome = std::thread::scope(|scope| {
            scope.spawn(|| {
                while !flag.load(Relaxed) && !done.load(Relaxed) {
                    std::hint::spin_loop();
                }
                let seen = Instant::now();
                while seen.elapsed() < Duration::from_micros(30) {
                    std::hint::spin_loop();
                }
                flag.store(false, Relaxed);
            });
            let outcome = analysis.factorize_with(&a, &control);
            done.store(true, Relaxed);
            outcome
        });
        match outcome {
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Cancelled, "round {round}: {error}");
                stopped += 1;
            }
            Ok(mut factor) => {
                let mut x = vec![1.0; a.n()];
                let report = factor.solve_refined(&a, &mut x).unwrap();
                let (steps, error) = (report.steps(), report.componentwise_backward_error());
                assert!(
                    steps < 2 && error < 1e-14,
                    "round {round}: {steps}, {error:e}"
                );
            }
        }
    }
    assert!(stopped > 0);
}

#[test]
fn a_failure_is_the_same_error_at_first_and_later() {
    let (good, bad) = (diagonal(&[1.0, 1.0]), diagonal(&[1.0, -1.0]));
    for options in everywhere() {
        let precision = options.precision;
        let analysis = Analysis::new(good.pattern(), &options).unwrap();
        let mut factor = analysis.factorize(&good).unwrap();
        for error in [
            analysis.factorize(&bad).unwrap_err(),
            factor.refactorize(&bad).unwrap_err(),
        ] {
            let is_factors = matches!(
                error,
                tamarack::Error::Factor(FactorError::NotPositiveDefinite(_))
            );
            assert!(is_factors, "{precision:?}: {error:?}");
        }
    }
}

#[test]
fn more_threads_than_there_can_be_are_as_many_as_there_can_be() {
    let a = model("p2d5_10");
    let mut options = Options::default();
    options.threads = Some(usize::MAX);
    let analysis = Analysis::new(a.pattern(), &options).unwrap();
    analysis
        .factorize(&a)
        .unwrap()
        .solve(&mut vec![1.0; a.n()])
        .unwrap();
}

#[test]
fn every_bit_of_a_saved_analysis_counts() {
    let a = model("p2d5_6");
    let options = Options::default();
    let bytes = Analysis::new(a.pattern(), &options).unwrap().to_bytes();
    assert!(Analysis::from_bytes(&bytes, a.pattern(), &options).is_ok());
    for bit in 0..8 * bytes.len() {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        let error = Analysis::from_bytes(&damaged, a.pattern(), &options).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Input);
    }
    for end in 0..bytes.len() {
        assert!(Analysis::from_bytes(&bytes[..end], a.pattern(), &options).is_err());
    }
}

#[test]
fn a_callback_that_panics_leaves_no_old_factor_behind() {
    let a = model("p2d5_60");
    let mut options = Options::default();
    options.precision = Precision::Mixed;
    let mut factor = factorized(&a, &options);
    // Finite, but its error is not: a factor in double precision is made for it.
    let mut x = vec![f64::MAX; a.n()];
    let report = factor.solve_refined(&a, &mut x).unwrap();
    assert_eq!(report.outcome, Outcome::Double);
    let mut other = a.clone();
    other.values_mut().iter_mut().for_each(|v| *v *= 1024.0);
    let panics = |_| panic!("on purpose");
    let control = Control {
        progress: Some(&panics),
        cancel: None,
    };
    let renew = std::panic::AssertUnwindSafe(|| factor.refactorize_with(&other, &control));
    assert!(std::panic::catch_unwind(renew).is_err());
    let stale = factor.solve(&mut vec![1.0; a.n()]).unwrap_err();
    assert_eq!(stale.kind(), ErrorKind::Stale);
    factor.refactorize(&other).unwrap();
    let mut x = vec![1024.0; a.n()];
    factor.solve_refined(&other, &mut x).unwrap();
}

#[test]
fn an_analysis_ends_soon_after_it_is_cancelled() {
    for (name, threads) in [("p3d7_24", 1), ("p3d7_24", 3), ("rgg_30000", 2)] {
        let a = model(name);
        for ordering in ["auto", "nd", "amd", "amf", "best:60"] {
            let mut options = Options::default();
            options.threads = Some(threads);
            options.ordering = ordering.parse().unwrap();
            // Before, and at some time; `best` goes on for a minute else.
            for micros in [0, 500, 5_000, 30_000] {
                let cancel = AtomicBool::new(micros == 0);
                let control = Control {
                    progress: None,
                    cancel: Some(&cancel),
                };
                let begun = Instant::now();
                let result = std::thread::scope(|scope| {
                    scope.spawn(|| {
                        std::thread::sleep(Duration::from_micros(micros));
                        cancel.store(true, Relaxed);
                    });
                    Analysis::new_with(a.pattern(), &options, &control)
                });
                assert!(begun.elapsed() < Duration::from_secs(20), "{ordering}");
                match result {
                    Ok(analysis) => assert!(micros > 0 && analysis.symbolic().n() == a.n()),
                    Err(error) => assert_eq!(error.kind(), ErrorKind::Cancelled, "{error}"),
                }
            }
        }
        let never = Analysis::new_with(a.pattern(), &Options::default(), &Control::default());
        let plain = Analysis::new(a.pattern(), &Options::default()).unwrap();
        let order = |analysis: &Analysis| analysis.symbolic().permutation().clone();
        assert_eq!(order(&never.unwrap()), order(&plain));
    }
}
