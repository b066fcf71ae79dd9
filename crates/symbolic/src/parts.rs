//! A forest in parts: disjoint subtrees for the threads, and the top above them.
//!
//! What a column of `L` needs comes from its subtree. So counts and structures of disjoint subtrees are found at the same
//! time, and then those of the columns above, to which a subtree is one more leaf. That is exact, so the cut
//! may depend on the number of threads: one thread gets the forest as a whole. Costs the size of the top and the number
//! of parts.

use std::ops::Range;

use crate::factor::NONE;
use crate::threads::{chunks, map_all, threads};

/// Parts for each thread, at least: enough for their balance.
const PARTS_PER_THREAD: u64 = 12;

/// Less work than this is not cut: it would not be worth the overhead. Tests cut small forests too.
const LEAST_WORK: u64 = if cfg!(test) { 8 } else { 1 << 16 };

/// Rows of the top that a thread takes in one go: they are long.
const TOP_ROWS: usize = 128;

/// Subtrees below the top with less than this part of a full one's work are left in the top.
const SLIVER: u64 = 64;

/// A postordered forest in parts.
pub(crate) struct Parts {
    /// Disjoint, increasing ranges: each a subtree, or trees of the forest.
    pub ranges: Vec<Range<usize>>,
    /// All other nodes, increasing.
    pub top: Vec<u32>,
}

impl Parts {
    /// Cuts a forest in postorder with subtrees of `size[s]` nodes, on which there is work `below(s)` to do.
    pub fn new(parent: &[u32], size: &[u32], below: impl Fn(usize) -> u64) -> Self {
        let n = parent.len();
        let mut total = 0;
        let mut end = n;
        while let Some(root) = end.checked_sub(1) {
            total += below(root);
            end -= size[root] as usize;
        }
        if total <= LEAST_WORK || threads() < 2 {
            return Self::whole(n);
        }
        let wanted = PARTS_PER_THREAD * threads() as u64;
        let limit = (total / wanted).max(LEAST_WORK / 4);
        let parts = Self::with_limit(parent, size, below, limit);
        if 2 * parts.top.len() > n {
            return Self::whole(n);
        }
        parts
    }

    /// A forest of `n` nodes in one part.
    pub fn whole(n: usize) -> Self {
        Self {
            ranges: (n > 0).then_some(0..n).into_iter().collect(),
            top: Vec::new(),
        }
    }

    fn with_limit(parent: &[u32], size: &[u32], below: impl Fn(usize) -> u64, limit: u64) -> Self {
        let (mut ranges, mut top) = (Vec::<Range<usize>>::new(), Vec::new());
        // Whole trees share a part: work of the last one, if it is such a part.
        let mut trees = None;
        let mut end = parent.len();
        while let Some(root) = end.checked_sub(1) {
            let work = below(root);
            let begin = end - size[root] as usize;
            match (trees, ranges.last_mut()) {
                _ if work > limit => {
                    top.push(root as u32);
                    end = root;
                    continue;
                }
                (Some(load), Some(last))
                    if parent[root] == NONE && last.start == end && load + work <= limit =>
                {
                    last.start = begin;
                    trees = Some(load + work);
                }
                _ if parent[root] == NONE => {
                    ranges.push(begin..end);
                    trees = Some(work);
                }
                _ if work >= limit / SLIVER => {
                    ranges.push(begin..end);
                    trees = None;
                }
                _ => top.extend((begin as u32..end as u32).rev()),
            }
            end = begin;
        }
        ranges.reverse();
        top.reverse();
        Self { ranges, top }
    }

    /// The part that a node is in, if it is in one.
    pub fn of(&self, s: usize) -> Option<usize> {
        let part = self.ranges.partition_point(|r| r.end <= s);
        (self.ranges.get(part)?.start <= s).then_some(part)
    }

    /// Sorts what the rows of the top have in the parts and, beyond the last part, in the top, given a column and an item for every
    /// entry of a row. Each gets its items in the order of the rows.
    pub fn sorted<T, I>(&self, rows: &[u32], entries: impl Fn(u32) -> I + Sync) -> Crossing<T>
    where
        T: Copy + Send,
        I: Iterator<Item = (usize, T)>,
    {
        let blocks = map_all(chunks(rows.len(), TOP_ROWS), |range| {
            let mut ends = vec![0usize; self.ranges.len() + 2];
            let mut found = Vec::new();
            for &row in &rows[range] {
                for (column, item) in entries(row) {
                    let part = self.of(column).unwrap_or(self.ranges.len());
                    ends[part] += 1;
                    found.push((part as u32, row, item));
                }
            }
            let mut sum = 0;
            for end in &mut ends {
                sum += *end;
                *end = sum;
            }
            let mut sorted = match found.first() {
                Some(&(_, row, item)) => vec![(row, item); found.len()],
                None => Vec::new(),
            };
            for &(part, row, item) in found.iter().rev() {
                ends[part as usize] -= 1;
                sorted[ends[part as usize]] = (row, item);
            }
            Block {
                ptr: ends,
                list: sorted,
            }
        });
        Crossing { blocks }
    }
}

/// Entries in rows of the top, by the parts of their columns.
pub(crate) struct Crossing<T> {
    /// Of some rows each.
    blocks: Vec<Block<T>>,
}

/// Rows and items, part by part, and where those of each part begin.
struct Block<T> {
    ptr: Vec<usize>,
    list: Vec<(u32, T)>,
}

impl<T: Copy> Crossing<T> {
    /// Rows and items of a part, or of the top beyond the last part, rows increasing.
    pub fn of(&self, part: usize) -> impl Iterator<Item = (u32, T)> + Clone + '_ {
        let blocks = self.blocks.iter();
        blocks.flat_map(move |b| b.list[b.ptr[part]..b.ptr[part + 1]].iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::postorder::subtree_sizes;
    use tamarack_testkit::Rng;

    #[test]
    fn parts_are_disjoint_subtrees_below_the_top() {
        for seed in 0..500 {
            let mut random = Rng::new(seed);
            let n = 1 + random.below(60);
            // Nodes from the last to the first, each below one of the path to the node after it.
            let mut parent = vec![NONE; n];
            for s in (0..n - 1).rev() {
                let mut p = s as u32 + 1;
                for _ in 0..random.below(3) {
                    p = if p == NONE { NONE } else { parent[p as usize] };
                }
                parent[s] = p;
            }
            let size = subtree_sizes(&parent);
            let limit = 1 + random.below(20) as u64;
            let parts = Parts::with_limit(&parent, &size, |s| u64::from(size[s]), limit);
            let mut seen: Vec<usize> = parts.top.iter().map(|&s| s as usize).collect();
            assert!(seen.is_sorted());
            for (k, range) in parts.ranges.iter().enumerate() {
                seen.extend(range.clone());
                assert!(range.len() as u64 <= limit);
                for s in range.clone() {
                    assert_eq!(parts.of(s), Some(k));
                    let inside = range.contains(&(parent[s] as usize));
                    let tree = parent[s] == NONE;
                    assert!(inside || tree || s + 1 == range.end, "seed {seed}");
                }
            }
            assert!(parts.top.iter().all(|&s| parts.of(s as usize).is_none()));
            seen.sort_unstable();
            assert!(seen.into_iter().eq(0..n));
        }
    }
}
