use super::{Numbers, epsilon, everywhere};
use crate::*;

/// `(npiv, nupd, block)`.
const FRONTS: [(usize, usize, usize); 16] = [
    (0, 0, 8),
    (0, 9, 8),
    (1, 0, 8),
    (1, 1, 8),
    (4, 12, 64),
    (7, 8, 4),
    (8, 8, 8),
    (9, 23, 8),
    (16, 48, 64),
    (31, 5, 16),
    (37, 101, 64),
    (64, 65, 64),
    (65, 64, 64),
    (130, 131, 64),
    (150, 301, 128),
    (270, 40, 96),
];

struct Front<T> {
    panel: Vec<T>,
    update: Vec<T>,
    /// The front as a full lower triangle in double precision, column-major.
    full: Vec<f64>,
}

/// A diagonally dominant front; storage without meaning is NaN.
fn front<T: Real>((npiv, nupd, block): (usize, usize, usize), mode: UpdateMode) -> Front<T> {
    let n = npiv + nupd;
    let mut x = Numbers::new((npiv * 1000 + nupd) as u64);
    let nan = T::from_f64(f64::NAN);
    let (p, u) = (
        BlockColumns::panel(npiv, nupd, block),
        BlockColumns::update(nupd, block),
    );
    let (mut panel, mut update) = (vec![nan; p.len()], vec![nan; u.len()]);
    let mut full = vec![0.0; n * n];
    for j in 0..n {
        for i in j..n {
            let y: T = if i == j {
                T::from_f64(n as f64)
            } else {
                x.next()
            };
            if j < npiv {
                panel[p.index(i, j)] = y;
            } else if mode == UpdateMode::Accumulate {
                update[u.index(i - npiv, j - npiv)] = y;
            }
            if j < npiv || mode == UpdateMode::Accumulate {
                full[i + j * n] = y.to_f64();
            }
        }
    }
    Front {
        panel,
        update,
        full,
    }
}

/// Right-looking elimination, one pivot at a time.
fn eliminate_naively(a: &mut [f64], n: usize, npiv: usize) {
    for k in 0..npiv {
        let root = a[k + k * n].sqrt();
        for i in k..n {
            a[i + k * n] /= root;
        }
        for j in k + 1..n {
            for i in j..n {
                a[i + j * n] -= a[i + k * n] * a[j + k * n];
            }
        }
    }
}

/// Compares with the elimination of the full front.
fn check<T: Real>(size: (usize, usize, usize), (panel, update): (&[T], &[T]), full: &[f64]) {
    let (npiv, nupd, block) = size;
    let n = npiv + nupd;
    let p = BlockColumns::panel(npiv, nupd, block);
    let u = BlockColumns::update(nupd, block);
    let bound = epsilon::<T>() * (n as f64 + 4.0) * 4.0;
    for j in 0..n {
        for i in j..n {
            let got = match j.checked_sub(npiv) {
                None => panel[p.index(i, j)],
                Some(j) => update[u.index(i - npiv, j)],
            };
            let want = full[i + j * n];
            let error = (got.to_f64() - want).abs();
            assert!(error <= bound * (1.0 + want.abs()), "{size:?} ({i},{j})");
        }
    }
}

#[test]
fn fronts_match_elimination_one_pivot_at_a_time() {
    fn body<T: Real>(isa: Isa) {
        for size in FRONTS {
            for mode in [UpdateMode::Accumulate, UpdateMode::Overwrite] {
                let (npiv, nupd, block) = size;
                let n = npiv + nupd;
                // Large enough for all, for this front, and too small: the result is always right.
                let order = [usize::MAX, n, n / 3][npiv % 3];
                let mut ws = Workspace::<T>::with_isa(block, order, isa);
                let Front {
                    mut panel,
                    mut update,
                    mut full,
                } = front::<T>(size, mode);
                partial_cholesky(
                    &mut panel,
                    &mut update,
                    (npiv, nupd),
                    block,
                    (mode, Floor::NONE),
                    &mut ws,
                )
                .unwrap();
                eliminate_naively(&mut full, n, npiv);
                check(size, (&panel, &update), &full);
            }
        }
    }
    everywhere!(body);
}

#[test]
fn tiny_fronts_are_written_in_strips_alike() {
    fn body<T: Real>(isa: Isa) {
        let nan = T::from_f64(f64::NAN);
        for (npiv, nupd) in (1..=8).flat_map(|k| (0..=16 - k).map(move |u| (k, u))) {
            let (size, mode) = ((npiv, nupd, 64), UpdateMode::Accumulate);
            let Front { panel, update, .. } = front::<T>(size, mode);
            let strips = PanelLayout::Strips(Strips::panel(npiv, nupd, size_of::<T>()));
            let mut to = vec![nan; strips.len() + 16];
            let (mut p, mut u) = (panel.clone(), update.clone());
            let (mut q, mut v) = (panel, update);
            let view = |p: &mut [T], u: &mut [T]| {
                FrontMut::new(p.as_mut_ptr(), u.as_mut_ptr(), npiv, nupd, 64)
            };
            let (f, g) = (view(&mut p, &mut u), view(&mut q, &mut v));
            // SAFETY: the fronts are valid and tiny, and there is room for the strips.
            unsafe {
                eliminate_tiny(f, Some(mode), isa, None).unwrap();
                eliminate_tiny(g, Some(mode), isa, Some(to.as_mut_ptr())).unwrap();
            }
            let blocks = BlockColumns::panel(npiv, nupd, 64);
            for (i, j) in (0..npiv).flat_map(|j| (j..npiv + nupd).map(move |i| (i, j))) {
                let (inverse, want) = (to[strips.index(j, j)], p[blocks.index(i, j)]);
                if i > j {
                    let got = to[strips.index(i, j)];
                    assert!(got == want * inverse, "{size:?} ({i},{j})");
                }
                let [got, want] = [strips.entry(&to, i, j), want].map(|x| x.to_f64());
                let bound = 4.0 * epsilon::<T>() * want.abs();
                assert!((got - want).abs() <= bound, "{size:?} ({i},{j})");
            }
            assert!(to[strips.len()..].iter().all(|x| x.to_f64().is_nan()));
            assert!(
                u.iter()
                    .zip(&v)
                    .all(|(a, b)| a.to_f64().to_bits() == b.to_f64().to_bits())
            );
        }
    }
    everywhere!(body);
}

/// Bits of the entries that have a meaning.
fn bits<T: Real>(size: (usize, usize, usize), panel: &[T], update: &[T]) -> Vec<u64> {
    let (npiv, nupd, block) = size;
    let p = BlockColumns::panel(npiv, nupd, block);
    let u = BlockColumns::update(nupd, block);
    let mut out = Vec::new();
    for (l, data) in [(p, panel), (u, update)] {
        for j in 0..l.cols {
            out.extend((j..l.rows).map(|i| data[l.index(i, j)].to_f64().to_bits()));
        }
    }
    out
}

/// Eliminates in steps, every piece cut into ranges of `cut` micropanels, the last first.
fn eliminate_in_steps<T: Real>(
    (npiv, nupd, block): (usize, usize, usize),
    (panel, update): (&mut [T], &mut [T]),
    (mode, isa, cut): (UpdateMode, Isa, usize),
) -> Result<(), PivotFailure> {
    let nan = T::from_f64(f64::NAN);
    let mut packed = vec![nan; packed_len::<T>(npiv, nupd, block, isa)];
    let f = FrontMut::new(panel.as_mut_ptr(), update.as_mut_ptr(), npiv, nupd, block);
    let steps = Steps::new(f, packed.as_mut_ptr(), isa);
    let ranges = |count: usize| {
        let all = (0..count).step_by(cut);
        all.map(move |p| p..count.min(p + cut)).rev()
    };
    for step in 0..steps.count() {
        let count = steps.micropanels(step);
        let mode = if step == 0 {
            mode
        } else {
            UpdateMode::Accumulate
        };
        // SAFETY: the pieces run one after another in an admissible order.
        unsafe {
            steps.factor_diagonal(step)?;
            ranges(count).for_each(|p| steps.solve(step, p));
            for p in ranges(count) {
                for q in ranges(p.end) {
                    steps.update(step, p.clone(), q, mode);
                }
            }
        }
    }
    Ok(())
}

#[test]
fn steps_in_any_cut_give_the_same_bits_and_eliminate() {
    fn body<T: Real>(isa: Isa) {
        let more = [
            (300, 77, 64),
            (513, 30, 100),
            (90, 20, 300),
            (530, 150, 250),
        ];
        // Without pivots there are no steps.
        for size in FRONTS.into_iter().skip(2).chain(more) {
            for mode in [UpdateMode::Accumulate, UpdateMode::Overwrite] {
                let (npiv, nupd, _) = size;
                let Front {
                    panel,
                    update,
                    mut full,
                } = front::<T>(size, mode);
                eliminate_naively(&mut full, npiv + nupd, npiv);
                let mut first = None;
                for cut in [1000, 1, 5] {
                    let (mut p, mut u) = (panel.clone(), update.clone());
                    eliminate_in_steps(size, (&mut p, &mut u), (mode, isa, cut)).unwrap();
                    check(size, (&p, &u), &full);
                    let bits = bits(size, &p, &u);
                    let first = first.get_or_insert_with(|| bits.clone());
                    assert!(*first == bits, "{isa:?} {size:?} {mode:?} cut {cut}");
                }
            }
        }
    }
    everywhere!(body);
}

#[test]
fn a_bad_pivot_is_counted_from_the_front_s_first() {
    fn body<T: Real>(isa: Isa) {
        let (npiv, nupd, block) = (100, 20, 16);
        let mut ws = Workspace::<T>::with_isa(block, usize::MAX, isa);
        for at in [0, 15, 16, 77, 99] {
            let mode = UpdateMode::Accumulate;
            let Front {
                mut panel,
                mut update,
                ..
            } = front::<T>((npiv, nupd, block), mode);
            let p = BlockColumns::panel(npiv, nupd, block);
            panel[p.index(at, at)] = T::from_f64(-1000.0);
            let (mut q, mut v) = (panel.clone(), update.clone());
            let size = (npiv, nupd, block);
            let whole = partial_cholesky(
                &mut panel,
                &mut update,
                (npiv, nupd),
                block,
                (mode, Floor::NONE),
                &mut ws,
            );
            let steps = eliminate_in_steps(size, (&mut q, &mut v), (mode, isa, 3));
            for e in [whole.unwrap_err(), steps.unwrap_err()] {
                assert_eq!(e.index, at);
                assert!(e.value <= -1000.0);
            }
        }
    }
    everywhere!(body);
}
