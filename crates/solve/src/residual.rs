//! The residual `r = b − A x` and the size it is measured against, `|A||x| + |b|`.
//!
//! One pass over the lower triangle for one right-hand side or four together, each entry used on both sides of the diagonal: about 12 bytes
//! and 8 operations an entry, 28 bytes where columns reach far, by all threads ([`Blocks`]). The order of
//! sums follows from the pattern, so the bits do not depend on the number of threads; nothing is
//! allocated the second time.

use std::mem::ManuallyDrop;

use crate::backward::Errors;
use crate::blocks::{BLOCKS, Blocks, Walk};
use crate::substitution::Shared;

/// Precision in which residuals are computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ResidualPrecision {
    /// Double precision: enough for a small backward error.
    #[default]
    Double,
    /// Twice that, by error-free transformations (Ogita, Rump, Oishi 2005): a small forward error
    /// as well, as long as the condition number is below the inverse of the rounding unit.
    Quad,
}

/// Right-hand sides that are read of together: what a row has got of them fills a line of a cache.
pub(crate) const LANES: usize = 4;

/// What a row has got of some right-hand sides; side by side, because rows are met in any order.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Row<const W: usize> {
    /// `(b − A x)_i`.
    pub r: [f64; W],
    /// `(|A||x| + |b|)_i`.
    pub size: [f64; W],
}

/// The same of one while its matrix is measured, and in `r` what a row has got of `|A|`, in `size` how many entries.
type FirstRow = [Row<1>; 2];

/// The same of one for [`ResidualPrecision::Quad`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct LongRow {
    row: Row<1>,
    /// The rounding error of `r`.
    low: f64,
}

/// Rows of residuals, n of them, used again and again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Residual {
    /// Of the right-hand side that was alone.
    pub rows: Vec<Row<1>>,
    /// Whether these are first rows, one behind the other: new memory is slow, so that it is not copied for nothing.
    are_first: bool,
    /// Of those that were together, and their answers.
    together: Vec<Row<LANES>>,
    x: Vec<[f64; LANES]>,
    long: Vec<LongRow>,
    walk: Walk,
}

/// What a matrix is measured by.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Norms {
    /// `‖A‖∞`, NaN where an entry is.
    pub norm: f64,
    /// Most entries in a row of the full symmetric matrix.
    pub most_entries: usize,
}

/// Largest values in a block of rows.
#[derive(Clone, Copy, Default)]
struct Largest {
    r: f64,
    x: f64,
    b: f64,
    /// Of the componentwise errors.
    error: f64,
}

/// What has the row of some right-hand sides.
trait HasRow<const W: usize>: Sync {
    fn row(&self) -> &Row<W>;
}

impl<const W: usize> HasRow<W> for Row<W> {
    fn row(&self) -> &Row<W> {
        self
    }
}

impl HasRow<1> for FirstRow {
    fn row(&self) -> &Row<1> {
        &self[0]
    }
}

impl<const W: usize> Row<W> {
    /// Before anything was subtracted from right-hand sides.
    fn start(r: [f64; W]) -> Self {
        let size = r.map(f64::abs);
        Self { r, size }
    }

    /// Subtracts an entry's products.
    #[inline(always)]
    fn subtract(&mut self, v: f64, x: [f64; W]) {
        for (lane, x) in x.iter().enumerate() {
            let product = v * x;
            self.r[lane] -= product;
            self.size[lane] += product.abs();
        }
    }
}

impl Residual {
    /// Copies `b − A x` of the right-hand side that was alone to `to`, of length n.
    pub fn copy_to(&self, blocks: &Blocks<'_>, to: &mut [f64]) {
        match self.are_first {
            true => copy_lane(self.rows.as_chunks::<2>().0, 0, blocks, to),
            false => copy_lane(&self.rows, 0, blocks, to),
        }
    }

    /// The same of one of those that were together.
    pub fn copy_lane_to(&self, lane: usize, blocks: &Blocks<'_>, to: &mut [f64]) {
        copy_lane(&self.together, lane, blocks, to);
    }

    /// `y ← A x` for the matrix that was measured last.
    pub fn product(&mut self, blocks: &Blocks<'_>, x: &[f64], y: &mut Vec<f64>) {
        let add = |sum: &mut f64, v: f64, x: f64| *sum += v * x;
        blocks.sum(&mut self.walk, y, x, |_| 0.0, add);
    }

    /// Norm and row counts of a matrix, and what residuals of it need; overwrites the rows.
    pub fn measure(&mut self, blocks: &Blocks<'_>) -> Norms {
        blocks.prepare(&mut self.walk);
        let nothing = Row {
            r: [0.0],
            size: [0.0],
        };
        self.are_first = false;
        // Entries are counted in `r`.
        let add = |row: &mut Row<1>, v: f64, ()| {
            row.r[0] += 1.0;
            row.size[0] += v.abs();
        };
        let x = vec![(); blocks.a.n()]; // no memory
        blocks.sum(&mut self.walk, &mut self.rows, &x, |_| nothing, add);
        norms(&self.rows, blocks, |row| (row.size[0], row.r[0]))
    }

    /// The same with the errors of the answer `x` to one right-hand side `b`, in one pass over the matrix. For matrices
    /// [with many entries](Blocks::is_heavy): rows are twice as long meanwhile.
    pub fn measure_alone(&mut self, blocks: &Blocks<'_>, x: &[f64], b: &[f64]) -> (Norms, Errors) {
        blocks.prepare(&mut self.walk);
        let nothing = Row {
            r: [0.0],
            size: [0.0],
        };
        let start = |i: usize| [Row::start([b[i]]), nothing];
        let add = |[row, of]: &mut FirstRow, v: f64, x: f64| {
            row.subtract(v, [x]);
            of.r[0] += v.abs();
            of.size[0] += 1.0;
        };
        let mut first = in_pairs(std::mem::take(&mut self.rows));
        blocks.sum(&mut self.walk, &mut first, x, start, add);
        let norms = norms(&first, blocks, |[_, of]| (of.r[0], of.size[0]));
        let [errors] = errors(&first, blocks, &norms, [x], [b]);
        self.rows = first.into_flattened();
        self.are_first = true;
        (norms, errors)
    }

    /// Errors of the answer `x` to one right-hand side `b` of the matrix that was measured last, user order; its residual stays here.
    pub fn alone(
        &mut self,
        blocks: &Blocks<'_>,
        norms: &Norms,
        x: &[f64],
        b: &[f64],
        precision: ResidualPrecision,
    ) -> Errors {
        self.are_first = false;
        match precision {
            ResidualPrecision::Double => {
                let (x, _) = x.as_chunks();
                subtract(&mut self.walk, &mut self.rows, blocks, x, [b]);
            }
            ResidualPrecision::Quad => self.quad(blocks, x, b),
        }
        let [errors] = errors(&self.rows, blocks, norms, [x], [b]);
        errors
    }

    /// The same for several together, in double precision: the same bits, and the matrix is read once.
    pub fn together(
        &mut self,
        blocks: &Blocks<'_>,
        norms: &Norms,
        x: [&[f64]; LANES],
        b: [&[f64]; LANES],
    ) -> [Errors; LANES] {
        blocks.fill(&mut self.x, |i| x.map(|x| x[i]));
        subtract(&mut self.walk, &mut self.together, blocks, &self.x, b);
        errors(&self.together, blocks, norms, x, b)
    }

    fn quad(&mut self, blocks: &Blocks<'_>, x: &[f64], b: &[f64]) {
        let start = |i: usize| LongRow {
            row: Row::start([b[i]]),
            low: 0.0,
        };
        // `r −= v·x`, with the errors of product and sum kept apart.
        let add = |to: &mut LongRow, v: f64, x: f64| {
            let product = v * x;
            let product_error = v.mul_add(x, -product);
            let before = to.row.r[0];
            let sum = before - product;
            let part = sum - before;
            let sum_error = (before - (sum - part)) - (product + part);
            to.row.r[0] = sum;
            to.row.size[0] += product.abs();
            to.low += sum_error - product_error;
        };
        blocks.sum(&mut self.walk, &mut self.long, x, start, add);
        let long = &self.long;
        blocks.fill(&mut self.rows, |i| {
            let LongRow { row, low } = long[i];
            let r = [row.r[0] + low];
            Row { r, ..row }
        });
    }
}

/// `r ← b − A x`, and sizes likewise.
fn subtract<const W: usize>(
    walk: &mut Walk,
    rows: &mut Vec<Row<W>>,
    blocks: &Blocks<'_>,
    x: &[[f64; W]],
    b: [&[f64]; W],
) {
    let start = |i: usize| Row::start(b.map(|b| b[i]));
    blocks.sum(walk, rows, x, start, |row, v, x| row.subtract(v, x));
}

/// Largest sum and largest count of all rows, given those of one.
fn norms<S: Sync>(all: &[S], blocks: &Blocks<'_>, of: impl Fn(&S) -> (f64, f64) + Sync) -> Norms {
    let mut parts = [(0.0, 0.0); BLOCKS];
    let found = Shared(parts.as_mut_ptr());
    blocks.for_rows(|block, rows| {
        let own = &all[rows];
        let sums = largest(own.iter().map(|row| of(row).0));
        let counts = largest(own.iter().map(|row| of(row).1));
        // SAFETY: each block has a place of its own.
        unsafe { *found.at(block) = (sums, counts) };
    });
    Norms {
        norm: largest(parts.iter().map(|p| p.0)),
        most_entries: largest(parts.iter().map(|p| p.1)) as usize,
    }
}

/// The normwise backward error `‖r‖∞ / (‖A‖∞‖x‖∞ + ‖b‖∞)` (Rigal and Gaches 1967) and the
/// componentwise one `max |r_i| / (|A||x| + |b|)_i` (Oettli and Prager 1964), the smallest normal number for each entry of a
/// row added to its denominator: below that, rounding is not relative. A row whose unknowns and right-hand side are
/// zero has no error. NaN where anything is, and where a denominator overflows.
fn errors<const W: usize>(
    rows: &[impl HasRow<W>],
    blocks: &Blocks<'_>,
    norms: &Norms,
    x: [&[f64]; W],
    b: [&[f64]; W],
) -> [Errors; W] {
    let safe = (norms.most_entries + 1) as f64 * f64::MIN_POSITIVE;
    let mut parts = [[Largest::default(); W]; BLOCKS];
    let found = Shared(parts.as_mut_ptr());
    blocks.for_rows(|block, of| {
        let part = std::array::from_fn(|lane| {
            let own = rows[of.clone()].iter().map(HasRow::row);
            let error = |row: &Row<W>| quotient(row.r[lane].abs(), row.size[lane] + safe);
            Largest {
                r: largest(own.clone().map(|row| row.r[lane])),
                x: norm(&x[lane][of.clone()]),
                b: norm(&b[lane][of.clone()]),
                error: largest(own.map(error)),
            }
        });
        // SAFETY: each block has a place of its own.
        unsafe { *found.at(block) = part };
    });
    std::array::from_fn(|lane| {
        let of = |value: fn(&Largest) -> f64| largest(parts.iter().map(|part| value(&part[lane])));
        let (r, size) = (of(|p| p.r), norms.norm * of(|p| p.x) + of(|p| p.b));
        let normwise = if r == 0.0 && size == 0.0 {
            0.0
        } else {
            quotient(r, size)
        };
        Errors {
            normwise,
            componentwise: of(|p| p.error),
        }
    })
}

fn copy_lane<const W: usize>(
    all: &[impl HasRow<W>],
    lane: usize,
    blocks: &Blocks<'_>,
    to: &mut [f64],
) {
    blocks.split([to], |rows, [to]| {
        let pairs = to.iter_mut().zip(&all[rows]);
        pairs.for_each(|(to, has)| *to = has.row().r[lane]);
    });
}

/// The memory of a list for twice as long items.
fn in_pairs<T: Copy>(mut list: Vec<T>) -> Vec<[T; 2]> {
    list.clear();
    if !list.capacity().is_multiple_of(2) {
        list.reserve_exact(list.capacity() + 1);
    }
    if !list.capacity().is_multiple_of(2) {
        return Vec::new(); // the allocator may give more than was asked for
    }
    let mut list = ManuallyDrop::new(list);
    let (to, room) = (list.as_mut_ptr(), list.capacity() / 2);
    // SAFETY: the memory of a list that is not dropped, as many bytes of the same alignment, and no item is there.
    unsafe { Vec::from_raw_parts(to.cast(), 0, room) }
}

/// `r / size`, NaN where the size is not finite: nothing is known then.
fn quotient(r: f64, size: f64) -> f64 {
    if size.is_finite() { r / size } else { f64::NAN }
}

/// `‖v‖∞`, NaN where an entry is.
pub(crate) fn norm(v: &[f64]) -> f64 {
    largest(v.iter().copied())
}

/// Largest magnitude, NaN where one is: bits of magnitudes are ordered like them, and those of NaN
/// come last.
pub(crate) fn largest(values: impl Iterator<Item = f64>) -> f64 {
    f64::from_bits(values.map(|v| v.abs().to_bits()).fold(0, u64::max))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nan_is_never_lost() {
        assert!(largest([1.0, f64::NAN, 2.0].into_iter()).is_nan());
        assert!(norm(&[f64::NAN, 0.0]).is_nan());
        assert_eq!(norm(&[1.0, -3.0, 2.0]), 3.0);
    }

    #[test]
    fn a_matrix_is_measured_as_well_on_the_way() {
        use tamarack_numeric::Team;
        use tamarack_sparse::models::Model;
        let models = ["el3d_9", "p3d27_14", "p2d5_150"];
        for model in models.map(|name| name.parse::<Model>().unwrap()) {
            let a = model.generate::<f64>().unwrap();
            let x: Vec<f64> = (0..a.n()).map(|i| ((i % 17) as f64 - 8.0) / 7.0).collect();
            let b: Vec<f64> = x.iter().rev().copied().collect();
            for threads in [1, 3] {
                let team = Team::new(threads);
                let blocks = Blocks::new(&a, Some(&team));
                let [mut one, mut other] = [Residual::default(), Residual::default()];
                let (norms, errors) = one.measure_alone(&blocks, &x, &b);
                assert_eq!(norms, other.measure(&blocks));
                assert!((norms.norm / a.norm_inf() - 1.0).abs() < 1e-14);
                let double = ResidualPrecision::Double;
                assert_eq!(errors, other.alone(&blocks, &norms, &x, &b, double));
                let [mut to, mut to_other] = [vec![0.0; a.n()], vec![0.0; a.n()]];
                one.copy_to(&blocks, &mut to);
                other.copy_to(&blocks, &mut to_other);
                assert_eq!(to, to_other);
            }
        }
    }
}
