//! Sums of the rows of a symmetric matrix whose lower triangle is stored by columns, by threads that own rows.
//!
//! An entry below the diagonal contributes to its row and to its column. Whoever owns a row adds what comes to it from columns before,
//! and whoever owns a column what is in it: each goes through what [columns before have for it](Crossing), and then through its own.
//! In one pass over the matrix nobody waits for anybody.
//!
//! Invariant: a row gets the entries of the full matrix in the order of their columns, whoever owns it.

mod crossing;
mod cuts;

use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::Arc;

use tamarack_dense::prefetch;
use tamarack_sparse::{Pattern, SymmetricCsc};

use crate::full_rows::Each;
use crate::substitution::Shared;
use crossing::{Crossing, below};
use cuts::cuts;
pub(crate) use cuts::sampled;

/// Owners at most where columns reach far.
pub(crate) const MOST: usize = 4;

/// Entries of a column, on average, from which two owners and more are worth it there: with 2.2 a refined solve took 1.16 times as long
/// as by full rows that had been found, with 4 to 7 as long or less (run `first-refined-2`).
const DENSE: u64 = 3;

/// Entries ahead of those in work.
const AHEAD: usize = 24;

/// Rows that an owner sums up elsewhere, at most: where few rows have most of the entries, those on both sides of a cut would be written all the
/// time, in one line of a cache.
const NEAR: usize = 64;

/// Whether so many threads should own rows of a matrix whose columns reach far.
pub(crate) fn are_worth(pattern: &Pattern, threads: usize) -> bool {
    let is_dense = pattern.nnz_lower() >= DENSE * pattern.n() as u64;
    threads == 1 || (threads <= MOST && is_dense)
}

/// How rows are shared out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sharing {
    pub owners: usize,
    /// Whether owners search columns before theirs for entries of their rows: where a few rows have most of the entries, every column has some for
    /// every owner.
    pub searched: bool,
    /// Whether what columns need is asked for ahead.
    pub asked: bool,
}

/// Owners of the rows of a matrix.
#[derive(Clone, Debug, Default)]
pub(crate) struct Owners {
    /// Whose rows they are.
    pattern: Option<Arc<Pattern>>,
    sharing: Sharing,
    /// Where the rows of each begin, and n.
    cuts: Vec<usize>,
    /// What they have in columns before, unless it is searched for.
    crossing: Crossing,
}

impl Owners {
    /// Shares out the rows of another pattern; nothing is done for the same once more.
    pub fn refill(&mut self, pattern: &Arc<Pattern>, sharing: Sharing, each: &Each<'_>) {
        if self.are_of(pattern) && self.sharing == sharing {
            return;
        }
        self.pattern = None; // nobody's, should this end halfway
        self.cuts = cuts(pattern, sharing);
        self.crossing = match sharing.searched {
            true => Crossing::default(),
            false => Crossing::new(pattern, &self.cuts, each),
        };
        self.sharing = sharing;
        self.pattern = Some(pattern.clone());
    }

    /// Whether these are owners of the rows of a pattern.
    pub fn are_of(&self, pattern: &Arc<Pattern>) -> bool {
        self.pattern
            .as_ref()
            .is_some_and(|of| Arc::ptr_eq(of, pattern))
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.sharing.owners
    }

    #[cfg(test)]
    pub fn ask_ahead(&mut self, asked: bool) {
        self.sharing.asked = asked;
    }

    /// Sums the rows of owner `t`: as [`Blocks::sum`](crate::blocks::Blocks::sum) does all.
    ///
    /// # Safety
    /// The owners are of this matrix, there is room for n sums, nobody else uses those of these rows, and `x` has n numbers.
    pub unsafe fn sum<S: Copy, X: Copy>(
        &self,
        t: usize,
        a: &SymmetricCsc<f64>,
        sums: Shared<S>,
        x: &[X],
        start: impl Fn(usize) -> S,
        add: impl Fn(&mut S, f64, X),
    ) {
        let own = self.cuts[t]..self.cuts[t + 1];
        if own.is_empty() {
            return; // where few rows have most of the entries, fewer owners have all there is to do
        }
        let mut near = [const { MaybeUninit::<S>::uninit() }; NEAR];
        let is_near = own.len() <= NEAR;
        let to = match is_near {
            true => Shared(near.as_mut_ptr().cast::<S>().wrapping_sub(own.start)),
            false => sums,
        };
        for i in own.clone() {
            // SAFETY: the caller's promise, or there is room for these rows.
            unsafe { to.at(i).write(start(i)) };
        }
        let rows = Rows {
            a,
            own: own.clone(),
            sums: to,
            x,
        };
        // SAFETY: the sums of these rows are there, and the caller's.
        unsafe {
            match self.sharing.searched {
                true => (0..own.start).for_each(|j| rows.add_piece(j, rows.found(j), &add)),
                false => {
                    let pieces = self.crossing.of(t);
                    pieces.for_each(|(j, piece)| rows.add_piece(j, piece, &add));
                }
            }
            match self.sharing.asked {
                true => own.clone().for_each(|j| rows.add_far_column(j, &add)),
                false => own.clone().for_each(|j| rows.add_column(j, &add)),
            }
        }
        if is_near {
            // SAFETY: the caller's promise; the sums are elsewhere, and there.
            unsafe {
                let from = to.at(own.start);
                sums.at(own.start).copy_from_nonoverlapping(from, own.len());
            }
        }
    }
}

/// Rows of an owner at work.
struct Rows<'a, S, X> {
    a: &'a SymmetricCsc<f64>,
    own: Range<usize>,
    sums: Shared<S>,
    x: &'a [X],
}

/// # Safety
/// Of all methods: sums of own rows are there, nobody else uses them, and there is a number for every row.
impl<S: Copy, X: Copy> Rows<'_, S, X> {
    /// What a column before has in own rows.
    #[inline(always)]
    fn found(&self, j: usize) -> Range<usize> {
        let rows = self.a.pattern().rows(j);
        let from = below(rows, self.own.start);
        from..from + below(&rows[from..], self.own.end)
    }

    /// Adds entries of a column before, all of them in own rows.
    #[inline(always)]
    unsafe fn add_piece(&self, j: usize, piece: Range<usize>, add: &impl Fn(&mut S, f64, X)) {
        let (rows, values) = self.a.column(j);
        let x = self.x[j];
        for (&i, &v) in rows[piece.clone()].iter().zip(&values[piece]) {
            // SAFETY: the caller's promise.
            add(unsafe { &mut *self.sums.at(i as usize) }, v, x);
        }
    }

    /// Adds an own column, and what it has for own rows.
    #[inline(always)]
    unsafe fn add_column(&self, j: usize, add: &impl Fn(&mut S, f64, X)) {
        let (rows, values) = self.a.column(j);
        // SAFETY: the caller's promise; of no row are there two at a time.
        let row = |i: u32| unsafe { &mut *self.sums.at(i as usize) };
        // SAFETY: the caller's promise.
        let other = |i: u32| unsafe { *self.x.get_unchecked(i as usize) };
        let (mut sum, x) = (*row(j as u32), self.x[j]);
        // The diagonal is the first one.
        add(&mut sum, values[0], x);
        let entries = rows[1..].iter().zip(&values[1..]);
        if (rows[rows.len() - 1] as usize) < self.own.end {
            for (&i, &v) in entries {
                add(&mut sum, v, other(i));
                add(row(i), v, x);
            }
        } else {
            for (&i, &v) in entries {
                add(&mut sum, v, other(i));
                if (i as usize) < self.own.end {
                    add(row(i), v, x);
                }
            }
        }
        *row(j as u32) = sum;
    }

    /// The same, with what columns to come need asked for.
    #[inline(always)]
    unsafe fn add_far_column(&self, j: usize, add: &impl Fn(&mut S, f64, X)) {
        // SAFETY: the caller's promise; of no row are there two at a time.
        let row = |i: usize| unsafe { &mut *self.sums.at(i) };
        let (all, values) = (self.a.pattern().row_idx(), self.a.values());
        let (mut sum, x) = (*row(j), self.x[j]);
        let entries = self.a.pattern().range(j);
        add(&mut sum, values[entries.start], x);
        for k in entries.start + 1..entries.end {
            let i = all[k] as usize;
            let later = all[(k + AHEAD).min(all.len() - 1)] as usize;
            prefetch(self.x.as_ptr().wrapping_add(later));
            prefetch(self.sums.at(later.min(self.own.end - 1)));
            add(&mut sum, values[k], self.x[i]);
            if i < self.own.end {
                add(row(i), values[k], x);
            }
        }
        *row(j) = sum;
    }
}
