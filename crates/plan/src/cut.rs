//! The cut of the assembly tree into subtrees that threads take as whole tasks.
//!
//! Geist and Ng 1989: begin with the roots; while the subtrees, taken largest first by whoever is
//! free, do not balance, replace the largest by its children. What is above the cut, the top, is
//! walked by all threads together, which they do not do as well as subtrees of their own: of the cuts on the way that one
//! is taken which is predicted to take least. One thread gets the whole tree and no top. Large
//! subtrees under large fronts are replaced even if they balance: all threads find work in such a
//! front, and the update matrices that several subtrees keep side by side are the smaller, the
//! further down the tree is cut. Cost: O((roots + top) log) after the subtree sums.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use tamarack_symbolic::SymbolicFactor;

/// Idle share of the threads' time in the subtrees that is accepted.
const IMBALANCE: f64 = 0.05;

/// Share of the whole work below which a subtree is not cut further.
const SMALLEST: f64 = 1e-4;

/// A front of this order occupies all threads, so a subtree below it need not be a task.
const LARGE_FRONT: usize = 1024;

/// A subtree with a large front at its root is cut unless it is at most one of so many for each
/// thread. With 2 threads: from 4 on the memory is that of one thread, on `el3d_30` and `p3d7_80`.
const TASKS_PER_THREAD: f64 = 8.0;

/// Predicted seconds of a front that a thread above the cut is worth.
const SECS_PER_MEMBER: f64 = 5e-5;

/// Seconds that a front above the cut takes beside its work: one thread hands it over to another. Chains of thousands of small fronts are better walked
/// by one.
const SECS_PER_FRONT_ABOVE: f64 = 1e-6;

/// What each further thread does of a front, in what one does: they wait for each other, and for what only one can do.
const HELP: f64 = 0.7;

/// A subtree by its predicted seconds; ties go to the smaller root.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Candidate {
    secs: f64,
    root: u32,
}

impl Eq for Candidate {}
impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        self.secs
            .total_cmp(&other.secs)
            .then(other.root.cmp(&self.root))
    }
}
impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Roots of the subtrees, largest predicted time first, and the supernodes above them in postorder.
/// One thread gets the roots of the forest in postorder.
pub(crate) fn cut(
    symbolic: &SymbolicFactor,
    front_secs: &[f64],
    subtree_secs: &[f64],
    threads: usize,
) -> (Vec<u32>, Vec<u32>) {
    let count = symbolic.supernodes() as u32;
    let candidate = |root: u32| Candidate {
        secs: subtree_secs[root as usize],
        root,
    };
    let roots = || (0..count).filter(|&s| symbolic.parent(s as usize).is_none());
    if threads == 1 {
        return (roots().collect(), Vec::new());
    }
    let mut heap: BinaryHeap<Candidate> = roots().map(candidate).collect();
    let replace = |heap: &mut BinaryHeap<Candidate>| {
        let largest = heap.pop();
        let children = largest.map(|largest| symbolic.children(largest.root as usize));
        heap.extend(children.into_iter().flatten().map(|&c| candidate(c)));
        largest
    };
    let (mut top_secs, mut above_secs) = (0.0, 0.0);
    let total: f64 = heap.iter().map(|c| c.secs).sum();
    // Supernodes replaced so far, those that have to be, and where that takes least.
    let (mut replaced, mut needed, mut best) = (0, 0, Best::default());
    while let Some(&largest) = heap.peek() {
        let share = (total - top_secs) / threads as f64;
        let limit = share * (1.0 + IMBALANCE);
        // No schedule ends sooner, and one that takes the largest first ends not much later.
        best.meet(above_secs + share.max(largest.secs), replaced);
        // Graham 1969: list scheduling ends by share + (1 - 1/threads)·largest. The schedule itself
        // is computed only while there are few tasks, when that bound is far from sharp.
        let bounded = share + (1.0 - 1.0 / threads as f64) * largest.secs <= limit;
        let few = heap.len() <= 64 * threads;
        let balanced =
            bounded || (few && largest.secs <= limit && makespan(&heap, threads) <= limit);
        let root = largest.root as usize;
        let large = symbolic.npiv(root) + symbolic.nupd(root) >= LARGE_FRONT
            && largest.secs * TASKS_PER_THREAD > total / threads as f64;
        if (balanced && !large) || largest.secs < total * SMALLEST {
            break;
        }
        replace(&mut heap);
        replaced += 1;
        if large {
            needed = replaced;
        }
        let secs = front_secs[root];
        top_secs += secs;
        above_secs += secs_together(secs, threads) + SECS_PER_FRONT_ABOVE;
    }
    // The same once more, as far as that.
    let replaced = best.replaced.max(needed);
    let mut heap: BinaryHeap<Candidate> = roots().map(candidate).collect();
    let top = (0..replaced).filter_map(|_| replace(&mut heap));
    let mut top: Vec<u32> = top.map(|largest| largest.root).collect();
    top.sort_unstable();
    let roots = heap
        .into_sorted_vec()
        .into_iter()
        .rev()
        .map(|c| c.root)
        .collect();
    (roots, top)
}

/// Subtrees of the assembly tree that one thread walks alone, in postorder, one after the other: siblings, or trees of the forest. Mostly
/// it is one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grove {
    /// First supernode of the first subtree; all of them are `first..=root`.
    pub first: u32,
    /// The root of the last one.
    pub root: u32,
    /// Predicted seconds of one thread.
    pub secs: f64,
}

/// Tasks that each thread gets at least, where a front has thousands of small children: a task for each would take longer than
/// its work, and threads would write to the same lines.
const GROVES_PER_THREAD: f64 = 32.0;

/// The tasks of some subtrees, largest first, given seconds and first supernode of each: those that stand side by side below one front go
/// together while they are small. One thread gets each by itself, in the order that is given.
pub(crate) fn groves(
    symbolic: &SymbolicFactor,
    roots: &[u32],
    subtree: impl Fn(u32) -> (f64, u32),
    threads: usize,
) -> Vec<Grove> {
    let one = |&root: &u32| {
        let (secs, first) = subtree(root);
        Grove { first, root, secs }
    };
    let each: Vec<Grove> = roots.iter().map(one).collect();
    if threads == 1 {
        return each;
    }
    let total: f64 = each.iter().map(|grove| grove.secs).sum();
    let limit = total / (threads as f64 * GROVES_PER_THREAD);
    let parent = |grove: &Grove| symbolic.parent(grove.root as usize);
    let mut sorted = each;
    sorted.sort_unstable_by_key(|grove| grove.root);
    let mut out: Vec<Grove> = Vec::new();
    for grove in sorted {
        match out.last_mut() {
            Some(last)
                if last.root + 1 == grove.first
                    && parent(last) == parent(&grove)
                    && last.secs + grove.secs <= limit =>
            {
                last.root = grove.root;
                last.secs += grove.secs;
            }
            _ => out.push(grove),
        }
    }
    out.sort_by(|a, b| b.secs.total_cmp(&a.secs)); // those of the same length stay in their order
    out
}

/// Part of the time that one cut must save over another: sums of the same fronts in another order differ by less. Without it a chain of fronts,
/// where no cut saves anything, is cut deep down.
const LEAST_GAIN: f64 = 1e-9;

/// Where a cut takes least.
#[derive(Default)]
struct Best {
    secs: f64,
    replaced: usize,
}

impl Best {
    /// Looks at the cut after `replaced` roots, which takes so many seconds.
    fn meet(&mut self, secs: f64, replaced: usize) {
        if replaced == 0 || secs < self.secs * (1.0 - LEAST_GAIN) {
            *self = Self { secs, replaced };
        }
    }
}

/// Predicted seconds of a front by all threads, of those that it takes one.
pub(crate) fn secs_together(secs: f64, threads: usize) -> f64 {
    let members = (secs / SECS_PER_MEMBER).clamp(1.0, threads as f64);
    secs / (1.0 + HELP * (members - 1.0))
}

/// Seconds until the last thread is done when tasks are taken largest first.
fn makespan(tasks: &BinaryHeap<Candidate>, threads: usize) -> f64 {
    let mut sorted: Vec<f64> = tasks.iter().map(|c| c.secs).collect();
    sorted.sort_unstable_by(|a, b| b.total_cmp(a));
    list_schedule(sorted.into_iter(), threads)
}

/// Largest load when each task goes to the least loaded thread, in the order given.
pub(crate) fn list_schedule(tasks: impl Iterator<Item = f64>, threads: usize) -> f64 {
    // The least load is the largest; equal ones are as good as each other.
    let mut loads: BinaryHeap<Load> = (0..threads.max(1)).map(|_| Load(0.0)).collect();
    for task in tasks {
        if let Some(mut least) = loads.peek_mut() {
            least.0 += task;
        }
    }
    loads.into_iter().map(|load| load.0).fold(0.0, f64::max)
}

/// Seconds that a thread is busy; the fewer the larger.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Load(f64);

impl Eq for Load {}
impl Ord for Load {
    fn cmp(&self, other: &Self) -> Ordering {
        other.0.total_cmp(&self.0)
    }
}
impl PartialOrd for Load {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tamarack_sparse::{Pattern, Permutation};
    use tamarack_symbolic::SymbolicOptions;

    #[test]
    fn threads_help_where_there_is_work_for_them() {
        assert_eq!(
            secs_together(0.5 * SECS_PER_MEMBER, 16),
            0.5 * SECS_PER_MEMBER
        );
        for secs in [1e-5, 1e-4, 1e-3, 1.0] {
            let by = |threads| secs_together(secs, threads);
            assert_eq!(by(1), secs);
            assert!(by(4) <= by(2) && by(2) <= secs && by(4) > secs / 4.0 * 0.999);
        }
        assert!(secs_together(1.0, 16) < 0.1);
    }

    #[test]
    fn the_best_cut_is_the_first_of_those_that_take_least() {
        let mut best = Best::default();
        for (secs, replaced) in [(5.0, 0), (4.0, 1), (4.0, 2), (4.0 - 1e-12, 3), (4.5, 4)] {
            best.meet(secs, replaced);
        }
        assert_eq!(best.replaced, 1);
    }

    #[test]
    fn a_chain_of_small_fronts_is_walked_by_one() {
        // Links of a chain, each behind a leaf of its own.
        let (mut ptr, mut rows) = (vec![0u64], Vec::new());
        let links = 2000u32;
        for link in 0..links {
            let own = 2 * link + 1;
            for column in [vec![own - 1, own], vec![own, own + 2]] {
                rows.extend(column.into_iter().filter(|&row| row < 2 * links));
                ptr.push(rows.len() as u64);
            }
        }
        let n = 2 * links as usize;
        let pattern = Pattern::lower(n, &ptr, &rows).unwrap().shared();
        let options = SymbolicOptions {
            amalgamation: None,
            ..SymbolicOptions::default()
        };
        let natural = Permutation::identity(n);
        let symbolic = SymbolicFactor::analyze(&pattern, &natural, &options).unwrap();
        let top_by = |secs: f64| {
            let front_secs = vec![secs; symbolic.supernodes()];
            let mut subtree_secs = front_secs.clone();
            for s in 0..symbolic.supernodes() {
                if let Some(parent) = symbolic.parent(s) {
                    subtree_secs[parent] += subtree_secs[s];
                }
            }
            cut(&symbolic, &front_secs, &subtree_secs, 2).1.len()
        };
        assert_eq!(top_by(0.1 * SECS_PER_FRONT_ABOVE), 0);
        assert!(top_by(10.0 * SECS_PER_FRONT_ABOVE) > 100);
    }

    #[test]
    fn list_scheduling_fills_the_least_loaded() {
        assert_eq!(list_schedule([5.0, 4.0, 3.0, 2.0].into_iter(), 2), 7.0);
        assert_eq!(list_schedule([5.0, 4.0].into_iter(), 1), 9.0);
        assert_eq!(list_schedule(std::iter::empty(), 3), 0.0);
    }
}
