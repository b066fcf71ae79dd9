//! The fronts of a subtree in the order of a substitution with one right-hand side.
//!
//! Thin fronts are handed out one after another to the kernel that goes through them
//! ([`forward_thin`](tamarack_dense::forward_thin)); the others are done on the way from one to the
//! next. Cost of a front: a few numbers from arrays that are read in order, but so slowly, beside the panels, that
//! the processor does not read them ahead: they are asked for.

use tamarack_dense::{RowsAt, THIN, ThinFront, prefetch};
use tamarack_numeric::Value;

use crate::plan::Tree;
use crate::substitution::Sweep;

/// Supernodes ahead that a front's numbers are asked for: more than are done while memory answers.
const FRONTS_AHEAD: usize = 32;

/// The same for its list of rows, in rows: 2 KiB.
const ROWS_AHEAD: usize = 512;

/// Rows of a line of the caches.
const LINE_ROWS: usize = 16;

/// Asks for as many rows as these, from `ahead` rows on.
#[inline(always)]
fn ask_for_rows(rows: &[u32], ahead: isize) {
    for k in (0..rows.len()).step_by(LINE_ROWS) {
        prefetch(rows.as_ptr().wrapping_add(k).wrapping_offset(ahead));
    }
}

/// Fronts of a subtree from the first to the root.
pub(crate) struct Upward<'a, T> {
    sweep: &'a Sweep<'a, T>,
    tree: &'a Tree,
    member: usize,
    /// The supernode to come.
    next: usize,
}

/// The same from the root to the first.
pub(crate) struct Downward<'a, T> {
    sweep: &'a Sweep<'a, T>,
    tree: &'a Tree,
    member: usize,
    /// One past the supernode to come.
    next: usize,
}

impl<'a, T: Value> Upward<'a, T> {
    /// # Safety
    /// While fronts are handed out, nobody else works on this subtree, and the member's space is this
    /// walk's alone.
    pub unsafe fn new(sweep: &'a Sweep<'a, T>, tree: &'a Tree, member: usize) -> Self {
        Self {
            sweep,
            tree,
            member,
            next: tree.first as usize,
        }
    }
}

impl<'a, T: Value> Iterator for Upward<'a, T> {
    type Item = ThinFront<'a, T, 2>;

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        let sweep = self.sweep;
        loop {
            let s = self.next;
            if s > self.tree.root as usize {
                return None;
            }
            self.next += 1;
            let columns = sweep.symbolic.columns(s);
            sweep.ask_for_front(s + FRONTS_AHEAD);
            ask_for_rows(sweep.symbolic.rows(s), ROWS_AHEAD as isize);
            ask_for_rows(sweep.plan.outer(s), ROWS_AHEAD as isize);
            if columns.len() > THIN {
                // SAFETY: the promise of whoever made this walk.
                unsafe { sweep.forward_front(s, self.tree, self.member) };
            } else if !columns.is_empty() {
                let (rows, outer) = (sweep.symbolic.rows(s), sweep.plan.outer(s));
                let (inside, _) = rows.split_at(rows.len() - outer.len());
                return Some(ThinFront {
                    l: sweep.panel_at(s),
                    pivots: columns.len(),
                    order: columns.len() + rows.len(),
                    x: sweep.row(columns.start),
                    below: [
                        RowsAt {
                            at: sweep.x,
                            rows: inside,
                        },
                        RowsAt {
                            at: sweep.outer_row(self.tree, 0),
                            rows: outer,
                        },
                    ],
                });
            }
            // A sum front has no part in L.
        }
    }
}

impl<'a, T: Value> Downward<'a, T> {
    /// # Safety
    /// As [`Upward::new`]; and the rows above the subtree are final.
    pub unsafe fn new(sweep: &'a Sweep<'a, T>, tree: &'a Tree, member: usize) -> Self {
        Self {
            sweep,
            tree,
            member,
            next: tree.root as usize + 1,
        }
    }
}

impl<'a, T: Value> Iterator for Downward<'a, T> {
    type Item = ThinFront<'a, T, 1>;

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        let sweep = self.sweep;
        loop {
            if self.next <= self.tree.first as usize {
                return None;
            }
            self.next -= 1;
            let s = self.next;
            let columns = sweep.symbolic.columns(s);
            sweep.ask_for_front(s.wrapping_sub(FRONTS_AHEAD));
            ask_for_rows(sweep.symbolic.rows(s), -(ROWS_AHEAD as isize));
            if columns.len() > THIN {
                // SAFETY: the promise of whoever made this walk.
                unsafe { sweep.backward_front(s, self.member) };
            } else if !columns.is_empty() {
                let rows = sweep.symbolic.rows(s);
                return Some(ThinFront {
                    l: sweep.panel_at(s),
                    pivots: columns.len(),
                    order: columns.len() + rows.len(),
                    x: sweep.row(columns.start),
                    below: [RowsAt { at: sweep.x, rows }],
                });
            }
        }
    }
}
