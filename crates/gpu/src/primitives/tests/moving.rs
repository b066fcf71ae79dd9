use super::{Random, device, lengths, poisoned};
use crate::primitives::{Copies, MatrixView, MatrixViewMut, Real, Transpose};
use crate::{DevicePtr, DeviceViewMut};

/// Guard elements before and after what an operation may write, at an odd offset when `shift` is 1.
const GUARD: usize = 4;

fn bits<T: Real>(v: &[T]) -> Vec<u64> {
    v.iter().map(|x| x.to_f64().to_bits()).collect()
}

fn reals<T: Real>(random: &mut Random, n: usize) -> Vec<T> {
    let mut v: Vec<T> = random.reals(n).into_iter().map(T::from_f64).collect();
    for (i, x) in v.iter_mut().enumerate().filter(|(i, _)| i % 101 == 7) {
        *x = T::from_f64([f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0][i / 101 % 4]);
    }
    v
}

fn copies_and_fills<T: Real>() {
    let Some((gpu, stream)) = device() else {
        return;
    };
    let copies = Copies::new(gpu).unwrap();
    let mut random = Random(1);
    for n in lengths(1024) {
        for (shift_from, shift_to) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
            let x = reals::<T>(&mut random, n + 2 * GUARD);
            let from = stream.to_device(gpu, &x).unwrap();
            let mut to = poisoned::<T>(gpu, &stream, n + 2 * GUARD);
            let (a, b) = (GUARD - shift_from, GUARD - shift_to);
            let source = from.view().slice(a..a + n).unwrap();
            copies
                .copy(&stream, source, to.view_mut().slice_mut(b..b + n).unwrap())
                .unwrap();
            let got = stream.to_host(&to).unwrap();
            assert_eq!(bits(&got[b..b + n]), bits(&x[a..a + n]), "n {n}");
            let outside = got[..b].iter().chain(&got[b + n..]);
            assert!(
                outside.clone().all(|v| v.to_f64().is_nan()),
                "n {n}: wrote outside"
            );
            copies
                .fill(
                    &stream,
                    T::from_f64(1.5),
                    to.view_mut().slice_mut(b..b + n).unwrap(),
                )
                .unwrap();
            let got = stream.to_host(&to).unwrap();
            assert!(got[b..b + n].iter().all(|v| v.to_f64() == 1.5), "n {n}");
            let outside = got[..b].iter().chain(&got[b + n..]);
            assert!(
                outside.clone().all(|v| v.to_f64().is_nan()),
                "n {n}: filled outside"
            );
        }
    }
}

#[test]
fn copies_and_fills_move_exactly_their_range() {
    copies_and_fills::<f64>();
    copies_and_fills::<f32>();
}

fn shapes() -> Vec<(u32, u32, usize, usize)> {
    // rows, columns, leading dimensions.
    vec![
        (0, 5, 0, 5),
        (5, 0, 5, 1),
        (1, 1, 1, 1),
        (1, 1000, 3, 1000),
        (63, 64, 64, 65),
        (64, 64, 64, 64),
        (65, 63, 68, 64),
        (128, 300, 132, 304),
        (127, 331, 131, 337),
        (10_007, 3, 10_008, 4),
    ]
}

fn packs<T: Real>() {
    let Some((gpu, stream)) = device() else {
        return;
    };
    let copies = Copies::new(gpu).unwrap();
    let mut random = Random(2);
    for (rows, columns, ld, _) in shapes() {
        let ld = ld.max(rows as usize);
        let (m, n) = (rows as usize, columns as usize);
        let x = reals::<T>(&mut random, ld * n);
        let from = stream.to_device(gpu, &x).unwrap();
        let mut to = poisoned::<T>(gpu, &stream, m * n);
        let view = MatrixView::new(&from, rows, columns, ld).unwrap();
        copies.pack(&stream, view, &mut to).unwrap();
        let want: Vec<T> = (0..m * n).map(|k| x[k % m + k / m * ld]).collect();
        assert_eq!(
            bits(&stream.to_host(&to).unwrap()),
            bits(&want),
            "{m} x {n}"
        );
        let mut back = poisoned::<T>(gpu, &stream, ld * n);
        let view = MatrixViewMut::new(&mut back, rows, columns, ld).unwrap();
        copies.unpack(&stream, &to, view).unwrap();
        for (k, (got, x)) in stream.to_host(&back).unwrap().iter().zip(&x).enumerate() {
            let (got, inside) = (got.to_f64(), k % ld < m);
            assert!(if inside {
                got.to_bits() == x.to_f64().to_bits()
            } else {
                got.is_nan()
            });
        }
    }
}

#[test]
fn packing_drops_the_gaps_and_unpacking_spares_them() {
    packs::<f64>();
    packs::<f32>();
}

fn transposes<T: Real>() {
    let Some((gpu, stream)) = device() else {
        return;
    };
    let transpose = Transpose::new(gpu).unwrap();
    let mut random = Random(3);
    for (rows, columns, ld, ld_to) in shapes() {
        let (m, n) = (rows as usize, columns as usize);
        let (ld, ld_to) = (ld.max(m), ld_to.max(n));
        let x = reals::<T>(&mut random, ld * n);
        let from = stream.to_device(gpu, &x).unwrap();
        let mut to = poisoned::<T>(gpu, &stream, ld_to * m);
        let source = MatrixView::new(&from, rows, columns, ld).unwrap();
        let target = MatrixViewMut::new(&mut to, columns, rows, ld_to).unwrap();
        transpose.run(&stream, source, target).unwrap();
        for (k, got) in stream.to_host(&to).unwrap().iter().enumerate() {
            let (j, i) = (k % ld_to, k / ld_to);
            let got = got.to_f64();
            if j < n {
                assert_eq!(
                    got.to_bits(),
                    x[i + j * ld].to_f64().to_bits(),
                    "{m} x {n}: {i}, {j}"
                );
            } else {
                assert!(got.is_nan(), "{m} x {n}: wrote into a gap");
            }
        }
    }
}

#[test]
fn transposing_moves_every_entry() {
    transposes::<f64>();
    transposes::<f32>();
}

#[test]
fn gather_and_scatter_are_inverse_and_stay_inside() {
    let Some((gpu, stream)) = device() else {
        return;
    };
    let copies = Copies::new(gpu).unwrap();
    let mut random = Random(4);
    for n in lengths(1024) {
        let mut index: Vec<u32> = (0..n as u32).collect();
        for i in (1..n).rev() {
            index.swap(i, random.below(i as u64 + 1) as usize);
        }
        let x = reals::<f64>(&mut random, n);
        let from = stream.to_device(gpu, &x).unwrap();
        let mut wild = index.clone();
        if n > 2 {
            wild[n / 2] = u32::MAX;
        }
        let wild_index = stream.to_device(gpu, &wild).unwrap();
        let index_here = stream.to_device(gpu, &index).unwrap();
        let mut to = poisoned::<f64>(gpu, &stream, n);
        copies.gather(&stream, &wild_index, &from, &mut to).unwrap();
        for (i, got) in stream.to_host(&to).unwrap().iter().enumerate() {
            let want = x
                .get(wild[i] as usize)
                .copied()
                .unwrap_or(f64::from_bits(u64::MAX));
            assert_eq!(got.to_bits(), want.to_bits());
        }
        copies.gather(&stream, &index_here, &from, &mut to).unwrap();
        let mut back = poisoned::<f64>(gpu, &stream, n);
        copies
            .scatter(&stream, &index_here, &to, &mut back)
            .unwrap();
        assert_eq!(bits(&stream.to_host(&back).unwrap()), bits(&x));
        let mut back = poisoned::<f64>(gpu, &stream, n);
        copies
            .scatter(&stream, &wild_index, &to, &mut back)
            .unwrap();
        let missing = if n > 2 { 1 } else { 0 };
        let got = stream.to_host(&back).unwrap();
        let poison = got.iter().filter(|v| v.to_bits() == u64::MAX).count();
        assert_eq!(poison, missing);
    }
}

#[test]
fn parts_of_matrices_lie_where_their_columns_do() {
    // Addresses alone: nothing is read.
    let of = |len| DeviceViewMut::<f64>::new(DevicePtr::from_address(256), len);
    let mut matrix = MatrixViewMut::new(of(27), 7, 3, 10).unwrap();
    assert!(!matrix.view().is_packed());
    let part = matrix.view().part(1..3).unwrap();
    assert_eq!((part.ptr().address(), part.len()), (256 + 80, 17));
    let part = matrix.part_mut(2..3).unwrap();
    assert_eq!((part.ptr().address(), part.len()), (256 + 160, 7));
    assert!(matrix.view().part(3..3).unwrap().is_empty());
    assert!(matrix.part_mut(2..4).is_err());
    #[allow(clippy::reversed_empty_ranges)]
    let reversed = matrix.view().part(2..1);
    assert!(reversed.is_err());
    let mut packed = MatrixViewMut::new(of(21), 7, 3, 7).unwrap();
    assert!(packed.view().is_packed());
    assert_eq!(packed.part_mut(0..3).unwrap().len(), 21);
    assert!(MatrixViewMut::new(of(26), 7, 3, 10).is_err());
}
