//! Conjugate gradients against the same recurrence on the host.

use super::super::{Conjugate, HalfPattern, Residuals};
use super::{Owned, Random};
use crate::testing;

/// A positive definite matrix by the columns of its lower half: an open chain with a few far couplings.
fn lower(n: u32, random: &mut Random) -> Owned {
    let column = |j: u32| {
        let mut rows = vec![j];
        rows.extend((0..3).map(|_| j + random.below(90) as u32));
        rows.retain(|&i| i < n);
        rows
    };
    let mut half = Owned::from_rows(n, (0..n).map(column).collect());
    for j in 0..n as usize {
        let own = half.starts[j] as usize..half.starts[j + 1] as usize;
        for k in own {
            let diagonal = half.indices[k] as usize == j;
            half.values[k] = if diagonal { 4.0 + (j % 3) as f64 } else { -0.4 };
        }
    }
    half
}

fn multiply(half: &Owned, p: &[f64]) -> Vec<f64> {
    let mut y = vec![0.0; p.len()];
    for j in 0..p.len() {
        for (i, v) in half.row(j) {
            y[i] += v * p[j];
            if i != j {
                y[j] += v * p[i];
            }
        }
    }
    y
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Steps of the host, `d` after them, and whether it would go on. The preconditioner is the diagonal `m`.
fn host(
    half: &Owned,
    right: &[f64],
    m: &[f64],
    target: f64,
    most: usize,
) -> (usize, Vec<f64>, bool) {
    let apply = |r: &[f64]| -> Vec<f64> { r.iter().zip(m).map(|(r, m)| r / m).collect() };
    let norm = |v: &[f64]| v.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
    let (mut d, mut r) = (vec![0.0; right.len()], right.to_vec());
    let mut z = apply(&r);
    let (mut p, mut rz) = (z.clone(), dot(&r, &z));
    let mut taken = 0;
    while norm(&r) > target && rz > 0.0 && taken < most {
        taken += 1;
        let ap = multiply(half, &p);
        let alpha = rz / dot(&p, &ap);
        for i in 0..d.len() {
            d[i] += alpha * p[i];
            r[i] -= alpha * ap[i];
        }
        z = apply(&r);
        let beta = -alpha * dot(&z, &ap) / rz;
        rz = dot(&r, &z);
        for i in 0..d.len() {
            p[i] = z[i] + beta * p[i];
        }
    }
    (taken, d, norm(&r) > target)
}

#[test]
fn steps_are_those_of_the_host() {
    let Some(gpu) = testing::gpu() else { return };
    let stream = gpu.stream().unwrap();
    let mut random = Random(77);
    for (n, reduction, most) in [
        (1, 1e-6, 9),
        (255, 1e-8, 99),
        (5003, 1e-6, 99),
        (5003, 0.0, 5),
    ] {
        let half = lower(n, &mut random);
        let rows = n as usize;
        let right: Vec<f64> = (0..rows).map(|i| (i * 37 % 101) as f64 - 50.3).collect();
        let norm = right.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
        let m: Vec<f64> = (0..rows).map(|i| 3.0 + (i % 5) as f64).collect();
        let (want, found, going) = host(&half, &right, &m, reduction * norm, most);

        let (starts, indices) = (&half.starts, &half.indices);
        let pattern = HalfPattern::new(gpu, starts, indices).unwrap();
        let residuals =
            Residuals::new(gpu, &stream, &pattern, 1, &mut |len| gpu.alloc(len)).unwrap();
        let values = stream.to_device(gpu, &half.values).unwrap();
        let mut list = Conjugate::new(gpu, &stream, &residuals).unwrap();
        let mut bits: Option<Vec<u64>> = None;
        for _ in 0..3 {
            let mut r = stream.to_device(gpu, &right).unwrap();
            let mut z = gpu.alloc::<f64>(rows).unwrap();
            list.begin(&stream, r.view(), z.view_mut(), norm, reduction, most)
                .unwrap();
            let precondition = |z: &mut crate::DeviceBuffer<f64>| {
                let host: Vec<f64> = stream.to_host(&*z).unwrap();
                let host: Vec<f64> = host.iter().zip(&m).map(|(z, m)| z / m).collect();
                *z = stream.to_device(gpu, &host).unwrap();
            };
            precondition(&mut z);
            list.turn(&stream, r.view(), z.view()).unwrap();
            // Three beyond the end.
            for _ in 0..want + 3 {
                list.step(
                    &stream,
                    &residuals,
                    values.view(),
                    r.view_mut(),
                    z.view_mut(),
                )
                .unwrap();
                precondition(&mut z);
                list.turn(&stream, r.view(), z.view()).unwrap();
            }
            let progress = list.progress(&stream).unwrap();
            assert_eq!(progress.taken, want, "{n}");
            assert!(!progress.going, "{n}");
            assert!(going == (want == most), "the test's own end");
            let got = stream.to_host(list.found()).unwrap();
            let size = found.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
            for (g, w) in got.iter().zip(&found) {
                assert!((g - w).abs() <= 1e-11 * size, "{n}: {g}, not {w}");
            }
            let own: Vec<u64> = got.iter().map(|v| v.to_bits()).collect();
            assert_eq!(bits.get_or_insert_with(|| own.clone()), &own);
        }
    }
}

#[test]
fn a_matrix_that_is_not_positive_definite_ends_the_steps() {
    let Some(gpu) = testing::gpu() else { return };
    let stream = gpu.stream().unwrap();
    let (starts, indices) = ([0, 1, 2], [0, 1]);
    let pattern = HalfPattern::new(gpu, &starts, &indices).unwrap();
    let residuals = Residuals::new(gpu, &stream, &pattern, 1, &mut |len| gpu.alloc(len)).unwrap();
    let values = stream.to_device(gpu, &[1.0, -3.0]).unwrap();
    let mut list = Conjugate::new(gpu, &stream, &residuals).unwrap();
    let mut r = stream.to_device(gpu, &[1.0, 1.0]).unwrap();
    let mut z = gpu.alloc::<f64>(2).unwrap();
    list.begin(&stream, r.view(), z.view_mut(), 1.0, 1e-6, 9)
        .unwrap();
    list.turn(&stream, r.view(), z.view()).unwrap();
    list.step(
        &stream,
        &residuals,
        values.view(),
        r.view_mut(),
        z.view_mut(),
    )
    .unwrap();
    list.turn(&stream, r.view(), z.view()).unwrap();
    let progress = list.progress(&stream).unwrap();
    assert_eq!((progress.taken, progress.going), (1, false));
    assert_eq!(stream.to_host(list.found()).unwrap(), [0.0, 0.0]);
    let short = stream.to_device(gpu, &[1.0]).unwrap();
    assert!(list.turn(&stream, short.view(), z.view()).is_err());
}
