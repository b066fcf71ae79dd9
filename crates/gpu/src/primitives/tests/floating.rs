use super::{Random, device, lengths, poisoned};
use crate::primitives::{Real, Reduce, Reduction};

/// Sum with the rounding errors kept apart (Ogita, Rump, Oishi 2005).
fn exact_sum(terms: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut rest) = (0.0, 0.0);
    for term in terms {
        let next = sum + term;
        let back = next - sum;
        rest += (sum - (next - back)) + (term - back);
        sum = next;
    }
    sum + rest
}

fn reductions<T: Real>() {
    let Some((gpu, stream)) = device() else {
        return;
    };
    let mut reduce = Reduce::new(gpu, &stream).unwrap();
    let mut out = poisoned::<f64>(gpu, &stream, 1);
    let mut random = Random(11);
    let mut sizes = lengths(4096);
    sizes.extend([2047, 2048, 2049, 300_007]);
    for n in sizes {
        for shift in [0, 1] {
            let x: Vec<T> = random
                .reals(n + shift)
                .into_iter()
                .map(T::from_f64)
                .collect();
            let y: Vec<T> = random
                .reals(n + shift)
                .into_iter()
                .map(T::from_f64)
                .collect();
            let (dx, dy) = (
                stream.to_device(gpu, &x).unwrap(),
                stream.to_device(gpu, &y).unwrap(),
            );
            let (vx, vy) = (
                dx.view().slice(shift..).unwrap(),
                dy.view().slice(shift..).unwrap(),
            );
            let x: Vec<f64> = x[shift..].iter().map(|v| v.to_f64()).collect();
            let y: Vec<f64> = y[shift..].iter().map(|v| v.to_f64()).collect();
            let mut get = |reduction| {
                stream.fill_bytes(&mut out, 0xFF).unwrap();
                reduce.run(&stream, reduction, vx, &mut out).unwrap();
                stream.to_host(&out).unwrap()[0]
            };
            let tolerance = 1e-15 * (n as f64 + 1.0).sqrt() + 1e-15;
            let norm = exact_sum(x.iter().map(|v| v * v)).sqrt();
            assert!(
                (get(Reduction::Sum) - exact_sum(x.iter().copied())).abs()
                    <= tolerance * norm.max(1.0)
            );
            assert!(
                (get(Reduction::Nrm2) - norm).abs() <= 1e-15 * 4.0 * norm,
                "n {n}"
            );
            let largest = x.iter().fold(0.0, |a: f64, v| a.max(v.abs()));
            assert_eq!(get(Reduction::Amax).to_bits(), largest.to_bits());
            stream.fill_bytes(&mut out, 0xFF).unwrap();
            reduce.dot(&stream, vx, vy, &mut out).unwrap();
            let dot = stream.to_host(&out).unwrap()[0];
            let want = exact_sum(x.iter().zip(&y).map(|(a, b)| a * b));
            assert!(
                (dot - want).abs() <= tolerance * norm.max(1.0),
                "n {n}: {dot} for {want}"
            );
        }
    }
}

#[test]
fn reductions_agree_with_exact_sums() {
    reductions::<f64>();
    reductions::<f32>();
}

#[test]
fn the_norm_neither_overflows_nor_underflows() {
    let Some((gpu, stream)) = device() else {
        return;
    };
    let mut reduce = Reduce::new(gpu, &stream).unwrap();
    let mut out = poisoned::<f64>(gpu, &stream, 1);
    let n = 5003;
    for value in [1e300, 1e200, 1.0, 1e-200, 1e-300, 5e-324] {
        let x = stream.to_device(gpu, &vec![value; n]).unwrap();
        reduce.run(&stream, Reduction::Nrm2, &x, &mut out).unwrap();
        let (got, want) = (stream.to_host(&out).unwrap()[0], value * (n as f64).sqrt());
        assert!(
            (got / want - 1.0).abs() < 1e-14 || (got - want).abs() <= 5e-324,
            "{value}: {got}"
        );
    }
    // Small beside middle, and middle beside big: neither may be lost or counted twice.
    for (a, b) in [(3e-160, 4e-160), (3e150, 4e150), (1e-150, 1e-170)] {
        let x = stream.to_device(gpu, &[a, b]).unwrap();
        reduce.run(&stream, Reduction::Nrm2, &x, &mut out).unwrap();
        let (got, want) = (stream.to_host(&out).unwrap()[0], f64::hypot(a, b));
        assert!(
            (got / want - 1.0).abs() < 1e-15 * 4.0,
            "{a} {b}: {got} for {want}"
        );
    }
}

#[test]
fn nan_and_infinity_are_carried() {
    let Some((gpu, stream)) = device() else {
        return;
    };
    let mut reduce = Reduce::new(gpu, &stream).unwrap();
    let mut out = poisoned::<f64>(gpu, &stream, 1);
    let n = 70_001;
    for place in [0, 1, 4097, n - 1] {
        for (bad, want) in [(f64::NAN, f64::NAN), (f64::NEG_INFINITY, f64::INFINITY)] {
            let mut x = vec![1.0; n];
            x[place] = bad;
            let narrow: Vec<f32> = x.iter().map(|&v| v as f32).collect();
            let (x, narrow) = (
                stream.to_device(gpu, &x).unwrap(),
                stream.to_device(gpu, &narrow).unwrap(),
            );
            for reduction in [Reduction::Sum, Reduction::Nrm2, Reduction::Amax] {
                let want = if reduction == Reduction::Sum {
                    bad
                } else {
                    want
                };
                reduce.run(&stream, reduction, &x, &mut out).unwrap();
                let wide = stream.to_host(&out).unwrap()[0];
                reduce.run(&stream, reduction, &narrow, &mut out).unwrap();
                for got in [wide, stream.to_host(&out).unwrap()[0]] {
                    assert!(
                        got == want || (got.is_nan() && want.is_nan()),
                        "{reduction:?}: {got}"
                    );
                }
            }
            reduce.dot(&stream, &x, &x, &mut out).unwrap();
            let got = stream.to_host(&out).unwrap()[0];
            assert!(got == want || (got.is_nan() && want.is_nan()), "dot: {got}");
        }
    }
}

#[test]
fn bits_repeat_and_do_not_depend_on_alignment() {
    let Some((gpu, stream)) = device() else {
        return;
    };
    let mut reduce = Reduce::new(gpu, &stream).unwrap();
    let mut out = poisoned::<f64>(gpu, &stream, 1);
    let n = 1_000_003;
    let x = Random(12).reals(n + 1);
    let at_0 = stream.to_device(gpu, &x).unwrap();
    let mut moved = vec![0.0];
    moved.extend(&x);
    let at_1 = stream.to_device(gpu, &moved).unwrap();
    let mut seen = std::collections::HashSet::new();
    for run in 0..100 {
        let view = if run % 2 == 0 {
            at_0.view().slice(..n)
        } else {
            at_1.view().slice(1..=n)
        };
        reduce
            .run(&stream, Reduction::Sum, view.unwrap(), &mut out)
            .unwrap();
        seen.insert(stream.to_host(&out).unwrap()[0].to_bits());
    }
    assert_eq!(seen.len(), 1);
}
