//! Products with a symmetric matrix of which the lower triangle is stored, by several threads.
//!
//! An entry below the diagonal contributes to its row and to its column, so columns cannot simply be
//! shared out. They are cut into blocks of about equally many entries, rows likewise; tile (R, C) holds the
//! entries of rows R in columns C and touches the numbers of both. Tiles on one diagonal, every other
//! of a chain `C → C + d → C + 2d`, touch different blocks: they run side by side, and the diagonals
//! one after another. Cost: one pass over the entries, and a look at every column for each of its
//! tiles that is not empty; meshes in their natural order have few.
//!
//! Where a few rows or columns have most of the entries there are no two tiles to work on at the same time, and threads own rows
//! ([`owners`]). Where most columns reach far, a few threads do ([`owners`]), and with more threads each row is summed by itself
//! ([`FullRows`]): more than twice the bytes, but in one pass that writes nothing but its own row. Sums are the same either way.
//!
//! Invariant: what a row gets, it gets in an order that follows from the pattern, whatever the number of
//! threads.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use tamarack_dense::prefetch;
use tamarack_numeric::{Activity, Span, Team};
use tamarack_sparse::SymmetricCsc;
use tamarack_sparse::memory::make_room;

use crate::full_rows::FullRows;
use crate::owners;
use crate::substitution::Shared;

/// Blocks of columns, and so threads that find work.
pub(crate) const BLOCKS: usize = 16;

/// Entries below which the matrix is one block: the pass takes less than waking a thread.
const SMALL: u64 = 1 << 15;

/// Of so many columns one is asked how far it reaches.
const SAMPLE: usize = 16;

/// Entries of a column in a tile up to which a look at it counts: with 2 rows are faster, with 10 slower.
const FEW: u64 = 4;

/// Threads that find the rows of another pattern, at most: each counts what it has in all of them.
const MOST: usize = 8;

/// Entries from which it is asked whether tiles have to wait for each other, and those of each block that say it.
const LARGE: u64 = if cfg!(test) { SMALL } else { 1 << 18 };
const ASKED: usize = 64;

/// Tiles have to wait where those that stand one after the other have more than this part of the entries: 0.4 if rows are anywhere, 0.9 in a bundle
/// adjustment.
const WAITING: f64 = 0.6;

/// Entries of a column, on average, from which a pass over the matrix is mostly about these: 12 bytes each, where all that is done once for
/// each row of [`Residual`](crate::residual::Residual) moves about 100. With 3 to 5 no difference was found.
const HEAVY: u64 = 8;

/// Rows that are summed by one task.
const PART: usize = 1 << 12;

/// A matrix cut into tiles.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tiles<'a> {
    pub a: &'a SymmetricCsc<f64>,
    team: Option<&'a Team>,
    /// Where the blocks begin; `cuts[count]` is n.
    cuts: [usize; BLOCKS + 1],
    count: usize,
    /// Whether rows are summed one by one.
    scattered: bool,
    /// Whether hardly any tiles can be worked on side by side, so that rows have owners.
    lopsided: bool,
}

/// What products need beside a matrix, kept from one to the next.
#[derive(Clone, Debug, Default)]
pub(crate) struct Walk {
    /// Of each column, the first entry that is not used yet.
    next: Vec<u32>,
    /// The rows of a matrix whose columns reach far.
    rows: Option<FullRows>,
    /// Where the rows of each owner begin, and n, for such a matrix and few threads.
    owned: Option<Vec<usize>>,
}

impl<'a> Tiles<'a> {
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
        let mut tiles = Self {
            a,
            team,
            cuts,
            count,
            scattered: false,
            lopsided: false,
        };
        tiles.lopsided = nnz >= LARGE && tiles.waiting() > WAITING;
        tiles.scattered = !tiles.lopsided && tiles.reach_far() && FullRows::can_hold(pattern);
        tiles
    }

    /// Whether a pass over the matrix costs more than rows that are twice as long: entries take more memory than what products read and
    /// write for each row, or they are anywhere.
    pub fn is_heavy(&self) -> bool {
        self.a.pattern().nnz_lower() >= HEAVY * self.a.n() as u64 || self.scattered
    }

    /// Prepares for products with this matrix.
    pub fn prepare(&self, walk: &mut Walk) {
        let threads = self.team.map_or(1, Team::size);
        let by_owners = owners::are_worth(self.a.pattern(), threads);
        walk.owned = match self.lopsided || (self.scattered && by_owners) {
            true => Some(owners::cuts(self.a.pattern(), threads.min(BLOCKS))),
            false => None,
        };
        let rows = walk.rows.take();
        walk.rows = (self.scattered && !by_owners).then(|| {
            let mut rows = rows.unwrap_or_default();
            // They come out the same for any blocks.
            let blocks = threads.min(MOST).min(self.count);
            let cut = |c: usize| self.cuts[self.count * c / blocks];
            let cuts: Vec<usize> = (0..=blocks).map(cut).collect();
            rows.refill(self.a.pattern(), &cuts, &|count, body| {
                self.each(count, body)
            });
            rows
        });
    }

    /// Whether columns would be looked at for more than two tiles below their own, by a sample, and have few entries in each.
    fn reach_far(&self) -> bool {
        let looks_of = |c: usize| {
            let columns = self.cuts[c]..self.cuts[c + 1];
            let sample = columns.clone().step_by(SAMPLE);
            let reach = sample.filter_map(|j| self.a.column(j).0.last()).max();
            let below = |&&cut: &&usize| reach.is_some_and(|&i| i as usize >= cut);
            columns.len() * self.cuts[c + 1..self.count].iter().filter(below).count()
        };
        let looks: usize = (0..self.count).map(looks_of).sum();
        looks > 2 * self.a.n() && FEW * looks as u64 > self.a.pattern().nnz_lower()
    }

    /// What the largest tiles of all chains have of the entries together, by some of these: nearly all where a few rows or columns have most.
    fn waiting(&self) -> f64 {
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
        self.each(self.count, |c| body(c, self.cuts[c]..self.cuts[c + 1]));
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

    /// Sets `sums[i]` to `start(i)` for all rows, new memory as well, and calls `add(sums[i], a_ij, j)` for all entries of the full
    /// matrix, for which `walk` is prepared; before that it may ask for number j of what is multiplied.
    pub fn sum<S: Copy + Send, X: Sync>(
        &self,
        walk: &mut Walk,
        sums: &mut Vec<S>,
        x: &[X],
        start: impl Fn(usize) -> S + Sync,
        add: impl Fn(&mut S, f64, usize) + Sync,
    ) {
        match (&walk.owned, &walk.rows) {
            (Some(cuts), _) => self.by_owners(cuts, sums, x, start, add),
            (_, Some(rows)) => self.by_rows(rows, sums, x, start, add),
            _ => {
                self.fill(sums, start);
                self.by_tiles(&mut walk.next, Shared(sums.as_mut_ptr()), add);
            }
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

    fn by_owners<S: Copy + Send, X: Sync>(
        &self,
        cuts: &[usize],
        sums: &mut Vec<S>,
        x: &[X],
        start: impl Fn(usize) -> S + Sync,
        add: impl Fn(&mut S, f64, usize) + Sync,
    ) {
        let to = self.room(sums);
        let searched = if self.lopsided { 0 } else { owners::LONG };
        self.each(cuts.len() - 1, |t| {
            // SAFETY: there is room for n sums, and owners have rows of their own.
            unsafe { owners::sum(self.a, cuts[t]..cuts[t + 1], searched, to, x, &start, &add) };
        });
        // SAFETY: the owners have all rows.
        unsafe { sums.set_len(self.a.n()) };
    }

    fn by_rows<S: Copy + Send, X: Sync>(
        &self,
        all: &FullRows,
        sums: &mut Vec<S>,
        x: &[X],
        start: impl Fn(usize) -> S + Sync,
        add: impl Fn(&mut S, f64, usize) + Sync,
    ) {
        let (n, to, values) = (self.a.n(), self.room(sums), self.a.values());
        self.each(n.div_ceil(PART), |part| {
            for i in part * PART..n.min((part + 1) * PART) {
                let mut sum = start(i);
                for (entry, later) in all.row(i) {
                    prefetch(x.as_ptr().wrapping_add(later.column as usize));
                    prefetch(values.as_ptr().wrapping_add(later.source as usize));
                    add(
                        &mut sum,
                        values[entry.source as usize],
                        entry.column as usize,
                    );
                }
                // SAFETY: there is room for n sums, and only this call has this one.
                unsafe { to.at(i).write(sum) };
            }
        });
        // SAFETY: the parts are all rows.
        unsafe { sums.set_len(n) };
    }

    fn by_tiles<S: Copy + Send>(
        &self,
        next: &mut Vec<u32>,
        sums: Shared<S>,
        add: impl Fn(&mut S, f64, usize) + Sync,
    ) {
        self.for_each(next, move |j, rows, values| {
            // SAFETY: there are n sums, and calls at the same time have other rows and columns.
            let sum = unsafe { &mut *sums.at(j) };
            let (mut own, mut rest) = (*sum, rows.iter().zip(values));
            if rows[0] as usize == j {
                add(&mut own, values[0], j);
                rest.next();
            }
            for (&i, &v) in rest {
                add(&mut own, v, i as usize);
                // SAFETY: as above, and i is not j.
                add(unsafe { &mut *sums.at(i as usize) }, v, j);
            }
            // SAFETY: as above; the reference has ended.
            unsafe { *sums.at(j) = own };
        });
    }

    /// Calls `body(j, rows, values)` with every entry once: entries of column j, increasing, and at
    /// the first call for j the diagonal first. Calls that run at the same time have columns and rows
    /// that differ from each other's. `next` is memory that is kept from pass to pass.
    fn for_each(&self, next: &mut Vec<u32>, body: impl Fn(usize, &[u32], &[f64]) + Sync) {
        if next.len() < self.a.n() {
            make_room(next, self.a.n());
            next.resize(self.a.n(), 0);
        }
        let next = Shared(next.as_mut_ptr());
        let last: [AtomicUsize; BLOCKS] = Default::default();
        self.each(self.count, |c| {
            let end = self.cuts[c + 1];
            let mut lowest = 0;
            for j in self.cuts[c]..end {
                let (rows, values) = self.a.column(j);
                let to = below(rows, end);
                // SAFETY: there is room for n numbers, and column j is in this task.
                unsafe { *next.at(j) = to as u32 };
                lowest = lowest.max(rows.last().map_or(0, |&i| i as usize));
                body(j, &rows[..to], &values[..to]);
            }
            last[c].store(lowest, Ordering::Relaxed);
        });
        for (distance, parity) in (1..self.count).flat_map(|d| [(d, 0), (d, 1)]) {
            let mut wanted = [0; BLOCKS];
            let mut count = 0;
            for c in (0..self.count - distance).filter(|c| c / distance % 2 == parity) {
                if last[c].load(Ordering::Relaxed) >= self.cuts[c + distance] {
                    wanted[count] = c;
                    count += 1;
                }
            }
            self.each(count, |k| {
                let c = wanted[k];
                let end = self.cuts[c + distance + 1];
                for j in self.cuts[c]..self.cuts[c + 1] {
                    let (rows, values) = self.a.column(j);
                    // SAFETY: as above.
                    let from = unsafe { *next.at(j) } as usize;
                    let to = from + below(&rows[from..], end);
                    if from < to {
                        // SAFETY: as above.
                        unsafe { *next.at(j) = to as u32 };
                        body(j, &rows[from..to], &values[from..to]);
                    }
                }
            });
        }
    }
}

/// How many of increasing rows are less than `end`: mostly all or none.
fn below(rows: &[u32], end: usize) -> usize {
    match (rows.first(), rows.last()) {
        (_, Some(&last)) if (last as usize) < end => rows.len(),
        (Some(&first), _) if first as usize >= end => 0,
        _ => rows.partition_point(|&i| (i as usize) < end),
    }
}

#[cfg(test)]
mod tests;
