//! The time below which no factorization of a tree goes, on a card like an H100.
//!
//! Operations at the rate that tensor cores reach in f64; bytes at the speed of memory: every update matrix is written by its
//! front, read and added to its parent's, which is read and written for that, and every panel is written and read once; and for every
//! level of the tree a launch and the wait for the slowest front. Fusing updates into their parents would halve the bytes.

use tamarack::SymbolicFactor;

/// Products in f64 on tensor cores, operations per second.
const FLOPS_PER_SEC: f64 = 60e12;
/// Reading and writing together.
const BYTES_PER_SEC: f64 = 3.0e12;
/// A launch, and the end of the last block.
const LEVEL_SECS: f64 = 30e-6;

/// What a factorization of a tree takes at least, in double precision.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Floor {
    /// Operations, the explicit zeros of merged supernodes included.
    pub flops_secs: f64,
    /// Bytes of panels and update matrices, stored by halves.
    pub bytes_secs: f64,
    /// Levels of the assembly tree.
    pub levels_secs: f64,
}

impl Floor {
    /// Of a structure's own tree.
    #[must_use]
    pub fn of(symbolic: &SymbolicFactor) -> Self {
        let count = symbolic.supernodes();
        let (mut factor, mut updates, mut levels) = (0.0, 0.0, 0);
        let mut level = vec![1_u32; count];
        for s in (0..count).rev() {
            let (npiv, nupd) = (symbolic.npiv(s) as f64, symbolic.nupd(s) as f64);
            factor += npiv * (npiv + 1.0) / 2.0 + npiv * nupd;
            updates += nupd * (nupd + 1.0) / 2.0;
            // A parent comes behind its children.
            level[s] = symbolic.parent(s).map_or(1, |parent| level[parent] + 1);
            levels = levels.max(level[s]);
        }
        Self {
            flops_secs: symbolic.stats().flops_stored as f64 / FLOPS_PER_SEC,
            bytes_secs: 8.0 * (4.0 * updates + 2.0 * factor) / BYTES_PER_SEC,
            levels_secs: f64::from(levels) * LEVEL_SECS,
        }
    }

    /// All of it, one after the other.
    #[must_use]
    pub fn secs(&self) -> f64 {
        self.flops_secs + self.bytes_secs + self.levels_secs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tamarack::{Analysis, Options, Ordering, Permutation, SymmetricCsc};

    #[test]
    fn a_dense_matrix_is_one_front() {
        let dense = |n: usize| {
            let starts: Vec<usize> = (0..=n)
                .map(|j| j * n - j * j.saturating_sub(1) / 2)
                .collect();
            let rows: Vec<u32> = (0..n).flat_map(|j| j as u32..n as u32).collect();
            let values = vec![1.0; rows.len()];
            SymmetricCsc::lower(n, &starts, &rows, &values).unwrap()
        };
        let floor = |a: &SymmetricCsc<f64>| {
            let mut options = Options::default();
            options.ordering = Ordering::Permutation(Permutation::identity(a.n()));
            let analysis = Analysis::new(a.pattern(), &options).unwrap();
            Floor::of(analysis.symbolic())
        };
        // Σ j² for j = 1 .. 40, one front without updates
        let whole = floor(&dense(40));
        assert!((whole.flops_secs - 22_140.0 / 60e12).abs() < 1e-20);
        assert!((whole.bytes_secs - 8.0 * 2.0 * 820.0 / 3e12).abs() < 1e-20);
        assert_eq!(whole.levels_secs, LEVEL_SECS);
        let sum = whole.flops_secs + whole.bytes_secs + whole.levels_secs;
        assert_eq!(whole.secs(), sum);
    }
}
