//! Scaling against the host.

use super::super::{HalfPattern, Scaling, Steps};
use crate::testing::gpu;
use crate::{Gpu, GpuError, Stream};

fn scaling(gpu: &Gpu, stream: &Stream, starts: &[u64], rows: &[u32]) -> Result<Scaling, GpuError> {
    let pattern = HalfPattern::new(gpu, starts, rows)?;
    Scaling::new(gpu, stream, &pattern, starts, rows)
}

#[test]
fn the_diagonal_comes_near_one() {
    let Some(gpu) = gpu() else { return };
    let stream = gpu.stream().unwrap();
    for n in [0_usize, 1, 2, 255, 257, 1009] {
        // each column: its diagonal entry, and up to two below
        let (mut starts, mut rows, mut values) = (vec![0_u64], Vec::new(), Vec::new());
        for j in 0..n {
            let size = f64::powi(2.0, (j * 37 % 401) as i32 - 200) * (1.0 + (j % 97) as f64 / 97.0);
            rows.push(j as u32);
            values.push(size);
            for i in (j + 1..n).step_by(31).take(2) {
                rows.push(i as u32);
                values.push(-0.3 * size.sqrt());
            }
            starts.push(rows.len() as u64);
        }
        let mut scaling = scaling(gpu, &stream, &starts, &rows).unwrap();
        let on_device = stream.to_device(gpu, &values).unwrap();
        scaling.fit(&stream, on_device.view()).unwrap();
        let d = stream.to_host(scaling.diagonal()).unwrap();
        for j in 0..n {
            assert!(d[j].log2().fract() == 0.0, "{}", d[j]);
            let scaled = values[starts[j] as usize] * d[j] * d[j];
            assert!((0.5..2.0).contains(&scaled), "{scaled}");
        }
        let ones = vec![1.0; n];
        let mut x = stream.to_device(gpu, &d).unwrap();
        let (mut before, y) = (
            gpu.alloc::<f64>(n).unwrap(),
            stream.to_device(gpu, &ones).unwrap(),
        );
        let steps = Steps::new(gpu).unwrap();
        steps
            .step(&stream, x.view_mut(), before.view_mut(), y.view())
            .unwrap();
        assert_eq!(stream.to_host(&before).unwrap(), d);
        let sum: Vec<f64> = d.iter().map(|d| d + 1.0).collect();
        assert_eq!(stream.to_host(&x).unwrap(), sum);
    }
}

#[test]
fn what_has_no_scale_keeps_one() {
    let Some(gpu) = gpu() else { return };
    let stream = gpu.stream().unwrap();
    let values = [0.0, f64::INFINITY, f64::NAN, -4.0];
    let mut scaling = scaling(gpu, &stream, &[0, 1, 2, 3, 4], &[0, 1, 2, 3]).unwrap();
    let on_device = stream.to_device(gpu, &values).unwrap();
    scaling.fit(&stream, on_device.view()).unwrap();
    assert_eq!(
        stream.to_host(scaling.diagonal()).unwrap(),
        [1.0, 1.0, 1.0, 0.5]
    );
}

#[test]
fn a_pattern_without_its_diagonal_is_refused() {
    let Some(gpu) = gpu() else { return };
    let stream = gpu.stream().unwrap();
    assert!(scaling(gpu, &stream, &[0, 0, 1], &[1]).is_err());
    assert!(scaling(gpu, &stream, &[0, 1, 2], &[0, 0]).is_err());
    assert!(scaling(gpu, &stream, &[0, 2], &[0, 5]).is_err());
}

#[test]
fn columns_come_into_the_range_of_single_precision_and_back() {
    let Some(gpu) = gpu() else { return };
    let stream = gpu.stream().unwrap();
    let units = [0, 47, -48, 48, -49, 130, -160, 700, -1000, 1020, -1020];
    for n in [1_usize, 2, 255, 257, 70_001, 600_000] {
        // D of 1/2, 1 and 2 by turns
        let d: Vec<f64> = (0..n).map(|i| [0.5, 1.0, 2.0][i % 3]).collect();
        let values: Vec<f64> = d.iter().map(|d| 1.0 / (d * d)).collect();
        let (starts, rows): (Vec<u64>, Vec<u32>) =
            ((0..=n as u64).collect(), (0..n as u32).collect());
        let mut scaling = scaling(gpu, &stream, &starts, &rows).unwrap();
        let values = stream.to_device(gpu, &values).unwrap();
        scaling.fit(&stream, values.view()).unwrap();
        // D x is between 1 and 2
        let number = |i: usize| (1.0 + i as f64 / n as f64) / d[i];
        let mut columns: Vec<f64> = Vec::new();
        for unit in units {
            columns.extend((0..n).map(|i| number(i) * f64::powi(2.0, unit)));
        }
        for odd in [0.0, f64::INFINITY, f64::NAN] {
            columns.extend((0..n).map(|i| if i == n / 2 { odd } else { 0.0 }));
        }
        let mut x = stream.to_device(gpu, &columns).unwrap();
        scaling.bring_in(&stream, x.view_mut()).unwrap();
        let inside = stream.to_host(&x).unwrap();
        for (unit, column) in units.iter().zip(inside.chunks(n)) {
            let taken = if (-48..48).contains(unit) { 0 } else { *unit };
            let least = f64::powi(2.0, unit - taken.clamp(-1000, 1000));
            let norm = column.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
            assert!((least..2.0 * least).contains(&norm), "{n} {unit} {norm}");
        }
        scaling.bring_back(&stream, x.view_mut()).unwrap();
        let there_and_back: Vec<f64> = columns
            .iter()
            .enumerate()
            .map(|(k, x)| x * d[k % n] * d[k % n])
            .collect();
        let found = stream.to_host(&x).unwrap();
        let same = |a: &f64, b: &f64| a == b || (a.is_nan() && b.is_nan());
        assert!(
            found.iter().zip(&there_and_back).all(|(a, b)| same(a, b)),
            "{n}"
        );
    }
}

#[test]
fn columns_of_another_length_or_too_many_are_refused() {
    let Some(gpu) = gpu() else { return };
    let stream = gpu.stream().unwrap();
    let mut scaling = scaling(gpu, &stream, &[0, 1, 2], &[0, 1]).unwrap();
    for len in [1, 3, 2 * (Scaling::MOST_COLUMNS + 1)] {
        let mut x = gpu.alloc::<f64>(len).unwrap();
        assert!(scaling.bring_in(&stream, x.view_mut()).is_err());
        assert!(scaling.bring_back(&stream, x.view_mut()).is_err());
    }
}
