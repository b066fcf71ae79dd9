//! Products with a symmetric matrix of which the lower triangle is stored, by several threads.
//!
//! An entry below the diagonal contributes to its row and to its column, so columns cannot simply be shared out. Threads own rows
//! ([`Owners`]): in one pass over the entries each sums its own. Where most columns reach far and threads are many, each row is summed
//! by itself ([`FullRows`]): more than twice the bytes, but nothing is written but the row.
//!
//! What is done for each row of a vector is done by blocks of rows.
//!
//! Invariant: what a row gets, it gets in the order of the columns, whatever the number of threads.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use tamarack_dense::prefetch;
use tamarack_numeric::{Activity, Span, Team};
use tamarack_sparse::SymmetricCsc;
use tamarack_sparse::memory::make_room;

use crate::full_rows::{Each, FullRows};
use crate::owners::{self, Owners, Sharing};
use crate::substitution::Shared;

/// Blocks of rows, and so threads that find work.
pub(crate) const BLOCKS: usize = 16;

/// Entries below which the matrix is one block: the pass takes less than waking a thread.
const SMALL: u64 = 1 << 15;

/// Of so many columns one is asked how far it reaches, and at most so many of each block.
const SAMPLE: usize = 16;
const SAMPLES: usize = 1 << 10;

/// Entries of a column in a block of rows up to which a look at it counts: with 2 full rows are faster, with 10 slower.
const FEW: u64 = 4;

/// Threads that find the rows of another pattern, at most: each counts what it has in all of them.
const MOST: usize = 8;

/// Entries from which it is asked whether few rows or columns have most of them, and those of each block that say it.
const LARGE: u64 = if cfg!(test) { SMALL } else { 1 << 18 };
const ASKED: usize = 64;

/// Part of the entries that [`in_largest_tiles`](Blocks::in_largest_tiles) are then, at least: 0.4 if rows are anywhere, 0.9 in a bundle adjustment.
const LOPSIDED: f64 = 0.6;

/// Rows from which on sums and answers are mostly in no cache where columns reach far: asked for ahead, a pass took 0.85 of the time with 600,000 rows and
/// up to 1.35 with 200,000 (no lines kept).
const MANY: usize = 1 << 19;

/// Entries of a column, on average, from which a pass over the matrix is mostly about these: 12 bytes each, where all that is done once for
/// each row of [`Residual`](crate::residual::Residual) moves about 100. With 3 to 5 no difference was found.
const HEAVY: u64 = 8;

/// Rows that are summed by one task.
const PART: usize = 1 << 12;

/// A matrix cut into blocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Blocks<'a> {
    pub a: &'a SymmetricCsc<f64>,
    team: Option<&'a Team>,
    /// Where blocks of columns with about as many entries begin; `cuts[count]` is n. Blocks of rows have as many rows.
    cuts: [usize; BLOCKS + 1],
    count: usize,
    /// Whether columns reach far.
    scattered: bool,
    /// Whether a few rows or columns have most of the entries.
    lopsided: bool,
}

/// What products need beside a matrix, kept from one to the next.
#[derive(Clone, Debug, Default)]
pub(crate) struct Walk {
    /// The rows of a matrix whose columns reach far, for many threads,
    rows: Option<FullRows>,
    /// or who owns them.
    owners: Owners,
}

impl<'a> Blocks<'a> {
    /// Cuts a matrix; without a team the caller does all the work.
    pub fn new(a: &'a SymmetricCsc<f64>, team: Option<&'a Team>) -> Self {
        let pattern = a.pattern();
        let nnz = pattern.nnz_lower();
        let count = if nnz < SMALL { 1 } else { BLOCKS };
        let mut cuts = [a.n(); BLOCKS + 1];
        for (c, cut) in cuts.iter_mut().enumerate().take(count) {
            let before = nnz / count as u64 * c as u64;
            *cut = pattern
                .col_ptr()
                .partition_point(|&p| p < before)
                .min(a.n());
        }
        let mut blocks = Self {
            a,
            team,
            cuts,
            count,
            scattered: false,
            lopsided: false,
        };
        blocks.lopsided = nnz >= LARGE && blocks.in_largest_tiles() > LOPSIDED;
        blocks.scattered = !blocks.lopsided && blocks.reach_far() && FullRows::can_hold(pattern);
        blocks
    }

    /// Whether a pass over the matrix costs more than rows that are twice as long: entries take more memory than what products read and
    /// write for each row, or they are anywhere.
    pub fn is_heavy(&self) -> bool {
        self.a.pattern().nnz_lower() >= HEAVY * self.a.n() as u64 || self.scattered
    }

    /// Prepares for products with this matrix.
    pub fn prepare(&self, walk: &mut Walk) {
        let threads = self.team.map_or(1, Team::size);
        let pattern = self.a.pattern();
        let each: &Each<'_> = &|count, body| self.each(count, body);
        if self.scattered && !owners::are_worth(pattern, threads) {
            let mut rows = walk.rows.take().unwrap_or_default();
            // They come out the same for any blocks.
            let blocks = threads.min(MOST).min(self.count);
            let cut = |c: usize| self.cuts[self.count * c / blocks];
            let cuts: Vec<usize> = (0..=blocks).map(cut).collect();
            rows.refill(pattern, &cuts, each);
            walk.rows = Some(rows);
            return;
        }
        walk.rows = None;
        let sharing = Sharing {
            owners: threads.min(self.count),
            searched: self.lopsided,
            asked: self.scattered && self.a.n() >= MANY,
        };
        walk.owners.refill(pattern, sharing, each);
    }

    /// Whether columns reach more than two blocks of rows below their own, by a sample, and have few entries in each.
    fn reach_far(&self) -> bool {
        let looks_of = |c: usize| {
            let columns = self.cuts[c]..self.cuts[c + 1];
            let step = columns.len().div_ceil(SAMPLES).max(SAMPLE);
            let sample = columns.clone().step_by(step);
            let reach = sample.filter_map(|j| self.a.column(j).0.last()).max();
            let below = |&&cut: &&usize| reach.is_some_and(|&i| i as usize >= cut);
            columns.len() * self.cuts[c + 1..self.count].iter().filter(below).count()
        };
        let looks: usize = (0..self.count).map(looks_of).sum();
        looks > 2 * self.a.n() && FEW * looks as u64 > self.a.pattern().nnz_lower()
    }

    /// What part of the entries is in tiles, blocks of rows in blocks of columns, that have most of every other one on their diagonal, by
    /// some of these: nearly all where a few rows or columns have most.
    fn in_largest_tiles(&self) -> f64 {
        let mut tiles = [[0; BLOCKS]; BLOCKS]; // by blocks of columns and distance
        let mut all = 0_u32;
        for (c, tiles) in tiles.iter_mut().enumerate().take(self.count) {
            let columns = self.cuts[c]..self.cuts[c + 1];
            for row in owners::sampled(self.a.pattern(), columns, ASKED).0 {
                let block = self.cuts[1..self.count].partition_point(|&cut| cut <= row as usize);
                tiles[block - c] += 1;
                all += 1;
            }
        }
        let largest = |d: usize, parity: usize| {
            let chain = (0..self.count - d).filter(|c| d == 0 || c / d % 2 == parity);
            chain.map(|c| tiles[c][d]).max().unwrap_or(0)
        };
        let chains = (0..self.count).map(|d| match d {
            0 => largest(0, 0),
            d => largest(d, 0) + largest(d, 1),
        });
        chains.sum::<usize>() as f64 / f64::from(all)
    }

    fn each(&self, count: usize, body: impl Fn(usize) + Sync) {
        match self.team {
            Some(team) => team.for_each_as(Span::new(Activity::Share), count, |i, _| body(i)),
            None => (0..count).for_each(body),
        }
    }

    /// Calls `body(block, its rows)` for all blocks, side by side.
    pub fn for_rows(&self, body: impl Fn(usize, Range<usize>) + Sync) {
        let cut = |c: usize| self.a.n() * c / self.count;
        self.each(self.count, |c| body(c, cut(c)..cut(c + 1)));
    }

    /// The sum of what `of` gives for all blocks of rows, in their order.
    pub fn total(&self, of: impl Fn(Range<usize>) -> f64 + Sync) -> f64 {
        let sums = [const { AtomicU64::new(0) }; BLOCKS];
        self.for_rows(|c, rows| sums[c].store(of(rows).to_bits(), Ordering::Relaxed));
        let sums = sums.into_iter().take(self.count);
        sums.map(|sum| f64::from_bits(sum.into_inner())).sum()
    }

    /// Calls `body(rows, their numbers in each vector)` for all blocks, side by side; vectors are of length n.
    pub fn split<const K: usize>(
        &self,
        vectors: [&mut [f64]; K],
        body: impl Fn(Range<usize>, [&mut [f64]; K]) + Sync,
    ) {
        assert!(vectors.iter().all(|v| v.len() == self.a.n()));
        let all = vectors.map(|v| Shared(v.as_mut_ptr()));
        self.for_rows(move |_, rows| {
            // SAFETY: vectors have a number for every row, and blocks of rows are disjoint.
            let own = all
                .map(|v| unsafe { std::slice::from_raw_parts_mut(v.at(rows.start), rows.len()) });
            body(rows, own);
        });
    }

    /// Sets `sums[i]` to `start(i)` for all rows, new memory as well, and calls `add(sums[i], a_ij, x[j])` for all entries of the full
    /// matrix, for which `walk` is prepared; `x` has n numbers.
    pub fn sum<S: Copy + Send, X: Copy + Sync>(
        &self,
        walk: &mut Walk,
        sums: &mut Vec<S>,
        x: &[X],
        start: impl Fn(usize) -> S + Sync,
        add: impl Fn(&mut S, f64, X) + Sync,
    ) {
        assert_eq!(x.len(), self.a.n());
        match &walk.rows {
            Some(rows) => self.by_rows(rows, sums, x, start, add),
            None => self.by_owners(&walk.owners, sums, x, start, add),
        }
    }

    /// Sets the rows of a vector, side by side, new memory as well.
    pub fn fill<S: Copy + Send>(&self, rows: &mut Vec<S>, row: impl Fn(usize) -> S + Sync) {
        let all = self.room(rows);
        self.for_rows(|_, rows| {
            for i in rows {
                // SAFETY: there is room for n rows, and blocks of them are disjoint.
                unsafe { all.at(i).write(row(i)) };
            }
        });
        // SAFETY: the blocks are all rows.
        unsafe { rows.set_len(self.a.n()) };
    }

    /// Room for n rows, none of which is there.
    fn room<S>(&self, rows: &mut Vec<S>) -> Shared<S> {
        rows.clear();
        make_room(rows, self.a.n());
        Shared(rows.as_mut_ptr())
    }

    fn by_owners<S: Copy + Send, X: Copy + Sync>(
        &self,
        owners: &Owners,
        sums: &mut Vec<S>,
        x: &[X],
        start: impl Fn(usize) -> S + Sync,
        add: impl Fn(&mut S, f64, X) + Sync,
    ) {
        assert!(owners.are_of(self.a.pattern()), "not prepared");
        let to = self.room(sums);
        self.each(owners.count(), |t| {
            // SAFETY: the owners are of this matrix, there is room for n sums, `sum` looked at x, and owners have rows of their own.
            unsafe { owners.sum(t, self.a, to, x, &start, &add) };
        });
        // SAFETY: the owners have all rows.
        unsafe { sums.set_len(self.a.n()) };
    }

    fn by_rows<S: Copy + Send, X: Copy + Sync>(
        &self,
        all: &FullRows,
        sums: &mut Vec<S>,
        x: &[X],
        start: impl Fn(usize) -> S + Sync,
        add: impl Fn(&mut S, f64, X) + Sync,
    ) {
        let (n, to, values) = (self.a.n(), self.room(sums), self.a.values());
        self.each(n.div_ceil(PART), |part| {
            for i in part * PART..n.min((part + 1) * PART) {
                let mut sum = start(i);
                for (entry, later) in all.row(i) {
                    prefetch(x.as_ptr().wrapping_add(later.column as usize));
                    prefetch(values.as_ptr().wrapping_add(later.source as usize));
                    let (v, x) = (values[entry.source as usize], x[entry.column as usize]);
                    add(&mut sum, v, x);
                }
                // SAFETY: there is room for n sums, and only this call has this one.
                unsafe { to.at(i).write(sum) };
            }
        });
        // SAFETY: the parts are all rows.
        unsafe { sums.set_len(n) };
    }
}

#[cfg(test)]
mod tests;
