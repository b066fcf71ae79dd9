//! Factors on a device against those of the host; skipped visibly without one.

use std::sync::Arc;

use tamarack_gpu::Gpu;
use tamarack_gpu::dense::Tile;
use tamarack_sparse::{Scalar, SymmetricCsc};

use super::super::plan::{DeviceOptions, DevicePlan};
use super::loops::Places;
use super::{SMALL, difference, host, model, symbolic};
use crate::{Control, DeviceFactor, DeviceValue, FactorError, FactorOptions, NumericFactor};

#[test]
fn a_device_makes_the_factor_of_the_host() {
    let Some(gpu) = tamarack_gpu::testing::gpu() else {
        return;
    };
    for name in ["p2d5_23", "p3d7_9", "p3d7_20", "el3d_4", "circuit_700"] {
        compare_with_host::<f64>(gpu, name, 1e-11);
        compare_with_host::<f32>(gpu, name, 1e-2);
    }
}

fn compare_with_host<T: DeviceValue>(gpu: &Gpu, name: &str, tolerance: f64) {
    let wide = model(name);
    let symbolic = symbolic(&wide);
    let mut host = host(&symbolic, &wide);
    let mut a: SymmetricCsc<T> = wide.cast();
    let precision = T::PRECISION;
    let of = |large_tile| DeviceOptions {
        large_tile,
        ..SMALL
    };
    let (tall, warpgroups) = (of(Tile::Tall), of(Tile::Warpgroups));
    for options in [SMALL, tall, warpgroups, DeviceOptions::default()] {
        let options = DeviceOptions {
            precision,
            ..options
        };
        let plan = Arc::new(DevicePlan::new(symbolic.clone(), &options).unwrap());
        leave_nan(gpu);
        let made = DeviceFactor::factorize(plan.clone(), gpu, &a, &FactorOptions::default());
        let mut factor = made.unwrap_or_else(|e| panic!("{name}, {options:?}: {e}"));
        let first = factor.stream().to_host(factor.arena()).unwrap();
        let numbers: Vec<f64> = first.iter().map(|&x| Scalar::to_f64(x)).collect();
        let off = difference(&plan, &numbers, &host);
        assert!(off < tolerance, "{name}: {off:e}");

        let all = (0..symbolic.supernodes()).flat_map(|s| {
            let (layout, panel) = (host.plan().panel_layout(s), host.panel(s));
            (0..layout.cols()).map(move |j| layout.entry(panel, j, j).ln())
        });
        let want = 2.0 * all.sum::<f64>();
        let got = 2.0
            * factor
                .diagonal()
                .unwrap()
                .iter()
                .map(|d| d.ln())
                .sum::<f64>();
        assert!(
            (got - want).abs() < tolerance * want.abs(),
            "{name}: {got} {want}"
        );

        // another matrix between, that fails
        fails_alike(&mut factor, &mut a, &mut host, tolerance);
        host.refactorize(&wide, &Control::default()).unwrap();

        for _ in 0..10 {
            factor.refactorize(&a).unwrap();
            let again = factor.stream().to_host(factor.arena()).unwrap();
            for s in 0..symbolic.supernodes() {
                let own = Places::of(&plan.front(s).unwrap(), precision);
                for j in 0..own.pivots {
                    let mut rows = j..own.order();
                    let same = rows.all(|i| first[own.at(i, j)] == again[own.at(i, j)]);
                    assert!(same, "{name}: bits differ");
                }
            }
        }
    }
}

/// What is allocated next on the device holds NaN where nothing is written: nobody may look there.
fn leave_nan(gpu: &Gpu) {
    let stream = gpu.stream().unwrap();
    let mut buffer = gpu.alloc::<u64>(1 << 26).unwrap();
    stream.fill_bytes(&mut buffer, 0xff).unwrap();
    stream.synchronize().unwrap();
}

/// Both name the same column of a matrix that is not positive definite.
fn fails_alike<T: DeviceValue>(
    factor: &mut DeviceFactor<T>,
    a: &mut SymmetricCsc<T>,
    host: &mut NumericFactor<f64>,
    tolerance: f64,
) {
    let diagonal = a.pattern().col_ptr()[5] as usize;
    let minus_one = <T as Scalar>::from_f64(-1.0);
    let before = std::mem::replace(&mut a.values_mut()[diagonal], minus_one);
    let of_host = host.refactorize(&a.cast(), &Control::default());
    match (factor.refactorize(a), of_host) {
        (
            Err(FactorError::NotPositiveDefinite(got)),
            Err(FactorError::NotPositiveDefinite(want)),
        ) => {
            assert_eq!((got.column, got.cause), (want.column, want.cause));
            assert!((got.pivot - want.pivot).abs() < tolerance * want.pivot.abs());
        }
        other => panic!("{other:?}"),
    }
    assert!(!factor.is_current());
    a.values_mut()[diagonal] = before;
}

#[test]
fn a_wrong_number_of_values_leaves_the_factor_as_it_is() {
    let Some(gpu) = tamarack_gpu::testing::gpu() else {
        return;
    };
    let a = model("p2d5_23");
    let plan = Arc::new(DevicePlan::new(symbolic(&a), &SMALL).unwrap());
    let options = FactorOptions::default();
    let mut factor = DeviceFactor::<f64>::new(plan, gpu, a.pattern(), &options).unwrap();
    let stream = gpu.stream().unwrap();
    let values = stream.to_device(gpu, a.values()).unwrap();
    let short = values.view().slice(1..).unwrap();
    // No values of its own, at first: those that are refused must not seem to be there.
    assert_eq!(
        factor.refactorize_wide(Some(values.view()), None).unwrap(),
        None
    );
    assert!(matches!(
        factor.refactorize_device(short),
        Err(FactorError::Device(_))
    ));
    assert!(factor.is_current() && factor.values().is_none());
    factor.refactorize_device(values.view()).unwrap();
    assert!(factor.refactorize_device(short).is_err());
    let kept = factor.values().unwrap();
    assert!(factor.is_current());
    assert_eq!(stream.to_host(kept).unwrap(), a.values());
}
