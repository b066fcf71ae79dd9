//! Entries and operations, counted from the sizes of columns and fronts.

use crate::Stats;
use crate::threads::{CHUNK, chunks, map_all};

/// What a factor costs that is stored without zeros.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Work {
    /// Entries of L, diagonal included.
    pub nnz_l: u64,
    /// Σ over columns of (entries of the column)².
    pub flops: u128,
}

impl Work {
    /// Of a factor, given the entries in the first column of each node; `weight` has the unknowns of a node, which are one each if
    /// they are `units`.
    pub fn of_columns(counts: &[u32], units: bool, weight: impl Fn(usize) -> u32 + Sync) -> Self {
        let blocks = map_all(chunks(counts.len(), CHUNK), |nodes| match units {
            true => Self::of_units(&counts[nodes]),
            false => nodes.fold(Self::default(), |sum, j| {
                let (npiv, nupd) = (weight(j), counts[j] - weight(j));
                sum.and(
                    trapezoid(npiv, nupd),
                    front_flops(npiv as usize, nupd as usize),
                )
            }),
        });
        let all = blocks.iter();
        all.fold(Self::default(), |sum, block| {
            sum.and(block.nnz_l, block.flops)
        })
    }

    /// Columns with so many entries each. Halves of squares are summed apart, in words, so that the loop is one over vectors.
    fn of_units(counts: &[u32]) -> Self {
        let (mut nnz_l, mut high, mut low) = (0, 0, 0);
        for &count in counts {
            let square = u64::from(count) * u64::from(count);
            nnz_l += u64::from(count);
            high += square >> 32;
            low += square & u64::from(u32::MAX);
        }
        let flops = (u128::from(high) << 32) + u128::from(low);
        Self { nnz_l, flops }
    }

    fn and(self, nnz_l: u64, flops: u128) -> Self {
        Self {
            nnz_l: self.nnz_l + nnz_l,
            flops: self.flops + flops,
        }
    }
}

/// Entries of `npiv` columns with `nupd` rows below their triangle.
pub(crate) fn trapezoid(npiv: u32, nupd: u32) -> u64 {
    let (k, u) = (u64::from(npiv), u64::from(nupd));
    // k (k + 1) / 2 does not overflow for k < 2^32; the sum with k u stays below 2^64 as k + u does
    // below 2^32.
    k * (k + 1) / 2 + k * u
}

/// Counts of what is stored; the others are left at zero.
pub(crate) fn stored(super_ptr: &[u32], row_ptr: &[u64]) -> Stats {
    let mut stats = Stats::default();
    for (c, r) in super_ptr.windows(2).zip(row_ptr.windows(2)) {
        let (npiv, nupd) = (c[1] - c[0], (r[1] - r[0]) as u32);
        stats.nnz_l_stored += trapezoid(npiv, nupd);
        stats.flops_stored += front_flops(npiv as usize, nupd as usize);
    }
    stats
}

/// Operations to eliminate `npiv` pivots of a front with `nupd` rows below them: Σ over its columns
/// of (entries of the column)², the count that CHOLMOD prints.
pub fn front_flops(npiv: usize, nupd: usize) -> u128 {
    // 1² + … + m², in 64 bits where they suffice: small fronts are many.
    if npiv + nupd < 1 << 20 {
        let squares = |m: u64| m * (m + 1) * (2 * m + 1) / 6;
        return u128::from(squares((npiv + nupd) as u64) - squares(nupd as u64));
    }
    let squares = |m: u128| m * (m + 1) * (2 * m + 1) / 6;
    squares((npiv + nupd) as u128) - squares(nupd as u128)
}

/// [`front_flops`] over `npiv`, rounded: the mean over the columns of a front of (entries of the column)². For predictions: a few
/// operations, where integers of 128 bits take calls.
#[inline(always)]
pub fn mean_column_flops(npiv: f64, nupd: f64) -> f64 {
    (npiv + nupd) * (nupd + 1.0) + npiv * (npiv * (1.0 / 3.0) - 0.5) + 1.0 / 6.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use tamarack_testkit::Rng;

    #[test]
    fn means_are_those_of_the_squares() {
        for (npiv, nupd) in [
            (1, 0),
            (1, 7),
            (5, 0),
            (8, 30),
            (300, 7000),
            (1 << 20, 1 << 21),
        ] {
            let exact = front_flops(npiv, nupd) as f64 / npiv as f64;
            let found = mean_column_flops(npiv as f64, nupd as f64);
            assert!((found / exact - 1.0).abs() < 1e-12, "{found} {exact}");
        }
    }

    #[test]
    fn work_is_summed_over_columns() {
        for seed in 0..50 {
            let mut random = Rng::new(seed);
            // As large as counts can be, to see that nothing overflows.
            let most = [9, 3000, u32::MAX as usize - 8][random.below(3)];
            let nodes = 1 + random.below(40);
            let weights: Vec<u32> = (0..nodes).map(|_| 1 + random.below(4) as u32).collect();
            for units in [true, false] {
                let weight = |j: usize| if units { 1 } else { weights[j] };
                let of_node = |j| weight(j) + random.below(most) as u32;
                let counts: Vec<u32> = (0..nodes).map(of_node).collect();
                let found = Work::of_columns(&counts, units, weight);
                let columns = (0..nodes).flat_map(|j| (0..weight(j)).map(move |k| (j, k)));
                let sizes = columns.map(|(j, k)| u128::from(counts[j] - k));
                assert_eq!(u128::from(found.nnz_l), sizes.clone().sum::<u128>());
                assert_eq!(found.flops, sizes.map(|size| size * size).sum::<u128>());
            }
        }
    }
}
