use super::{Numbers, Poisoned, epsilon, everywhere};
use crate::*;

/// `(npiv, nupd, block)`.
const PANELS: [(usize, usize, usize); 11] = [
    (0, 5, 8),
    (1, 0, 8),
    (1, 1, 4),
    (7, 9, 4),
    (8, 16, 8),
    (9, 3, 64),
    (23, 41, 16),
    (64, 130, 64),
    (67, 61, 64),
    (131, 17, 64),
    (290, 33, 96),
];

/// A panel with a small strict lower part and NaN where nothing has a meaning.
fn panel<T: Real>((npiv, nupd, block): (usize, usize, usize), x: &mut Numbers) -> Vec<T> {
    let layout = BlockColumns::panel(npiv, nupd, block);
    let mut l = vec![T::from_f64(f64::NAN); layout.len()];
    let scale = 1.0 / (npiv as f64 + 1.0);
    for j in 0..npiv {
        for i in j..npiv + nupd {
            let y = x.next::<f64>();
            l[layout.index(i, j)] = T::from_f64(if i == j { 1.0 + y * y } else { y * scale });
        }
    }
    l
}

#[test]
fn substitution_undoes_the_product() {
    fn body<T: Real>(isa: Isa) {
        let mut x = Numbers::new(7);
        for size in PANELS {
            for nrhs in [0, 1, 2, 3, 4, 5, 8, 37] {
                let l = panel::<T>(size, &mut x);
                forward_case(isa, size, nrhs, &l, &mut x);
                backward_case(isa, size, nrhs, &l, &mut x);
            }
        }
    }
    everywhere!(body);
}

fn forward_case<T: Real>(
    isa: Isa,
    (npiv, nupd, block): (usize, usize, usize),
    nrhs: usize,
    l: &[T],
    x: &mut Numbers,
) {
    let mut ws = Workspace::<T>::with_isa(block, isa);
    let p = PanelRef::new(l, npiv, nupd, block);
    let b = Poisoned::<T>::new(npiv, nrhs, |_, _| x.next());
    let c = Poisoned::<T>::new(nupd, nrhs, |_, _| x.next());
    let (mut u, mut y) = (b.clone(), c.clone());
    // SAFETY: the right-hand sides have these sizes.
    unsafe {
        p.forward_diagonal(u.arg_mut(), nrhs, &mut ws);
        p.forward_update(0..nupd, u.arg(), y.arg_mut(), nrhs, &mut ws);
    }
    assert!(u.intact() && y.intact());
    let at = |i: usize, j: usize| l[p.layout().index(i, j)].to_f64();
    for r in 0..nrhs {
        for i in 0..npiv + nupd {
            // L·[u; y − c] = b above and 0 below
            let (mut got, want) = if i < npiv {
                (0.0, b.at(i, r))
            } else {
                (y.at(i - npiv, r), c.at(i - npiv, r))
            };
            let mut sum = want.abs();
            for j in 0..npiv.min(i + 1) {
                got += at(i, j) * u.at(j, r);
                sum += (at(i, j) * u.at(j, r)).abs();
            }
            let bound = epsilon::<T>() * (npiv as f64 + 4.0) * sum;
            assert!((got - want).abs() <= bound, "{npiv} {nupd} {nrhs} row {i}");
        }
    }
    // any cut of the rows gives the same bits
    let mut z = c.clone();
    for start in (0..nupd).step_by(11).rev() {
        // SAFETY: as above.
        unsafe {
            let rows = start..nupd.min(start + 11);
            p.forward_update(rows, u.arg(), z.arg_mut(), nrhs, &mut ws);
        }
    }
    for r in 0..nrhs {
        assert!((0..nupd).all(|i| z.at(i, r).to_bits() == y.at(i, r).to_bits()));
    }
}

fn backward_case<T: Real>(
    isa: Isa,
    (npiv, nupd, block): (usize, usize, usize),
    nrhs: usize,
    l: &[T],
    x: &mut Numbers,
) {
    let mut ws = Workspace::<T>::with_isa(block, isa);
    let p = PanelRef::new(l, npiv, nupd, block);
    let b = Poisoned::<T>::new(npiv, nrhs, |_, _| x.next());
    let y = Poisoned::<T>::new(nupd, nrhs, |_, _| x.next());
    let mut u = b.clone();
    // SAFETY: the right-hand sides have these sizes.
    unsafe {
        for k in 0..p.layout().blocks() {
            p.backward_update(k, u.arg_mut(), y.arg(), nrhs, &mut ws);
        }
        p.backward_diagonal(u.arg_mut(), nrhs, &mut ws);
    }
    assert!(u.intact());
    for r in 0..nrhs {
        for j in 0..npiv {
            let (mut got, mut sum) = (0.0, b.at(j, r).abs());
            for i in j..npiv + nupd {
                let v = if i < npiv {
                    u.at(i, r)
                } else {
                    y.at(i - npiv, r)
                };
                let term = l[p.layout().index(i, j)].to_f64() * v;
                got += term;
                sum += term.abs();
            }
            let bound = epsilon::<T>() * ((npiv + nupd) as f64 + 4.0) * sum;
            assert!(
                (got - b.at(j, r)).abs() <= bound,
                "{npiv} {nupd} {nrhs} column {j}"
            );
        }
    }
}
