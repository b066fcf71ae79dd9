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
        let mut x = stream.to_device(gpu, &ones).unwrap();
        scaling.apply(&stream, x.view_mut()).unwrap();
        assert_eq!(stream.to_host(&x).unwrap(), d);
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
