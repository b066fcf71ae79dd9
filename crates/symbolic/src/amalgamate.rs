//! Relaxed amalgamation of supernodes, judged by predicted time.
//!
//! Merging a child of `k` columns and `u` rows into its parent of `k'` columns and `u'` rows gives a
//! front of `k + k'` pivots and `u'` rows below, since the child's rows are among the parent's
//! columns and rows. It stores `k (k' + u' - u)` zeros more, and saves the child's update matrix,
//! one front's overhead, and time in products that become wider (Duff, Reid 1983; Ashcraft, Grimes
//! 1989 merge by counts of zeros only). Any child may merge, not only the last: columns are renumbered
//! afterwards. Parents are visited in postorder; each takes its best child first, and judges the
//! others anew after every merge. `O(children log children)` for each parent.

use crate::AmalgamationOptions;
use crate::factor::NONE;
use crate::supernodes::SuperForest;

/// Supernodes of a forest joined into larger ones.
pub(crate) struct Merged {
    /// For each supernode, the one that it became part of: itself, or an ancestor.
    pub into: Vec<u32>,
    /// Columns of each one that remains.
    pub npiv: Vec<u32>,
    /// Parent among those that remain, or `NONE`.
    pub parent: Vec<u32>,
}

impl Merged {
    /// Nothing merged.
    pub fn none(forest: &SuperForest) -> Self {
        Self {
            into: (0..forest.len() as u32).collect(),
            npiv: (0..forest.len()).map(|s| forest.npiv(s)).collect(),
            parent: forest.parent.clone(),
        }
    }

    /// Merges wherever the options say that it pays.
    pub fn new(forest: &SuperForest, options: &AmalgamationOptions) -> Self {
        let ns = forest.len();
        let mut merged = Self::none(forest);
        let mut zeros = vec![0u64; ns];
        let (ptr, children) = child_lists(&forest.parent);
        let mut queue: Vec<(f64, u32)> = Vec::new();
        let secs = |npiv: u32, nupd: u32| options.predicted_secs(npiv, nupd);
        // Predicted seconds of each, as far as it has grown.
        let mut alone: Vec<f64> = (0..ns)
            .map(|s| secs(forest.npiv(s), forest.nupd[s]))
            .collect();
        for p in 0..ns {
            let up = forest.nupd[p];
            queue.clear();
            for &c in &children[ptr[p]..ptr[p + 1]] {
                let together = secs(merged.npiv[c as usize] + merged.npiv[p], up);
                let gain = alone[c as usize] + alone[p] - together;
                if gain > 0.0 {
                    queue.push((gain, c));
                }
            }
            queue.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            for &(_, c) in &queue {
                let c = c as usize;
                let (child, this) = ((merged.npiv[c], forest.nupd[c]), (merged.npiv[p], up));
                let total = zeros[p] + zeros[c] + added_zeros(child, this);
                let npiv = child.0 + this.0;
                if options.allows(npiv, total, trapezoid(npiv, up)) {
                    let together = secs(npiv, up);
                    if alone[c] + alone[p] - together > 0.0 {
                        zeros[p] = total;
                        merged.npiv[p] = npiv;
                        merged.into[c] = p as u32;
                        alone[p] = together;
                    }
                }
            }
        }
        // Ancestors come later, so a sweep from the roots finds where each ends up.
        for s in (0..ns).rev() {
            merged.into[s] = match merged.into[s] {
                p if p as usize == s => p,
                p => merged.into[p as usize],
            };
            if merged.parent[s] != NONE {
                merged.parent[s] = merged.into[merged.parent[s] as usize];
            }
        }
        merged
    }
}

impl AmalgamationOptions {
    /// Predicted seconds of a front of `npiv` pivots and `nupd` rows below.
    pub fn predicted_secs(&self, npiv: u32, nupd: u32) -> f64 {
        let (k, u) = (f64::from(npiv), f64::from(nupd));
        let m = k + u;
        // Sum of squares from u + 1 to m, and entries of the trapezoid.
        let flops = k * (m * m - m * k + k * k / 3.0 + m - 0.5 * k + 1.0 / 6.0);
        let panel = k * (m - 0.5 * (k - 1.0));
        let update = 0.5 * u * (u + 1.0);
        self.front_secs
            + k * self.column_secs
            + (panel + 3.0 * update) * self.entry_bytes * self.secs_per_byte
            + flops * (k + self.half_rate_columns) / (k * self.peak_flops_per_sec)
    }

    /// Whether a merged supernode of `npiv` columns may have so many zeros.
    fn allows(&self, npiv: u32, zeros: u64, stored: u64) -> bool {
        let share = if npiv <= self.small_columns {
            self.small_zero_fraction
        } else {
            self.max_zero_fraction
        };
        zeros as f64 <= share * stored as f64
    }
}

/// Zeros that a merge adds to those that child and parent have already.
fn added_zeros(child: (u32, u32), parent: (u32, u32)) -> u64 {
    u64::from(child.0) * (u64::from(parent.0) + u64::from(parent.1) - u64::from(child.1))
}

/// Entries of `npiv` columns with `nupd` rows below their triangle.
pub(crate) fn trapezoid(npiv: u32, nupd: u32) -> u64 {
    let (k, u) = (u64::from(npiv), u64::from(nupd));
    // k (k + 1) / 2 does not overflow for k < 2^32; the sum with k u stays below 2^64 as k + u does
    // below 2^32.
    k * (k + 1) / 2 + k * u
}

/// Children of every node, increasing: offsets and nodes.
pub(crate) fn child_lists(parent: &[u32]) -> (Vec<usize>, Vec<u32>) {
    let mut ptr = vec![0usize; parent.len() + 1];
    for &p in parent {
        if p != NONE {
            ptr[p as usize] += 1;
        }
    }
    let mut sum = 0;
    for p in &mut ptr {
        sum += *p;
        *p = sum;
    }
    let mut children = vec![0u32; sum];
    for (c, &p) in parent.iter().enumerate().rev() {
        if p != NONE {
            ptr[p as usize] -= 1;
            children[ptr[p as usize]] = c as u32;
        }
    }
    (ptr, children)
}
