//! The solver on a GPU; skipped visibly without one.

use tamarack::{
    Analysis, Device, DeviceRates, Error, ErrorKind, OnNotSpd, Options, Ordering, Outcome, Place,
    Precision, SymmetricCsc,
};
use tamarack_testkit::model;

const MODELS: [&str; 6] = [
    "p2d5_60",
    "p3d7_17",
    "p3d27_9",
    "el3d_6",
    "circuit_3000",
    "lpnorm_900",
];

fn options() -> Option<Options> {
    tamarack_gpu::testing::gpu()?;
    let mut options = Options::default();
    options.device = Device::Gpu(0);
    options.gpu.cache = Some(std::env::temp_dir().join("tamarack-gpu-tests"));
    Some(options)
}

fn right_sides(n: usize, count: usize) -> Vec<f64> {
    (0..n * count)
        .map(|i| ((i * 37 % 101) as f64 - 50.5) / 7.0)
        .collect()
}

/// Largest difference over the largest number.
fn distance(x: &[f64], y: &[f64]) -> f64 {
    let largest = x.iter().fold(0.0f64, |m, x| m.max(x.abs()));
    let far = |(x, y): (&f64, &f64)| (x - y).abs();
    x.iter().zip(y).map(far).fold(0.0, f64::max) / largest
}

#[test]
fn a_device_that_is_not_there_is_an_error_or_the_cpu() {
    let a = model("p2d5_10");
    let mut options = Options::default();
    options.device = Device::Gpu(999);
    let error = Analysis::new(a.pattern(), &options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Device, "{error}");
    options.device = Device::Auto;
    let analysis = Analysis::new(a.pattern(), &options).unwrap();
    let Place::Cpu { reason } = analysis.place() else {
        panic!("a hundred unknowns went to a GPU");
    };
    assert!(reason.as_ref().unwrap().contains("predicted"), "{reason:?}");
    let mut x = right_sides(a.n(), 1);
    analysis.factorize(&a).unwrap().solve(&mut x).unwrap();
}

/// More than a megabyte of numbers comes and goes in pieces, by several threads.
#[test]
fn many_numbers_are_answered_as_few_are() {
    let Some(options) = options() else { return };
    let a = model("p2d5_150");
    let analysis = Analysis::new(a.pattern(), &options).unwrap();
    let mut factor = analysis.factorize(&a).unwrap();
    let b = right_sides(a.n(), 41);
    let mut together = b.clone();
    factor.solve(&mut together).unwrap();
    for (b, x) in b.chunks(a.n()).zip(together.chunks(a.n())) {
        let mut alone = b.to_vec();
        factor.solve(&mut alone).unwrap();
        let largest = x.iter().fold(0.0f64, |m, x| m.max(x.abs()));
        let close = |(x, y): (&f64, &f64)| (x - y).abs() <= 1e-12 * largest;
        assert!(alone.iter().zip(x).all(close));
    }
}

/// Of these, batches come and go while others are solved for.
#[test]
fn batches_are_answered_in_their_order() {
    let Some(mut options) = options() else { return };
    let mut a = model("p2d5_150");
    let n = a.n();
    for (precision, plain_far) in [(Precision::F64, 1e-11), (Precision::Mixed, 1e-3)] {
        options.precision = precision;
        let analysis = Analysis::new(a.pattern(), &options).unwrap();
        let mut factor = analysis.factorize(&a).unwrap();
        // Three batches, one, two, and six with other values; with the first ones memory is taken, for which a refinement makes way.
        for (round, count) in [41, 16, 17, 96].into_iter().enumerate() {
            if round == 3 {
                a.values_mut().iter_mut().for_each(|v| *v *= 3.0);
                factor.refactorize(&a).unwrap();
            }
            let b = right_sides(n, count);
            let (mut plain, mut refined) = (b.clone(), b.clone());
            factor.solve(&mut plain).unwrap();
            let report = factor.solve_refined(&a, &mut refined).unwrap();
            assert_eq!(report.refine.columns.len(), count);
            let error = report.componentwise_backward_error();
            assert!(error < 1e-14, "{precision} {count}: {error:e}");
            for (c, b) in b.chunks(n).enumerate() {
                let mut alone = b.to_vec();
                factor.solve(&mut alone).unwrap();
                let far = distance(&alone, &plain[c * n..(c + 1) * n]);
                assert!(far < plain_far, "{precision} {count} {c}: {far:e}");
                alone.copy_from_slice(b);
                factor.solve_refined(&a, &mut alone).unwrap();
                let far = distance(&alone, &refined[c * n..(c + 1) * n]);
                assert!(far < 1e-11, "{precision} {count} {c}: {far:e}");
            }
        }
        a.values_mut().iter_mut().for_each(|v| *v /= 3.0);
    }
}

/// As where the system lets nobody lock host memory: slower, with the same bits.
#[test]
fn memory_that_cannot_be_locked_changes_no_answer() {
    let Some(mut options) = options() else { return };
    let mut a = model("p2d5_150");
    for precision in [Precision::F64, Precision::F32, Precision::Mixed] {
        options.precision = precision;
        let answers = [false, true].map(|pageable| {
            options.gpu.pageable = pageable;
            let analysis = Analysis::new(a.pattern(), &options).unwrap();
            let mut factor = analysis.factorize(&a).unwrap();
            a.values_mut().iter_mut().for_each(|v| *v *= 3.0);
            factor.refactorize(&a).unwrap();
            let mut answers = Vec::new();
            for count in [1, 16, 41] {
                let (mut plain, mut refined) =
                    (right_sides(a.n(), count), right_sides(a.n(), count));
                factor.solve(&mut plain).unwrap();
                factor.solve_refined(&a, &mut refined).unwrap();
                answers.extend([plain, refined]);
            }
            a.values_mut().iter_mut().for_each(|v| *v /= 3.0);
            answers
        });
        let [locked, pageable] = answers;
        assert!(locked == pageable, "{precision}");
    }
}

/// Threads that make lists end with that: rayon's pool of the process, which stays, is not asked for.
#[test]
fn no_pool_of_the_process_is_left() {
    const ALONE: &str = "TAMARACK_TEST_ALONE";
    let Some(options) = options() else { return };
    if std::env::var_os(ALONE).is_none() {
        // In a process of its own: other tests may ask for that pool.
        let mut child = std::process::Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "no_pool_of_the_process_is_left"]);
        assert!(child.env(ALONE, "1").status().unwrap().success());
        return;
    }
    let a = model("p3d7_17");
    let analysis = Analysis::new(a.pattern(), &options).unwrap();
    analysis.factorize(&a).unwrap();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1);
    assert!(pool.build_global().is_ok(), "it is there");
}

#[test]
fn answers_are_as_accurate_as_on_the_host() {
    let Some(mut options) = options() else { return };
    for name in MODELS {
        let a = model(name);
        for precision in [Precision::F64, Precision::Mixed] {
            options.precision = precision;
            let analysis = Analysis::new(a.pattern(), &options).unwrap();
            let mut factor = analysis.factorize(&a).unwrap();
            for count in [1, 3, 16, 19] {
                let mut x = right_sides(a.n(), count);
                let report = factor.solve_refined(&a, &mut x).unwrap();
                let error = report.componentwise_backward_error();
                assert!(error < 1e-14, "{name} {precision} {count}: {error:e}");
            }
        }
    }
}

#[test]
fn bits_repeat_and_do_not_depend_on_the_number_of_right_hand_sides() {
    let Some(options) = options() else { return };
    let a = model("p3d7_17");
    let analysis = Analysis::new(a.pattern(), &options).unwrap();
    let mut factor = analysis.factorize(&a).unwrap();
    let b = right_sides(a.n(), 20);
    let mut first = b.clone();
    factor.solve(&mut first).unwrap();
    for round in 0..20 {
        factor.refactorize(&a).unwrap();
        let mut x = b.clone();
        let columns = 1 + round % 7;
        for x in x.chunks_mut(columns * a.n()) {
            factor.solve(x).unwrap();
        }
        assert!(x == first, "round {round}");
    }
}

#[test]
fn a_thousand_cycles_take_no_memory_and_give_the_same_bits() {
    let Some(options) = options() else { return };
    let mut a = model("el3d_6");
    let analysis = Analysis::new(a.pattern(), &options).unwrap();
    let mut factor = analysis.factorize(&a).unwrap();
    let gpu = tamarack_gpu::testing::gpu().unwrap();
    let b = right_sides(a.n(), 1);
    let values = a.values().to_vec();
    let (mut first, mut memory) = (Vec::new(), (0, 0));
    for cycle in 0..1000_u32 {
        let factor_of = 1.0 + f64::from(cycle % 7);
        for (to, from) in a.values_mut().iter_mut().zip(&values) {
            *to = from * factor_of;
        }
        factor.refactorize(&a).unwrap();
        let mut x = b.clone();
        factor.solve_refined(&a, &mut x).unwrap();
        if cycle % 7 == 0 {
            if first.is_empty() {
                first = x;
            } else {
                assert!(first == x, "cycle {cycle}");
            }
        }
        if cycle == 20 {
            memory = (gpu.memory().unwrap().0, resident_bytes());
        }
    }
    // other tests of this process may come and go on the device
    let (free, resident) = (gpu.memory().unwrap().0, resident_bytes());
    assert!(free + (64 << 20) > memory.0, "{free} of {}", memory.0);
    assert!(
        resident < memory.1 + (256 << 20),
        "{resident} from {}",
        memory.1
    );
}

/// Resident memory of this process, where the system tells.
fn resident_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split_whitespace().nth(1).and_then(|n| n.parse().ok());
    pages.unwrap_or(0_u64) * 4096
}

#[test]
fn the_column_that_is_not_positive_is_the_hosts() {
    let Some(options) = options() else { return };
    for name in MODELS {
        let mut a = model(name);
        let mut host_options = options.clone();
        host_options.device = Device::Cpu;
        for column in [0, a.n() / 3, a.n() - 1] {
            let at = a.pattern().col_ptr()[column] as usize;
            let before = std::mem::replace(&mut a.values_mut()[at], -2.5);
            let on_device = Analysis::new(a.pattern(), &options).unwrap();
            // the host in its own order: its column is the one that is named
            let on_host = Analysis::new(a.pattern(), &host_options).unwrap();
            let of = |error: Error| *error.not_positive_definite().unwrap();
            let got = of(on_device.factorize(&a).unwrap_err());
            let want = of(on_host.factorize(&a).unwrap_err());
            assert_eq!(
                (got.column, got.position, got.cause),
                (want.column, want.position, want.cause),
                "{name}"
            );
            a.values_mut()[at] = before;
        }
    }
}

#[test]
fn a_shift_makes_it_positive() {
    let Some(mut options) = options() else { return };
    options.on_not_spd = OnNotSpd::Shift;
    let mut a = model("p2d5_30");
    let at = a.pattern().col_ptr()[7] as usize;
    a.values_mut()[at] = -1.0;
    let analysis = Analysis::new(a.pattern(), &options).unwrap();
    let factor = analysis.factorize(&a).unwrap();
    assert!(
        factor
            .shift()
            .is_some_and(|sigma| sigma > 1.0 && sigma < 100.0)
    );
}

#[test]
fn determinant_and_smallest_pivot_are_the_hosts() {
    let Some(mut options) = options() else { return };
    let a = model("el3d_6");
    for precision in [Precision::F64, Precision::F32, Precision::Mixed] {
        options.precision = precision;
        options.device = Device::Cpu;
        let analysis = Analysis::new(a.pattern(), &options).unwrap();
        let factor = analysis.factorize(&a).unwrap();
        let want = factor.log_determinant().unwrap();
        let least = factor.smallest_pivot(&a).unwrap().unwrap();
        // In about the same order: supernodes that suit the card change places of some columns, which leaves other pivots.
        options.ordering = analysis.symbolic().permutation().clone().into();
        options.device = Device::Gpu(0);
        let analysis = Analysis::new(a.pattern(), &options).unwrap();
        let factor = analysis.factorize(&a).unwrap();
        let got = factor.log_determinant().unwrap();
        assert!(
            (got - want).abs() < 1e-5 * want.abs(),
            "{precision}: {got} {want}"
        );
        let pivot = factor.smallest_pivot(&a).unwrap().unwrap();
        assert!(
            (0.5..2.0).contains(&(pivot.share / least.share)) && !pivot.has_vanished(),
            "{precision}: {pivot:?} {least:?}"
        );
        options.ordering = Ordering::Auto;
    }
}

#[test]
fn each_analysis_has_a_profile_of_its_own() {
    let Some(mut options) = options() else { return };
    let a = model("p3d7_17");
    let plain = Analysis::new(a.pattern(), &options).unwrap();
    options.profile = true;
    let both = [(); 2].map(|()| Analysis::new(a.pattern(), &options).unwrap());
    for (more, analysis) in both.iter().enumerate() {
        for _ in 0..=more {
            analysis.factorize(&a).unwrap();
        }
    }
    plain.factorize(&a).unwrap();
    let counts = both.map(|analysis| {
        let profile = analysis.take_device_profile().unwrap();
        profile.unwrap().factorizations
    });
    assert_eq!(counts, [1, 2]);
}

/// In mixed precision once where they have memory of their own, else once more for residuals.
#[test]
fn values_go_up_as_often_as_they_must() {
    let Some(mut options) = options() else { return };
    options.profile = true;
    let mut apart = Vec::new();
    for (precision, name) in [
        (Precision::F64, "p3d7_17"),
        (Precision::Mixed, "p2d5_150"),
        (Precision::Mixed, "p3d7_17"),
        (Precision::Mixed, "el3d_9"),
    ] {
        options.precision = precision;
        let mut a = model(name);
        let analysis = Analysis::new(a.pattern(), &options).unwrap();
        let Place::Gpu { plan, .. } = analysis.place() else {
            panic!("{name} is not on the GPU");
        };
        let once = precision == Precision::F64 || plan.values_apart();
        let mut factor = analysis.factorize(&a).unwrap();
        let mut x = right_sides(a.n(), 1);
        factor.solve_refined(&a, &mut x).unwrap();
        analysis.take_device_profile().unwrap();
        a.values_mut().iter_mut().for_each(|v| *v *= 3.0);
        factor.refactorize(&a).unwrap();
        let profile = analysis.take_device_profile().unwrap().unwrap();
        let up = |total: &&tamarack::DeviceTotal| total.name == "cuMemcpyHtoDAsync";
        let up = profile.kernels.iter().find(up).map(|total| total.bytes);
        let values = size_of_val(a.values()) as u64;
        assert_eq!(up, Some(if once { values } else { 2 * values }), "{name}");
        // nor do vectors of solves stand where the values do
        for count in [1, 3, 17] {
            let b = right_sides(a.n(), count);
            factor.solve(&mut b.clone()).unwrap();
            let report = factor.solve_refined(&a, &mut b.clone()).unwrap();
            let error = report.componentwise_backward_error();
            assert!(error < 1e-14, "{name} {count}: {error:e}");
            factor.refactorize(&a).unwrap();
        }
        apart.push(once);
    }
    assert!(apart[1..].contains(&true), "{apart:?}");
}

#[test]
fn degenerate_matrices() {
    let Some(options) = options() else { return };
    for n in [0_usize, 1, 2, 65] {
        let ptr: Vec<u32> = (0..=n as u32).collect();
        let rows: Vec<u32> = (0..n as u32).collect();
        let values: Vec<f64> = (0..n).map(|i| 1.0 + i as f64).collect();
        let a = SymmetricCsc::lower(n, &ptr, &rows, &values).unwrap();
        let analysis = Analysis::new(a.pattern(), &options).unwrap();
        let mut factor = analysis.factorize(&a).unwrap();
        let mut x = values.clone();
        factor.solve(&mut x).unwrap();
        assert!(x.iter().all(|&x| (x - 1.0).abs() < 1e-15), "{x:?}");
    }
}

#[test]
fn the_context_that_is_current_stays_so() {
    let Some(mut options) = options() else { return };
    let current = || tamarack_gpu::testing::current_context().unwrap();
    let a = model("p3d7_9");
    for precision in [Precision::F64, Precision::Mixed] {
        options.precision = precision;
        let before = current();
        let analysis = Analysis::new(a.pattern(), &options).unwrap();
        assert_eq!(current(), before);
        let mut factor = analysis.factorize(&a).unwrap();
        factor.refactorize(&a).unwrap();
        let mut x = right_sides(a.n(), 2);
        factor.solve(&mut x).unwrap();
        factor.solve_refined(&a, &mut x).unwrap();
        assert_eq!(current(), before);
        drop((factor, analysis));
        assert_eq!(current(), before);
    }
}

#[test]
fn predictions_go_by_the_rates_that_are_kept() {
    let Some(mut options) = options() else { return };
    let gpu = tamarack_gpu::testing::gpu().unwrap();
    let a = model("p2d5_30");
    let rates = |options: &Options| {
        let analysis = Analysis::new(a.pattern(), options).unwrap();
        let Place::Gpu { plan, .. } = analysis.place() else {
            panic!("not on the GPU");
        };
        plan.options().rates
    };
    let measured = rates(&options);
    assert_eq!(DeviceRates::kept(gpu), Some(measured));
    // once in a process, whatever becomes of the file
    gpu.keep("rates", "a damaged file");
    assert_eq!(DeviceRates::kept(gpu), None);
    assert_eq!(rates(&options), measured);
    options.gpu.cache = None;
    assert_eq!(rates(&options), measured);
    gpu.keep("rates", &measured.to_text());
    assert_eq!(DeviceRates::of(gpu).unwrap(), measured);
}

/// A membrane of k × k, less its least eigenvalue but for `rest`, which becomes the least: nearly singular in single precision.
fn nearly_singular(k: u32, rest: f64) -> SymmetricCsc<f64> {
    let mut a = model(&format!("p2d5_{k}"));
    let least = 4.0 - 4.0 * (std::f64::consts::PI / f64::from(k + 1)).cos();
    let starts = a.pattern().col_ptr()[..a.n()].to_vec();
    for diagonal in starts {
        a.values_mut()[diagonal as usize] -= least - rest;
    }
    a
}

#[test]
fn conjugate_gradients_run_where_refinement_stagnates() {
    let Some(mut options) = options() else { return };
    options.precision = Precision::Mixed;
    let mut needed = [0, 0];
    // Which of these are between the reach of refinement and the loss of positive pivots depends on rounding.
    let rests = (0..10).map(|e| 5e-7 * 0.75_f64.powi(e));
    let cases = rests.flat_map(|rest| [(30, rest), (45, rest), (60, rest)]);
    for (k, rest) in cases {
        let a = nearly_singular(k, rest);
        let solve = |device: Device| {
            let mut options = options.clone();
            options.device = device;
            let analysis = Analysis::new(a.pattern(), &options).unwrap();
            let mut factor = analysis.factorize(&a).unwrap();
            let mut x = right_sides(a.n(), 2);
            let report = factor.solve_refined(&a, &mut x).unwrap();
            if report.outcome != Outcome::Double {
                let mut y = right_sides(a.n(), 2);
                factor.solve_refined(&a, &mut y).unwrap();
                assert_eq!(x, y, "{k}, {rest:e}: bits differ");
            }
            report
        };
        let (host, device) = (solve(Device::Cpu), solve(Device::Gpu(0)));
        let error = device.componentwise_backward_error();
        assert!(
            device.refine.converged && error < 1e-14,
            "{k}, {rest:e}: {error:e}"
        );
        let steps = [host.outcome, device.outcome].map(|outcome| match outcome {
            Outcome::ConjugateGradients { steps } => Some(steps),
            _ => None,
        });
        for (needed, steps) in needed.iter_mut().zip(steps) {
            *needed += u32::from(steps.is_some());
        }
        if let [Some(want), Some(got)] = steps {
            eprintln!("{k}, {rest:e}: {want} steps on the host, {got} on the device");
            assert!(
                got > 0 && got <= 3 * want + 10,
                "{k}, {rest:e}: {got}, {want}"
            );
        }
    }
    assert!(needed.iter().all(|&count| count > 0), "{needed:?}");
}
