use super::{Numbers, epsilon, everywhere};
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

/// The same panel in strips, and NaN behind it.
fn in_strips<T: Real>(
    (npiv, nupd, block): (usize, usize, usize),
    blocks: &[T],
    isa: Isa,
) -> Vec<T> {
    let layout = Strips::panel(npiv, nupd, size_of::<T>());
    let mut l = vec![T::from_f64(f64::NAN); layout.len() + 64];
    // SAFETY: both sides hold the panel.
    unsafe { write_strips(blocks.as_ptr(), (npiv, nupd), block, l.as_mut_ptr(), isa) };
    let from = BlockColumns::panel(npiv, nupd, block);
    for (i, j) in (0..npiv).flat_map(|j| (j..npiv + nupd).map(move |i| (i, j))) {
        let inverse = T::ONE / blocks[from.index(j, j)];
        let scaled = blocks[from.index(i, j)] * inverse;
        let want = if i == j { inverse } else { scaled };
        let got = l[layout.index(i, j)];
        assert!(got == want, "{npiv} {nupd}: entry ({i}, {j})");
    }
    assert!(l[layout.len()..].iter().all(|x| x.to_f64().is_nan()));
    l
}

#[test]
fn substitution_undoes_the_product() {
    fn body<T: Real>(isa: Isa) {
        let mut x = Numbers::new(7);
        for size in PANELS {
            for nrhs in [1, 2, 3, 8, 9, 16] {
                let l = panel::<T>(size, &mut x);
                let case = Case::new(isa, size, nrhs, &l, &mut x);
                case.forward();
                case.backward();
                let strips = in_strips(size, &l, isa);
                case.strips(isa, &strips);
                if nrhs == 1 && (1..=THIN).contains(&size.0) {
                    case.thin(isa, &strips);
                }
            }
        }
    }
    everywhere!(body);
}

/// A panel and right-hand sides, poisoned behind the last row.
struct Case<'a, T> {
    panel: PanelRef<'a, T>,
    w: Vec<T>,
    nrhs: usize,
    stride: usize,
    at: Box<dyn Fn(usize, usize) -> f64 + 'a>,
}

const POISON: f64 = 1234.5;

impl<'a, T: Real> Case<'a, T> {
    fn new(
        isa: Isa,
        (npiv, nupd, block): (usize, usize, usize),
        nrhs: usize,
        l: &'a [T],
        x: &mut Numbers,
    ) -> Self {
        let panel = PanelRef::new(l, BlockColumns::panel(npiv, nupd, block), isa);
        let stride = rhs_stride::<T>(nrhs, isa);
        let mut w = vec![T::ZERO; (npiv + nupd) * stride];
        for row in w.chunks_mut(stride) {
            row[..nrhs].fill_with(|| x.next());
        }
        w.extend([T::from_f64(POISON); 64]);
        let layout = panel.layout();
        Self {
            panel,
            w,
            nrhs,
            stride,
            at: Box::new(move |i, j| l[layout.index(i, j)].to_f64()),
        }
    }

    fn size(&self) -> (usize, usize) {
        let l = self.panel.layout();
        (l.cols, l.rows)
    }

    fn entry(&self, w: &[T], i: usize, r: usize) -> f64 {
        w[i * self.stride + r].to_f64()
    }

    /// The whole and every cut into pieces give the same bits; that result, if nothing was written
    /// behind the end.
    fn same(&self, whole: impl Fn(*mut T), in_pieces: impl Fn(*mut T, usize)) -> Vec<T> {
        let mut want = self.w.clone();
        whole(want.as_mut_ptr());
        for piece in [1, 11, 1000] {
            let mut w = self.w.clone();
            in_pieces(w.as_mut_ptr(), piece);
            assert!(
                w.iter().zip(&want).all(|(a, b)| a == b),
                "pieces of {piece}"
            );
        }
        let end = want.len() - 64;
        assert!(want[end..].iter().all(|x| x.to_f64() == POISON));
        want
    }

    fn forward(&self) {
        let (npiv, order) = self.size();
        let p = &self.panel;
        // SAFETY: w has the front's rows.
        let whole = |w| unsafe { p.forward(w, self.stride) };
        // SAFETY: as above; pieces run in an admissible order.
        let in_pieces = |w, piece| unsafe {
            for b in 0..p.layout().blocks() {
                p.forward_diagonal(b, w, self.stride);
                let below = b * p.layout().block + p.layout().width(b);
                for from in (below..order).step_by(piece).rev() {
                    p.forward_rows(b, from..order.min(from + piece), w, self.stride);
                }
            }
        };
        let u = self.same(whole, in_pieces);
        for (i, r) in (0..order).flat_map(|i| (0..self.nrhs).map(move |r| (i, r))) {
            // L·u = w, with the unit matrix below the pivots
            let want = self.entry(&self.w, i, r);
            let mut got = if i < npiv { 0.0 } else { self.entry(&u, i, r) };
            let mut sum = want.abs();
            for j in 0..npiv.min(i + 1) {
                let term = (self.at)(i, j) * self.entry(&u, j, r);
                got += term;
                sum += term.abs();
            }
            let bound = epsilon::<T>() * (npiv as f64 + 4.0) * sum;
            assert!((got - want).abs() <= bound, "{npiv} {order} row {i}");
        }
    }

    fn backward(&self) {
        let (npiv, order) = self.size();
        let p = &self.panel;
        // SAFETY: w has the front's rows.
        let whole = |w| unsafe { p.backward(w, self.stride) };
        // SAFETY: as above; pieces run in an admissible order.
        let in_pieces = |w, piece: usize| unsafe {
            let l = p.layout();
            let piece = piece.next_multiple_of(8);
            for b in (0..l.blocks()).rev() {
                let columns = b * l.block..b * l.block + l.width(b);
                for from in columns.clone().step_by(piece).rev() {
                    p.backward_far(b, from..columns.end.min(from + piece), w, self.stride);
                }
                p.backward_near(b, w, self.stride);
            }
        };
        // SAFETY: as above.
        let in_two = |w| unsafe { p.backward_in_two(w, self.stride) };
        let mut at_once = self.w.clone();
        whole(at_once.as_mut_ptr());
        for u in [self.same(in_two, in_pieces), at_once] {
            for (j, r) in (0..npiv).flat_map(|j| (0..self.nrhs).map(move |r| (j, r))) {
                let want = self.entry(&self.w, j, r);
                let (mut got, mut sum) = (0.0, want.abs());
                for i in j..order {
                    let term = (self.at)(i, j) * self.entry(&u, i, r);
                    got += term;
                    sum += term.abs();
                }
                let bound = epsilon::<T>() * (order as f64 + 4.0) * sum;
                assert!((got - want).abs() <= bound, "{npiv} {order} column {j}");
            }
        }
    }

    /// Rows of pivots times the entries on L's diagonal, or over them: strips take and give others than block columns.
    fn times_roots(&self, w: &mut [T], power: i32) {
        for (j, row) in w.chunks_mut(self.stride).enumerate().take(self.size().0) {
            let by = (self.at)(j, j).powi(power);
            row.iter_mut()
                .for_each(|x| *x = T::from_f64(x.to_f64() * by));
        }
    }

    /// In strips, against block columns; the sums differ by rounding only.
    fn strips(&self, isa: Isa, l: &[T]) {
        let (npiv, order) = self.size();
        let layout = Strips::panel(npiv, order - npiv, size_of::<T>());
        let panel = StripsRef::new(l, layout, isa);
        for forward in [true, false] {
            let (mut want, mut got) = (self.w.clone(), self.w.clone());
            if !forward {
                self.times_roots(&mut got, -1);
            }
            let (wanted, w) = (want.as_mut_ptr(), got.as_mut_ptr());
            // SAFETY: both have the front's rows.
            unsafe {
                if forward {
                    self.panel.forward(wanted, self.stride);
                    panel.forward(w, self.stride);
                } else {
                    self.panel.backward(wanted, self.stride);
                    panel.backward(w, self.stride);
                }
            }
            if forward {
                self.times_roots(&mut got, 1);
            }
            for (got, want) in got.iter().zip(&want) {
                let (got, want) = (got.to_f64(), want.to_f64());
                let bound = epsilon::<T>() * (64 + order) as f64 * (1.0 + want.abs());
                assert!((got - want).abs() <= bound, "{npiv} {order}: {got} {want}");
            }
        }
    }

    /// Thin fronts, their rows standing elsewhere in reverse order, against whole ones; the sums differ by rounding only.
    fn thin(&self, isa: Isa, l: &[T]) {
        let (pivots, order) = self.size();
        let (npiv, l) = (pivots, l.as_ptr());
        let nupd = order - npiv;
        let rows: Vec<u32> = (0..nupd as u32).rev().collect();
        for forward in [true, false] {
            let (mut want, mut x) = (self.w.clone(), self.w[..npiv].to_vec());
            let mut y: Vec<T> = self.w[npiv..order].iter().rev().copied().collect();
            if !forward {
                self.times_roots(&mut x, -1);
            }
            let front = ThinFront {
                l,
                pivots,
                x: x.as_mut_ptr(),
                at: y.as_mut_ptr(),
                rows: &rows,
            };
            // SAFETY: x has the pivots, y the rows below.
            unsafe {
                if forward {
                    self.panel.forward(want.as_mut_ptr(), 1);
                    forward_thin(isa, std::iter::once(front));
                } else {
                    self.panel.backward(want.as_mut_ptr(), 1);
                    backward_thin(isa, std::iter::once(front));
                }
            }
            if forward {
                self.times_roots(&mut x, 1);
            }
            let got = x.iter().chain(y.iter().rev());
            for (got, want) in got.zip(&want) {
                let (got, want) = (got.to_f64(), want.to_f64());
                let bound = epsilon::<T>() * 64.0 * (1.0 + want.abs());
                assert!((got - want).abs() <= bound, "{npiv} {nupd}: {got} {want}");
            }
        }
    }
}
