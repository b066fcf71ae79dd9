//! One factor, several threads that solve with it.

use std::sync::atomic::AtomicBool;
use std::thread;

use tamarack::{
    Analysis, Control, Device, Duplicates, ErrorKind, Factor, Options, Outcome, Precision,
    SymmetricCsc, Triplets, models::Model,
};

const ALL: [Precision; 3] = [Precision::F64, Precision::F32, Precision::Mixed];

fn options(precision: Precision, threads: usize) -> Options {
    let mut options = Options::default();
    options.precision = precision;
    options.threads = Some(threads);
    options
}

fn model(name: &str) -> SymmetricCsc<f64> {
    name.parse::<Model>().unwrap().generate().unwrap()
}

fn factorized(a: &SymmetricCsc<f64>, options: &Options) -> Factor {
    let analysis = Analysis::new(a.pattern(), options).unwrap();
    analysis.factorize(a).unwrap()
}

/// `nrhs` right-hand sides, others for each `seed`.
fn right_sides(n: usize, nrhs: usize, seed: usize) -> Vec<f64> {
    let at = |k: usize| ((k * 37 + seed * 101) % 1009) as f64 / 1009.0 - 0.3;
    (0..n * nrhs).map(at).collect()
}

/// A matrix that gives answers which fall below what single precision can represent.
fn decaying() -> (SymmetricCsc<f64>, Vec<f64>) {
    let mut triplets = Triplets::new(4000).unwrap();
    for i in 0..4000u32 {
        triplets.push(i, i, 4.0).unwrap();
        if i > 0 {
            triplets.push(i, i - 1, -1.0).unwrap();
        }
    }
    let mut b = vec![0.0; 4000];
    b[0] = 1.0;
    (triplets.into_symmetric(Duplicates::Sum).unwrap(), b)
}

#[test]
fn threads_that_share_a_factor_get_the_bits_of_one_alone() {
    for (name, threads) in [("p2d5_60", 1), ("p3d7_14", 2), ("p3d7_14", 4)] {
        let a = model(name);
        for precision in ALL {
            let mut factor = factorized(&a, &options(precision, threads));
            let alone: Vec<_> = (0..6)
                .map(|seed| {
                    let mut x = right_sides(a.n(), 1 + seed % 3, seed);
                    let mut plain = x.clone();
                    factor.solve(&mut plain).unwrap();
                    let report = factor.solve_refined(&a, &mut x).unwrap();
                    (plain, x, report)
                })
                .collect();
            let (factor, a, alone) = (&factor, &a, &alone);
            thread::scope(|scope| {
                for me in 0..3 {
                    scope.spawn(move || {
                        let mut shared = factor.share().unwrap();
                        for turn in 0..12 {
                            let seed = (me + turn) % alone.len();
                            let (plain, refined, expected) = &alone[seed];
                            let mut x = right_sides(a.n(), 1 + seed % 3, seed);
                            shared.solve(&mut x).unwrap();
                            assert_eq!(&x, plain, "{precision:?}");
                            let mut x = right_sides(a.n(), 1 + seed % 3, seed);
                            let report = shared.solve_refined(a, &mut x).unwrap();
                            assert_eq!((&x, &report), (refined, expected), "{precision:?}");
                        }
                    });
                }
            });
        }
    }
}

#[test]
fn a_shared_factor_refuses_what_the_factor_refuses() {
    let a = model("p2d5_10");
    let mut factor = factorized(&a, &options(Precision::F64, 1));
    let mut shared = factor.share().unwrap();
    let mut x = vec![1.0; a.n() + 1];
    let error = shared.solve(&mut x).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
    let error = shared.solve_refined(&a, &mut x).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
    let error = shared
        .solve_refined(&model("p2d5_11"), &mut x[..a.n()])
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
    drop(shared);

    let mut bad = a.clone();
    bad.values_mut()[0] = -1.0;
    factor.refactorize(&bad).unwrap_err();
    let mut stale = factor.share().unwrap();
    let error = stale.solve(&mut x[..a.n()]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Stale);
    stale.solve_refined(&a, &mut x[..a.n()]).unwrap_err();
    assert!(x.iter().all(|&x| x == 1.0));
}

#[test]
fn a_shared_factor_stays_in_single_precision_and_says_when_that_does_not_suffice() {
    let (a, b) = decaying();
    let mut factor = factorized(&a, &options(Precision::Mixed, 2));
    let mut x = b.clone();
    let report = factor.share().unwrap().solve_refined(&a, &mut x).unwrap();
    assert_ne!(report.outcome, Outcome::Double);
    assert!(!report.refine.converged);
    // Once there is one in double precision, it is that which is shared.
    let mut x = b.clone();
    let report = factor.solve_refined(&a, &mut x).unwrap();
    assert_eq!(report.outcome, Outcome::Double);
    let mut y = b.clone();
    let report = factor.share().unwrap().solve_refined(&a, &mut y).unwrap();
    assert!(report.refine.converged);
    assert_eq!(x, y);
}

#[test]
fn the_factorization_inside_a_solve_can_be_stopped() {
    let (a, b) = decaying();
    let mut factor = factorized(&a, &options(Precision::Mixed, 2));
    let (mut x, stop) = (b.clone(), AtomicBool::new(true));
    let control = Control {
        cancel: Some(&stop),
        ..Control::default()
    };
    let error = factor.solve_refined_with(&a, &mut x, &control).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    assert_eq!(x, b);
    let report = factor.solve_refined(&a, &mut x).unwrap();
    assert_eq!(report.outcome, Outcome::Double);
}

#[test]
fn a_factor_on_a_gpu_is_not_shared() {
    if tamarack_gpu::testing::gpu().is_none() {
        return;
    }
    let mut options = options(Precision::F64, 1);
    options.device = Device::Gpu(0);
    options.gpu.cache = Some(std::env::temp_dir().join("tamarack-gpu-tests"));
    let a = model("p2d5_10");
    let error = factorized(&a, &options).share().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
}
