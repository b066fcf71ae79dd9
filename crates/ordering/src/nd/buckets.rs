//! Vertices sorted by label: a stable counting sort over chunks at the same time.
//!
//! The result does not depend on the chunks, so neither on the number of threads. Linear in the
//! vertices, and in the labels for each chunk.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use rayon::prelude::*;
use tamarack_sparse::memory::zeroed;

use crate::mindeg::NONE;

/// Vertices of a chunk, at least.
const CHUNK: usize = 1 << 15;

/// Chunks at most.
const CHUNKS: usize = 32;

/// How often each label comes, chunk by chunk.
pub(crate) struct Counted<F> {
    n: usize,
    label: F,
    chunk: usize,
    counts: Vec<Vec<u32>>,
}

impl<F: Fn(usize) -> u32 + Sync> Counted<F> {
    /// Counts the labels, below `labels`, of vertices `0..n`.
    pub(crate) fn new(n: usize, labels: usize, label: F) -> Self {
        let chunk = CHUNK.max(n.div_ceil(CHUNKS));
        let counts = (0..n.div_ceil(chunk))
            .into_par_iter()
            .map(|k| {
                let mut count = vec![0u32; labels];
                for v in k * chunk..n.min((k + 1) * chunk) {
                    count[label(v) as usize] += 1;
                }
                count
            })
            .collect();
        Self {
            n,
            label,
            chunk,
            counts,
        }
    }

    /// Vertices with each label, length `labels`; empty where there are no vertices.
    pub(crate) fn totals(&self) -> Vec<u32> {
        let mut sums = self.counts.first().cloned().unwrap_or_default();
        for count in self.counts.iter().skip(1) {
            for (sum, own) in sums.iter_mut().zip(count) {
                *sum += own;
            }
        }
        sums
    }

    /// The list of `len` vertices in which those labeled `t` stand from `starts[t]` on, increasing;
    /// labels that start at [`NONE`] are left out.
    pub(crate) fn sorted(mut self, mut starts: Vec<u32>, len: usize) -> Vec<u32> {
        for count in &mut self.counts {
            for (next, own) in starts.iter_mut().zip(count) {
                let from = *next;
                if from != NONE {
                    *next += *own;
                }
                *own = from;
            }
        }
        let sorted = atomics(len);
        let Self {
            n, label, chunk, ..
        } = self;
        let chunks = self.counts.into_par_iter().enumerate();
        chunks.for_each(|(k, mut next)| {
            for v in k * chunk..n.min((k + 1) * chunk) {
                let slot = &mut next[label(v) as usize];
                if *slot != NONE {
                    sorted[*slot as usize].store(v as u32, Relaxed);
                    *slot += 1;
                }
            }
        });
        values(sorted)
    }
}

/// Zeros that threads may write to at scattered places.
pub(crate) fn atomics(len: usize) -> Vec<AtomicU32> {
    values_as(zeroed::<u32>(len), AtomicU32::new)
}

/// The numbers themselves.
pub(crate) fn values(list: Vec<AtomicU32>) -> Vec<u32> {
    values_as(list, AtomicU32::into_inner)
}

/// Both have the same size, so that this copies nothing: the standard library collects in place.
fn values_as<A, B>(list: Vec<A>, convert: impl Fn(A) -> B) -> Vec<B> {
    list.into_iter().map(convert).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vertices_stand_by_label_in_their_own_order() {
        for n in [0, 1, 100, 3 * CHUNK + 17] {
            let label = |v: usize| (v * v % 7) as u32;
            let counted = Counted::new(n, 7, label);
            let totals = counted.totals();
            // Label 4 is left out, the others stand from the highest down.
            let (mut starts, mut at) = (vec![NONE; 7], 0);
            for t in (0..totals.len()).rev().filter(|&t| t != 4) {
                starts[t] = at;
                at += totals[t];
            }
            let found = counted.sorted(starts, at as usize);
            let mut expected: Vec<u32> =
                (0..n as u32).filter(|&v| label(v as usize) != 4).collect();
            expected.sort_by_key(|&v| std::cmp::Reverse(label(v as usize)));
            assert_eq!(found, expected);
        }
    }
}
