//! Residuals and backward errors.

use super::super::{BackwardError, HalfPattern, Residuals};
use super::{Owned, Random};
use crate::primitives::{MatrixView, MatrixViewMut};
use crate::testing;

/// A lower half by columns: `entries` a column at most, spread over `reach` rows.
fn lower(n: u32, entries: u32, reach: u64, random: &mut Random) -> Owned {
    let column = |j: u32| {
        let mut rows = vec![j];
        rows.extend((0..entries).map(|_| j + random.below(reach) as u32));
        rows.retain(|&i| i < n);
        rows
    };
    Owned::from_rows(n, (0..n).map(column).collect())
}

/// A lower half by columns whose first column is full.
fn arrow(n: u32) -> Owned {
    let column = |j: u32| if j == 0 { (0..n).collect() } else { vec![j] };
    Owned::from_rows(n, (0..n).map(column).collect())
}

/// What the solver on the host computes for one right-hand side: the residual and its errors.
fn host(half: &Owned, b: &[f64], x: &[f64]) -> (Vec<f64>, BackwardError) {
    let n = half.rows();
    let (mut r, mut size) = (b.to_vec(), b.iter().map(|v| v.abs()).collect::<Vec<_>>());
    let (mut norms, mut counts) = (vec![0.0; n], vec![0_u32; n]);
    for j in 0..n {
        for (i, v) in half.row(j) {
            for (to, from) in [(i, j), (j, i)].into_iter().take(1 + usize::from(i != j)) {
                r[to] -= v * x[from];
                size[to] += (v * x[from]).abs();
                norms[to] += v.abs();
                counts[to] += 1;
            }
        }
    }
    let most = |v: &[f64]| {
        v.iter().fold(0.0_f64, |m, v| {
            if m.is_nan() || v.abs() <= m {
                m
            } else {
                v.abs()
            }
        })
    };
    let safe = f64::from(counts.iter().copied().max().unwrap_or(0) + 1) * f64::MIN_POSITIVE;
    let error = |(r, s): (&f64, &f64)| match s.is_finite() {
        true => r.abs() / (s + safe),
        false => f64::NAN,
    };
    let errors: Vec<f64> = r.iter().zip(&size).map(error).collect();
    let errors = BackwardError {
        componentwise: most(&errors),
        residual: most(&r),
        solution: most(x),
        right_hand_side: most(b),
        matrix: most(&norms),
    };
    (r, errors)
}

fn close(got: f64, want: f64, tolerance: f64) -> bool {
    got == want
        || (got - want).abs() <= tolerance * want.abs().max(f64::MIN_POSITIVE)
        || got.is_nan() && want.is_nan()
}

/// Whether errors are those of the host, but for the order of sums.
fn alike(got: &BackwardError, want: &BackwardError, n: u32) -> bool {
    close(got.solution, want.solution, 0.0)
        && close(got.right_hand_side, want.right_hand_side, 0.0)
        && close(got.matrix, want.matrix, 1e-16 * f64::from(n.max(100)))
        && close(got.residual, want.residual, 1e-11)
        && close(got.componentwise, want.componentwise, 1e-9)
        && close(got.normwise(), want.normwise(), 1e-10)
}

/// Nine solutions and right-hand sides of all kinds, `ld` apart; the last is the first.
fn vectors(rows: usize, ld: usize, random: &mut Random) -> (Vec<f64>, Vec<f64>) {
    let number = |random: &mut Random| (random.below(2001) as f64 - 1000.0) * 0.7;
    let mut x: Vec<f64> = (0..9 * ld).map(|_| number(random)).collect();
    let mut b: Vec<f64> = (0..9 * ld).map(|_| number(random)).collect();
    for r in 0..9 {
        let (x, b) = (&mut x[r * ld..r * ld + rows], &mut b[r * ld..r * ld + rows]);
        match r {
            // all zero; tiny denominators; rows of zeros; infinity; NaN at either
            1 => (x.fill(0.0), b.fill(0.0)).0,
            2 => x.iter_mut().chain(b).for_each(|v| *v *= 1e-310),
            3 => (x.fill(0.0), b[rows / 2..].fill(0.0)).0,
            4 if rows > 0 => x[rows / 2] = f64::INFINITY,
            5 if rows > 0 => b[rows - 1] = f64::NAN,
            6 if rows > 0 => x[0] = f64::NAN,
            _ => {}
        }
    }
    x.copy_within(0..rows, 8 * ld);
    b.copy_within(0..rows, 8 * ld);
    (x, b)
}

#[test]
fn residuals_and_errors_are_those_of_the_host() {
    let Some(gpu) = testing::gpu() else { return };
    let stream = gpu.stream().unwrap();
    let mut random = Random(31);
    for (n, entries, reach) in [
        (0, 0, 1),
        (1, 0, 1),
        (127, 3, 9),
        (128, 3, 128),
        (1009, 12, 300),
        (3001, 40, 3001),
        (5000, 2, 7),
        (70_001, 1, 3),
    ] {
        let mut half = lower(n, entries, reach, &mut random);
        if n > 70_000 {
            half = arrow(n); // numbers within lines above 2^16
        }
        let (starts, indices) = (&half.starts, &half.indices);
        let pattern = HalfPattern::new(gpu, starts, indices).unwrap();
        let mut list =
            Residuals::new(gpu, &stream, &pattern, 9, &mut |len| gpu.alloc(len)).unwrap();
        let values = stream.to_device(gpu, &half.values).unwrap();
        let (rows, ld) = (n as usize, n as usize + 5);
        let (x, b) = vectors(rows, ld, &mut random);
        let (device_x, device_b) = (
            stream.to_device(gpu, &x).unwrap(),
            stream.to_device(gpu, &b).unwrap(),
        );
        let mut first = None;
        for rhs in [1_u32, 2, 4, 5, 9] {
            let mut r = stream.to_device(gpu, &vec![-7.0; 9 * ld]).unwrap();
            let mut errors = gpu.alloc::<BackwardError>(rhs as usize).unwrap();
            let view = |data| MatrixView::new(data, n, rhs, ld).unwrap();
            list.launch(
                &stream,
                &values,
                view(device_b.view()),
                view(device_x.view()),
                MatrixViewMut::new(r.view_mut(), n, rhs, ld).unwrap(),
                &mut errors,
            )
            .unwrap();
            let (got, got_errors) = (
                stream.to_host(&r).unwrap(),
                stream.to_host(&errors).unwrap(),
            );
            for (v, &own) in got_errors.iter().enumerate() {
                let at = v * ld..v * ld + rows;
                let (want, want_errors) = host(&half, &b[at.clone()], &x[at.clone()]);
                for (i, (g, w)) in got[at].iter().zip(&want).enumerate() {
                    let tolerance = 1e-14 * (1.0 + want_errors.matrix) * 1e3;
                    assert!(
                        (g - w).abs() <= tolerance || close(*g, *w, 1e-12),
                        "{n}, {v}: {i}: {g}, not {w}"
                    );
                }
                assert!(
                    alike(&own, &want_errors, n),
                    "{n}, {v}: {own:?}, not {want_errors:?}"
                );
            }
            assert!(got[rhs as usize * ld..].iter().all(|&g| g == -7.0));
            let bits: Vec<u64> = got[..rows].iter().map(|v| v.to_bits()).collect();
            let own = (bits, got_errors[0]);
            assert_eq!(
                first.get_or_insert_with(|| own.clone()),
                &own,
                "{rhs} right-hand sides"
            );
            if rhs == 9 {
                let last: Vec<u64> = got[8 * ld..8 * ld + rows]
                    .iter()
                    .map(|v| v.to_bits())
                    .collect();
                assert_eq!((last, got_errors[8]), own);
            }
        }
    }
}

#[test]
fn shapes_that_do_not_fit_are_refused() {
    let Some(gpu) = testing::gpu() else { return };
    let stream = gpu.stream().unwrap();
    let new = |starts: &[u64], indices: &[u32]| {
        let pattern = HalfPattern::new(gpu, starts, indices)?;
        Residuals::new(gpu, &stream, &pattern, 2, &mut |len| gpu.alloc(len))
    };
    assert!(new(&[], &[]).is_err() && new(&[0, 2], &[0]).is_err() && new(&[1, 1], &[0]).is_err());
    assert!(new(&[0, 2, 1, 2], &[0, 1]).is_err() && new(&[0, 1], &[1]).is_err());
    let mut list = new(&[0, 2, 3], &[0, 1, 1]).unwrap();
    let mut data = stream.to_device(gpu, &[1.0; 6]).unwrap();
    let values = stream.to_device(gpu, &[1.0; 4]).unwrap();
    let other = stream.to_device(gpu, &[1.0; 6]).unwrap();
    let view = |rows, columns| MatrixView::new(other.view(), rows, columns, 2).unwrap();
    for (rows, columns, length, entries, fits) in [
        (2, 2, 2, 3, true),
        (1, 2, 2, 3, false),
        (2, 3, 3, 3, false),
        (2, 2, 1, 3, false),
        (2, 2, 2, 4, false),
    ] {
        let mut errors = gpu.alloc::<BackwardError>(length).unwrap();
        let r = MatrixViewMut::new(data.view_mut(), 2, columns, 2).unwrap();
        let got = list.launch(
            &stream,
            values.view().slice(..entries).unwrap(),
            view(rows, columns),
            view(2, columns),
            r,
            &mut errors,
        );
        assert_eq!(got.is_ok(), fits, "{rows} {columns} {length} {entries}");
    }
    stream.synchronize().unwrap();
}
